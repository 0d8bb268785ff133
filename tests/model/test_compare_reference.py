"""The reference comparison must be able to fail."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("compare_reference.py")


def prompt(name, token_ids, logprobs):
    return {"id": name, "token_ids": token_ids, "logprobs": logprobs}


class CompareReference(unittest.TestCase):
    def run_on(self, reference, other, *options):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, prompts in (("reference", reference), ("other", other)):
                file = pathlib.Path(folder) / name
                file.write_text(json.dumps({"prompts": prompts}), encoding="utf-8")
                files.append(file)
            command = [sys.executable, "-B", SCRIPT, *files, "--tokens", "3", *options]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_equal(self):
        both = [prompt("a", [1, 2, 3], [-1.0, -2.0, -3.0])]
        done = self.run_on(both, both, "--max-diff", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("equal: 1 of 1 prompts (100.0%)", done.stdout)

    def test_another_token(self):
        reference = [prompt("a", [1, 2, 3], [-1, -1, -1])]
        other = [prompt("a", [1, 9, 3], [-1, -1, -7])]
        done = self.run_on(reference, other)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a: token 1: expected 2, got 9", done.stdout)
        self.assertIn("1 logprobs compared", done.stdout)

    def test_too_few_tokens(self):
        done = self.run_on([prompt("a", [1, 2, 3], [-1, -1, -1])], [prompt("a", [1, 2], [-1, -1])])
        self.assertEqual(done.returncode, 1)
        self.assertIn("a: 3 and 2 tokens", done.stdout)

    def test_logprob_too_far(self):
        reference = [prompt("a", [1, 2, 3], [-1.0, -2.0, -3.0])]
        other = [prompt("a", [1, 2, 3], [-1.0, -2.5, -3.0])]
        self.assertEqual(self.run_on(reference, other).returncode, 0)
        done = self.run_on(reference, other, "--max-diff", "0.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("0.5 nats at ('a', 1)", done.stdout)

    def test_nan_is_too_far(self):
        reference = [prompt("a", [1, 2, 3], [-1.0, -2.0, -3.0])]
        other = [prompt("a", [1, 2, 3], [float("nan"), -2.0, -3.0])]
        self.assertEqual(self.run_on(reference, other, "--max-diff", "1").returncode, 1)

    def test_missing_prompt(self):
        done = self.run_on([prompt("a", [1, 2, 3], [-1, -1, -1])], [])
        self.assertEqual(done.returncode, 2)

    def test_empty_reference(self):
        self.assertEqual(self.run_on([], []).returncode, 2)


if __name__ == "__main__":
    unittest.main()
