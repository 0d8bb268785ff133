"""vLLM's interface, end to end: the real program against a mock server with vLLM's quirks."""

import sys
import time
import unittest

from server_case import MockEngine, ServerCase

from vllm_mock import VllmMock


class Vllm(ServerCase):
    def vllm(self, fault=None, engine=None, **quirks):
        return self.mock(VllmMock, engine or MockEngine(fault), **quirks)


class Verdicts(Vllm):
    def test_a_server_that_obeys_passes_every_mode(self):
        run = self.run_mode("all", self.vllm(), "--report", "r.json", "--long-tokens", "400")
        self.assert_verdict(run, 0)
        self.assertIn("vllm at http://127.0.0.1", run.stderr)
        self.assertIn("tier A", run.stderr)
        self.assertEqual(self.report()["judgement"]["verdict"], "pass")

    def test_answers_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_mode("batch", self.vllm("batch")), 1, "batch +FAIL")

    def test_answers_that_depend_on_the_cache_fail(self):
        self.assert_verdict(self.run_mode("radix_cache", self.vllm("cache")), 1, "radix_cache +FAIL")

    def test_logprobs_alone_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_mode("single", self.vllm("logprobs")), 1,
                            "Unique samples: 1, Unique logprob traces: ([2-9]|[1-9][0-9])")

    def test_batches_that_never_form_are_inconclusive(self):
        server = self.vllm(engine=MockEngine(max_running=1))
        run = self.run_mode("single", server, "--step-attempts", "1", "--batch-sizes", "1,2")
        self.assert_verdict(run, 3, "formed size 1 of 2")


class StepWitness(Vllm):
    """Batches that are shown by the number of engine steps, where looks at the running requests come too late."""

    def sources(self):
        return {item["witness"]["source"] for record in self.report()["transcript"]["records"] for item in record["items"]}

    def run_single(self, *quirk_names, engine=None):
        server = self.vllm(engine=engine, **{name: True for name in quirk_names})
        return self.run_mode("single", server, "--report", "r.json", "--step-attempts", "1")

    def test_fewer_steps_than_tokens_show_a_batch(self):
        self.assert_verdict(self.run_single("no_running"), 0)
        self.assertEqual(self.sources(), {"server"})

    def test_as_many_steps_as_tokens_show_that_there_was_none(self):
        run = self.run_single("no_running", engine=MockEngine(max_running=1))
        self.assert_verdict(run, 3, "formed size 1 of 2")

    def test_steps_that_give_several_tokens_show_nothing(self):
        # One after the other, with half as many steps as tokens: as if any two had shared theirs.
        run = self.run_single("no_running", "speculates", engine=MockEngine(max_running=1))
        self.assert_verdict(run, 3, "formed size 1 of 2")

    def test_without_the_histogram_the_running_requests_are_the_witness(self):
        self.assert_verdict(self.run_single("no_histogram"), 0)
        self.assertEqual(self.sources(), {"server"})


class Looks(Vllm):
    """Looks at the counters while a batch runs."""

    def test_slow_looks_are_rare(self):
        server = self.vllm(slow_metrics=0.02)
        began = time.monotonic()
        run = self.run_mode("single", server, "--batch-sizes", "1,2", "--max-new-tokens", "128")
        took_s = time.monotonic() - began
        self.assert_verdict(run, 0)
        # Four of each request that do not depend on its length: before it, after it, at its release, at its first token.
        # Between others there are seven times what a look takes.
        paced = server.paths().count("/metrics") - 4 * len(server.bodies)
        self.assertLess(paced * 8 * 0.02, took_s)

    def test_a_batch_is_seen_however_slow_looks_are(self):
        server = self.vllm(slow_metrics=0.02, no_histogram=True)
        # Answers of half a second, so that a busy machine's pauses do not end them before the look at their first token.
        run = self.run_mode("single", server, "--report", "r.json", "--step-attempts", "1", "--max-new-tokens", "128")
        self.assert_verdict(run, 0)
        sources = {item["witness"]["source"] for record in self.report()["transcript"]["records"] for item in record["items"]}
        self.assertEqual(sources, {"server"})


class CacheCounters(Vllm):
    """Cached tokens that only the counters tell."""

    def cached(self):
        return [item["witness"].get("cached_tokens") for record in self.report()["transcript"]["records"]
                for item in record.get("items", [])]

    def test_without_details_the_counters_tell(self):
        run = self.run_mode("radix_cache", self.vllm(no_details=True), "--report", "r.json")
        self.assert_verdict(run, 0)
        self.assertGreater(max(self.cached()), 0)
        self.assertIn(0, self.cached())

    def test_answers_that_depend_on_the_cache_fail(self):
        self.assert_verdict(self.run_mode("radix_cache", self.vllm("cache", no_details=True)), 1, "radix_cache +FAIL")

    def test_a_null_that_stands_for_none(self):
        run = self.run_mode("batch", self.vllm(null_when_none=True), "--report", "r.json", "--step-attempts", "1")
        self.assert_verdict(run, 0, "tier A: [^;]*cache bypass")
        self.assertEqual(set(self.cached()), {0})

    def test_a_batch_that_was_not_cold(self):
        server = self.vllm(no_details=True, no_salt=True, lying_reset=True)
        self.assert_verdict(self.run_mode("single", server, "--step-attempts", "1"), 3, "at most 0 allowed")


class Traps(Vllm):
    def test_every_parameter_is_sent(self):
        server = self.vllm()
        self.run_mode("single", server)
        body = server.bodies[-1]
        for name in ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
                     "seed", "n", "ignore_eos", "stop", "stop_token_ids", "min_tokens", "max_tokens"):
            self.assertIn(name, body)
        self.assertEqual(body["top_k"], 0)
        self.assertTrue(all(isinstance(token, int) for token in body["prompt"]))

    def test_cold_is_a_salt_for_each_request(self):
        server = self.vllm()
        self.assert_verdict(self.run_mode("single", server), 0, "cache bypass")
        salts = [body["cache_salt"] for body in server.bodies]
        self.assertGreater(len(set(salts)), 8)
        for salt in salts:
            self.assertLessEqual(len(salt), 128)
            self.assertFalse(set(salt) & set("@/\\\0"))

    def test_salts_of_two_runs_differ(self):
        server = self.vllm()
        self.run_mode("single", server, "--n-trials", "1")
        before = {body["cache_salt"] for body in server.bodies}
        server.bodies.clear()
        self.run_mode("single", server, "--n-trials", "1")
        self.assertFalse(before & {body["cache_salt"] for body in server.bodies})

    def test_a_reset_that_resets_nothing_is_no_flush(self):
        run = self.run_mode("single", self.vllm(no_salt=True, lying_reset=True), "--step-attempts", "1")
        self.assert_verdict(run, 3, "cached tokens, at most 0 allowed")

    def test_a_reset_where_salts_are_not_known(self):
        self.assert_verdict(self.run_mode("single", self.vllm(no_salt=True)), 0, "not: cache bypass")

    def test_a_reset_that_is_not_there_is_no_flush(self):
        # Without VLLM_SERVER_DEV_MODE=1.
        self.assert_verdict(self.run_mode("radix_cache", self.vllm(no_salt=True, no_reset=True)), 3, "cannot flush")

    def test_preemptions_are_told(self):
        run = self.run_mode("single", self.vllm(preempted=1), "--report", "r.json")
        self.assert_verdict(run, 0)
        items = [item for record in self.report()["transcript"]["records"] for item in record.get("items", [])]
        self.assertTrue(all(item["witness"]["preemptions"] > 0 for item in items))

    def test_one_prompt_a_request(self):
        # The usage of several prompts has the cached tokens of the last one.
        server = self.vllm()
        self.assert_verdict(self.run_mode("batch", server), 0)
        for body in server.bodies:
            self.assertIsInstance(body["prompt"][0], int)

    def test_cached_tokens_that_are_not_told(self):
        run = self.run_mode("radix_cache", self.vllm(no_details=True, no_hits=True))
        self.assert_verdict(run, 3, "does not report cached tokens|cannot flush")

    def test_ids_that_are_not_told_are_refused(self):
        self.assert_verdict(self.run_mode("single", self.vllm(no_token_ids=True)), 4, "without token_ids")

    def test_logprobs_keyed_by_text_are_not_taken(self):
        run = self.run_mode("single", self.vllm(strings=True))
        self.assertIn("not: logprobs", run.stderr)

    def test_an_error_inside_a_stream_is_an_error(self):
        run = self.run_mode("single", self.vllm(error_after=12), "--step-attempts", "1")
        self.assert_verdict(run, 4, "EngineCore died")

    def test_several_tokens_in_an_event(self):
        self.assert_verdict(self.run_mode("single", self.vllm(two_per_event=True)), 0)

    def test_a_token_that_does_not_come_is_an_error(self):
        run = self.run_mode("single", self.vllm(loses_token=9), "--step-attempts", "1")
        self.assert_verdict(run, 4, "15 tokens came, the server counted 16")

    def test_answers_that_came_before_the_server_ended_are_kept(self):
        server = self.vllm(dies_after=12)
        self.assert_verdict(self.run_mode("single", server, "--report", "r.json"), 4)
        asked = [body for body in server.bodies if body["max_tokens"] == 16]
        kept = [item for record in self.report()["transcript"]["records"] for item in record.get("items", [])]
        self.assertGreater(len(asked), 2)
        self.assertEqual([item["finish"] for item in kept], ["length"] * len(asked))

    def test_a_low_temperature_is_refused(self):
        run = self.run_mode("single", self.vllm(), "--temperature", "0.005")
        self.assert_verdict(run, 3, "raises a temperature below 0.01")

    def test_a_fingerprint_that_changes_makes_the_run_inconclusive(self):
        self.assert_verdict(self.run_mode("single", self.vllm(fingerprints=9)), 3)

    def test_tokens_of_others_make_a_cell_inconclusive(self):
        run = self.run_mode("single", self.vllm(extra_tokens=3), "--step-attempts", "1")
        self.assert_verdict(run, 3, "others use the server: it generated")

    def test_a_model_that_is_not_served(self):
        self.assert_refused(self.run_mode("single", self.vllm(), "--served-model", "other"), "the server lists tiny")

    def test_errors_in_both_shapes(self):
        for flat in (False, True):
            server = self.vllm(flat_errors=flat, reject=(400, "key sk-S3cret in /home/alice/x is no good"))
            run = self.run_mode("single", server, "--api-key-env", "MOCK", env={"MOCK": "sk-S3cret"})
            self.assert_verdict(run, 4, r"key \(key\) in x is no good")

    def test_the_key_guards_v1(self):
        server = self.vllm(api_key="sk-vllm")
        self.assert_verdict(self.run_mode("single", server), 4, "Unauthorized")
        self.assert_verdict(self.run_mode("single", server, "--api-key-env", "MOCK", env={"MOCK": "sk-vllm"}), 0)

    def test_without_metrics_the_client_clock_is_the_witness(self):
        self.assert_verdict(self.run_mode("single", self.vllm(no_metrics=True)), 0, "not: server witness")

    def test_the_manifest(self):
        fields = self.manifest(self.vllm(dev_mode=1))
        self.assertEqual(fields["engine.version"]["value"], "0.27.0")
        self.assertEqual(fields["engine.mode"]["value"], "deterministic")
        self.assertEqual(fields["model.id"]["value"], "org/tiny-llama")
        self.assertEqual(fields["engine.page_size"]["value"], "16")
        self.assertEqual(fields["engine.chunked_prefill_size"]["value"], "256")
        self.assertEqual(fields["engine.max_running_requests"]["value"], "48")
        self.assertEqual(fields["model.dtype"]["value"], "bfloat16")
        self.assertEqual(fields["parallelism.tp_size"]["value"], "1")
        self.assertNotIn("alice-wonder", str(fields))
        self.assertEqual(fields["engine.kv_pool_tokens"]["value"], "65536")
        self.assertEqual(fields["process.start"]["value"], "1700000000")
        self.assertRegex(fields["engine.fingerprint"]["value"], "vllm-0.27.0")


if __name__ == "__main__":
    sys.exit(unittest.main())
