"""Text Generation Inference's interface, end to end: text in, token IDs out."""

import sys
import unittest

from text_case import TextCase

from mock_engine import MockEngine  # isort: skip (text_case makes the mocks known)
from tgi_mock import SHA, TgiMock  # isort: skip


class Tgi(TextCase):
    def tgi(self, fault=None, engine=None, **quirks):
        return self.mock(TgiMock, engine or MockEngine(fault), **quirks)

    def test_a_server_that_obeys_passes(self):
        run = self.run_text("batch", self.tgi(), "--report", "r.json")
        self.assert_verdict(run, 0, "tgi at .*tier B: prompts as text, token IDs out, .*server witness; not: token IDs in")
        self.assertNotIn("compared by text", run.stdout)
        report = self.report()
        self.assertTrue(report["facts"]["capabilities"]["text_in"])
        self.assertIn("server", self.witness_sources(report))  # A look may miss a short step.

    def test_answers_that_depend_on_the_batch_fail(self):
        run = self.run_text("batch", self.tgi("batch"))
        self.assert_verdict(run, 1, "tokens differ: .*first at output position")

    def test_logprobs_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_text("batch", self.tgi("logprobs")), 1, "logprobs differ where tokens agree")

    def test_without_a_tokenizer_it_is_unsupported(self):
        run = self.run_text("single", self.tgi(), tokenizer=False)
        self.assert_verdict(run, 3, "^detcheck: tgi at .* takes no token IDs: --tokenizer would send text in their place\n$")

    def test_another_tokenizer_is_found_out(self):
        run = self.run_text("single", self.tgi(other_tokenizer=True))
        self.assert_verdict(run, 3, "^detcheck: --tokenizer: the server makes other tokens of a text")

    def test_a_prompt_of_which_it_makes_other_tokens_is_not_sent(self):
        server = self.tgi(merges=True)
        run = self.run_text("single", server, fixtures=self.make_fixtures("Who wrote jazz?", "zz.json"))
        self.assert_verdict(run, 3, "not sent: the server makes other tokens of this prompt's text: at position 14 its end in "
                                    "place of token")
        self.assertFalse([body for body in server.bodies if "zz" in body["inputs"]])

    def test_special_tokens_that_it_always_adds(self):
        server = self.tgi(bos=True)
        self.assert_verdict(self.run_text("batch", server, fixtures=self.with_bos()), 0)
        self.assertFalse([body for body in server.bodies if "<s>" in body["inputs"]])  # It would be there twice.
        run = self.run_text("single", self.tgi(bos=True))
        self.assert_verdict(run, 3, r"not sent: the server puts a token \(1\) in front of every text")

    def test_a_count_that_is_another(self):
        run = self.run_text("single", self.tgi(miscounts=True))
        self.assert_verdict(run, 3, "^detcheck: pre-flight: 33 tokens were sent as text, the server counted 34 prompt tokens")

    def test_greedy_is_the_absence_of_sampling(self):
        server = self.tgi()
        self.assert_verdict(self.run_text("single", server), 0)
        parameters = server.bodies[-1]["parameters"]
        self.assertFalse(parameters["do_sample"])
        for name in ("temperature", "top_k", "top_p", "typical_p"):
            self.assertNotIn(name, parameters)
        self.assertFalse(parameters["decoder_input_details"])  # Refused in a stream.

    def test_sampling(self):
        server = self.tgi()
        self.assert_verdict(self.run_text("single", server, "--temperature", "0.7", "--top-k", "5"), 0)
        parameters = server.bodies[-1]["parameters"]
        self.assertEqual((parameters["temperature"], parameters["top_k"], parameters["seed"]), (0.7, 5, 42))
        self.assertTrue(parameters["do_sample"])
        self.assertNotIn("top_p", parameters)  # 1 is refused.

    def test_a_temperature_of_one_still_samples(self):
        server = self.tgi()
        self.assert_verdict(self.run_text("seeds", server), 0)
        sampled = [body["parameters"] for body in server.bodies if "temperature" in body["parameters"]]
        self.assertTrue(sampled)
        self.assertTrue(all(parameters["do_sample"] for parameters in sampled))

    def test_a_filter_that_it_does_not_have(self):
        run = self.run_text("single", self.tgi(), "--temperature", "0.7", "--min-p", "0.1")
        self.assert_verdict(run, 3, "TGI takes no min_p")

    def test_a_seed_that_it_was_not_asked_for(self):
        run = self.run_text("single", self.tgi(other_seed=True), "--temperature", "0.7", "--step-attempts", "1")
        self.assert_verdict(run, 4, "the server ran with seed 7")

    def test_an_error_inside_a_stream(self):
        run = self.run_text("single", self.tgi(error_after=12), "--step-attempts", "1")
        self.assert_verdict(run, 4, "CUDA out of memory")

    def test_a_server_that_is_overloaded_once(self):
        self.assert_verdict(self.run_text("single", self.tgi(overloaded=1)), 0, "logprobs")

    def test_comments_between_the_events(self):
        self.assert_verdict(self.run_text("single", self.tgi(pings=True)), 0)

    def test_its_cache_cannot_be_kept_out(self):
        self.assert_verdict(self.run_text("single", self.tgi()), 0, "can neither bypass nor flush its prefix cache")
        self.assert_verdict(self.run_text("radix_cache", self.tgi()), 3, "cannot flush its prefix cache")

    def test_the_first_run_alone_differs_where_the_cache_does(self):
        self.assert_verdict(self.run_text("single", self.tgi("cache")), 1, "first_run_only")

    def test_prompt_logprobs_are_unsupported(self):
        self.assert_verdict(self.run_text("p_vs_d", self.tgi()), 3, "does not give the logprobs of prompt tokens")

    def test_without_metrics_the_clients_clock_is_the_witness(self):
        run = self.run_text("single", self.tgi(no_metrics=True), "--report", "r.json")
        self.assert_verdict(run, 0, "not: .*server witness")
        self.assertEqual(self.witness_sources(self.report()), {"client_overlap"})

    def test_others_that_use_the_server(self):
        engine = MockEngine()
        engine.foreign = 3
        self.assert_verdict(self.run_text("single", self.tgi(engine=engine)), 3, "others use the server")

    def test_another_model_in_the_middle(self):
        run = self.run_text("single", self.tgi(sha_changes=8))
        self.assert_verdict(run, 3, "the target is not what it was when the run began")

    def test_manifest(self):
        fields = self.manifest(self.tgi(), "--tokenizer", "tok")
        self.assertEqual(fields["model.revision"], {"name": "model.revision", "value": SHA, "source": "claimed"})
        self.assertEqual(fields["engine.version"]["value"], "3.3.6-dev0")
        self.assertEqual(fields["model.id"]["value"], "org/tiny-llama")
        self.assertIn("max_concurrent_requests=128", fields["engine.arguments"]["value"])
        self.assertEqual(fields["model.tokenizer_sha256"]["source"], "declared")

    def test_fixtures_by_its_tokenizer(self):
        self.write("q.txt", "Hello <s> you")
        run = self.detcheck("fixture", "make", "q.txt", "--endpoint", self.tgi(bos=True).url, "--output", "made.json",
                            "--add-special-tokens")
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
