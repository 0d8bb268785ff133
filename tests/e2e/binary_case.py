"""What the end-to-end tests share: they run the real program in a folder of their own."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

REPO = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("DETCHECK", str(REPO / "build" / "dev" / "cli" / "detcheck"))

# Small enough for seconds, and still with every arm of the mode.
QUICK = ["--profile", "quick", "--fixture", "q13", "--batch-sizes", "1,2,8", "--n-trials", "3"]
DETERMINISTIC = ["--enable-deterministic-inference"]


class BinaryCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="detcheck-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def detcheck(self, *arguments, **options):
        return subprocess.run(
            [PROGRAM, *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=self.folder,
            **options,
        )

    def start(self, *arguments):
        return subprocess.Popen(
            [PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def report(self, name="r.json"):
        """The report, after an independent validator has accepted it."""
        self.assert_valid(REPO / "reports" / "schema" / "report-1.schema.json", name)
        return json.loads((self.folder / name).read_text())

    def assert_valid(self, schema, name):
        validation = subprocess.run(
            [
                sys.executable,
                str(REPO / "tests" / "fixtures" / "validate_schema.py"),
                str(schema),
                self.path(name),
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(validation.returncode, 0, validation.stdout + validation.stderr)

    def assert_refused(self, run, pattern):
        """Exit code 2, and one line that says why."""
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertTrue(run.stderr.startswith("detcheck: "), run.stderr)
        self.assertRegex(run.stderr, pattern)
