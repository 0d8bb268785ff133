"""scripts/get-model without the network: what it refuses, and how."""

import pathlib
import subprocess
import tempfile
import unittest

GET_MODEL = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "get-model"


class Refusals(unittest.TestCase):
    def refuses(self, *args):
        done = subprocess.run([GET_MODEL, *args], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_no_model(self):
        self.assertIn("model", self.refuses())

    def test_unknown_model(self):
        self.assertIn("gpt-9", self.refuses("gpt-9"))

    def test_unknown_dtype(self):
        self.assertIn("int4", self.refuses("smollm2-135m", "--dtype", "int4"))

    def test_output_is_a_file(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assertIn("not a folder", self.refuses("smollm2-135m", "--output", file.name))

    def test_output_holds_something_else(self):
        with tempfile.TemporaryDirectory() as folder:
            mine = pathlib.Path(folder) / "notes.txt"
            mine.write_text("keep me", encoding="utf-8")
            self.assertIn("left as it is", self.refuses("smollm2-135m", "--output", folder))
            self.assertEqual(mine.read_text(encoding="utf-8"), "keep me")


if __name__ == "__main__":
    unittest.main()
