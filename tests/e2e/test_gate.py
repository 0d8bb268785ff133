"""What CI systems read of a report, and the exit codes: the same whatever the format."""

import itertools
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from binary_case import DETERMINISTIC, QUICK, REPO, BinaryCase

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
    "unclaimed": 0,
    "hostile": 1,
    "nothing": 3,
}
GRAVITY = [0, 3, 4, 1]
JUNIT, MARKDOWN = ["--junit", "out.xml"], ["--markdown", "out.md"]
HTML = ["--html", "out.html"]
ALL_FORMATS = [*JUNIT, *MARKDOWN, "--annotations"]


def combinations(*formats):
    """Every selection of the formats, none and all of them included, as options."""
    for count in range(len(formats) + 1):
        for chosen in itertools.combinations(formats, count):
            yield list(itertools.chain.from_iterable(chosen))


def validate(path):
    """The run of a validator that is not ours."""
    schema = str(REPO / "tests" / "reports" / "junit.xsd")
    return subprocess.run(
        ["xmllint", "--noout", "--nonet", "--schema", schema, path], capture_output=True, text=True
    )


class VerdictReports(BinaryCase):
    def setUp(self):
        super().setUp()
        subprocess.run([WRITE_REPORTS, str(self.folder)], check=True)

    def gate(self, *arguments):
        return self.detcheck("gate", *arguments)


class ExitCodes(VerdictReports):
    def test_every_verdict_in_every_combination_of_formats(self):
        formats = combinations(JUNIT, MARKDOWN, ["--annotations"], ["--quiet"])
        for (name, code), options in itertools.product(EXIT_CODES.items(), list(formats)):
            with self.subTest(report=name, options=options):
                run = self.gate(f"{name}.json", *options)
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                self.assertEqual(run.stderr, "")

    def test_showing_a_report_judges_nothing(self):
        formats = combinations(JUNIT, MARKDOWN, HTML)
        for name, options in itertools.product(EXIT_CODES, list(formats)):
            with self.subTest(report=name, options=options):
                run = self.detcheck("show", f"{name}.json", *options)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertEqual(run.stdout == "", bool(options))

    def test_every_verdict_has_a_report(self):
        reports = {path.stem for path in self.folder.glob("*.json")}
        self.assertEqual(reports, set(EXIT_CODES))

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
        for command in (
            ["gate", "bad.json"],
            ["gate", "pass.json", "bad.json", *ALL_FORMATS],
            ["gate", "pass.json", "--baseline", "bad.json"],
            ["show", "bad.json"],
            ["show", "bad.json", *JUNIT, *MARKDOWN, *HTML],
            ["diff", "bad.json", "pass.json"],
            ["diff", "pass.json", "bad.json", "--allow-different-prompts"],
            ["replay", "bad.json", "--report", "out.json"],
            ["replay", "bad.json", "--dry-run"],
        ):
            with self.subTest(command=command):
                before = self.names()
                self.assert_refused(self.detcheck(*command), r"bad\.json: " + pattern)
                self.assertEqual(self.names(), before, "nothing written, nothing lost")

    def text(self):
        return (self.folder / "pass.json").read_text()

    def test_newer_schema(self):
        self.refuse(
            self.text().replace("detcheck.report/1", "detcheck.report/2"),
            'schema: "detcheck.report/2" cannot be read here, only "detcheck.report/1"',
        )

    def test_truncated(self):
        for length in (0, 1, 200, -200, -2):
            self.refuse(self.text()[:length], r"line \d+, column \d+: ")

    def test_changed_by_hand(self):
        self.refuse(self.text().replace('"q01"', '"q99"'), "content digest mismatch")

    def test_no_report(self):
        self.refuse("[]", "must be an object")
        self.refuse("\0", "line 1, column 1: NUL byte")

    def test_the_good_one_is_accepted(self):
        self.write("good.json", self.text())
        self.assertEqual(self.detcheck("diff", "good.json", "pass.json").returncode, 0)


class Formats(VerdictReports):
    def junit(self, *reports, options=()):
        self.gate(*[f"{name}.json" for name in reports], "--junit", "out.xml", *options)
        return self.readable("out.xml")

    def readable(self, name):
        """The totals of a file that the readers of Jenkins and GitLab accept, and its root."""
        run = validate(self.path(name))
        self.assertEqual(run.returncode, 0, run.stderr)
        root = ElementTree.parse(self.folder / name).getroot()
        total = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
        for suite in root:
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
        for key in ("tests", "failures", "errors"):
            self.assertEqual(int(root.get(key)), total[key])
        return total, root

    def test_junit_is_readable_and_tells_the_verdict(self):
        for name, code in EXIT_CODES.items():
            with self.subTest(report=name):
                total, _ = self.junit(name)
                self.assertEqual(total["failures"] > 0, code == 1)
                if code == 4:
                    self.assertGreater(total["errors"], 0)
                if code == 3:
                    self.assertGreater(total["skipped"], 0)

    def test_cases_of_several_reports_are_told_apart(self):
        total, _ = self.junit("pass", "fail", "pass")
        self.assertEqual(total["failures"], 1)

    def test_hostile_text_stays_text(self):
        _, root = self.junit("hostile")
        name = root.find("testsuite/testcase").get("name")
        self.assertIn("<script>alert(1)</script> ]]> <!-- &", name)

    def test_annotations(self):
        run = self.gate("fail.json", "--annotations", "--quiet")
        scope = r"::notice title=detcheck\.run%3A scope::run_to_run: .*\n"
        self.assertRegex(
            run.stdout, r"\A::error title=detcheck\.single%3A q01::fail: .*\n" + scope + r"\Z"
        )
        run = self.gate("pass.json", "--annotations", "--quiet")
        self.assertRegex(run.stdout, r"\A" + scope + r"\Z")

    def test_show_renders_what_a_run_would(self):
        run = self.detcheck("show", "fail.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("Verdict: FAIL: nondeterminism found", run.stdout)
        run = self.detcheck(
            "show", "fail.json", "--junit", "o.xml", "--markdown", "o.md", "--html", "o.html"
        )
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        self.readable("o.xml")
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
            total, _ = self.readable("o.xml")
            self.assertEqual(total["failures"] > 0, code == 1)
            for name in ("o.md", "o.html"):
                written = (self.folder / name).read_bytes()
                option = "--markdown" if name == "o.md" else "--html"
                self.detcheck("show", "r.json", option, name)
                self.assertEqual((self.folder / name).read_bytes(), written)


class JunitSchema(BinaryCase):
    """The schema can tell; and what is kept as golden files is in its language."""

    GOLDEN = REPO / "tests" / "reports" / "golden"

    def test_golden_files(self):
        paths = sorted(self.GOLDEN.glob("junit_*.xml"))
        self.assertGreaterEqual(len(paths), 6)
        for path in paths:
            self.assertEqual(validate(str(path)).returncode, 0, path.name)

    def test_what_a_reader_would_refuse_or_lose(self):
        good = (self.GOLDEN / "junit_fail.xml").read_text()
        case = re.search(r' *<testcase .*?</testcase>\n', good, re.DOTALL).group()
        for change, before, after in (
            ("a second case of the same names", case, case + case),
            ("an attribute that Jenkins does not know", "<testsuites ", '<testsuites skipped="0" '),
            ("an element that nobody knows", "</testsuite>", "<note/></testsuite>"),
            ("two results of one case", "</failure>", '</failure><skipped message="m"/>'),
            ("a case without a class", ' classname="detcheck.single"', ""),
            ("a time that is no number", ' time="0.000"', ' time="nan"'),
            ("a time zone", 'timestamp="2026-11-29T12:00:00"', 'timestamp="2026-11-29T12:00:00Z"'),
            ("a control character", "Requirement", "Require\x1bment"),
            ("a reference to one", "Requirement", "Require&#27;ment"),
        ):
            with self.subTest(change=change):
                self.assertIn(before, good)
                path = self.write("bad.xml", good.replace(before, after, 1))
                self.assertNotEqual(validate(path).returncode, 0)


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
        run = self.gate("pass.json", "--baseline", "nothing.json", *ALL_FORMATS)
        self.assertIn("::warning title=detcheck.baseline%3A single%3A q01::", run.stdout)
        self.assertIn("Against the baseline: inconclusive", (self.folder / "out.md").read_text())
        root = ElementTree.parse(self.folder / "out.xml").getroot()
        self.assertIsNotNone(root.find(".//testsuite[@name='detcheck.baseline']//skipped"))


if __name__ == "__main__":
    unittest.main()
