"""vLLM's HTTP interface over the mock engine, as its completion protocol and metrics have it. Quirks:

  no_details     no cached tokens in the usage (without --enable-prompt-tokens-details)
  null_when_none cached tokens are null where there are none (older releases)
  no_hits        /metrics does not count what is found in the prefix cache
  no_salt        cache_salt is not known, and passed over
  no_token_ids   return_token_ids is not known (older releases)
  strings        return_tokens_as_token_ids is not known: logprobs are keyed by text
  no_metrics     no /metrics (--disable-log-stats)
  no_reset       no /reset_prefix_cache (without VLLM_SERVER_DEV_MODE)
  lying_reset    /reset_prefix_cache says 200 and resets nothing
  dev_mode       /server_info is there, with VLLM_BATCH_INVARIANT as given
  api_key        the key that /v1 needs
  error_after    after so many tokens an error comes in the stream, with status 200
  reject         status and message of every completion
  flat_errors    errors in the older, flat shape
  fingerprints   after so many requests the system fingerprint is another one
  extra_tokens   tokens that the counters of /metrics have beside ours, for each request
  no_running     the gauge of running requests is looked at too late: it is always 0
  no_histogram   no histogram of the tokens of engine steps
  speculates     engine steps give several tokens of a request (speculative decoding)
  preempted      preemptions that each request counts
  no_tokenizer   neither /tokenize nor /detokenize
  cleans_up      /detokenize drops blanks before punctuation (clean_up_tokenization_spaces)
  two_per_event  two tokens in an event (stream_interval)
  loses_token    that token of each stream does not come
  slow_metrics   seconds that /metrics takes
  dies_after     after so many requests it ends, before the last stream's [DONE]
"""

import time

import mock_tokenizer
from mock_engine import text_of
from mock_http import Mock


class VllmMock(Mock):
    def answer(self, handler, method, path):
        if self.quirk("api_key") and path.startswith("/v1"):
            if handler.headers.get("Authorization") != f"Bearer {self.quirk('api_key')}":
                return handler.send_json({"error": "Unauthorized"}, 401)
        routes = {"/version": lambda h: h.send_json({"version": "0.27.0"}), "/v1/models": self.models,
                  "/metrics": self.metrics, "/v1/completions": self.completions,
                  "/reset_prefix_cache": self.reset, "/server_info": self.server_info,
                  "/tokenize": self.tokenize, "/detokenize": self.detokenize}
        if self.quirk("no_tokenizer"):
            del routes["/tokenize"], routes["/detokenize"]
        if self.quirk("no_metrics"):
            del routes["/metrics"]
        if self.quirk("no_reset"):
            del routes["/reset_prefix_cache"]
        if self.quirk("dev_mode") is None:
            del routes["/server_info"]
        return routes.get(path, lambda h: h.not_found())(handler)

    def models(self, handler):
        handler.send_json({"object": "list", "data": [
            {"id": "tiny", "object": "model", "created": 1, "owned_by": "vllm", "root": "org/tiny-llama", "parent": None,
             "max_model_len": 8192}]})

    def server_info(self, handler):
        # A few of the fields that release 0.32.0 gives.
        config = {"model_config": {"model": "/home/alice-wonder/tiny-llama", "dtype": "torch.bfloat16", "enforce_eager": True},
                  "cache_config": {"block_size": 16, "enable_prefix_caching": True},
                  "parallel_config": {"tensor_parallel_size": 1, "pipeline_parallel_size": 1},
                  "scheduler_config": {"max_num_batched_tokens": 256, "max_num_seqs": 48, "enable_chunked_prefill": True}}
        handler.send_json({"vllm_config": config, "vllm_env": {"VLLM_BATCH_INVARIANT": self.quirk("dev_mode")}, "system_env": {}})

    def metrics(self, handler):
        time.sleep(self.quirk("slow_metrics") or 0)
        running, waiting = self.engine.load()
        engine = self.engine
        others = len(self.bodies) * (self.quirk("extra_tokens") or 0)
        label = '{engine="0",model_name="tiny"}'
        if self.quirk("no_running"):
            running = 0
        page = "\n".join([
            "# HELP vllm:num_requests_running Number of requests in model execution batches.",
            "# TYPE vllm:num_requests_running gauge",
            f"vllm:num_requests_running{label} {float(running)}",
            f"vllm:num_requests_waiting{label} {float(waiting)}",
            f"vllm:generation_tokens_total{label} {float(engine.generated + others)}",
            f"vllm:num_preemptions_total{label} {float(len(self.bodies) * (self.quirk('preempted') or 0))}",
            *self.step_tokens(),
            *self.cache_tokens(),
            # As release 0.32.0 has it: names that end in other names.
            'vllm:cache_config_info{_block_size_resolved="True",block_size="16",cache_dtype="auto",'
            f'effective_attention_block_size="128",enable_prefix_caching="{engine.cache}",engine="0",'
            'kv_cache_size_tokens="65536",num_cpu_blocks="None",num_gpu_blocks="4096",num_gpu_blocks_override="None"} 1.0',
            "process_start_time_seconds 1.7e+09", ""])
        handler.send(200, page, "text/plain; version=0.0.4")

    def tokenize(self, handler):
        body = handler.json_body()
        ids = mock_tokenizer.encode(body["prompt"], body.get("add_special_tokens", True))
        handler.send_json({"count": len(ids), "max_model_len": 8192, "tokens": ids, "token_strs": None})

    def detokenize(self, handler):
        text = mock_tokenizer.decode(handler.json_body()["tokens"], clean_up=self.quirk("cleans_up"))
        handler.send_json({"prompt": text})

    def step_tokens(self):
        """Lines of the histogram of the tokens of engine steps, whose buckets do not matter here."""
        steps, speculates = self.engine.token_steps, bool(self.quirk("speculates"))
        label = 'engine="0",model_name="tiny"'
        if self.quirk("no_histogram"):
            return []
        return [f'vllm:iteration_tokens_total_bucket{{engine="0",le="+Inf",model_name="tiny"}} {float(steps)}',
                f"vllm:iteration_tokens_total_count{{{label}}} {float(steps // 2 if speculates else steps)}",
                f"vllm:iteration_tokens_total_sum{{{label}}} {float(self.engine.step_tokens)}",
                f"vllm:iteration_tokens_total_created{{{label}}} 1.7e+09",
                f"vllm:spec_decode_num_drafts_total{{{label}}} {float(steps if speculates else 0)}"]

    def cache_tokens(self):
        label = '{engine="0",model_name="tiny"}'
        if self.quirk("no_hits"):
            return []
        return [f"vllm:prefix_cache_queries_total{label} {float(self.engine.cache_queries)}",
                f"vllm:prefix_cache_hits_total{label} {float(self.engine.cache_hits)}"]

    def reset(self, handler):
        if not self.quirk("lying_reset"):
            self.engine.flush()
        handler.send(200, "")

    def fail(self, handler, status, message):
        error = {"message": message, "type": "BadRequestError", "param": None, "code": status}
        handler.send_json({"object": "error", **error} if self.quirk("flat_errors") else {"error": error}, status)

    def completions(self, handler):
        body = handler.json_body()
        with self.lock:
            self.bodies.append(body)
        if self.quirk("reject"):
            return self.fail(handler, *self.quirk("reject"))
        if body["model"] != "tiny":
            return self.fail(handler, 404, f"The model `{body['model']}` does not exist.")
        if body.get("stream") and body.get("prompt_logprobs") is not None:
            return self.fail(handler, 400, "`prompt_logprobs` are not available when `stream=True`.")
        ids = body["prompt"]
        salt = "" if self.quirk("no_salt") else body.get("cache_salt", "")
        # Prompt logprobs keep the prefix cache from being read.
        sequence = self.engine.submit(ids, body["max_tokens"], body["temperature"], body.get("seed") or 0, salt,
                                      body.get("prompt_logprobs") is None)
        if body.get("stream"):
            return self.stream(handler, body, sequence)
        outputs = list(self.tokens(handler, sequence))
        choice = self.choice(body, outputs, True)
        scores = self.engine.score(ids)
        choice["prompt_logprobs"] = [None] + [
            {str(token): {"logprob": logprob, "rank": 1, "decoded_token": "x"}
             for token, logprob in [*best[: body["prompt_logprobs"]], (ids[i + 1], chosen)]}
            for i, (chosen, best) in enumerate(scores)]
        handler.send_json({**self.head(), "choices": [choice], "usage": self.usage(sequence, len(outputs))})

    def head(self):
        after = self.quirk("fingerprints")
        moved = after is not None and len(self.bodies) > after
        return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "tiny",
                "system_fingerprint": "vllm-0.27.0-deadbeef" if moved else "vllm-0.27.0-0badcafe"}

    def usage(self, sequence, total):
        hidden = self.quirk("no_details") or (self.quirk("null_when_none") and not sequence.cached)
        details = None if hidden else {"cached_tokens": sequence.cached}
        return {"prompt_tokens": len(sequence.ids), "completion_tokens": total, "total_tokens": len(sequence.ids) + total,
                "prompt_tokens_details": details}

    def key(self, token):
        return text_of([token]) if self.quirk("strings") else f"token_id:{token}"

    def choice(self, body, outputs, ended):
        tokens = [token for token, _, _ in outputs]
        choice = {"index": 0, "text": text_of(tokens), "logprobs": None, "finish_reason": "length" if ended else None,
                  "stop_reason": None}
        if not self.quirk("no_token_ids") and body.get("return_token_ids"):
            choice["token_ids"] = tokens
        if body.get("logprobs") is not None:
            # The chosen token is added where it is none of the best.
            tops = [{**{self.key(t): l for t, l in best[: body["logprobs"]]}, self.key(token): logprob}
                    for token, logprob, best in outputs]
            choice["logprobs"] = {"tokens": [self.key(token) for token in tokens], "text_offset": [0] * len(tokens),
                                  "token_logprobs": [logprob for _, logprob, _ in outputs], "top_logprobs": tops}
        return choice

    def stream(self, handler, body, sequence):
        handler.begin_stream()
        total = 0
        pending = []
        for output in self.tokens(handler, sequence):
            total += 1
            if total == self.quirk("error_after"):
                handler.send_event({"error": {"message": "EngineCore died", "type": "InternalServerError", "code": 500}})
                break
            if total != self.quirk("loses_token"):
                pending.append(output)
            ended = total == sequence.max_new_tokens
            if self.quirk("two_per_event") and len(pending) == 1 and not ended:
                continue
            handler.send_event({**self.head(), "choices": [self.choice(body, pending, ended)]})
            pending = []
        if body.get("stream_options", {}).get("include_usage"):
            handler.send_event({**self.head(), "choices": [], "usage": self.usage(sequence, total)})
        if self.quirk("dies_after") == len(self.bodies):
            self.stop()
        handler.send_event(b"[DONE]")
        handler.end_stream()
