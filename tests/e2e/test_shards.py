"""A plan run in shards, and their reports merged."""

import unittest

from binary_case import DETERMINISTIC, QUICK, BinaryCase

SHORT = [*QUICK, "--max-new-tokens", "16", "--no-progress"]
ALL = ["all", *SHORT]


class Shards(BinaryCase):
    def shards(self, mode, count, *options):
        names = []
        for index in range(1, count + 1):
            name = f"s{index}.json"
            run = self.detcheck(mode, *SHORT, *options, "--quiet", "--shard", f"{index}/{count}", "--report", name)
            self.assertIn(run.returncode, (0, 1), run.stderr)
            names.append(name)
        return names

    def modes(self, name):
        judgement = self.report(name)["judgement"]
        return {mode["mode"]: (mode["verdict"], mode["num_batches"]) for mode in judgement["modes"]}

    def test_merged_shards_have_the_verdict_of_the_whole(self):
        run = self.detcheck(*ALL, *DETERMINISTIC, "--quiet", "--report", "whole.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        shards = self.shards("all", 3, *DETERMINISTIC)
        merged = self.detcheck("merge", *reversed(shards), "-o", "merged.json")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertIn("Verdict: pass", merged.stdout)
        self.assertEqual(self.modes("merged.json"), self.modes("whole.json"))
        diff = self.detcheck("diff", "whole.json", "merged.json")
        self.assertEqual(diff.returncode, 0, diff.stdout)
        gate = self.detcheck("gate", "merged.json", "--baseline", "whole.json")
        self.assertEqual(gate.returncode, 0, gate.stdout)
        shown = self.detcheck("show", "merged.json")
        self.assertEqual(shown.stdout, merged.stdout)
        shard = self.report(shards[1])["plan"]["shard"]
        self.assertEqual((shard["index"], shard["count"]), (2, 3))

    def test_a_failure_in_a_shard_fails_the_whole(self):
        shards = self.shards("batch", 2)
        merged = self.detcheck("merge", *shards, "-o", "merged.json", "--quiet")
        self.assertEqual(merged.returncode, 1, merged.stderr)
        self.assertEqual(self.report("merged.json")["judgement"]["verdict"], "fail")

    def test_a_saved_plan_is_sharded(self):
        self.detcheck("single", *QUICK, "--dry-run", "--plan", "plan.json")
        shown = self.detcheck("run", "plan.json", "--shard", "2/2", "--dry-run")
        self.assertRegex(shown.stdout, r"^shard 2 of 2: \d+ of \d+ steps\n")

    def test_a_shard_goes_on_after_it_was_cut_short(self):
        command = [*ALL, *DETERMINISTIC, "--shard", "2/3", "--report", "s2.json", "--quiet"]
        cut = self.detcheck(*command, "--budget", "0.2")
        self.assertEqual(cut.returncode, 3, cut.stderr)
        run = self.detcheck(*command, "--resume")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(self.report("s2.json")["run"]["resumed_records"], 0)

    def test_what_does_not_belong_together_is_refused(self):
        one, two = self.shards("single", 2, *DETERMINISTIC)
        self.assert_refused(self.detcheck("merge", one, "-o", "m.json"), "missing of 2 shards: 2")
        self.assert_refused(self.detcheck("merge", one, one, two, "-o", "m.json"), "1 is s1.json already")
        self.assert_refused(self.detcheck("merge", one, two, "-o", one), "would be written over")
        self.assert_refused(self.detcheck("merge", one, two), "needs -o FILE")
        self.detcheck("single", *SHORT, "--quiet", "--shard", "1/2", "--report", "other.json")
        self.assert_refused(self.detcheck("merge", "other.json", two, "-o", "m.json"), "engine.mode: another target")
        self.assertNotIn("m.json", self.names())

    def test_the_gate_wants_the_whole(self):
        one, two = self.shards("single", 2, *DETERMINISTIC)
        self.assert_refused(self.detcheck("gate", one, two), r"s1\.json: plan\.shard: is shard 1 of 2: merge them first")
        self.assertEqual(self.detcheck("merge", one, two, "-o", "m.json").returncode, 0)
        self.assertEqual(self.detcheck("gate", "m.json").returncode, 0)

    def test_wrong_shards_are_refused(self):
        for shard, fact in (("3", "not INDEX/COUNT"), ("0/2", "from 1 to 2"), ("3/2", "from 1 to 2"), ("1/0", "from 1 to 1000")):
            self.assert_refused(self.detcheck("single", *QUICK, "--shard", shard), fact)
        many = self.detcheck("single", *QUICK, "--shard", "900/1000")
        self.assert_refused(many, r"--shard 900/1000: the plan has \d+ parts that can run apart")


if __name__ == "__main__":
    unittest.main(verbosity=2)
