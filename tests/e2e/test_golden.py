"""The deterministic CPU engine answers as it did when the golden reports were made, on every
machine and after every start. Where its bits are meant to change, DETCHECK_UPDATE_GOLDEN=1 in the
environment makes the golden reports anew."""

import os
import subprocess
import unittest

from binary_case import DETERMINISTIC, QUICK, REPO, BinaryCase

BASELINE = REPO / "tests" / "reports" / "baseline"
WRITE_BASELINE = os.environ.get("DETCHECK_WRITE_BASELINE", "")
OPTIONS = [*DETERMINISTIC, *QUICK, "--max-new-tokens", "24"]


class Golden(BinaryCase):
    def run_mode(self, mode, *options):
        run = self.detcheck(mode, *OPTIONS, *options, "--report", "r.json")
        if os.environ.get("DETCHECK_UPDATE_GOLDEN"):
            golden = str(BASELINE / f"{mode}.json")
            subprocess.run([WRITE_BASELINE, self.path("r.json"), golden], check=True)
        return run

    def gate(self, mode):
        return self.detcheck("gate", "r.json", "--baseline", str(BASELINE / f"{mode}.json"))

    def test_a_fresh_process_answers_as_the_golden_report(self):
        for mode in ("single", "radix_cache"):
            with self.subTest(mode=mode):
                run = self.run_mode(mode)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                gate = self.gate(mode)
                self.assertEqual(gate.returncode, 0, gate.stdout + gate.stderr)
                (self.folder / "r.json").unlink()

    def test_golden_reports_are_small_and_tell_of_no_machine(self):
        for path in BASELINE.iterdir():
            self.assertLess(path.stat().st_size, 200_000)
            self.assertEqual(self.detcheck("gate", str(path)).returncode, 0)
            manifest = self.detcheck("show", str(path), "--junit", "o.xml")
            self.assertEqual(manifest.returncode, 0, manifest.stderr)
            self.assertNotIn("device.cpu_model", (self.folder / "o.xml").read_text())

    def test_other_weights_are_something_else(self):
        run = self.detcheck("single", *OPTIONS, "--random-seed", "7", "--report", "r.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        gate = self.gate("single")
        self.assertEqual(gate.returncode, 3, gate.stdout)
        self.assertIn("the baseline is of something else: model.weights_seed is '7', not '42'",
                      gate.stdout)

    def test_default_mode_does_not_answer_as_the_golden_report(self):
        options = [option for option in OPTIONS if option not in DETERMINISTIC]
        self.detcheck("single", *options, "--report", "r.json")
        gate = self.gate("single")
        self.assertIn(gate.returncode, (1, 3), gate.stdout)


class DiffAndReplay(BinaryCase):
    def make(self, name, *options):
        run = self.detcheck("single", *OPTIONS, *options, "--report", name)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_equal_runs(self):
        self.make("a.json")
        self.make("b.json", "--threads", "1")
        diff = self.detcheck("diff", "a.json", "b.json")
        self.assertEqual(diff.returncode, 0, diff.stdout + diff.stderr)
        self.assertIn("Equal: ", diff.stdout)
        self.assertIn("Changes that can explain others\n", diff.stdout)

    def test_other_weights_differ(self):
        self.make("a.json")
        self.make("b.json", "--random-seed", "7")
        diff = self.detcheck("diff", "a.json", "b.json")
        self.assertEqual(diff.returncode, 1, diff.stdout)
        self.assertRegex(diff.stdout, r"single: q13\n  reference: tokens differ, first at output")
        self.assertIn("model.weights_seed: '42' -> '7'", diff.stdout)

    def test_other_prompts_are_refused_unless_asked_for(self):
        self.make("a.json")
        self.make("b.json", "--fixture", "q14")
        diff = self.detcheck("diff", "a.json", "b.json")
        self.assert_refused(diff, "reports of different prompts: only in the second q14; with "
                                  "--allow-different-prompts the 1 prompt in both could")
        diff = self.detcheck("diff", "a.json", "b.json", "--allow-different-prompts")
        self.assertEqual(diff.returncode, 1, diff.stdout)
        self.assertIn("1 request compared", diff.stdout)

    def test_other_sampling_is_the_same_prompt_changed(self):
        self.make("a.json")
        self.make("b.json", "--temperature", "0.5")
        diff = self.detcheck("diff", "a.json", "b.json")
        self.assertEqual(diff.returncode, 1, diff.stderr)
        self.assertIn("same prompt, other sampling or limits: temperature 0 -> 0.5\n",
                      diff.stdout)
        self.assertNotIn("reference: ", diff.stdout)
        self.assertRegex(diff.stdout, "Differ: 0 requests compared, 1 changed, 1 with other")
        diff = self.detcheck("diff", "a.json", "b.json", "--compare-changed-requests")
        self.assertEqual(diff.returncode, 1, diff.stderr)
        self.assertIn("reference: tokens differ, first at output position ", diff.stdout)

    def test_replay(self):
        self.make("a.json")
        same = self.detcheck("replay", "a.json", *DETERMINISTIC, "--report", "b.json")
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        self.assertIn("Against the recorded run\n", same.stdout)
        self.assertIn("Equal: ", same.stdout)
        self.report("b.json")
        other = self.detcheck("replay", "a.json", *DETERMINISTIC, "--random-seed", "7")
        self.assertEqual(other.returncode, 1, other.stdout)
        self.assertIn("Differ: ", other.stdout)


if __name__ == "__main__":
    unittest.main()
