"""llama.cpp's interface, end to end: the real program against a mock server with its quirks."""

import sys
import unittest

from server_case import MockEngine, ServerCase

from llamacpp_mock import LlamacppMock  # isort: skip (server_case makes the mocks known)


class Llamacpp(ServerCase):
    def llamacpp(self, fault=None, engine=None, **quirks):
        return self.mock(LlamacppMock, engine or MockEngine(fault, page_size=1, max_running=quirks.get("num_slots") or 8),
                         **quirks)


class Verdicts(Llamacpp):
    def test_a_server_that_obeys_passes_what_it_can_do(self):
        run = self.run_mode("all", self.llamacpp(slot_save_path=True), "--report", "r.json", "--long-tokens", "400")
        self.assert_verdict(run, 0, "llamacpp at")
        report = self.report()
        self.assertEqual(report["judgement"]["verdict"], "pass")

    def test_answers_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_mode("batch", self.llamacpp("batch")), 1, "batch +FAIL")

    def test_answers_that_depend_on_the_cache_fail(self):
        self.assert_verdict(self.run_mode("radix_cache", self.llamacpp("cache", slot_save_path=True)), 1, "radix_cache +FAIL")

    def test_batches_larger_than_the_slots_are_not_planned(self):
        run = self.run_mode("single", self.llamacpp(num_slots=2), "--batch-sizes", "1,2,4")
        self.assert_verdict(run, 0, "batches of more than 2")

    def test_scoring_is_unsupported(self):
        self.assert_verdict(self.run_mode("p_vs_d", self.llamacpp()), 3, "does not give the logprobs of prompt tokens")


class Traps(Llamacpp):
    def test_the_native_end_point_and_every_parameter(self):
        server = self.llamacpp()
        self.run_mode("single", server)
        self.assertIn("/completion", server.paths())
        self.assertNotIn("/v1/completions", server.paths())
        body = server.bodies[-1]
        for name, value in (("temperature", 0.0), ("top_k", 1), ("samplers", ["temperature"]), ("repeat_penalty", 1.0),
                            ("typical_p", 1.0), ("mirostat", 0), ("dry_multiplier", 0.0), ("xtc_probability", 0.0),
                            ("return_tokens", True), ("post_sampling_probs", False), ("cache_prompt", False), ("id_slot", -1)):
            self.assertEqual(body[name], value, name)

    def test_tokens_cached_is_not_what_was_read_from_the_cache(self):
        # It is never 0; timings.cache_n is.
        self.assert_verdict(self.run_mode("single", self.llamacpp()), 0)

    def test_slots_that_cannot_be_erased(self):
        self.assert_verdict(self.run_mode("radix_cache", self.llamacpp()), 3, "cannot flush")

    def test_an_erased_prompt_that_comes_back_from_memory(self):
        run = self.run_mode("radix_cache", self.llamacpp(slot_save_path=True, ram_cache=True), "--step-attempts", "1")
        self.assert_verdict(run, 3, "at most 0 allowed")

    def test_settings_that_were_not_asked_for(self):
        run = self.run_mode("single", self.llamacpp(default_temperature=0.8))
        self.assert_verdict(run, 4, "ran with temperature 0.8")

    def test_a_prompt_that_was_cut(self):
        self.assert_verdict(self.run_mode("single", self.llamacpp(truncates=True)), 4, "cut the prompt")

    def test_a_token_that_the_server_adds(self):
        self.assert_verdict(self.run_mode("single", self.llamacpp(adds_bos=True)), 3, "33 token IDs were sent, the server counted 34")

    def test_pings_between_events(self):
        self.assert_verdict(self.run_mode("single", self.llamacpp(pings=True)), 0)

    def test_a_token_that_ends_inside_a_character(self):
        run = self.run_mode("single", self.llamacpp(splits=9), "--report", "r.json")
        self.assert_verdict(run, 0, "Unique samples: 1, .*compared by text")
        answers = [item for record in self.report()["transcript"]["records"] for item in record.get("items", [])]
        self.assertEqual({item.get("completion_tokens") for item in answers}, {16})
        self.assert_verdict(self.run_mode("single", self.llamacpp("batch", splits=9)), 1, "single +FAIL")

    def test_a_token_that_ends_inside_a_character_in_one_answer(self):
        run = self.run_mode("single", self.llamacpp(splits=9, num_splits=1))
        self.assert_verdict(run, 3, "1 of [0-9]+ answers came without token IDs")

    def test_an_error_inside_a_stream(self):
        self.assert_verdict(self.run_mode("single", self.llamacpp(error_after=12), "--step-attempts", "1"), 4, "Compute error")

    def test_metrics_where_slots_are_off(self):
        server = self.llamacpp(no_slots=True, metrics=True)
        self.assert_verdict(self.run_mode("single", server), 0, "tier A")
        self.assertIn("/metrics", server.paths())

    def test_a_model_that_is_still_loading(self):
        self.assert_verdict(self.run_mode("single", self.llamacpp(loading=99)), 4, "Loading model")

    def test_a_seed_of_more_than_32_bits(self):
        run = self.run_mode("single", self.llamacpp(), "--temperature", "0.8", "--sampling-seed", "5000000000")
        self.assert_verdict(run, 3, "seeds are of 32 bits")

    def test_the_manifest(self):
        fields = self.manifest(self.llamacpp())
        self.assertEqual(fields["engine.version"]["value"], "b6000-abc1234")
        self.assertEqual(fields["model.name"]["value"], "tiny-q4.gguf")
        self.assertNotIn("alice-wonder", str(fields))


if __name__ == "__main__":
    sys.exit(unittest.main())
