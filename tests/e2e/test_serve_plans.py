"""One plan on the embedded engine directly and through detcheck serve, as SGLang and as vLLM: equal answers, equal verdicts."""

import base64
import unittest

from serve_case import ServeCase

ENGINE = ["--engine", "cpu", "--enable-deterministic-inference"]
SMALL = ["--profile", "quick", "--fixture", "q13", "--batch-sizes", "1,2,9", "--n-trials", "3", "--no-progress"]
# Long enough that the last of the arriving prompts is prefilled while the first request decodes, and that answers take longer
# than a busy machine's pauses, after which they would look as if they came out of a cache of answers.
LENGTHS = {"mixed": "96", "radix_cache": "96", "prefix": "24"}
LENGTH = "48"
BYTES_OF_LOGPROB = 4
MODES = ("single", "batch", "mixed", "prefix", "radix_cache", "p_vs_d", "seeds", "history")


def answers(report):
    """(token IDs, finish reason, logprob bits where they were asked for) of every item of every step; all attempts.
    Of an aborted item the tokens that it had to have: over HTTP more may be on their way when it is given up.
    Of steps that score, the bits."""
    found = {}
    for record in report["transcript"]["records"]:
        if "scores" in record:
            found.setdefault((record["step"], 0), set()).add(report["logprobs"][record["scores"]]["chosen"])
        for number, item in enumerate(record.get("items", [])):
            logprobs = report["logprobs"][item["logprobs"]]["chosen"] if "logprobs" in item else None
            ids = tuple(report["outputs"][item["output"]]["ids"])
            bits = base64.b64decode(logprobs) if logprobs else None
            if item["finish"] == "abort":
                wanted = report["plan"]["steps"][record["step"]]["items"][number]["abort_after_tokens"]
                assert len(ids) >= wanted, (record["step"], number, len(ids))
                ids, bits = ids[:wanted], bits and bits[:BYTES_OF_LOGPROB * wanted]
            found.setdefault((record["step"], number), set()).add((ids, item["finish"], bits))
    return found


def verdicts(report):
    """The verdict of the whole, of each mode, and of each request in it."""
    judgement = report["judgement"]
    modes = [(mode["mode"], mode["verdict"], [request["verdict"] for request in mode["requests"]]) for mode in judgement["modes"]]
    return judgement["verdict"], modes


class Plans(ServeCase):
    def run_plan(self, plan, name, *target):
        # On a busy machine it takes more than three attempts until a batch of short answers forms.
        run = self.detcheck("run", plan, *target, "--step-attempts", "20", "--no-progress", "--report", name)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return self.report(name)

    def test_equal_answers_and_verdicts(self):
        server = self.serve()
        self.addCleanup(server.stop)
        for mode in MODES:
            with self.subTest(mode):
                # Made for the server, so that it holds nothing that a server cannot do: a restart, releases at engine steps.
                plan = self.path(f"{mode}.json")
                made = self.detcheck(mode, "--endpoint", server.url, *SMALL, "--max-new-tokens", LENGTHS.get(mode, LENGTH),
                                     "--dry-run", "--plan", plan)
                self.assertEqual(made.returncode, 0, made.stderr)
                direct = self.run_plan(plan, f"{mode}-direct.json", *ENGINE)
                expected = answers(direct)
                self.assertGreater(len(expected), 5)
                self.assertTrue(all(len(same) == 1 or mode == "p_vs_d" for same in expected.values()))
                for api in ("sglang", "vllm"):
                    through = self.run_plan(plan, f"{mode}-{api}.json", "--endpoint", server.url, "--api", api)
                    self.assertEqual(answers(through), expected)
                    self.assertEqual(verdicts(through), verdicts(direct))

    def test_default_mode_is_caught_through_the_server(self):
        server = self.serve(deterministic=False)
        self.addCleanup(server.stop)
        run = self.detcheck("single", "--endpoint", server.url, *SMALL, "--step-attempts", "20", "--max-new-tokens", "64")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("FAIL", run.stdout)


if __name__ == "__main__":
    unittest.main()
