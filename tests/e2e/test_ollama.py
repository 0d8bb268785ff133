"""Ollama's interface, end to end: text in, text out."""

import sys
import unittest

from text_case import TextCase

from mock_engine import MockEngine  # isort: skip (text_case makes the mocks known)
from ollama_mock import DIGEST, OllamaMock  # isort: skip


class Ollama(TextCase):
    def ollama(self, fault=None, engine=None, **quirks):
        return self.mock(OllamaMock, engine or MockEngine(fault), **quirks)

    def test_a_server_that_obeys_passes_and_the_pass_says_that_it_is_by_text(self):
        run = self.run_text("batch", self.ollama(), "--report", "r.json", "--markdown", "r.md", "--junit", "r.xml")
        self.assert_verdict(run, 0, "ollama at .*tier C: prompts as text, logprobs, seed, flush; not: token IDs in, token IDs out")
        self.assertRegex(run.stdout, "Unique samples: 1, Unique logprob traces: 1, compared by text")
        self.assertRegex(run.stdout, "compared by text, as the target gives no token IDs")
        report = self.report()
        self.assertIn({"name": "token_identity", "value": "text"}, report["scope"]["held"])
        self.assertEqual(report["judgement"]["modes"][0]["requests"][0]["token_identity"], "text")
        self.assertEqual(self.witness_sources(report), {"client_overlap"})
        for name in ("r.md", "r.xml"):
            self.assertIn("text", (self.folder / name).read_text(encoding="utf-8"))

    def test_answers_that_depend_on_the_batch_fail_at_a_byte(self):
        run = self.run_text("batch", self.ollama("batch"), "--report", "r.json", "--html", "r.html")
        self.assert_verdict(run, 1, "texts differ: .*first at byte")
        self.assertRegex(run.stdout, "Expected: +text \".*\".* at byte [0-9]+ of the text; alone")
        divergence = self.report()["judgement"]["modes"][0]["requests"][0]["divergences"][0]
        self.assertIn("text_offset", divergence)
        for name in ("index", "absolute_position", "expected_token", "actual_token"):
            self.assertNotIn(name, divergence)
        shown = self.detcheck("show", "r.json")
        self.assertRegex(shown.stdout, "first at byte")
        self.assertEqual(self.detcheck("diff", "r.json", "r.json").returncode, 0)
        gate = self.detcheck("gate", "r.json")
        self.assertEqual(gate.returncode, 1)
        self.assertRegex(gate.stdout + gate.stderr, "byte")

    def test_logprobs_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_text("batch", self.ollama("logprobs")), 1, "logprobs differ where texts agree")

    def test_arriving_prompts(self):
        self.assert_verdict(self.run_text("mixed", self.ollama("beside"), "--long-tokens", "300"), 1, "texts differ")

    def test_without_a_tokenizer_it_is_unsupported(self):
        run = self.run_text("single", self.ollama(), tokenizer=False)
        self.assert_verdict(run, 3, "^detcheck: ollama at .* takes no token IDs: --tokenizer would send text in their place\n$")

    def test_what_is_asked_stands_where_it_is_heard(self):
        server = self.ollama()
        self.assert_verdict(self.run_text("single", server), 0)
        body = server.bodies[-1]
        self.assertTrue(body["raw"])  # Else a template is put around the prompt.
        self.assertFalse(body["think"])
        self.assertFalse(body["truncate"])
        self.assertNotIn("temperature", body)
        self.assertEqual((body["options"]["temperature"], body["options"]["top_k"]), (0.0, 1))
        self.assertIn("seed", body["options"])
        self.assertEqual({body["options"]["num_ctx"] for body in server.bodies}, {4096})  # Another would load it anew.

    def test_cold_is_a_model_that_was_unloaded(self):
        server = self.ollama("cache")
        self.assert_verdict(self.run_text("single", server), 0)
        self.assertGreater(server.loads, 5)

    def test_an_unload_that_takes_a_while(self):
        self.assert_verdict(self.run_text("single", self.ollama("cache", slow_unload=2)), 0, "flush")

    def test_a_model_that_stays_loaded_cannot_be_cold(self):
        run = self.run_text("single", self.ollama("cache", stuck=True))
        self.assert_verdict(run, 1, "first_run_only")
        self.assertRegex(run.stdout, "can neither bypass nor flush its prefix cache")

    def test_warm_is_not_shown_where_nothing_tells_what_was_cached(self):
        self.assert_verdict(self.run_text("radix_cache", self.ollama()), 3, "does not report cached tokens")

    def test_bos_that_the_server_adds(self):
        server = self.ollama(bos=True)
        self.assert_verdict(self.run_text("batch", server, fixtures=self.with_bos()), 0)
        self.assertFalse([body for body in server.bodies if "<s>" in body["prompt"]])
        self.assert_verdict(self.run_text("single", self.ollama(bos=True)), 3,
                            r"not sent: the server puts a token \(1\) in front of every text")

    def test_bos_of_which_nothing_tells(self):
        run = self.run_text("single", self.ollama(hidden_bos=True))
        self.assert_verdict(run, 3, "^detcheck: pre-flight: 33 tokens were sent as text, the server counted 34 prompt tokens: it "
                                    "adds some, or has another tokenizer\n$")

    def test_one_request_at_a_time_shows_nothing_of_batches(self):
        run = self.run_text("batch", self.ollama(engine=MockEngine(max_running=1)), "--step-attempts", "1")
        self.assert_verdict(run, 3, "batch +inconclusive")

    def test_an_error_inside_a_stream(self):
        run = self.run_text("single", self.ollama(error_after=12), "--step-attempts", "1")
        self.assert_verdict(run, 4, "CUDA error")

    def test_an_answer_without_its_end(self):
        run = self.run_text("single", self.ollama(repeats_after=12), "--step-attempts", "1")
        self.assert_verdict(run, 4, "ended without a finish reason")

    def test_tokens_without_text_of_their_own(self):
        run = self.run_text("single", self.ollama(silent=True), "--report", "r.json")
        self.assert_verdict(run, 0, "Unique logprob traces: 1")
        report = self.report()
        counts = {item["completion_tokens"] for record in report["transcript"]["records"] for item in record.get("items", [])}
        self.assertEqual(counts, {16})  # As the server counted them, though fewer came.

    def test_a_release_without_logprobs(self):
        run = self.run_text("single", self.ollama(no_logprobs=True))
        self.assert_verdict(run, 0, "criterion bitwise, resolved to text: the target gave no logprobs")

    def test_token_ids_that_are_asked_for_by_name_are_not_shown(self):
        run = self.run_text("single", self.ollama(), "--criterion", "token_ids")
        self.assert_verdict(run, 3, "the criterion is token_ids, and the target gave none")

    def test_seeds(self):
        self.assert_verdict(self.run_text("seeds", self.ollama()), 0)
        self.assert_verdict(self.run_text("seeds", self.ollama("seed"), "--temperature", "1"), 1,
                            "different seeds, equal outputs")
        # Below temperature 1 the other candidates would have to be known.
        self.assert_verdict(self.run_text("seeds", self.ollama("seed")), 3, "too little entropy")

    def test_traffic_before(self):
        self.assert_verdict(self.run_text("history", self.ollama()), 0)

    def test_replicas_are_compared_by_text(self):
        run = self.run_text("single", self.ollama(), "--endpoint", self.ollama().url)
        self.assert_verdict(run, 0, "across replicas pass\n.*compared by text")

    def test_another_model_in_the_middle(self):
        run = self.run_text("single", self.ollama(digest_changes=8))
        self.assert_verdict(run, 3, "the target is not what it was when the run began")

    def test_manifest(self):
        fields = self.manifest(self.ollama(), "--tokenizer", "tok")
        self.assertEqual(fields["model.weight_version"]["value"], DIGEST)
        self.assertEqual(fields["engine.version"]["value"], "0.33.0-rc2")
        self.assertEqual(fields["model.context_len"]["value"], "4096")
        self.assertEqual(fields["model.quantization"]["value"], "F16")

    def test_a_model_that_it_does_not_have(self):
        run = self.run_text("single", self.ollama(cloud=True), "--served-model", "large")
        self.assert_refused(run, "lists no model large")
        self.assert_verdict(self.run_text("single", self.ollama(cloud=True), "--served-model", "tiny"), 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
