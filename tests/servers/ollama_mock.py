"""Ollama's HTTP interface over the mock engine, as its server/routes.go and llm/llama_server.go have it (0.33.0): text in, text
out, NDJSON; what stands beside `options` instead of inside it is passed over; the prefix cache is always read, and
prompt_eval_count hides what was; another num_ctx loads the model anew; without raw a template is put around the prompt. Quirks:

  bos              the model's begin-of-sequence token is put in front of every text, and /api/show says so
  hidden_bos       the same, and nothing says so
  slow_unload      an unloaded model stays listed for so many looks
  stuck            it is never unloaded
  cloud            a second model, listed after the first
  digest_changes   another model after so many generations
  repeats_after    after so many tokens the answer ends without its last line, as Ollama does where tokens repeat
  error_after      after so many tokens an error comes in the stream
  silent           every fourth token has no text of its own: no event, and no logprob, comes of it
  no_logprobs      logprobs are not known to this release
"""

import json

import mock_tokenizer
from mock_engine import text_of
from mock_http import Mock

DIGEST = "365c0bd3c000a25d28ddbf732fe1c6add414de7275464c4e4d1c3b5fcb5d8ad1"
DEFAULT_CONTEXT = 4096


class OllamaMock(Mock):
    def __init__(self, engine, **quirks):
        self.num_ctx = None  # of the model as it is loaded; None: it is not
        self.looks = 0       # for which an unloaded model stays listed
        self.loads = 0
        super().__init__(engine, **quirks)

    def answer(self, handler, method, path):
        if path == "/":
            return handler.send(200, "Ollama is running", "text/plain")
        routes = {"/api/version": lambda h: h.send_json({"version": "0.33.0-rc2"}), "/api/tags": self.tags, "/api/ps": self.ps,
                  "/api/show": self.show, "/api/generate": self.generate}
        return routes.get(path, lambda h: h.send(404, "404 page not found", "text/plain"))(handler)

    def entry(self, name="tiny:latest"):
        changes = self.quirk("digest_changes")
        digest = DIGEST[::-1] if changes and len(self.bodies) > changes else DIGEST
        return {"name": name, "model": name, "size": 1, "digest": digest,
                "details": {"parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"],
                            "parameter_size": "134.52M", "quantization_level": "F16"}}

    def tags(self, handler):
        others = [self.entry("other:7b")] if self.quirk("cloud") else []
        handler.send_json({"models": [self.entry(), *others]})

    def ps(self, handler):
        with self.lock:
            self.looks -= 1
            listed = self.num_ctx is not None or self.looks >= 0
        handler.send_json({"models": [{**self.entry(), "size_vram": 0, "context_length": self.num_ctx or DEFAULT_CONTEXT}]
                           if listed else []})

    def show(self, handler):
        known = {"tokenizer.ggml.bos_token_id": mock_tokenizer.SPECIAL, "tokenizer.ggml.add_bos_token": True}
        handler.send_json({"details": self.entry()["details"], "template": "<|user|>{{ .Prompt }}<|end|>",
                           "model_info": {"general.architecture": "llama", "tokenizer.ggml.tokens": None,
                                          **(known if self.quirk("bos") else {})}})

    def load(self, num_ctx):
        with self.lock:
            if self.num_ctx == num_ctx:
                return
            self.num_ctx = num_ctx
            self.loads += 1
        self.engine.flush()

    def generate(self, handler):
        body = handler.json_body()
        if body["model"] not in ("tiny", "tiny:latest"):
            return handler.send_json({"error": f"model '{body['model']}' not found"}, 404)
        options = body.get("options") or {}
        if not body.get("prompt") and body.get("keep_alive") == 0:
            with self.lock:
                if self.num_ctx is not None and not self.quirk("stuck"):
                    self.num_ctx = None
                    self.looks = self.quirk("slow_unload") or 0
            return handler.send_json({"model": body["model"], "response": "", "done": True, "done_reason": "unload"})
        if body.get("think"):
            return handler.send_json({"error": f"\"{body['model']}\" does not support thinking"}, 400)
        self.load(options.get("num_ctx", DEFAULT_CONTEXT))
        if not body.get("prompt"):
            return handler.send_json({"model": body["model"], "response": "", "done": True, "done_reason": "load"})
        with self.lock:
            self.bodies.append(body)
        prompt = body["prompt"] if body.get("raw") else f"<|user|>{body['prompt']}<|end|>"
        ids = mock_tokenizer.encode(prompt, bool(self.quirk("bos") or self.quirk("hidden_bos")))
        temperature = options.get("temperature", 0.8)
        sequence = self.engine.submit(ids, options["num_predict"], 0.0 if options.get("top_k") == 1 else temperature,
                                      options.get("seed", 7))
        handler.begin_stream("application/x-ndjson")
        self.stream(handler, body, sequence)
        handler.end_stream()

    def stream(self, handler, body, sequence):
        total = 0
        for token, logprob, _ in self.tokens(handler, sequence):
            total += 1
            if total == self.quirk("error_after"):
                return self.line(handler, {"error": "an error was encountered while running the model: CUDA error"})
            if total == self.quirk("repeats_after"):
                return None
            if self.quirk("silent") and total % 4 == 0:
                continue
            text = text_of([token])
            chunk = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "response": text, "done": False}
            if body.get("logprobs") and not self.quirk("no_logprobs"):
                chunk["logprobs"] = [{"token": text, "bytes": list(text.encode()), "logprob": logprob}]
            self.line(handler, chunk)
        return self.line(handler, {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "response": "", "done": True,
                                   "done_reason": "length", "total_duration": 1, "prompt_eval_count": len(sequence.ids),
                                   "eval_count": total})

    @staticmethod
    def line(handler, value):
        handler.send_piece(json.dumps(value).encode() + b"\n")
