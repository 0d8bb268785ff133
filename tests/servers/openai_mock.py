"""A server of OpenAI's /v1/completions over the mock engine, as OpenAI documents it: prompts are a string, a list of strings, a
list of token IDs or a list of such lists; fields that are not documented are refused; no token IDs come out. Quirks:

  refuses_ids          prompts of token IDs are refused
  stringifies_ids      they become text: "[10, 11]"
  splits_ids           each of them is taken for a prompt of its own
  adds_bos             a token is put in front of every prompt
  deaf                 every prompt is taken for the same one
  no_usage             it does not tell how many tokens it counted
  no_logprobs          logprobs are refused
  fingerprint_changes  another system_fingerprint after so many generations
  whole                it does not stream
  error_after          after so many tokens an error comes in the stream
  busy                 so many generations are turned away, with status 429
"""

import mock_tokenizer
from mock_engine import text_of
from mock_http import Mock

KNOWN = {"model", "prompt", "best_of", "echo", "frequency_penalty", "logit_bias", "logprobs", "max_tokens", "n",
         "presence_penalty", "seed", "stop", "stream", "stream_options", "suffix", "temperature", "top_p", "user"}


class OpenaiMock(Mock):
    def answer(self, handler, method, path):
        routes = {"/v1/models": self.models, "/v1/completions": self.completions}
        return routes.get(path, lambda h: self.fail(h, 404, f"Invalid URL ({method} {path})"))(handler)

    def fail(self, handler, status, message):
        handler.send_json({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}, status)

    def models(self, handler):
        handler.send_json({"object": "list", "data": [{"id": "tiny", "object": "model", "created": 1, "owned_by": "somebody"}]})

    def prompts(self, prompt):
        """Token IDs of each prompt."""
        if isinstance(prompt, str):
            return [mock_tokenizer.encode(prompt, False)]
        if self.quirk("stringifies_ids"):
            return [mock_tokenizer.encode(str(prompt), False)]
        if self.quirk("splits_ids"):
            return [[token] for token in prompt]
        return [prompt]

    def completions(self, handler):
        body = handler.json_body()
        with self.lock:
            self.bodies.append(body)
            busy = self.quirk("busy") or 0
            self.quirks["busy"] = max(0, busy - 1)
        if busy:
            return self.fail(handler, 429, "Rate limit reached")
        for name in body:
            if name not in KNOWN:
                return self.fail(handler, 400, f"Unrecognized request argument supplied: {name}")
        if self.quirk("refuses_ids") and not isinstance(body["prompt"], str):
            return self.fail(handler, 400, "prompt: expected a string")
        if (body.get("logprobs") or 0) > 5 or (self.quirk("no_logprobs") and "logprobs" in body):
            return self.fail(handler, 400, "logprobs are not available")
        prompts = self.prompts(body["prompt"])
        if self.quirk("adds_bos"):
            prompts = [[mock_tokenizer.SPECIAL] + prompt for prompt in prompts]
        if self.quirk("deaf"):
            prompts = [[5] * len(prompt) for prompt in prompts]
        sequences = [self.engine.submit(prompt, body["max_tokens"], body["temperature"], body.get("seed", 7))
                     for prompt in prompts]
        if self.quirk("whole"):
            return self.answer_whole(handler, body, sequences[0])
        handler.begin_stream()
        for index, sequence in enumerate(sequences):
            self.stream(handler, body, index, sequence)
        if not self.quirk("no_usage"):
            handler.send_event({**self.head(), "choices": [], "usage": self.usage(sequences)})
        handler.send_event(b"[DONE]")
        handler.end_stream()

    def head(self):
        changes = self.quirk("fingerprint_changes")
        changed = changes and len(self.bodies) > changes
        return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "tiny",
                "system_fingerprint": "fp_b" if changed else "fp_a"}

    @staticmethod
    def usage(sequences):
        prompt, completion = sum(len(s.ids) for s in sequences), sum(len(s.outputs) for s in sequences)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    @staticmethod
    def choice(body, index, outputs, finish):
        tokens = [text_of([token]) for token, _, _ in outputs]
        choice = {"index": index, "text": "".join(tokens), "logprobs": None, "finish_reason": finish}
        if body.get("logprobs"):
            choice["logprobs"] = {"tokens": tokens, "token_logprobs": [logprob for _, logprob, _ in outputs],
                                  "top_logprobs": [{text_of([t]): value for t, value in best[: body["logprobs"]]}
                                                   for _, _, best in outputs],
                                  "text_offset": [0] * len(tokens)}
        return choice

    def stream(self, handler, body, index, sequence):
        for total, output in enumerate(self.tokens(handler, sequence), 1):
            if total == self.quirk("error_after"):
                return handler.send_event({"error": {"message": "The server had an error", "type": "server_error", "param": None,
                                                     "code": None}})
            finish = "length" if total == sequence.max_new_tokens else None
            handler.send_event({**self.head(), "choices": [self.choice(body, index, [output], finish)]})
        return None

    def answer_whole(self, handler, body, sequence):
        outputs = list(self.tokens(handler, sequence))
        handler.send_json({**self.head(), "choices": [self.choice(body, 0, outputs, "length")], "usage": self.usage([sequence])})
