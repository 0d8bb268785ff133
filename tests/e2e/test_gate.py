"""What CI systems read of a report, and the exit codes: the same whatever the format."""

import itertools
import os
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from binary_case import DETERMINISTIC, QUICK, BinaryCase

WRITE_REPORTS = os.environ.get("DETCHECK_WRITE_VERDICT_REPORTS", "")

# 1 over 4 over 3 over 0.
EXIT_CODES = {
    "pass": 0,
    "fail": 1,
    "inconclusive": 3,
    "unsupported": 3,
    "error": 4,
    "fail+error": 1,
    "fail+inconclusive": 1,
    "error+inconclusive": 4,
    "pass+unsupported": 3,
    "all": 0,
    "hostile": 1,
    "nothing": 3,
}
GRAVITY = [0, 3, 4, 1]
FORMATS = {
    "console": [],
    "quiet": ["--quiet"],
    "junit": ["--junit", "out.xml"],
    "markdown": ["--markdown", "out.md"],
    "annotations": ["--annotations"],
    "all": ["--junit", "out.xml", "--markdown", "out.md", "--annotations"],
}


class VerdictReports(BinaryCase):
    def setUp(self):
        super().setUp()
        subprocess.run([WRITE_REPORTS, str(self.folder)], check=True)

    def gate(self, *arguments):
        return self.detcheck("gate", *arguments)


class ExitCodes(VerdictReports):
    def test_every_verdict_in_every_format(self):
        for (name, code), (form, options) in itertools.product(
            EXIT_CODES.items(), FORMATS.items()
        ):
            with self.subTest(report=name, format=form):
                run = self.gate(f"{name}.json", *options)
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                self.assertEqual(run.stderr, "")

    def test_of_several_reports_the_gravest_tells(self):
        for one, other in itertools.combinations(EXIT_CODES, 2):
            with self.subTest(reports=(one, other)):
                worst = max(EXIT_CODES[one], EXIT_CODES[other], key=GRAVITY.index)
                run = self.gate(f"{one}.json", f"{other}.json")
                self.assertEqual(run.returncode, worst, run.stdout)

    def test_what_is_allowed_passes(self):
        allow = ["--allow-inconclusive", "single:never formed"]
        self.assertEqual(self.gate("inconclusive.json", *allow).returncode, 0)
        self.assertEqual(self.gate("fail+inconclusive.json", *allow).returncode, 1)

    def test_a_rendering_that_cannot_be_written_is_found_before(self):
        for command in (["gate", "fail.json"], ["show", "fail.json"], ["single"]):
            for option in ("--junit", "--markdown"):
                run = self.detcheck(*command, option, "none/out")
                self.assert_refused(run, f"{option} none/out: no such directory")

    def test_a_rendering_that_fails_hides_no_divergence(self):
        for name, code in (("pass", 4), ("inconclusive", 4), ("fail", 1)):
            run = self.gate(f"{name}.json", "--junit", "/dev/full")
            self.assertEqual(run.returncode, code)
            self.assertIn("cannot write", run.stderr)


class BadReports(VerdictReports):
    def refuse(self, content, pattern):
        self.write("bad.json", content)
        for command in (["gate", "bad.json"], ["gate", "pass.json", "--baseline", "bad.json"],
                        ["show", "bad.json"]):
            self.assert_refused(self.detcheck(*command), r"bad\.json: " + pattern)

    def text(self):
        return (self.folder / "pass.json").read_text()

    def test_newer_schema(self):
        self.refuse(self.text().replace("detcheck.report/1", "detcheck.report/2"), "schema")

    def test_truncated(self):
        self.refuse(self.text()[:-200], "line")

    def test_changed_by_hand(self):
        self.refuse(self.text().replace('"q01"', '"q99"'), "content digest mismatch")


class Formats(VerdictReports):
    def junit(self, *reports, options=()):
        self.gate(*[f"{name}.json" for name in reports], "--junit", "out.xml", *options)
        return ElementTree.parse(self.folder / "out.xml").getroot()

    # The rules that the readers of Jenkins (junit-10.xsd) and GitLab have in common.
    def assert_readable(self, root):
        self.assertEqual(root.tag, "testsuites")
        names = set()
        total = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
        for suite in root:
            self.assertEqual(suite.tag, "testsuite")
            self.assertRegex(suite.get("timestamp"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")
            tags = [child.tag for child in suite]
            self.assertEqual(tags, sorted(tags), "properties first")
            cases = suite.findall("testcase")
            found = {
                "tests": len(cases),
                "failures": len(suite.findall("testcase/failure")),
                "errors": len(suite.findall("testcase/error")),
                "skipped": len(suite.findall("testcase/skipped")),
            }
            for key, value in found.items():
                self.assertEqual(int(suite.get(key)), value)
                total[key] += value
            for case in cases:
                key = (case.get("classname"), case.get("name"))
                self.assertNotIn(key, names)
                names.add(key)
                float(case.get("time"))
                self.assertLessEqual(len(case), 1)
        for key, value in total.items():
            self.assertEqual(int(root.get(key)), value)
        return total

    def test_junit_is_readable_and_tells_the_verdict(self):
        for name, code in EXIT_CODES.items():
            with self.subTest(report=name):
                total = self.assert_readable(self.junit(name))
                self.assertEqual(total["failures"] > 0, code == 1)
                if code == 4:
                    self.assertGreater(total["errors"], 0)
                if code == 3:
                    self.assertGreater(total["skipped"], 0)

    def test_cases_of_several_reports_are_told_apart(self):
        self.assert_readable(self.junit("pass", "fail", "pass"))

    def test_hostile_text_stays_text(self):
        root = self.junit("hostile")
        self.assert_readable(root)
        name = root.find("testsuite/testcase").get("name")
        self.assertIn("<script>alert(1)</script> ]]> <!-- &", name)

    def test_annotations(self):
        run = self.gate("fail.json", "--annotations", "--quiet")
        self.assertRegex(run.stdout, r"\A::error title=detcheck\.single%3A q01::fail: .*\n\Z")
        self.assertEqual(self.gate("pass.json", "--annotations", "--quiet").stdout, "")

    def test_show_renders_what_a_run_would(self):
        run = self.detcheck("show", "fail.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("Verdict: FAIL: nondeterminism found", run.stdout)
        run = self.detcheck(
            "show", "fail.json", "--junit", "o.xml", "--markdown", "o.md", "--html", "o.html"
        )
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        self.assert_readable(ElementTree.parse(self.folder / "o.xml").getroot())
        self.assertTrue((self.folder / "o.md").read_text().startswith("## detcheck: fail\n"))
        self.assertIn("<!DOCTYPE html>", (self.folder / "o.html").read_text())

    def test_a_run_writes_them_itself(self):
        options = ["--junit", "o.xml", "--markdown", "o.md", "--html", "o.html"]
        for deterministic, code in ((DETERMINISTIC, 0), ([], 1)):
            run = self.detcheck(
                "single", *deterministic, *QUICK, "--max-new-tokens", "24", *options, "--report",
                "r.json",
            )
            self.assertEqual(run.returncode, code, run.stderr)
            total = self.assert_readable(ElementTree.parse(self.folder / "o.xml").getroot())
            self.assertEqual(total["failures"] > 0, code == 1)
            for name in ("o.md", "o.html"):
                written = (self.folder / name).read_bytes()
                option = "--markdown" if name == "o.md" else "--html"
                self.detcheck("show", "r.json", option, name)
                self.assertEqual((self.folder / name).read_bytes(), written)


class Baseline(VerdictReports):
    def test_the_same_answers_pass(self):
        self.assertEqual(self.gate("pass.json", "--baseline", "pass.json").returncode, 0)

    def test_no_matching_row_is_inconclusive(self):
        run = self.gate("pass.json", "--baseline", "nothing.json")
        self.assertEqual(run.returncode, 3, run.stdout)
        self.assertIn("no matching row in the baseline", run.stdout)
        run = self.gate("pass.json", "--baseline", "fail.json")
        self.assertEqual(run.returncode, 3, run.stdout)
        self.assertIn("the baseline's own row did not pass", run.stdout)
        self.assertEqual(self.gate("nothing.json", "--baseline", "pass.json").returncode, 3)

    def test_the_baseline_is_in_every_format(self):
        run = self.gate("pass.json", "--baseline", "nothing.json", *FORMATS["all"])
        self.assertIn("::warning title=detcheck.baseline%3A single%3A q01::", run.stdout)
        self.assertIn("Against the baseline: inconclusive", (self.folder / "out.md").read_text())
        root = ElementTree.parse(self.folder / "out.xml").getroot()
        self.assertIsNotNone(root.find(".//testsuite[@name='detcheck.baseline']//skipped"))


if __name__ == "__main__":
    unittest.main()
