"""SGLang's HTTP interface over the mock engine, as its http_server.py and io_struct.py have it. Quirks:

  old_names      /get_server_info, /get_model_info, /get_load and /tokenize instead of the names of today
  incremental    streams of what is new (--incremental-streaming-output) instead of all so far
  no_output_ids  IDs come with the logprobs only (before 0.4)
  no_salt        cache_salt and extra_key are not known, and passed over
  no_tokenizer   no end points that tokenize (older releases)
  no_load        neither /v1/loads nor /get_load
  adds_token     the server puts a token of its own before the prompt
  ignores_ids    the prompt is not looked at
  flush_busy     so many flushes are refused with 400 before one is accepted
  flush_refused  every flush is
  admin_key      flushes need a key that nobody has: 401
  api_key        the key that requests need
  weights_after  after so many requests the server calls its weights otherwise
  error_after    after so many tokens an error comes in the stream, with status 200
  abort_after    after so many tokens the request is aborted by the server
  no_finish      the stream ends without a finish reason
  whole          the answer comes whole, though a stream was asked for (a proxy that buffers)
  busy           the numbers of the first and the last generation that are refused with 503
  stall_after    after so many tokens nothing more comes
  not_json       after so many tokens an event that is no JSON comes
  not_utf8       the text is not UTF-8
  reject         status, body of every generation
  retractions    how often each request says that it was retracted
  claimed_running  most running requests, as /server_info has it
  deterministic  enable_deterministic_inference, as /server_info has it
"""

import json
import time

import mock_tokenizer
from mock_engine import text_of
from mock_http import Mock


class SglangMock(Mock):
    def answer(self, handler, method, path):
        if self.quirk("api_key") and not path.startswith("/health"):
            if handler.headers.get("Authorization") != f"Bearer {self.quirk('api_key')}":
                return handler.send_json({"error": "Unauthorized"}, 401)
        old = self.quirk("old_names")
        routes = {
            "/get_server_info" if old else "/server_info": self.server_info,
            "/get_model_info" if old else "/model_info": self.model_info,
            "/get_load" if old else "/v1/loads": self.loads,
            "/v1/models": self.models,
            "/flush_cache": self.flush,
            "/generate": self.generate,
            "/tokenize" if old else "/v1/tokenize": self.tokenize,
            "/detokenize" if old else "/v1/detokenize": self.detokenize,
            "/health": lambda h: h.send(200, ""),
        }
        if self.quirk("no_tokenizer"):
            del routes["/v1/tokenize"], routes["/v1/detokenize"]
        if self.quirk("no_load"):
            routes.pop("/v1/loads", None)
            routes.pop("/get_load", None)
        return routes.get(path, lambda h: h.not_found())(handler)

    def server_info(self, handler):
        engine = self.engine
        handler.send_json({
            "model_path": "/home/alice-wonder/models/tiny-llama", "tokenizer_path": "/home/alice-wonder/models/tiny-llama",
            "served_model_name": "tiny-llama", "revision": None, "load_format": "auto", "dtype": "bfloat16",
            "quantization": None, "kv_cache_dtype": "auto", "host": "internal.example", "port": 30000,
            "api_key": self.quirk("api_key") or "sk-mock-secret", "admin_api_key": "sk-mock-admin",
            "ssl_keyfile": "/home/alice-wonder/key.pem", "attention_backend": "fa3", "sampling_backend": "pytorch",
            "enable_deterministic_inference": self.quirks.get("deterministic", True), "random_seed": 42,
            "disable_radix_cache": not engine.cache, "page_size": engine.page_size, "chunked_prefill_size": 8192,
            "max_prefill_tokens": 16384, "disable_cuda_graph": False, "cuda_graph_max_bs": 32, "tp_size": 1, "dp_size": 1,
            "pp_size": 1, "ep_size": 1, "max_running_requests": self.quirks.get("claimed_running", engine.max_running), "schedule_policy": "fcfs",
            "speculative_algorithm": None, "max_total_num_tokens": 65536, "max_req_input_len": 4090,
            "internal_states": [{"last_gen_throughput": 1.0}], "version": "0.5.6"})

    def model_info(self, handler):
        handler.send_json({"model_path": "/home/alice-wonder/models/tiny-llama", "is_generation": True,
                           "preferred_sampling_params": None, "weight_version": self.weight_version(),
                           "model_type": "llama", "architectures": ["LlamaForCausalLM"]})

    def tokenize(self, handler):
        body = handler.json_body()
        ids = mock_tokenizer.encode(body["prompt"], body.get("add_special_tokens", True))
        handler.send_json({"tokens": ids, "count": len(ids), "max_model_len": 8192})

    def detokenize(self, handler):
        body = handler.json_body()
        handler.send_json({"text": mock_tokenizer.decode(body["tokens"], body.get("skip_special_tokens", True))})

    def models(self, handler):
        handler.send_json({"object": "list", "data": [{"id": "tiny-llama", "object": "model", "owned_by": "sglang",
                                                       "root": "tiny-llama", "max_model_len": 8192}]})

    def loads(self, handler):
        running, waiting = self.engine.load()
        if self.quirk("old_names"):
            return handler.send_json([{"dp_rank": 0, "num_reqs": running + waiting, "num_waiting_reqs": waiting,
                                       "num_tokens": 0}])
        handler.send_json({"timestamp": "2026-08-01T00:00:00Z", "version": "0.5.6", "accelerator": "NVIDIA H200",
                           "num_accelerators": 1,
                           "loads": [{"dp_rank": 0, "num_running_reqs": running, "num_waiting_reqs": waiting}]})

    def flush(self, handler):
        if self.quirk("admin_key"):
            return handler.send_json({"error": "Unauthorized"}, 401)
        busy = self.quirk("flush_busy") or 0
        if self.quirk("flush_refused") or busy > 0 or not self.engine.flush():
            if busy > 0:
                self.quirks["flush_busy"] = busy - 1
            return handler.send(400, "Timed out waiting for idle state.", "text/plain")
        handler.send(200, "Cache flushed.\nPlease check backend logs for more details.\n", "text/plain")

    def weight_version(self):
        after = self.quirk("weights_after")
        return "default" if after is None or len(self.bodies) <= after else "step-200"

    def generate(self, handler):
        body = handler.json_body()
        with self.lock:
            self.bodies.append(body)
        if self.quirk("reject"):
            status, said = self.quirk("reject")
            return handler.send_json(said, status)
        first, last = self.quirk("busy") or (0, 0)
        if first <= len(self.bodies) <= last:
            return handler.send_json({"error": {"message": "overloaded"}}, 503)
        params = body["sampling_params"]
        ids = body["input_ids"]
        if self.quirk("adds_token"):
            ids = [1] + ids
        if self.quirk("ignores_ids"):
            ids = [7] * len(ids)
        # A request for logprobs of the prompt does not read the cache.
        read_cache = body.get("logprob_start_len", -1) < 0
        salt = "" if self.quirk("no_salt") else body.get("cache_salt", "")
        sequence = self.engine.submit(ids, params["max_new_tokens"], params["temperature"],
                                      params.get("sampling_seed", 42), salt, read_cache)
        if body["stream"] and not self.quirk("whole"):
            self.stream(handler, body, sequence, ids)
        else:
            outputs = list(self.tokens(handler, sequence))
            answer = self.event(body, sequence, ids, outputs, len(outputs), True)
            if not read_cache:
                scores = self.engine.score(ids)
                answer["meta_info"]["input_token_logprobs"] = [[None, ids[0], None]] + [
                    [logprob, token, None] for (logprob, _), token in zip(scores, ids[1:])]
                answer["meta_info"]["input_top_logprobs"] = [None] + [
                    [[logprob, token, None] for token, logprob in best[: body["top_logprobs_num"]]] for _, best in scores]
            handler.send_json(answer)

    def stream(self, handler, body, sequence, ids):
        handler.begin_stream()
        outputs = []
        for output in self.tokens(handler, sequence):
            outputs.append(output)
            if len(outputs) == self.quirk("error_after"):
                handler.send_event({"error": {"message": "out of memory while decoding"}})
                break
            if len(outputs) == self.quirk("stall_after"):
                time.sleep(6)
            if len(outputs) == self.quirk("not_json"):
                handler.send_event(b'{"text": "ab", "output_ids": [')
            ended = len(outputs) == sequence.max_new_tokens and not self.quirk("no_finish")
            told = [output] if self.quirk("incremental") else outputs
            event = self.event(body, sequence, ids, told, len(outputs), ended)
            if len(outputs) == self.quirk("abort_after"):
                event["meta_info"]["finish_reason"] = {"type": "abort", "message": "Aborted by an operator"}
                handler.send_event(event)
                break
            data = json.dumps(event).encode()
            handler.send_event(data.replace(b'"text": "', b'"text": "\xff') if self.quirk("not_utf8") else data)
        handler.send_event(b"[DONE]")
        handler.end_stream()

    def event(self, body, sequence, ids, outputs, total, ended):
        tokens = [token for token, _, _ in outputs]
        length = sequence.max_new_tokens
        meta = {"id": "0", "finish_reason": {"type": "length", "length": length} if ended else None,
                "prompt_tokens": len(ids), "completion_tokens": total, "cached_tokens": sequence.cached,
                "weight_version": self.weight_version(), "e2e_latency": 0.1}
        if self.quirk("retractions"):
            meta["num_retractions"] = self.quirk("retractions")
        if body["return_logprob"]:
            meta["output_token_logprobs"] = [[logprob, token, None] for token, logprob, _ in outputs]
            meta["output_token_logprobs_length"] = len(outputs)
            if body["top_logprobs_num"]:
                meta["output_top_logprobs"] = [[[logprob, token, None] for token, logprob in best[: body["top_logprobs_num"]]]
                                               for _, _, best in outputs]
        event = {"text": text_of(tokens), "output_ids": tokens, "meta_info": meta}
        if self.quirk("no_output_ids"):
            del event["output_ids"]
        return json.loads(json.dumps(event))
