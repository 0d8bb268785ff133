"""One plan on the embedded engine directly and through detcheck serve, as SGLang and as vLLM: equal answers, equal verdicts."""

import base64
import unittest

from serve_case import ServeCase

ENGINE = ["--engine", "cpu", "--enable-deterministic-inference"]
SMALL = ["--profile", "quick", "--fixture", "q13", "--batch-sizes", "1,2,9", "--n-trials", "3", "--no-progress"]
LENGTH = ["--max-new-tokens", "24"]


def answers(report):
    """(token IDs, finish reason, logprob bits where they were asked for) of every item of every step; all attempts.
    Of steps that score, the bits."""
    found = {}
    for record in report["transcript"]["records"]:
        if "scores" in record:
            found.setdefault((record["step"], 0), set()).add(report["logprobs"][record["scores"]]["chosen"])
        for number, item in enumerate(record.get("items", [])):
            logprobs = report["logprobs"][item["logprobs"]]["chosen"] if "logprobs" in item else None
            ids = tuple(report["outputs"][item["output"]]["ids"])
            bits = base64.b64decode(logprobs) if logprobs else None
            found.setdefault((record["step"], number), set()).add((ids, item["finish"], bits))
    return found


class Plans(ServeCase):
    def test_equal_answers_and_verdicts(self):
        server = self.serve()
        self.addCleanup(server.stop)
        for mode in ("single", "batch", "prefix", "radix_cache", "seeds", "p_vs_d"):
            with self.subTest(mode):
                plan, direct = self.path(f"{mode}.json"), f"{mode}-direct.json"
                made = self.detcheck(mode, *ENGINE, *SMALL, *LENGTH, "--dry-run", "--plan", plan)
                self.assertEqual(made.returncode, 0, made.stderr)
                run = self.detcheck("run", plan, *ENGINE, "--no-progress", "--report", direct)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                expected = answers(self.report(direct))
                self.assertGreater(len(expected), 5)
                for api in ("sglang", "vllm"):
                    name = f"{mode}-{api}.json"
                    run = self.detcheck("run", plan, "--endpoint", server.url, "--api", api, "--no-progress", "--report", name)
                    # vLLM's witness is polled, and a short batch may end between two looks.
                    self.assertIn(run.returncode, (0,) if api == "sglang" else (0, 3), run.stdout + run.stderr)
                    self.assertEqual(answers(self.report(name)), expected)

    def test_default_mode_is_caught_through_the_server(self):
        server = self.serve(deterministic=False)
        self.addCleanup(server.stop)
        run = self.detcheck("single", "--endpoint", server.url, *SMALL, "--max-new-tokens", "64")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("FAIL", run.stdout)


if __name__ == "__main__":
    unittest.main()
