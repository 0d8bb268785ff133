"""The HTTP interface of Text Generation Inference over the mock engine, as its router has it (router/src/server.rs, lib.rs and
validation.rs of 3.3.6): prompts are strings to which special tokens are always added, what is refused comes as an event of a
stream with status 200, a temperature of 0 and a top_p of 1 are refused, anything set of sampling turns it on, and a gauge is
not there before it was first set. Quirks:

  bos              a special token is put in front of every text
  other_tokenizer  it makes other tokens of a text
  merges           it makes one token less of a text with "zz"
  miscounts        it counts a prompt token more
  no_metrics       /metrics is not there
  sha_changes      another model after so many generations
  error_after      after so many tokens an error comes in the stream
  overloaded       so many generations are turned away
  other_seed       sampling runs with another seed than was asked for
  pings            comments between the events
"""

import mock_tokenizer
from mock_engine import text_of
from mock_http import Mock

SHA = "e985a63cdc139290c5f700ff1929f0b5942cced2"


class TgiMock(Mock):
    def answer(self, handler, method, path):
        routes = {"/info": self.info, "/tokenize": self.tokenize, "/generate_stream": self.generate_stream,
                  "/v1/models": self.models}
        if not self.quirk("no_metrics"):
            routes["/metrics"] = self.metrics
        return routes.get(path, lambda h: h.send(404, ""))(handler)

    def info(self, handler):
        changes = self.quirk("sha_changes")
        handler.send_json({"model_id": "org/tiny-llama", "model_sha": SHA[::-1] if changes and len(self.bodies) > changes else SHA,
                           "model_pipeline_tag": "text-generation", "max_concurrent_requests": 128, "max_best_of": 2,
                           "max_stop_sequences": 4, "max_input_tokens": 4095, "max_total_tokens": 4096, "validation_workers": 2,
                           "max_client_batch_size": 4, "router": "text-generation-router", "version": "3.3.6-dev0",
                           "sha": "db931fcf42da018a3657580c64bf2720f167f9ab", "docker_label": "sha-db931fc"})

    def models(self, handler):
        handler.send_json({"object": "list", "data": [{"id": "org/tiny-llama", "object": "model", "created": 0,
                                                       "owned_by": "org/tiny-llama"}]})

    def ids_of(self, text):
        ids = mock_tokenizer.encode(text, bool(self.quirk("bos")))
        if self.quirk("other_tokenizer"):
            ids = [token + 1 for token in ids]
        return ids[:-1] if self.quirk("merges") and "zz" in text else ids

    def tokenize(self, handler):
        text = handler.json_body()["inputs"]
        handler.send_json([{"id": token, "text": "", "start": 0, "stop": 0} for token in self.ids_of(text)])

    def metrics(self, handler):
        running, waiting = self.engine.load()
        lines = []
        if self.engine.num_steps > 0:
            lines = [f"tgi_batch_current_size {running}", f"tgi_queue_size {waiting}",
                     f"tgi_batch_next_size_sum {self.engine.num_grouped}", f"tgi_batch_next_size_count {self.engine.num_groups}",
                     f"tgi_request_generated_tokens_sum {self.engine.finished}"]
        handler.send(200, "".join(line + "\n" for line in lines), "text/plain; version=0.0.4")

    def refusal(self, parameters):
        temperature, top_p = parameters.get("temperature"), parameters.get("top_p")
        if temperature is not None and temperature <= 0:
            return "`temperature` must be strictly positive"
        if top_p is not None and not 0 < top_p < 1:
            return "`top_p` must be > 0.0 and < 1.0"
        if parameters.get("top_k") is not None and parameters["top_k"] <= 0:
            return "`top_k` must be strictly positive"
        if parameters.get("decoder_input_details"):
            return "`decoder_input_details` == true is not supported when streaming tokens"
        if (parameters.get("top_n_tokens") or 0) > 5:
            return "`top_n_tokens` must be >= 0 and <= 5"
        return None

    def generate_stream(self, handler):
        body = handler.json_body()
        parameters = body["parameters"]
        with self.lock:
            self.bodies.append(body)
            overloaded = self.quirk("overloaded") or 0
            self.quirks["overloaded"] = max(0, overloaded - 1)
        if overloaded:
            handler.begin_stream()
            handler.send_event({"error": "Model is overloaded", "error_type": "overloaded"})
            return handler.end_stream()
        refusal = self.refusal(parameters)
        if refusal:
            handler.begin_stream()
            handler.send_event({"error": f"Input validation error: {refusal}", "error_type": "validation"})
            return handler.end_stream()
        sampled = parameters.get("do_sample") or any(parameters.get(name) is not None
                                                     for name in ("temperature", "top_k", "top_p", "typical_p"))
        ids = self.ids_of(body["inputs"])
        seed = 7 if self.quirk("other_seed") else parameters.get("seed", 7)
        sequence = self.engine.submit(ids, parameters["max_new_tokens"], parameters.get("temperature") or 1.0 if sampled else 0.0,
                                      seed)
        handler.begin_stream()
        outputs = []
        for token, logprob, best in self.tokens(handler, sequence):
            outputs.append(token)
            if self.quirk("pings"):
                handler.send_piece(b":\n\n")
            if len(outputs) == self.quirk("error_after"):
                handler.send_event({"error": "Request failed during generation: Server error: CUDA out of memory",
                                    "error_type": "generation"})
                break
            handler.send_event(self.event(parameters, outputs, logprob, best, sequence, seed))
        handler.end_stream()

    def event(self, parameters, outputs, logprob, best, sequence, seed):
        told = lambda token, value: {"id": token, "text": text_of([token]), "logprob": value, "special": False}
        event = {"index": len(outputs), "token": told(outputs[-1], logprob), "generated_text": None, "details": None}
        if parameters.get("top_n_tokens"):
            event["top_tokens"] = [told(t, value) for t, value in best[: parameters["top_n_tokens"]]]
        if len(outputs) == sequence.max_new_tokens:
            event["generated_text"] = text_of(outputs)
            if parameters.get("details"):
                event["details"] = {"finish_reason": "length", "generated_tokens": len(outputs), "seed": seed,
                                    "input_length": len(sequence.ids) + (1 if self.quirk("miscounts") else 0)}
        return event
