"""The HTTP interface of llama.cpp's server over the mock engine, as its server-task.cpp and tests have it. Quirks:

  num_slots      slots; more requests than that are deferred
  no_slots       /slots is off (501)
  metrics        /metrics is there (--metrics)
  slot_save_path slots can be erased; 501 without it
  ram_cache      a prompt that was erased comes back out of memory (--cache-ram)
  pings          comments between the events
  default_temperature  what it runs with instead of what was asked
  truncates      the prompt is cut to the context
  adds_bos       a token more than was sent
  splits         that token of each stream ends inside a character: its text comes with the next one, its ID never
  num_splits     of the streams that are so long
  error_after    after so many tokens an error comes in the stream
  loading        503 for so many generations
"""

import mock_tokenizer
from mock_engine import text_of
from mock_http import Mock


class LlamacppMock(Mock):
    def answer(self, handler, method, path):
        if path.startswith("/slots/"):
            return self.erase(handler)
        routes = {"/props": self.props, "/v1/models": self.models, "/slots": self.slots, "/completion": self.completion,
                  "/tokenize": self.tokenize, "/detokenize": self.detokenize}
        if self.quirk("metrics"):
            routes["/metrics"] = self.metrics
        return routes.get(path, lambda h: self.fail(h, 404, "File Not Found", "not_found_error"))(handler)

    def fail(self, handler, code, message, kind):
        handler.send_json({"error": {"code": code, "message": message, "type": kind}}, code)

    def num_slots(self):
        return self.quirk("num_slots") or 8

    def props(self, handler):
        handler.send_json({"default_generation_settings": {"n_ctx": 8192, "params": {}}, "total_slots": self.num_slots(),
                           "model_path": "/home/alice-wonder/models/tiny-q4.gguf", "chat_template": "", "build_info": "b6000-abc1234"})

    def models(self, handler):
        handler.send_json({"object": "list", "data": [{"id": "/home/alice-wonder/models/tiny-q4.gguf", "object": "model",
                                                       "owned_by": "llamacpp", "meta": {"n_vocab": 32000, "n_params": 1}}]})

    def tokenize(self, handler):
        body = handler.json_body()
        handler.send_json({"tokens": mock_tokenizer.encode(body["content"], body.get("add_special", False))})

    def detokenize(self, handler):
        handler.send_json({"content": mock_tokenizer.decode(handler.json_body()["tokens"])})

    def slots(self, handler):
        if self.quirk("no_slots"):
            return self.fail(handler, 501, "This server does not support slots endpoint.", "not_supported_error")
        decoded = self.engine.num_outputs()
        idle = self.num_slots() - len(decoded)
        handler.send_json([{"id": i, "n_ctx": 8192, "speculative": False, "is_processing": count is not None,
                            "next_token": [{"has_next_token": True, "n_remain": 1, "n_decoded": count or 0}]}
                           for i, count in enumerate(decoded + [None] * idle)])

    def metrics(self, handler):
        running, waiting = self.engine.load()
        handler.send(200, f"# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing {running}\n"
                          f"llamacpp:requests_deferred {waiting}\n", "text/plain; version=0.0.4")

    def erase(self, handler):
        if not self.quirk("slot_save_path"):
            return self.fail(handler, 501, "This server does not support slots action. Start it with `--slot-save-path`",
                             "not_supported_error")
        if not self.quirk("ram_cache"):
            self.engine.flush()
        handler.send_json({"id_slot": 0, "n_erased": 10})

    def completion(self, handler):
        body = handler.json_body()
        with self.lock:
            self.bodies.append(body)
        loading = self.quirk("loading") or 0
        if loading > 0:
            self.quirks["loading"] = loading - 1
            return self.fail(handler, 503, "Loading model", "unavailable_error")
        ids = body["prompt"] + ([1] if self.quirk("adds_bos") else [])
        greedy = body["temperature"] == 0 or body["top_k"] == 1
        sequence = self.engine.submit(ids, body["n_predict"], 0.0 if greedy else body["temperature"], body["seed"], "",
                                      body["cache_prompt"])
        handler.begin_stream()
        outputs = []
        held = ""
        for output in self.tokens(handler, sequence):
            outputs.append(output)
            if self.quirk("pings"):
                handler.send_piece(b":\n\n")
            if len(outputs) == self.quirk("error_after"):
                handler.send_event({"error": {"code": 500, "message": "Compute error.", "type": "server_error"}})
                return handler.end_stream()
            event = self.event(body, output)
            if self.holds_back(len(outputs)):
                held = event["content"]
                continue
            handler.send_event({**event, "content": held + event["content"]})
            held = ""
        handler.send_event(self.end(body, sequence, len(outputs)))
        handler.end_stream()

    def holds_back(self, num_tokens):
        if num_tokens != self.quirk("splits"):
            return False
        with self.lock:
            left = self.quirk("num_splits")
            if left is not None:
                self.quirks["num_splits"] = max(0, left - 1)
            return left != 0

    def event(self, body, output):
        token, logprob, best = output
        event = {"index": 0, "content": text_of([token]), "tokens": [token], "stop": False, "id_slot": 0,
                 "tokens_predicted": 1, "tokens_evaluated": 0}
        if body["n_probs"]:
            entry = lambda t, l: {"id": t, "token": text_of([t]), "bytes": list(text_of([t]).encode()), "logprob": l}
            event["completion_probabilities"] = [
                {**entry(token, logprob), "top_logprobs": [entry(t, l) for t, l in best[: body["n_probs"]]]}]
        return event

    def end(self, body, sequence, total):
        temperature = self.quirk("default_temperature") or body["temperature"]
        return {"index": 0, "content": "", "tokens": [], "id_slot": 0, "stop": True, "model": "tiny-q4.gguf",
                "tokens_predicted": total, "tokens_evaluated": len(sequence.ids), "truncated": bool(self.quirk("truncates")),
                "generation_settings": {"temperature": temperature, "top_p": body["top_p"], "top_k": body["top_k"],
                                        "min_p": body["min_p"], "repeat_penalty": 1.0, "seed": body["seed"]},
                "prompt": "", "has_new_line": False, "stop_type": "limit", "stopping_word": "",
                "tokens_cached": len(sequence.ids) + total - 1,
                "timings": {"cache_n": sequence.cached, "prompt_n": len(sequence.ids) - sequence.cached, "predicted_n": total}}
