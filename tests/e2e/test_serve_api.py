"""detcheck serve: what each end point takes and gives."""

import base64
import json
import struct
import time
import unittest

from serve_case import IDS, ServeCase


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


class Generate(ServeCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.addCleanup(self.server.stop)

    def test_answers_are_those_of_the_engine_run_directly(self):
        """Equal token IDs and logprob bits: one plan on the engine, and its requests over HTTP."""
        run = self.detcheck("batch", "--engine", "cpu", "--enable-deterministic-inference", "--profile", "quick",
                            "--fixture", "q13", "--batch-sizes", "1,8", "--max-new-tokens", "24", "--report", "r.json")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        num_compared = 0
        for item, sample in items_and_samples(self.report()):
            body = {
                "input_ids": item["ids"],
                "sampling_params": {
                    "temperature": item["temperature"], "top_p": item["top_p"], "top_k": item["top_k"],
                    "min_p": item["min_p"], "sampling_seed": item["seed"], "ignore_eos": True,
                    "max_new_tokens": item["max_new_tokens"],
                },
                "return_logprob": True,
            }
            answer = self.server.post("/generate", **body)
            self.assertEqual(answer["output_ids"], sample["token_ids"])
            logprobs = [bits(entry[0]) for entry in answer["meta_info"]["output_token_logprobs"]]
            if sample["logprob_bits"]:
                self.assertEqual(logprobs, sample["logprob_bits"])
                num_compared += 1
        self.assertGreater(num_compared, 8)

    def test_single_and_batch(self):
        single = self.server.generate()
        self.assertEqual(len(single["output_ids"]), 8)
        meta = single["meta_info"]
        self.assertEqual(meta["finish_reason"], {"type": "length", "length": 8})
        self.assertEqual((meta["prompt_tokens"], meta["completion_tokens"]), (len(IDS), 8))
        batch = self.server.generate([IDS, IDS[:3], IDS], rid="r")
        self.assertEqual([one["meta_info"]["id"] for one in batch], ["r_0", "r_1", "r_2"])
        self.assertEqual(batch[0]["output_ids"], single["output_ids"])
        self.assertEqual(batch[2]["text"], single["text"])
        self.assertEqual(self.server.generate([IDS])[0]["output_ids"], single["output_ids"])

    def test_sampling_parameters_for_each_prompt(self):
        values = [{"temperature": 0, "max_new_tokens": 3}, {"temperature": 1, "max_new_tokens": 5, "sampling_seed": 7}]
        one, two = self.server.post("/generate", input_ids=[IDS, IDS], sampling_params=values)
        self.assertEqual((len(one["output_ids"]), len(two["output_ids"])), (3, 5))
        again = self.server.post("/generate", input_ids=IDS, sampling_params=values[1])
        self.assertEqual(again["output_ids"], two["output_ids"])
        self.assert_error(self.server.call("POST", "/generate", {"input_ids": [IDS, IDS], "sampling_params": values[:1]}),
                          400, "1 entries for 2 prompts")

    def test_text_of_the_table_is_encoded_exactly(self):
        text = self.server.post("/detokenize", tokens=IDS)["prompt"]
        self.assertEqual(self.server.post("/v1/detokenize", tokens=IDS)["text"], text)
        for path in ("/tokenize", "/v1/tokenize"):
            self.assertEqual(self.server.post(path, prompt=text)["tokens"], IDS)
        self.assertEqual(self.server.generate(text=text)["output_ids"], self.server.generate()["output_ids"])
        self.assert_error(self.server.call("POST", "/generate", {"text": "Tell me"}), 400, "synthetic.*give token IDs")

    def test_logprobs_of_output_and_prompt(self):
        answer = self.server.generate(return_logprob=True, logprob_start_len=0, top_logprobs_num=2,
                                      return_text_in_logprobs=True)
        meta = answer["meta_info"]
        self.assertEqual([entry[1] for entry in meta["input_token_logprobs"]], IDS)
        self.assertIsNone(meta["input_token_logprobs"][0][0])
        self.assertEqual("".join(entry[2] for entry in meta["output_token_logprobs"]), answer["text"])
        self.assertEqual([len(top) for top in meta["output_top_logprobs"]], [2] * 8)
        self.assertEqual(meta["output_top_logprobs"][0][0][:2], meta["output_token_logprobs"][0][:2])
        # Decoded tokens have the logprobs that prefill gives them.
        again = self.server.generate(IDS + answer["output_ids"], tokens=1, return_logprob=True, logprob_start_len=0)
        self.assertEqual([entry[:2] for entry in again["meta_info"]["input_token_logprobs"][len(IDS) :]],
                         [entry[:2] for entry in meta["output_token_logprobs"]])
        late = self.server.generate(return_logprob=True, logprob_start_len=3)
        self.assertEqual([entry[1] for entry in late["meta_info"]["input_token_logprobs"]], IDS[3:])
        none = self.server.generate(return_logprob=True)
        self.assertEqual(none["meta_info"]["input_token_logprobs"], [])

    def test_prefix_cache_and_flush(self):
        prompt = [7 + i for i in range(40)]
        cached = lambda **body: self.server.generate(prompt, tokens=2, **body)["meta_info"]["cached_tokens"]
        self.assertEqual(cached(), 0)
        self.assertEqual(cached(), 32)
        self.assertEqual([cached(cache_salt=salt) for salt in "xxyx"], [0, 32, 0, 32])
        self.assertEqual([cached(extra_key=key) for key in "ab"], [0, 0])
        self.assertEqual(cached(return_logprob=True, logprob_start_len=0), 0)
        self.assertEqual(self.server.call("POST", "/flush_cache")[0], 200)
        self.assertEqual(cached(), 0)
        self.assertEqual(self.server.call("GET", "/flush_cache?timeout=x")[0], 400)

    def test_stream_is_cumulative_and_ends_with_done(self):
        whole = self.server.generate(tokens=40, return_logprob=True)
        body = {"input_ids": IDS, "sampling_params": {"temperature": 0, "max_new_tokens": 40}, "stream": True,
                "return_logprob": True}
        *events, done = self.server.events("/generate", body)
        self.assertEqual(done, "[DONE]")
        answers = [json.loads(event) for event in events]
        for before, after in zip(answers, answers[1:]):
            self.assertIsNone(before["meta_info"]["finish_reason"])
            self.assertEqual(after["output_ids"][: len(before["output_ids"])], before["output_ids"])
            self.assertTrue(after["text"].startswith(before["text"]))
        last = answers[-1]
        self.assertEqual(last["output_ids"], whole["output_ids"])
        self.assertEqual(last["meta_info"]["output_token_logprobs"], whole["meta_info"]["output_token_logprobs"])

    def test_batch_stream_has_the_index(self):
        body = {"input_ids": [IDS, IDS[:2]], "sampling_params": {"temperature": 0, "max_new_tokens": 6}, "stream": True}
        *events, _ = self.server.events("/generate", body)
        last = {}
        for event in map(json.loads, events):
            last[event["index"]] = event
        self.assertEqual([len(last[i]["output_ids"]) for i in (0, 1)], [6, 6])

    def test_refusals(self):
        def refused(pattern, status=400, method="POST", path="/generate", **body):
            with self.subTest(pattern):
                self.assert_error(self.server.call(method, path, body), status, pattern)

        greedy = {"temperature": 0}
        refused(r"input_ids\[1\] is 32000, outside the vocabulary of 32000", input_ids=[1, 32000])
        refused(r"input_ids\[0\]\[0\] is -1, outside", input_ids=[[-1]])
        refused(r"input_ids\[0\] is not a token ID", input_ids=["a"])
        refused("not a list with IDs", input_ids=[])
        refused("exactly one", input_ids=IDS, text=" ba")
        refused("exactly one")
        refused("exceed the context of 16384", input_ids=IDS, sampling_params={"max_new_tokens": 16384})
        refused("temperature is not a number of at least 0", input_ids=IDS, sampling_params={"temperature": -1})
        refused("top_p is not above 0", input_ids=IDS, sampling_params={"top_p": 0})
        refused("sampling_params.max_new_tokens", input_ids=IDS, sampling_params={"max_new_tokens": 0.5})
        refused("sampling_params.bogus: unknown", input_ids=IDS, sampling_params={"bogus": 1})
        refused("sampling_params.n: ", input_ids=IDS, sampling_params={"n": 2})
        refused("frequency_penalty: ", input_ids=IDS, sampling_params={**greedy, "frequency_penalty": 0.5})
        refused("stop: ", input_ids=IDS, sampling_params={**greedy, "stop": ["x"]})
        refused("lora_path: ", input_ids=IDS, lora_path="x")
        refused("beyond the prompt", input_ids=IDS, return_logprob=True, logprob_start_len=6)
        # Before the prompts are looked at.
        refused("more than 4096 prompts", input_ids=[[1]] * 4096 + [[-1]])
        refused("more than 4096 prompts", text=["Tell me"] * 4097)
        deep = b'{"input_ids": [1], "sampling_params": ' + b"[" * 200000 + b"]" * 200000 + b"}"
        self.assert_error(self.server.call("POST", "/generate", deep), 400, "more than 64 levels")
        self.assert_error(self.server.call("POST", "/generate", b"{"), 400, "not JSON")
        self.assert_error(self.server.call("POST", "/generate", b"[1]"), 400, "not a JSON object")
        self.assert_error(self.server.call("POST", "/generate", b'{"text": "\xff"}'), 400, "not JSON")
        refused("no such end point", status=404, path="/v2/x")
        refused("not a method of", status=405, method="DELETE")
        self.assertEqual(len(self.server.generate()["output_ids"]), 8)  # It still answers.


class Completions(ServeCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--served-model-name", "m")
        self.addCleanup(self.server.stop)

    def complete(self, prompt, **body):
        return self.server.post("/v1/completions", **{"prompt": prompt, "max_tokens": 6, "temperature": 0,
                                                      "ignore_eos": True, "return_token_ids": True, **body})

    def test_prompts_of_every_form(self):
        text = self.server.post("/detokenize", tokens=IDS)["prompt"]
        expected = self.server.generate(tokens=6)
        for prompt in (IDS, [IDS], text, [text]):
            answer = self.complete(prompt, model="m")
            choice = answer["choices"][0]
            self.assertEqual(choice["token_ids"], expected["output_ids"])
            self.assertEqual(choice["prompt_token_ids"], IDS)
            self.assertEqual(choice["text"], expected["text"])
            self.assertEqual(choice["finish_reason"], "length")
            self.assertEqual((answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]), (5, 6))
        two = self.complete([IDS, IDS[:2]])
        self.assertEqual([choice["index"] for choice in two["choices"]], [0, 1])
        self.assertEqual(two["choices"][0]["token_ids"], expected["output_ids"])

    def test_logprobs(self):
        expected = self.server.generate(tokens=6, return_logprob=True, top_logprobs_num=1, logprob_start_len=0)
        choice = self.complete(IDS, logprobs=1, return_tokens_as_token_ids=True, prompt_logprobs=0)["choices"][0]
        output = expected["meta_info"]["output_token_logprobs"]
        self.assertEqual(choice["logprobs"]["token_logprobs"], [entry[0] for entry in output])
        self.assertEqual(choice["logprobs"]["tokens"], [f"token_id:{entry[1]}" for entry in output])
        self.assertIn(f"token_id:{output[0][1]}", choice["logprobs"]["top_logprobs"][0])
        prompt = expected["meta_info"]["input_token_logprobs"]
        self.assertIsNone(choice["prompt_logprobs"][0])
        self.assertEqual([one[str(i)]["logprob"] for one, i in zip(choice["prompt_logprobs"][1:], IDS[1:])],
                         [entry[0] for entry in prompt[1:]])
        texts = self.complete(IDS, logprobs=0)["choices"][0]
        self.assertEqual("".join(texts["logprobs"]["tokens"]), texts["text"])

    def test_stream_tells_what_is_new(self):
        whole = self.complete(IDS, max_tokens=40, logprobs=1)
        body = {"prompt": IDS, "max_tokens": 40, "temperature": 0, "ignore_eos": True, "stream": True, "logprobs": 1,
                "return_token_ids": True, "stream_options": {"include_usage": True}}
        *events, usage, done = self.server.events("/v1/completions", body)
        self.assertEqual(done, "[DONE]")
        choices = [json.loads(event)["choices"][0] for event in events]
        self.assertEqual(sum((choice["token_ids"] for choice in choices), []), whole["choices"][0]["token_ids"])
        self.assertEqual("".join(choice["text"] for choice in choices), whole["choices"][0]["text"])
        self.assertEqual(sum((choice["logprobs"]["token_logprobs"] for choice in choices), []),
                         whole["choices"][0]["logprobs"]["token_logprobs"])
        self.assertEqual(["prompt_token_ids" in choice for choice in choices], [True] + [False] * (len(choices) - 1))
        self.assertEqual([choice["finish_reason"] for choice in choices], [None] * (len(choices) - 1) + ["length"])
        self.assertEqual(json.loads(usage)["usage"]["completion_tokens"], 40)

    def test_seeds_repeat_and_differ(self):
        sampled = lambda seed: self.complete(IDS, temperature=1, seed=seed)["choices"][0]["token_ids"]
        self.assertEqual(sampled(1), sampled(1))
        self.assertNotEqual(sampled(1), sampled(2))

    def test_refusals(self):
        def refused(pattern, status=400, **body):
            with self.subTest(pattern):
                self.assert_error(self.server.call("POST", "/v1/completions", body), status, pattern)

        refused("`other` does not exist", status=404, prompt=IDS, model="other")
        refused("prompt is missing")
        refused(r"prompt\[1\]\[0\] is 40000, outside", prompt=[[1], [40000]])
        refused("prompt is empty", prompt=[])
        refused("echo", prompt=IDS, echo=True)
        refused("n: ", prompt=IDS, n=2)
        refused("logprobs is not a whole number from 0 to 100", prompt=IDS, logprobs=101)
        refused("max_tokens", prompt=IDS, max_tokens=0)
        refused("prompt_logprobs: not in a stream", prompt=IDS, prompt_logprobs=1, stream=True)


class Status(ServeCase):
    def test_vllms_interface_tells_the_sizes_that_plans_are_made_of(self):
        # Prompts of more chunks than an answer has tokens do not form a batch.
        server = self.serve("--page-size", "8", "--chunked-prefill-size", "64", "--max-running-requests", "5")
        self.addCleanup(server.stop)
        run = self.detcheck("manifest", "--json", "--endpoint", server.url, "--api", "vllm")
        self.assertEqual(run.returncode, 0, run.stderr)
        told = {field["name"]: field["value"] for field in json.loads(run.stdout)["subject"]}
        self.assertEqual(told["engine.chunked_prefill_size"], "64")
        self.assertEqual(told["engine.max_running_requests"], "5")
        self.assertEqual(told["engine.page_size"], "8")
        self.assertEqual(told["model.dtype"], "bfloat16")
        self.assertEqual(told["parallelism.tp_size"], "1")

    def test_what_the_server_says_of_itself(self):
        server = self.serve("--page-size", "8", "--chunked-prefill-size", "64")
        self.addCleanup(server.stop)
        for path in ("/server_info", "/get_server_info"):
            told = server.get(path)
            self.assertEqual((told["page_size"], told["chunked_prefill_size"]), (8, 64))
            self.assertIs(told["enable_deterministic_inference"], True)
            self.assertIs(told["disable_radix_cache"], False)
            self.assertEqual(told["model_path"], "synthetic:tiny")
            self.assertIn({"name": "engine.mode", "value": "deterministic", "source": "observed"}, told["subject"])
        for path in ("/model_info", "/get_model_info"):
            self.assertEqual(server.get(path)["architectures"], ["LlamaForCausalLM"])
        self.assertEqual(server.get("/v1/models")["data"][0]["max_model_len"], 16384)
        for path in ("/health", "/health_generate"):
            self.assertEqual(server.call("GET", path)[0], 200)
        server.generate([9] * 40, tokens=3)
        server.generate([9] * 40, tokens=3)
        server.wait_for_load({"num_running_reqs": 0, "num_used_tokens": 0})
        metrics = dict(line.rsplit(" ", 1) for line in server.call("GET", "/metrics")[2].splitlines()
                       if not line.startswith("#"))
        value = lambda name, labels="": float(metrics[f'{name}{{{labels}model_name="synthetic:tiny"}}'])
        self.assertEqual(value("sglang:num_running_reqs"), 0)
        self.assertEqual(value("sglang:num_queue_reqs"), 0)
        self.assertEqual(value("sglang:cached_tokens_total"), 32)
        self.assertEqual(value("sglang:prompt_tokens_total"), 81)
        self.assertEqual(value("sglang:generation_tokens_total"), 7)
        of_vllm = lambda name: value(name, 'engine="0",')
        self.assertEqual(of_vllm("vllm:num_requests_running"), 0)
        self.assertEqual(of_vllm("vllm:num_preemptions_total"), 0)
        self.assertEqual(of_vllm("vllm:prefix_cache_queries_total"), 81)
        self.assertEqual(of_vllm("vllm:prefix_cache_hits_total"), 32)
        self.assertEqual(of_vllm("vllm:generation_tokens_total"), 7)
        # A prompt of one token, then 40 tokens twice, of which 32 are cached the second time.
        self.assertEqual(of_vllm("vllm:iteration_tokens_total_count"), 7)
        self.assertEqual(of_vllm("vllm:iteration_tokens_total_sum"), 2 + 40 + 3 + 8 + 3)
        bucket = lambda bound: float(metrics['vllm:iteration_tokens_total_bucket{engine="0",'
                                             f'model_name="synthetic:tiny",le="{bound}"}}'])
        self.assertEqual([bucket(bound) for bound in ("1.0", "8.0", "16.0", "32.0", "64.0", "16384.0", "+Inf")],
                         [4, 5, 6, 6, 7, 7, 7])
        config = next(name for name in metrics if name.startswith("vllm:cache_config_info"))
        for label in ('block_size="8"', 'cache_dtype="bfloat16"', 'enable_prefix_caching="True"', 'num_gpu_blocks="'):
            self.assertIn(label, config)
        self.assertLess(abs(float(metrics["process_start_time_seconds"]) - time.time()), 300)


def items_and_samples(report):
    """Each answered item of a report with literal prompts: its request, and what was answered."""
    plan = report["plan"]
    for record in report["transcript"]["records"]:
        step = plan["steps"][record["step"]]
        for item, answered in zip(step.get("items", []), record["items"]):
            request = plan["requests"][item["request"]]
            sampling = request.get("sampling", {})
            ids = []
            for part in request["prompt"]:
                ids += plan["prompts"][part["prompt"]]["ids"][part.get("begin", 0) : part["end"]]
            chosen = base64.b64decode(report["logprobs"][answered["logprobs"]]["chosen"]) if "logprobs" in answered else b""
            yield (
                {
                    "ids": ids, "max_new_tokens": request["max_new_tokens"],
                    "temperature": sampling.get("temperature", 0), "top_p": sampling.get("top_p", 1),
                    "top_k": sampling.get("top_k", -1), "min_p": sampling.get("min_p", 0),
                    "seed": sampling.get("seed", 42),
                },
                {
                    "token_ids": report["outputs"][answered["output"]]["ids"],
                    "logprob_bits": list(struct.unpack(f"<{len(chosen) // 4}I", chosen)),
                },
            )


if __name__ == "__main__":
    unittest.main()
