"""Exit codes, results and reports of runs that come to their end."""

import json
import os
import subprocess
import unittest

from binary_case import DETERMINISTIC, PROGRAM, QUICK, REPO, BinaryCase


class Verdicts(BinaryCase):
    def test_deterministic_mode_passes(self):
        run = self.detcheck(
            "single", *DETERMINISTIC, *QUICK, "--max-new-tokens", "24", "--report", "r.json"
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("Unique samples: 1, Unique logprob traces: 1", run.stdout)
        self.assertIn("Verdict: pass", run.stdout)
        self.assertEqual(self.names(), ["r.json"])
        report = self.report()
        self.assertTrue(report["transcript"]["complete"])
        self.assertEqual(report["judgement"]["verdict"], "pass")

    def test_positive_control_fails_and_names_a_divergence(self):
        run = self.detcheck("single", *QUICK, "--max-new-tokens", "24", "--report", "r.json")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stdout, r"first at output position \d+")
        self.assertIn("Verdict: FAIL", run.stdout)
        request = self.report()["judgement"]["modes"][0]["requests"][0]
        self.assertEqual(request["verdict"], "fail")
        self.assertGreater(request["unique_traces"], 1)
        self.assertFalse(request["divergences"][0]["by_control"])

    def test_equal_runs_give_equal_bytes(self):
        for mode in ("single", "batch", "mixed", "prefix", "radix_cache", "p_vs_d", "seeds",
                     "history"):
            with self.subTest(mode=mode):
                parts = []
                for name in ("a.json", "b.json"):
                    run = self.detcheck(
                        mode, *DETERMINISTIC, *QUICK, "--max-new-tokens", "24", "--report", name
                    )
                    self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                    # One part of the report a line.
                    lines = (self.folder / name).read_bytes().split(b"\n")
                    parts.append(
                        [line for line in lines if not line.startswith((b'"run":', b'"timings":'))]
                    )
                    self.assertEqual(len(parts[-1]), len(lines) - 2)
                self.assertEqual(parts[0], parts[1])
                self.report("a.json")

    def test_a_saved_plan_runs_as_its_mode_does(self):
        options = [*DETERMINISTIC, *QUICK, "--max-new-tokens", "60"]
        dry = self.detcheck("mixed", *options, "--dry-run", "--plan", "plan.json")
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertRegex(dry.stdout, r"(?m)^mixed +1 ")
        self.assert_valid(REPO / "fixtures" / "schema" / "plan-1.schema.json", "plan.json")
        self.assertEqual(self.detcheck("mixed", *options, "--report", "a.json").returncode, 0)
        run = self.detcheck("run", "plan.json", *DETERMINISTIC, "--report", "b.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        first, second = self.report("a.json"), self.report("b.json")
        self.assertEqual(first["transcript"]["plan_sha256"], second["transcript"]["plan_sha256"])
        self.assertEqual(first["outputs"], second["outputs"])

    def test_every_mode_runs(self):
        for mode in ("prefix", "radix_cache"):
            with self.subTest(mode=mode):
                run = self.detcheck(
                    mode, *DETERMINISTIC, *QUICK, "--max-new-tokens", "24", "--report", mode
                )
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                self.report(mode)

    def test_unsupported_counts_where_it_is_named(self):
        off = ["--disable-radix-cache", *DETERMINISTIC, *QUICK, "--max-new-tokens", "2"]
        named = self.detcheck("radix_cache", *off)
        self.assertEqual(named.returncode, 3, named.stdout)
        self.assertIn("the prefix cache is off", named.stdout)
        allowed = self.detcheck("radix_cache", *off, "--allow-inconclusive", "radix_cache:is off")
        self.assertEqual(allowed.returncode, 3, "nothing was run")

    def test_a_spent_budget_is_inconclusive_and_can_be_gone_on_with(self):
        options = ["single", *DETERMINISTIC, *QUICK, "--max-new-tokens", "8", "--report", "r.json"]
        run = self.detcheck(*options, "--budget", "0.001")
        self.assertEqual(run.returncode, 3, run.stdout)
        self.assertIn("budget of 0.001 s spent", self.report()["transcript"]["ended_early"])
        self.assertEqual(self.names(), ["r.json", "r.json.transcript.jsonl"])
        run = self.detcheck(*options, "--resume")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(self.names(), ["r.json"])


class Output(BinaryCase):
    OPTIONS = ["single", *DETERMINISTIC, *QUICK, "--max-new-tokens", "2"]

    def test_quiet_prints_nothing(self):
        run = self.detcheck(*self.OPTIONS, "--quiet")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))

    def test_progress_is_a_line_per_tenth_on_stderr(self):
        run = self.detcheck(*self.OPTIONS)
        self.assertRegex(run.stderr, r"(?m)^100 %  step (\d+) of \1 ")
        self.assertNotIn("%  step", run.stdout)
        self.assertNotIn("\r", run.stderr)
        self.assertNotIn("%  step", self.detcheck(*self.OPTIONS, "--no-progress").stderr)

    def test_colour_where_asked_for(self):
        self.assertNotIn("\033", self.detcheck(*self.OPTIONS).stdout)
        self.assertIn("\033", self.detcheck(*self.OPTIONS, "--color", "always").stdout)

    def test_a_closed_pipe_costs_neither_report_nor_exit_code(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            run = subprocess.run(
                [PROGRAM, *self.OPTIONS, "--report", "r.json"],
                stdout=pipe,
                stderr=subprocess.DEVNULL,
                cwd=self.folder,
            )
        self.assertEqual(run.returncode, 0)
        self.report()

    def test_a_result_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run(
                [PROGRAM, *self.OPTIONS, "--no-progress"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.assertEqual(run.returncode, 4)
        self.assertIn("detcheck: standard output cannot be written\n", run.stderr)

    def test_manifest(self):
        run = self.detcheck("manifest", "--model", "synthetic:tiny", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        manifest = json.loads(run.stdout)
        harness = {field["name"]: field["value"] for field in manifest["harness"]}
        subject = {field["name"]: field["value"] for field in manifest["subject"]}
        self.assertEqual(subject["model.name"], "synthetic:tiny")
        self.assertRegex(harness["detcheck.git_revision"], r"^([0-9a-f]{40}|unknown)$")
        self.assertNotIn(os.uname().nodename, list(harness.values()) + list(subject.values()))
        self.assertIn("detcheck.version", self.detcheck("manifest").stdout)

    def test_fixtures_can_be_looked_at_and_checked(self):
        show = self.detcheck("fixture", "show", "short-questions")
        self.assertEqual(show.returncode, 0, show.stderr)
        self.assertRegex(show.stdout, r"(?m)^q13 +subject +\d+  ")
        one = self.detcheck("fixture", "show", "short-questions", "q13")
        self.assertRegex(one.stdout, r"(?m)^prompt_sha256  [0-9a-f]{64}$")
        check = self.detcheck("fixture", "check", "short-questions", "neighbours.smollm2")
        self.assertEqual(check.returncode, 0, check.stderr)
        self.assertEqual(check.stdout.count(": ok, "), 2)

    def test_help_and_version(self):
        for arguments in (["--help"], ["single", "--help"], ["fixture", "--help"]):
            run = self.detcheck(*arguments)
            self.assertEqual(run.returncode, 0)
            self.assertIn("Usage: detcheck", run.stdout)
        self.assertRegex(self.detcheck("--version").stdout, r"^detcheck \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
