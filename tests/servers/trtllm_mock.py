"""The HTTP interface of TensorRT-LLM's trtllm-serve over the mock engine, as its openai_protocol.py and
postprocess_handlers.py have it: fields that it does not know are refused, token IDs come without detokenization only, and
candidates are keyed by text. Quirks:

  trt_backend    logprobs above 1 are refused (not the PyTorch backend)
  error_after    after so many tokens an error comes in the stream, with status 200
"""

import mock_tokenizer
from mock_engine import text_of
from mock_http import Mock

KNOWN = {"model", "prompt", "best_of", "echo", "frequency_penalty", "logit_bias", "logprobs", "max_tokens", "n",
         "presence_penalty", "seed", "stop", "stream", "stream_options", "suffix", "temperature", "top_p", "user",
         "lora_request", "prompt_ignore_length", "use_beam_search", "top_k", "top_p_min", "min_p", "repetition_penalty",
         "length_penalty", "early_stopping", "stop_token_ids", "include_stop_str_in_output", "ignore_eos", "min_tokens",
         "skip_special_tokens", "spaces_between_special_tokens", "truncate_prompt_tokens", "return_context_logits",
         "detokenize", "thinking_token_budget", "add_special_tokens", "response_format", "disaggregated_params", "priority",
         "conversation_params"}


class TrtllmMock(Mock):
    def answer(self, handler, method, path):
        routes = {"/version": lambda h: h.send_json({"version": "1.2.0"}), "/v1/models": self.models,
                  "/metrics": lambda h: h.send_json([]), "/v1/completions": self.completions,
                  "/_internal/tokenize": self.tokenize}
        return routes.get(path, lambda h: h.not_found())(handler)

    def tokenize(self, handler):
        body = handler.json_body()
        for name in body:
            if name not in ("model", "prompt", "messages"):
                return handler.send_json({"detail": [{"type": "extra_forbidden", "loc": ["body", name],
                                                      "msg": "Extra inputs are not permitted"}]}, 422)
        ids = mock_tokenizer.encode(body["prompt"], True)
        handler.send_json({"count": len(ids), "tokens": ids})

    def models(self, handler):
        handler.send_json({"object": "list", "data": [{"id": "tiny", "object": "model", "created": 1,
                                                       "owned_by": "tensorrt_llm"}]})

    def completions(self, handler):
        body = handler.json_body()
        with self.lock:
            self.bodies.append(body)
        for name in body:
            if name not in KNOWN:
                return handler.send_json({"detail": [{"type": "extra_forbidden", "loc": ["body", name],
                                                      "msg": "Extra inputs are not permitted"}]}, 422)
        if self.quirk("trt_backend") and (body.get("logprobs") or 0) > 1:
            return handler.send_json({"object": "error", "message": "`logprobs` must be 1", "type": "BadRequestError",
                                      "param": None, "code": 400}, 400)
        sequence = self.engine.submit(body["prompt"], body["max_tokens"], body["temperature"], body["seed"])
        handler.begin_stream()
        total = 0
        for token, logprob, best in self.tokens(handler, sequence):
            total += 1
            if total == self.quirk("error_after"):
                handler.send_event({"object": "error", "message": "executor has shut down", "type": "InternalServerError",
                                    "code": 500})
                break
            ended = total == sequence.max_new_tokens
            choice = {"index": 0, "text": text_of([token]) if body.get("detokenize", True) else "",
                      "token_ids": None if body.get("detokenize", True) else [token], "logprobs": None,
                      "finish_reason": "length" if ended else None, "stop_reason": None}
            if body.get("logprobs"):
                choice["logprobs"] = {"text_offset": [0], "token_logprobs": [logprob], "tokens": [text_of([token])],
                                      "top_logprobs": [{text_of([token]): logprob}]}
            handler.send_event({"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "tiny",
                                "choices": [choice], "usage": None})
        handler.send_event({"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "tiny", "choices": [],
                            "usage": {"prompt_tokens": len(sequence.ids), "completion_tokens": total,
                                      "total_tokens": len(sequence.ids) + total,
                                      "prompt_tokens_details": {"cached_tokens": sequence.cached}}})
        handler.send_event(b"[DONE]")
        handler.end_stream()
