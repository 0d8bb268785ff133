"""SGLang's interface, end to end: the real program against a mock server with SGLang's quirks."""

import socket
import sys
import unittest

from server_case import MockEngine, ServerCase

from sglang_mock import SglangMock


class Sglang(ServerCase):
    def sglang(self, fault=None, engine=None, **quirks):
        return self.mock(SglangMock, engine or MockEngine(fault), **quirks)


class Verdicts(Sglang):
    def test_a_server_that_obeys_passes_every_mode(self):
        # Slow steps, so that a batch of 33 forms on a busy machine too.
        run = self.run_mode("all", self.sglang(engine=MockEngine(step_s=0.01)), "--api", "sglang", "--report", "r.json", "--long-tokens", "400")
        self.assert_verdict(run, 0, "verdict|Verdict: pass")
        self.assertIn("tier A", run.stderr)
        report = self.report()
        self.assertEqual(report["judgement"]["verdict"], "pass")

    def test_answers_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_mode("single", self.sglang("batch")), 1, "single +FAIL")
        self.assert_verdict(self.run_mode("batch", self.sglang("batch")), 1, "batch +FAIL")

    def test_logprobs_alone_that_depend_on_the_batch_fail(self):
        self.assert_verdict(self.run_mode("single", self.sglang("logprobs")), 1,
                            "Unique samples: 1, Unique logprob traces: ([2-9]|[1-9][0-9])")

    def test_answers_that_depend_on_the_cache_fail(self):
        run = self.run_mode("radix_cache", self.sglang("cache"))
        self.assert_verdict(run, 1, "radix_cache +FAIL")

    def test_answers_that_depend_on_an_arriving_prompt_fail(self):
        self.assert_verdict(self.run_mode("mixed", self.sglang("beside"), "--long-tokens", "400"), 1, "mixed +FAIL")

    def test_answers_that_never_repeat_are_no_finding_about_batches(self):
        self.assert_verdict(self.run_mode("single", self.sglang("noise")), 1, "not_repeatable|do not repeat|disagree")

    def test_seeds_that_are_not_looked_at_fail(self):
        self.assert_verdict(self.run_mode("seeds", self.sglang("seed")), 1, "seeds +FAIL")

    def test_batches_that_never_form_are_inconclusive(self):
        server = self.sglang(engine=MockEngine(max_running=1), no_load=True, claimed_running=64)
        run = self.run_mode("single", server, "--step-attempts", "1", "--batch-sizes", "1,2")
        self.assert_verdict(run, 3)

    def test_without_deterministic_mode_seeds_are_unsupported(self):
        run = self.run_mode("seeds", self.sglang(deterministic=False))
        self.assert_verdict(run, 3, "takes no seed")


class Traps(Sglang):
    def test_older_names_of_end_points(self):
        server = self.sglang(old_names=True)
        run = self.run_mode("single", server)
        self.assert_verdict(run, 0, "tier A")
        self.assertIn("/get_load", server.paths())

    def test_older_names_tell_the_same(self):
        fields = self.manifest(self.sglang(old_names=True))
        self.assertEqual(fields["engine.version"]["value"], "0.5.6")
        self.assertEqual(fields["model.weight_version"]["value"], "default")

    def test_the_native_end_point_is_asked(self):
        # The OpenAI route knows seeds and token IDs in recent releases only.
        server = self.sglang()
        self.assert_verdict(self.run_mode("single", server), 0)
        self.assertIn("/generate", server.paths())
        self.assertNotIn("/v1/completions", server.paths())

    def test_running_requests_are_not_taken_from_gauges_that_lag(self):
        server = self.sglang()
        self.assert_verdict(self.run_mode("single", server), 0, "tier A")
        self.assertIn("/v1/loads", server.paths())
        self.assertNotIn("/metrics", server.paths())  # Its gauges are brought up to date every 40 decode steps.

    def test_neighbours_cannot_leave_early(self):
        server = self.sglang()
        self.run_mode("batch", server)
        sampling = [body["sampling_params"] for body in server.bodies]
        self.assertEqual({params["ignore_eos"] for params in sampling}, {True})

    def test_a_flush_comes_after_a_request_and_asks_to_wait(self):
        # Releases of old hang where they are flushed before any request; a flush right after an answer is refused.
        server = self.sglang(no_salt=True)
        self.assert_verdict(self.run_mode("single", server, "--n-trials", "1"), 0)
        paths = server.paths()
        self.assertLess(paths.index("/generate"), paths.index("/flush_cache"))
        self.assertIn("/flush_cache?timeout=20", [path for _, path in server.requests])

    def test_retractions_are_told(self):
        run = self.run_mode("single", self.sglang(retractions=2), "--report", "r.json")
        self.assert_verdict(run, 0)
        items = [item for record in self.report()["transcript"]["records"] for item in record.get("items", [])]
        self.assertEqual({item["witness"]["preemptions"] for item in items}, {2})

    def test_a_stream_that_ends_without_a_reason_is_an_error(self):
        run = self.run_mode("single", self.sglang(no_finish=True), "--step-attempts", "1")
        self.assert_verdict(run, 4, "ended without a finish reason")

    def test_streams_of_what_is_new(self):
        whole = self.run_mode("single", self.sglang(), "--report", "a.json")
        self.assert_verdict(whole, 0)
        self.assert_verdict(self.run_mode("single", self.sglang(incremental=True), "--report", "b.json"), 0)
        diff = self.detcheck("diff", "a.json", "b.json")
        self.assertEqual(diff.returncode, 0, diff.stdout)

    def test_every_parameter_is_sent(self):
        server = self.sglang()
        self.run_mode("single", server)
        body = server.bodies[-1]
        for name in ("temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty",
                     "min_new_tokens", "max_new_tokens", "n", "ignore_eos", "stop", "stop_token_ids"):
            self.assertIn(name, body["sampling_params"])
        self.assertNotIn("sampling_seed", body["sampling_params"])  # Some backends refuse one at temperature 0.
        self.assertEqual(body["sampling_params"]["n"], 1)
        self.assertEqual(body["logprob_start_len"], -1)  # From 0 on nothing would come out of the cache.
        self.assertNotIn("text", body)

    def test_seeds_are_sent_where_they_are_used(self):
        server = self.sglang()
        self.run_mode("seeds", server, "--dry-run")
        self.run_mode("single", server, "--temperature", "0.8", "--sampling-seed", "7")
        self.assertEqual(server.bodies[-1]["sampling_params"]["sampling_seed"], 7)

    def test_health_is_never_asked(self):
        server = self.sglang()
        self.run_mode("single", server)
        self.assertFalse([path for path in server.paths() if path.startswith("/health")])

    def test_a_token_that_the_server_adds_is_seen_before_the_run(self):
        self.assert_verdict(self.run_mode("single", self.sglang(adds_token=True)), 3, "33 token IDs were sent, the server counted 34")

    def test_a_prompt_that_is_not_looked_at_is_seen_before_the_run(self):
        self.assert_verdict(self.run_mode("single", self.sglang(ignores_ids=True)), 3, "two different prompts had the same answer")

    def test_an_error_inside_a_stream_is_an_error(self):
        run = self.run_mode("single", self.sglang(error_after=12), "--step-attempts", "1")
        self.assert_verdict(run, 4, "out of memory while decoding")

    def test_an_abort_by_the_server_is_an_error(self):
        run = self.run_mode("single", self.sglang(abort_after=12), "--step-attempts", "1")
        self.assert_verdict(run, 4, "Aborted by an operator")

    def test_a_flush_that_is_refused_while_busy_is_tried_again(self):
        server = self.sglang(flush_busy=3, no_salt=True)
        self.assert_verdict(self.run_mode("single", server, "--n-trials", "1"), 0, "flush")
        self.assertGreater(server.paths().count("/flush_cache"), 3)

    def test_a_flush_that_needs_another_key_is_no_flush(self):
        run = self.run_mode("radix_cache", self.sglang(admin_key=True))
        self.assert_verdict(run, 3, "cannot flush")

    def test_without_salts_cold_runs_are_flushed(self):
        server = self.sglang(no_salt=True)
        run = self.run_mode("single", server)
        self.assert_verdict(run, 0, "not: cache bypass")
        self.assertGreater(server.paths().count("/flush_cache"), 8)

    def test_weights_that_change_make_the_run_inconclusive(self):
        self.assert_verdict(self.run_mode("single", self.sglang(weights_after=9)), 3, "the target is not what it was")

    def test_requests_of_others_make_a_cell_inconclusive(self):
        engine = MockEngine()
        engine.foreign = 2
        run = self.run_mode("single", self.sglang(engine=engine), "--step-attempts", "1", "--max-new-tokens", "32")
        self.assert_verdict(run, 3, "others use the server")

    def test_requests_that_linger_after_their_client_has_gone_are_waited_for(self):
        engine = MockEngine(abort_delay_s=0.3, step_s=0.015)
        run = self.run_mode("history", self.sglang(engine=engine))
        self.assert_verdict(run, 0)
        self.assertNotIn("others use the server", run.stdout)

    def test_ids_that_come_with_logprobs_alone(self):
        run = self.run_mode("single", self.sglang(no_output_ids=True), "--step-attempts", "1")
        self.assertIn("Total samples", run.stdout)
        self.assert_verdict(run, 4, "token IDs with logprobs only")  # The arm that asks for no logprobs cannot be had.

    def test_without_load_the_client_clock_is_the_witness(self):
        run = self.run_mode("single", self.sglang(no_load=True), "--report", "r.json")
        self.assert_verdict(run, 0, "not: server witness")
        text = (self.folder / "r.json").read_text()
        self.assertIn("client_overlap", text)


class Failures(Sglang):
    def test_errors_of_every_shape(self):
        shapes = [
            ((400, {"error": {"message": "empty input"}}), "empty input"),
            ((400, {"object": "error", "message": "bad field", "type": "BadRequest", "param": None, "code": 400}), "bad field"),
            ((503, {"detail": "warming up"}), "warming up"),
        ]
        for reject, words in shapes:
            run = self.run_mode("single", self.sglang(reject=reject))
            self.assert_verdict(run, 4, words)

    def test_a_server_that_is_busy_for_a_while(self):
        run = self.run_mode("single", self.sglang(busy=(9, 10)))
        self.assert_verdict(run, 0, "1 attempts? not counted.*overloaded|overloaded")

    def test_a_batch_of_which_one_is_refused_is_run_again_whole(self):
        # One of the first batch of four, before which no batch has to form.
        server = self.sglang(engine=MockEngine(step_s=0.02), busy=(14, 14))
        run = self.run_mode("single", server, "--report", "r.json", "--batch-sizes", "1,4", "--n-trials", "1")
        self.assert_verdict(run, 0, "overloaded")
        records = self.report()["transcript"]["records"]
        self.assertEqual(len([record for record in records if len(record.get("items", [])) == 4]), 2)
        self.assertEqual(len(server.bodies), 20)

    def test_a_stall_ends_at_the_deadline(self):
        run = self.run_mode("single", self.sglang(stall_after=12), "--timeout", "2", "--step-attempts", "1", "--batch-sizes", "1",
                            "--n-trials", "1")
        self.assert_verdict(run, 4, "timeout|2 s")

    def test_an_event_that_is_no_json(self):
        run = self.run_mode("single", self.sglang(not_json=12), "--step-attempts", "1")
        self.assert_verdict(run, 4, "no JSON")

    def test_a_text_that_is_not_utf8(self):
        self.assert_verdict(self.run_mode("single", self.sglang(not_utf8=True)), 4, "not UTF-8")

    def test_answers_that_come_whole_show_no_batch(self):
        run = self.run_mode("single", self.sglang(whole=True, no_load=True), "--step-attempts", "1")
        self.assert_verdict(run, 3, "formed size not known")

    def test_nobody_listens(self):
        with socket.socket() as bound:  # Nobody else can listen there.
            bound.bind(("127.0.0.1", 0))
            run = self.detcheck("single", "--endpoint", f"http://127.0.0.1:{bound.getsockname()[1]}")
        self.assert_verdict(run, 4)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)

    def test_the_key_comes_from_the_environment_and_is_never_shown(self):
        key = "sk-S3cretK3y"
        server = self.sglang(api_key=key)
        run = self.run_mode("single", server, "--api-key-env", "MOCK_KEY", "--report", "r.json", env={"MOCK_KEY": key})
        self.assert_verdict(run, 0)
        for text in (run.stdout, run.stderr, (self.folder / "r.json").read_text()):
            self.assertNotIn(key, text)
        self.assert_verdict(self.run_mode("single", server), 4, "Unauthorized")
        self.assert_refused(self.run_mode("single", server, "--api-key-env", "NOT_SET"), "NOT_SET")


class Manifests(Sglang):
    def test_what_the_server_says_is_claimed_and_filtered(self):
        server = self.sglang()
        fields = self.manifest(server)
        self.assertEqual(fields["engine.version"], {"name": "engine.version", "source": "claimed", "value": "0.5.6"})
        self.assertEqual(fields["engine.mode"]["value"], "deterministic")
        self.assertEqual(fields["engine.attention_backend"]["value"], "fa3")
        self.assertEqual(fields["device.gpu_name"]["value"], "NVIDIA H200")
        self.assertEqual(fields["model.name"]["value"], "tiny-llama")
        self.assertEqual(fields["model.weight_version"]["value"], "default")
        text = str(fields)
        for secret in ("sk-mock", "alice-wonder", "internal.example", "key.pem"):
            self.assertNotIn(secret, text)

    def test_declared_facts(self):
        fields = self.manifest(self.sglang(), "--declare", "device.driver_version=570.1")
        self.assertEqual(fields["device.driver_version"]["source"], "declared")
        run = self.detcheck("manifest", "--endpoint", self.sglang().url, "--declare", "engine.version=1")
        self.assert_refused(run, "the server tells it itself")
        run = self.detcheck("manifest", "--endpoint", self.sglang().url, "--declare", "engine.colour=red")
        self.assert_refused(run, "no such field")

    def test_options_of_two_targets_do_not_mix(self):
        url = self.sglang().url
        self.assert_refused(self.detcheck("single", "--endpoint", url, "--page-size", "32"), "embedded engine")
        self.assert_refused(self.detcheck("single", "--api", "sglang"), "needs --endpoint")
        self.assert_refused(self.detcheck("single", "--endpoint", "ftp://x"), "--endpoint|ftp")


if __name__ == "__main__":
    sys.exit(unittest.main())
