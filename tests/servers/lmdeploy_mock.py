"""LMDeploy's HTTP interface over the mock engine, as its serve/openai has it. Quirks:

  prefix_cache   --enable-prefix-caching; it is off without it
  no_metrics     --disable-metrics
  no_logprobs    without --logprobs-mode: 400 where they are asked for
"""

import mock_tokenizer
from mock_engine import text_of
from mock_http import Mock


class LmdeployMock(Mock):
    def answer(self, handler, method, path):
        routes = {"/v1/models": self.models, "/metrics": self.metrics, "/generate": self.generate,
                  "/v1/encode": self.encode}
        if self.quirk("no_metrics"):
            del routes["/metrics"]
        return routes.get(path, lambda h: h.not_found())(handler)

    def models(self, handler):
        handler.send_json({"object": "list", "data": [{"id": "org/tiny", "object": "model", "owned_by": "lmdeploy",
                                                       "root": "org/tiny"}]})

    def encode(self, handler):
        body = handler.json_body()
        ids = mock_tokenizer.encode(body["input"], body.get("add_bos", True))
        handler.send_json({"input_ids": ids, "length": len(ids)})

    def metrics(self, handler):
        running, waiting = self.engine.load()
        handler.send(200, f'lmdeploy:num_requests_running{{model_name="tiny"}} {float(running)}\n'
                          f'lmdeploy:num_requests_waiting{{model_name="tiny"}} {float(waiting)}\n'
                          f'lmdeploy:backend_config_info{{enable_prefix_caching="{self.engine.cache}",tp="1"}} 1.0\n',
                     "text/plain; version=0.0.4")

    def generate(self, handler):
        body = handler.json_body()
        with self.lock:
            self.bodies.append(body)
        if self.quirk("no_logprobs") and body["return_logprob"]:
            return handler.send_json({"message": "logprobs need --logprobs-mode", "type": "invalid_request_error",
                                      "code": 400, "param": None, "object": "error"}, 400)
        # The server draws where top_k is not 1, with a seed of its own.
        temperature = 0.0 if body["top_k"] == 1 else 1.0
        sequence = self.engine.submit(body["input_ids"], body["max_tokens"], temperature, self.engine.calls)
        handler.begin_stream()
        total = 0
        for token, logprob, _ in self.tokens(handler, sequence):
            total += 1
            ended = total == sequence.max_new_tokens
            handler.send_event({"text": text_of([token]), "output_ids": [token], "meta_info": {
                "prompt_tokens": len(sequence.ids), "completion_tokens": total,
                "finish_reason": {"type": "length"} if ended else None,
                "output_token_logprobs": [[logprob, token]] if body["return_logprob"] else None}})
        handler.send_event(b"[DONE]")
        handler.end_stream()
