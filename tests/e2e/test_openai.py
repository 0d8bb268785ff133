"""Servers of OpenAI's completions of which nothing else is known, end to end."""

import sys
import unittest

from text_case import TextCase

from mock_engine import MockEngine  # isort: skip (text_case makes the mocks known)
from openai_mock import KNOWN, OpenaiMock  # isort: skip

LITERAL = [10 + byte for byte in b"Write <s> down, please, and nothing else."]
NO_UTF8 = [10 + byte for byte in b"Half a char: \xc3"]


class Openai(TextCase):
    def openai(self, fault=None, engine=None, **quirks):
        return self.mock(OpenaiMock, engine or MockEngine(fault), **quirks)

    def test_token_ids_go_in_where_they_are_taken(self):
        server = self.openai()
        run = self.run_text("batch", server, "--report", "r.json", tokenizer=False)
        self.assert_verdict(run, 0, "openai at .*tier C: token IDs in, logprobs, seed; not: token IDs out")
        self.assertRegex(run.stdout, "compared by text")
        self.assertTrue(all(isinstance(body["prompt"], list) for body in server.bodies))
        self.assertEqual(self.witness_sources(self.report()), {"client_overlap"})

    def test_answers_that_depend_on_the_batch_fail_at_a_byte(self):
        run = self.run_text("batch", self.openai("batch"), tokenizer=False)
        self.assert_verdict(run, 1, "texts differ: .*first at byte")
        self.assertNotRegex(run.stdout, "at output position [0-9]+ .absolute")

    def test_logprobs_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_text("batch", self.openai("logprobs"), tokenizer=False), 1,
                            "logprobs differ where texts agree")

    def test_only_documented_fields_are_sent(self):
        server = self.openai()
        self.assert_verdict(self.run_text("single", server, tokenizer=False), 0)
        for body in server.bodies:
            self.assertLessEqual(set(body), KNOWN)

    def assert_text_in_their_place(self, why, **quirks):
        """IDs that are not taken as they are: unsupported, and with a tokenizer text."""
        run = self.run_text("single", self.openai(**quirks), tokenizer=False)
        self.assert_verdict(run, 3, f"^detcheck: pre-flight: .*{why}.*; --tokenizer would send text in their place\n$")
        server = self.openai(**quirks)
        run = self.run_text("single", server)
        self.assert_verdict(run, 0, "tier C: prompts as text, logprobs, seed; not: token IDs in, token IDs out")
        self.assertIsInstance(server.bodies[-1]["prompt"], str)

    def test_ids_that_are_refused(self):
        self.assert_text_in_their_place("prompt: expected a string", refuses_ids=True)

    def test_ids_that_become_text(self):
        self.assert_text_in_their_place("33 token IDs were sent, the server counted [0-9]+", stringifies_ids=True)

    def test_ids_that_are_taken_for_prompts(self):
        self.assert_text_in_their_place("a choice of another prompt", splits_ids=True)

    def test_a_token_that_is_added(self):
        run = self.run_text("single", self.openai(adds_bos=True), tokenizer=False)
        self.assert_verdict(run, 3, "33 token IDs were sent, the server counted 34 prompt tokens: it adds some")
        run = self.run_text("single", self.openai(adds_bos=True))
        self.assert_verdict(run, 3, "^detcheck: pre-flight: 33 tokens were sent as text, the server counted 34 prompt tokens")

    def test_prompts_that_are_not_read(self):
        self.assert_verdict(self.run_text("single", self.openai(deaf=True), tokenizer=False), 3, "had the same answer")

    def test_a_count_that_is_not_told(self):
        run = self.run_text("single", self.openai(no_usage=True), tokenizer=False)
        self.assert_verdict(run, 3, "does not tell how many prompt tokens it counted")

    def test_prompts_that_are_not_the_same_again_are_not_sent(self):
        for ids, why in ((LITERAL, "the text of this prompt's tokens gives others back: at position 6 token 1 in place of token 70"),
                         (NO_UTF8, "the text of this prompt's tokens: byte 13: not UTF-8")):
            server = self.openai(refuses_ids=True)
            run = self.run_text("single", server, fixtures=self.change_fixture(ids))
            self.assert_verdict(run, 3, f"not sent: {why}")
            self.assertFalse([body for body in server.bodies if "Write" in body["prompt"] or "Half" in body["prompt"]])

    def test_a_backend_that_moves_makes_it_inconclusive(self):
        run = self.run_text("single", self.openai(fingerprint_changes=8), tokenizer=False)
        self.assert_verdict(run, 3, "the target is not what it was when the run began")

    def test_logprobs_that_are_refused_are_done_without(self):
        run = self.run_text("single", self.openai(no_logprobs=True), tokenizer=False)
        self.assert_verdict(run, 0, "criterion bitwise, resolved to text: the target gave no logprobs")

    def test_a_server_that_does_not_stream_shows_no_batches(self):
        run = self.run_text("batch", self.openai(whole=True), "--step-attempts", "1", tokenizer=False)
        self.assert_verdict(run, 3, "batch +inconclusive")

    def test_an_error_inside_a_stream(self):
        run = self.run_text("single", self.openai(error_after=12), "--step-attempts", "1", tokenizer=False)
        self.assert_verdict(run, 4, "The server had an error")

    def test_a_server_that_turns_requests_away(self):
        run = self.run_text("single", self.openai(busy=99), tokenizer=False)
        self.assert_verdict(run, 4, "Rate limit reached")

    def test_filters_that_it_does_not_have(self):
        for option, value, name in (("--min-p", "0.1", "min_p"), ("--top-k", "5", "top_k")):
            run = self.run_text("single", self.openai(), "--temperature", "0.7", option, value, tokenizer=False)
            self.assert_verdict(run, 3, f"take no {name}")

    def test_its_cache_is_left_as_it_is(self):
        run = self.run_text("single", self.openai(), tokenizer=False)
        self.assert_verdict(run, 0, "can neither bypass nor flush its prefix cache")
        self.assert_verdict(self.run_text("radix_cache", self.openai(), tokenizer=False), 3, "cannot flush its prefix cache")
        self.assert_verdict(self.run_text("p_vs_d", self.openai(), tokenizer=False), 3, "logprobs of prompt tokens")

    def test_a_tokenizer_needs_a_server(self):
        self.assert_refused(self.detcheck("single", "--tokenizer", "tok"), "needs --endpoint URL")

    def test_a_tokenizer_that_is_none(self):
        run = self.run_text("single", self.openai(refuses_ids=True), "--tokenizer", "set.json", tokenizer=False)
        self.assert_refused(run, "set.json")


if __name__ == "__main__":
    sys.exit(unittest.main())
