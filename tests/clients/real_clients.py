"""Real clients against detcheck serve: SGLang's test_deterministic.py and the openai package. scripts/test-real-clients
sets up what they need: DETCHECK, DETCHECK_MODEL (a folder with SmolLM2-135M) and SGLANG_SCRIPT (a folder for PYTHONPATH).
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from serve_case import ServeCase  # noqa: E402

MODEL = os.environ["DETCHECK_MODEL"]
SCRIPT_FOLDER = os.environ["SGLANG_SCRIPT"]


class SglangScript(ServeCase):
    """The bars of SGLang's documentation: `Unique samples: 1` with the flag; and without it, more."""

    def run_script(self, mode, *options, model=MODEL, deterministic=True):
        server = self.serve("--model", model, deterministic=deterministic)
        run = subprocess.run(
            [sys.executable, "-m", "sglang.test.test_deterministic", "--host", server.host, "--port", str(server.port),
             "--test-mode", mode, *options],
            env={**os.environ, "PYTHONPATH": SCRIPT_FOLDER}, capture_output=True, text=True, timeout=1800,
        )
        self.assertEqual(server.stop(), 0)
        self.assertEqual(run.returncode, 0, run.stdout[-2000:] + run.stderr[-2000:])
        print(f"\n{mode}, {'deterministic' if deterministic else 'default'} mode:")
        print("\n".join(line for line in run.stdout.splitlines() if re.search("nique|PASSED|FAILED|Logprobs are", line)))
        return run.stdout

    def uniques(self, *arguments, **options):
        return [int(number) for number in re.findall(r"Unique samples: (\d+)", self.run_script(*arguments, **options))]

    SINGLE = ["single", "--n-trials", "12", "--max-new-tokens", "64"]
    PREFIX = ["prefix", "--n-trials", "8", "--max-new-tokens", "64"]

    def test_single_in_deterministic_mode(self):
        self.assertEqual(self.uniques(*self.SINGLE), [1])

    def test_single_in_default_mode(self):
        self.assertGreater(self.uniques(*self.SINGLE, deterministic=False)[0], 1)

    def test_prefix_in_deterministic_mode(self):
        output = self.run_script(*self.PREFIX, "--return-logprob")
        self.assertEqual(re.findall(r"Unique samples: (\d+)", output), ["1"] * 4)
        self.assertIn("Logprobs are identical across all batch sizes", output)

    def test_prefix_in_default_mode(self):
        self.assertGreater(max(self.uniques(*self.PREFIX, deterministic=False)), 1)

    def test_prefill_against_decode(self):
        output = self.run_script("p_vs_d", "--n-trials", "4", "--max-new-tokens", "32")
        self.assertEqual(output.count("✅ Token match"), 1 + 2 + 3 + 4)
        self.assertEqual(output.count("✅ Logprobs match"), 1 + 2 + 3 + 4)

    def test_radix_cache(self):
        """Its random IDs go up to 50,000, beyond SmolLM2's vocabulary."""
        output = self.run_script("radix_cache", model="synthetic:qwen3-0.6b")
        self.assertIn("TEST PASSED", output)


class OpenAiClient(ServeCase):
    def setUp(self):
        super().setUp()
        import openai

        self.server = self.serve("--model", MODEL, "--served-model-name", "smollm2")
        self.addCleanup(self.server.stop)
        self.client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0)
        self.openai = openai
        self.asked = {"model": "smollm2", "prompt": "The capital of France is", "max_tokens": 16, "temperature": 0, "seed": 1}

    def test_completes_and_streams(self):
        whole = self.client.completions.create(**self.asked, logprobs=2)
        choice = whole.choices[0]
        self.assertEqual(whole.usage.completion_tokens, len(choice.logprobs.token_logprobs))
        self.assertEqual("".join(choice.logprobs.tokens), choice.text)
        stream = list(self.client.completions.create(**self.asked, stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(chunk.choices[0].text for chunk in stream[:-1]), choice.text)
        self.assertEqual(stream[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(stream[-2].choices[0].finish_reason, choice.finish_reason)

    def test_lists_models_and_raises_errors(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["smollm2"])
        with self.assertRaises(self.openai.NotFoundError):
            self.client.completions.create(**{**self.asked, "model": "other"})
        with self.assertRaisesRegex(self.openai.BadRequestError, "echo"):
            self.client.completions.create(**self.asked, echo=True)

    def test_a_stream_that_is_closed_is_cancelled(self):
        stream = self.client.completions.create(**{**self.asked, "max_tokens": 4000}, stream=True,
                                                extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()
        self.server.wait_for_load({"num_running_reqs": 0}, seconds=10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
