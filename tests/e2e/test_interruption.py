"""Ctrl-C, kill, and going on afterwards."""

import resource
import signal
import time
import unittest

from binary_case import DETERMINISTIC, QUICK, BinaryCase

TRANSCRIPT = "r.json.transcript.jsonl"
# Long enough to be interrupted: a few seconds.
RUN = [
    "single",
    *DETERMINISTIC,
    "--profile",
    "quick",
    "--fixture",
    "q13",
    "--n-trials",
    "400",
    "--batch-sizes",
    "1,2,3,4",
    "--max-new-tokens",
    "32",
    "--report",
    "r.json",
]


class Interruption(BinaryCase):
    def start_and_wait_for(self, num_lines):
        """A run that has written so many lines of its transcript."""
        process = self.start(*RUN)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with open(self.path(TRANSCRIPT), "rb") as transcript:
                    if transcript.read().count(b"\n") >= num_lines:
                        return process
            except FileNotFoundError:
                pass
            time.sleep(0.01)
        process.kill()
        self.fail(f"the run ended before it was interrupted: {process.communicate()}")

    def interrupt(self, signal_number):
        process = self.start_and_wait_for(8)
        process.send_signal(signal_number)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stdout + stderr)
        self.assertIn("detcheck: interrupted; the same command with --resume goes on\n", stderr)
        self.assertEqual(self.names(), ["r.json", TRANSCRIPT])
        report = self.report()
        self.assertTrue(report["run"]["interrupted"])
        self.assertFalse(report["transcript"]["complete"])
        self.assertGreaterEqual(len(report["transcript"]["records"]), 7)
        self.assertEqual(report["judgement"]["verdict"], "inconclusive")

    def resume(self):
        process = self.start(*RUN, "--resume", "--budget", "3")
        stdout, stderr = process.communicate(timeout=90)
        self.assertIn("going on after", stderr)
        return process.returncode, stdout + stderr

    def test_ctrl_c_gives_130_and_a_valid_partial_report(self):
        self.interrupt(signal.SIGINT)
        kept = len(self.report()["transcript"]["records"])
        code, text = self.resume()
        self.assertIn(code, (0, 3), text)
        report = self.report()
        self.assertGreaterEqual(report["run"]["resumed_records"], 7)
        self.assertGreater(len(report["transcript"]["records"]), kept)
        launches = {record["launch"] for record in report["transcript"]["records"]}
        self.assertEqual(launches, {0, 1})
        self.assertEqual(report["judgement"]["modes"][0]["requests"][0]["unique_traces"], 1)

    def test_sigterm_is_an_interruption_too(self):
        self.interrupt(signal.SIGTERM)

    def test_an_unfinished_run_is_not_overwritten(self):
        self.interrupt(signal.SIGINT)
        before = (self.folder / TRANSCRIPT).read_bytes()
        self.assert_refused(self.detcheck(*RUN), "holds an unfinished run; go on with --resume")
        self.assertEqual((self.folder / TRANSCRIPT).read_bytes(), before)

    def test_another_plan_does_not_go_on(self):
        self.interrupt(signal.SIGINT)
        run = self.detcheck(*RUN, "--resume", "--plan-seed", "2")
        self.assert_refused(run, "line 1: of another plan")
        run = self.detcheck(*RUN, "--resume", "--random-seed", "2")
        self.assert_refused(run, "line 1: the target is not the one that answered it")

    def test_a_killed_run_goes_on_after_its_torn_last_line(self):
        process = self.start_and_wait_for(8)
        process.kill()
        process.communicate()
        self.assertEqual(self.names(), [TRANSCRIPT])
        whole = (self.folder / TRANSCRIPT).read_bytes()
        (self.folder / TRANSCRIPT).write_bytes(whole[: whole.rindex(b"\n") - 20])
        code, text = self.resume()
        self.assertIn(code, (0, 3), text)
        self.assertGreaterEqual(self.report()["run"]["resumed_records"], 5)

    def on_a_full_disk(self, num_bytes):
        """The run where no file can grow beyond so many bytes."""
        limit = (resource.RLIMIT_FSIZE, (num_bytes, num_bytes))
        return self.detcheck(*RUN, restore_signals=False, preexec_fn=lambda: resource.setrlimit(*limit))

    def test_a_full_disk_loses_nothing_that_was_answered(self):
        run = self.on_a_full_disk(20000)
        self.assertEqual(run.returncode, 4, run.stdout + run.stderr)
        why = r"detcheck: not recorded: r\.json\.transcript\.jsonl: cannot write: .*; the same command with --resume goes on\n"
        self.assertRegex(run.stderr, why)
        self.assertIn("Verdict: inconclusive", run.stdout)
        self.assertIn(TRANSCRIPT, self.names())
        code, text = self.resume()
        self.assertIn(code, (0, 3), text)
        self.assertGreaterEqual(self.report()["run"]["resumed_records"], 5)

    def test_a_report_that_cannot_be_written_hides_no_result(self):
        short = [*QUICK, "--max-new-tokens", "24", "--no-progress", "--report", "/dev/full"]
        for options, code, verdict in ((DETERMINISTIC, 4, "pass"), ([], 1, "FAIL")):
            run = self.detcheck("single", *options, *short)
            self.assertEqual(run.returncode, code, run.stdout + run.stderr)
            self.assertIn(f"Verdict: {verdict}", run.stdout)
            self.assertIn("/dev/full: cannot write: No space left on device", run.stderr)

    def test_a_second_ctrl_c_ends_it_at_once(self):
        process = self.start_and_wait_for(2)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

    def test_resume_without_an_earlier_run_begins(self):
        run = self.detcheck(
            "single", *DETERMINISTIC, *QUICK, "--max-new-tokens", "2", "--report", "r.json",
            "--resume",
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("no earlier run to go on with", run.stderr)


if __name__ == "__main__":
    unittest.main()
