"""The GitHub action: its script, run as a runner would run it."""

import os
import subprocess
import textwrap
import unittest

from binary_case import DETERMINISTIC, PROGRAM, QUICK, REPO, BinaryCase

WRITE_REPORTS = os.environ.get("DETCHECK_WRITE_VERDICT_REPORTS", "")


def script():
    text = (REPO / "action.yml").read_text()
    return textwrap.dedent(text.split("      run: |\n", 1)[1])


class Action(BinaryCase):
    def setUp(self):
        super().setUp()
        subprocess.run([WRITE_REPORTS, str(self.folder)], check=True)

    def act(self, command="", reports="report.json", baseline="", allowed=""):
        """The exit code, which must be the output's too, and what was printed."""
        output = self.folder / "output"
        output.write_text("")
        run = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script()],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={
                **os.environ,
                "DETCHECK": PROGRAM,
                "DETCHECK_COMMAND": command,
                "DETCHECK_REPORTS": reports,
                "DETCHECK_BASELINE": baseline,
                "DETCHECK_ALLOWED": allowed,
                "DETCHECK_JUNIT": "junit.xml",
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": self.path("summary.md"),
                "GITHUB_ACTION_PATH": str(REPO),
            },
        )
        self.assertEqual(output.read_text(), f"exit-code={run.returncode}\n", run.stderr)
        return run.returncode, run.stdout + run.stderr

    def summary(self):
        return (self.folder / "summary.md").read_text()

    def test_reports_are_judged(self):
        for name, code in (("pass", 0), ("fail", 1), ("inconclusive", 3), ("error", 4)):
            with self.subTest(report=name):
                self.assertEqual(self.act(reports=f"{name}.json\n")[0], code)
                self.assertIn(f"## detcheck: {name}\n", self.summary())
        code, text = self.act(reports="pass.json\n\nfail.json\n")
        self.assertEqual(code, 1)
        self.assertIn("\n::error title=detcheck.fail.json.single%3A q01::fail: ", text)
        self.assertIn('failures="1"', (self.folder / "junit.xml").read_text())

    def test_what_may_be_inconclusive_is_one_on_each_line(self):
        allowed = "batch:never\nsingle:never formed\n"
        self.assertEqual(self.act(reports="inconclusive.json", allowed=allowed)[0], 0)

    def test_a_baseline(self):
        self.assertEqual(self.act(reports="pass.json", baseline="pass.json")[0], 0)
        self.assertEqual(self.act(reports="pass.json", baseline="nothing.json")[0], 3)

    def test_a_command_is_run_and_judged(self):
        quick = " ".join(["single", *QUICK, "--max-new-tokens", "24"])
        code, text = self.act(command=f"{quick} {' '.join(DETERMINISTIC)}")
        self.assertEqual(code, 0, text)
        self.report("report.json")
        self.assertIn("## detcheck: pass\n", self.summary())
        self.assertEqual(self.act(command=quick)[0], 1)

    def test_a_command_that_is_wrong(self):
        code, text = self.act(command="frob")
        self.assertEqual(code, 2)
        self.assertIn("frob: no such command", text)

    def test_no_such_report(self):
        self.assertEqual(self.act(reports="none.json")[0], 2)

    def test_what_a_target_says_is_no_workflow_command(self):
        code, text = self.act(command="single --help")
        stop, end = text.splitlines()[0], [line for line in text.splitlines() if "::stop-" in line]
        self.assertEqual(code, 2, "no report was written")
        self.assertTrue(stop.startswith("::stop-commands::stop-"))
        self.assertIn("::" + stop.split("::")[2] + "::", end)


if __name__ == "__main__":
    unittest.main()
