"""What reports of a large run cost: 2,000 distinct outputs of 500 tokens with 5 candidates each.
Bars: 3 s to write one, 5 s and 500 MB to compare two. Times are of the processor, so that whatever
else the machine does counts less."""

import os
import subprocess
import time
import unittest

from binary_case import PROGRAM, BinaryCase

WRITE_REPORTS = os.environ.get("DETCHECK_WRITE_LARGE_REPORTS", "")


class LargeReports(BinaryCase):
    def measure(self, *command):
        """Exit code, what was printed, wall seconds, processor seconds, and the peak in MB."""
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=self.folder) as run:
            text = run.stdout.read()
            _, status, usage = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        return run.returncode, text, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def test_writing_and_comparing(self):
        code, text, *_ = self.measure(WRITE_REPORTS, "a.json", "b.json")
        self.assertEqual(code, 0)
        for seconds in text.split():
            self.assertLess(float(seconds), 3.0)
        size = (self.folder / "a.json").stat().st_size
        print(f"written: {' s, '.join(text.split())} s")
        for other, expected in (("a.json", 0), ("b.json", 1)):
            code, text, wall, seconds, peak_mb = self.measure(PROGRAM, "diff", "a.json", other)
            self.assertEqual(code, expected, text)
            self.assertLess(seconds, 5.0)
            self.assertLess(peak_mb, 500)
            print(f"diff of two reports of {size / 1e6:.1f} MB, exit code {code}: {wall:.2f} s, "
                  f"{seconds:.2f} s of the processor, peak {peak_mb:.0f} MB")
        self.assertIn("unique samples: 2000 before, 2000 now, 0 in both", text)


if __name__ == "__main__":
    unittest.main()
