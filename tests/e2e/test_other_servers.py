"""TensorRT-LLM's and LMDeploy's interfaces, end to end, and what --api auto makes of servers."""

import sys
import unittest

from server_case import MockEngine, ServerCase

from lmdeploy_mock import LmdeployMock  # isort: skip (server_case makes the mocks known)
from mock_http import Mock  # isort: skip
from trtllm_mock import TrtllmMock  # isort: skip


class Trtllm(ServerCase):
    def trtllm(self, fault=None, engine=None, **quirks):
        return self.mock(TrtllmMock, engine or MockEngine(fault), **quirks)

    def test_a_server_that_obeys_passes(self):
        run = self.run_mode("single", self.trtllm())
        self.assert_verdict(run, 0, "trtllm at .*tier B: .*not: .*cache bypass, flush, server witness")

    def test_cold_is_not_tested_where_the_cache_cannot_be_kept_out(self):
        run = self.run_mode("single", self.trtllm())
        self.assert_verdict(run, 0, "the target can neither bypass nor flush its prefix cache")

    def test_without_a_cache_all_is_cold(self):
        run = self.run_mode("single", self.trtllm(engine=MockEngine(cache=False)))
        self.assert_verdict(run, 0)
        self.assertNotIn("can neither bypass", run.stdout)

    def test_answers_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_mode("batch", self.trtllm("batch")), 1, "batch +FAIL")

    def test_only_known_fields_are_sent(self):
        server = self.trtllm()
        self.run_mode("single", server)
        self.assertNotIn("cache_salt", server.bodies[-1])
        self.assertFalse(server.bodies[-1]["detokenize"])  # Else no token IDs come.
        self.assertIn("seed", server.bodies[-1])  # The server has a fixed one where none is given.

    def test_one_logprob_is_asked_for(self):
        self.assert_verdict(self.run_mode("single", self.trtllm(trt_backend=True)), 0, "token IDs out, logprobs")

    def test_a_mode_that_may_be_ineffective_is_not_claimed(self):
        # FORCE_DETERMINISTIC=1 may not reach the workers.
        fields = self.manifest(self.trtllm())
        self.assertEqual(fields["engine.determinism_claimed"]["source"], "unknown")
        self.assertEqual(fields["engine.version"]["value"], "1.2.0")

    def test_metrics_that_drain_are_left_alone(self):
        server = self.trtllm()
        self.run_mode("single", server)
        self.assertNotIn("/metrics", server.paths())

    def test_an_error_inside_a_stream(self):
        run = self.run_mode("single", self.trtllm(error_after=12), "--step-attempts", "1")
        self.assert_verdict(run, 4, "executor has shut down")

    def test_flushes_are_unsupported(self):
        self.assert_verdict(self.run_mode("radix_cache", self.trtllm()), 3, "cannot flush its prefix cache")


class Lmdeploy(ServerCase):
    def lmdeploy(self, fault=None, cache=False, **quirks):
        return self.mock(LmdeployMock, MockEngine(fault, cache=cache), **quirks)

    def test_a_server_that_obeys_passes(self):
        self.assert_verdict(self.run_mode("single", self.lmdeploy()), 0, "lmdeploy at .*tier A")

    def test_token_ids_go_to_generate(self):
        server = self.lmdeploy()
        self.run_mode("single", server)
        self.assertIn("/generate", server.paths())
        self.assertNotIn("/v1/completions", server.paths())  # A list of IDs is a list of prompts there.
        self.assertEqual(server.bodies[-1]["top_k"], 1)

    def test_the_configuration_is_in_the_metrics(self):
        self.assertEqual(self.manifest(self.lmdeploy())["engine.radix_cache"]["value"], "off")
        self.assertEqual(self.manifest(self.lmdeploy(cache=True))["engine.radix_cache"]["value"], "on")

    def test_answers_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_mode("batch", self.lmdeploy("batch")), 1, "batch +FAIL")

    def test_neighbours_are_run_greedily_where_no_seed_is_taken(self):
        server = self.lmdeploy()
        self.assert_verdict(self.run_mode("batch", server), 0, "run greedily")
        self.assertEqual({body["temperature"] for body in server.bodies}, {0.0})

    def test_sampling_is_unsupported(self):
        self.assert_verdict(self.run_mode("seeds", self.lmdeploy()), 3, "takes no seed")
        self.assert_verdict(self.run_mode("single", self.lmdeploy(), "--temperature", "0.7"), 3, "takes no seed")

    def test_logprobs_that_are_refused_are_done_without(self):
        self.assert_verdict(self.run_mode("single", self.lmdeploy(no_logprobs=True)), 0, "not: logprobs")

    def test_a_cache_that_is_on_cannot_be_kept_out(self):
        run = self.run_mode("single", self.lmdeploy(cache=True))
        self.assert_verdict(run, 0, "the target can neither bypass nor flush its prefix cache")

    def test_without_metrics_the_client_clock_is_the_witness(self):
        self.assert_verdict(self.run_mode("single", self.lmdeploy(no_metrics=True)), 0, "not: .*server witness")


class Unknown(Mock):
    def answer(self, handler, method, path):
        handler.not_found()


class Auto(ServerCase):
    def test_a_server_that_is_none_of_them(self):
        run = self.run_mode("single", self.mock(Unknown))
        self.assert_verdict(run, 4, "--api auto found none of sglang, vllm, trtllm, lmdeploy, "
                                    "llamacpp, tgi, ollama, openai; name one")

    def test_an_api_that_the_server_does_not_have(self):
        run = self.run_mode("single", self.mock(Unknown), "--api", "sglang")
        self.assert_verdict(run, 4, "not an SGLang server")

    def test_an_api_that_there_is_not(self):
        self.assert_refused(self.run_mode("single", self.mock(Unknown), "--api", "other"), "--api other")


if __name__ == "__main__":
    sys.exit(unittest.main())
