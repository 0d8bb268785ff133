"""What a run says of its scope, and what --scope makes of it."""

import unittest

from binary_case import DETERMINISTIC, QUICK, BinaryCase

RUN = [*DETERMINISTIC, *QUICK, "--max-new-tokens", "8"]


class Scope(BinaryCase):
    def words(self, report):
        return {word["word"]: word for word in report["scope"]["words"]}

    def test_covered_passes_and_is_recorded(self):
        run = self.detcheck(
            "single", *RUN, "--scope", "batch,run_to_run", "--report", "r.json", "--html", "r.html"
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        report = self.report()
        self.assertEqual(report["plan"]["required_scope"], ["run_to_run", "batch"])
        words = self.words(report)
        sizes = [axis for axis in words["batch"]["varied"] if axis["name"] == "formed_size"]
        self.assertEqual([value["value"] for value in sizes[0]["values"]], [2, 8])
        self.assertIn("says nothing about other starts of the server", words["batch"]["bound"])
        self.assertEqual(words["arrival"]["why_not"], "mixed was not asked for")
        names = {fact["name"] for fact in report["scope"]["holds_for"]}
        self.assertLessEqual({"engine.name", "model.name", "device.cpu_model"}, names)
        self.assertRegex(run.stdout, r"(?m)^Scope$")
        self.assertRegex(run.stdout, r"(?m)^  batch: \d+ distinct batches \(single\)")
        self.assertIn("batch (required)", (self.folder / "r.html").read_text())

    def test_not_covered_is_inconclusive_and_says_why(self):
        run = self.detcheck("single", *RUN, "--scope", "prefix_cache", "--report", "r.json")
        self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
        reason = (
            "the required scope prefix_cache is not tested: radix_cache, prefix were not asked for"
        )
        self.assertIn(reason, run.stdout)
        self.assertEqual(self.report()["judgement"]["reasons"], [reason])
        gate = self.detcheck("gate", self.path("r.json"))
        self.assertEqual(gate.returncode, 3, gate.stdout)
        self.assertIn(reason, gate.stdout)

    def test_an_unknown_word_is_refused(self):
        run = self.detcheck("single", *RUN, "--scope", "batch,cache", "--report", "r.json")
        self.assert_refused(run, r'scope "cache" is none of run_to_run, batch, arrival, .*gpu_to_gpu')
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    unittest.main()
