"""Replicas of one server: the same plan on each of several mock servers, and their answers held against each other."""

import json
import signal
import time
import unittest
import xml.etree.ElementTree

from server_case import SHORT, MockEngine, ServerCase

from vllm_mock import VllmMock


class OtherEngine(MockEngine):
    """Steady, and of other logprobs than the others: as another build of the same engine."""

    def _next(self, sequence, num_running, prefills_beside):
        token, logprob, best = super()._next(sequence, num_running, prefills_beside)
        if self.fault == "drift":
            best = [(token, logprob - 2**-20) for token, logprob in best]
            return token, best[0][1], best
        if len(sequence.outputs) >= 5:
            return best[1][0], best[1][1], best
        return token, logprob, best


class DeafEngine(MockEngine):
    """Says the same whatever it is asked."""

    def _next(self, sequence, num_running, prefills_beside):
        return 11, -0.5, [(11, -0.5), (12, -1.0)]


class Replicas(ServerCase):
    def vllm(self, engine=None, **quirks):
        return self.mock(VllmMock, engine or MockEngine(), **quirks)

    def run_replicas(self, mode, first, *others, report="r.json"):
        endpoints = [word for url in others for word in ("--endpoint", getattr(url, "url", url))]
        return self.run_mode(mode, first, *endpoints, "--report", report)

    def modes(self, name="r.json"):
        return [(mode.get("replica"), mode.get("across_replicas", False), mode["verdict"])
                for mode in self.report(name)["judgement"]["modes"]]

    def test_replicas_that_agree_pass(self):
        run = self.run_replicas("single", self.vllm(), self.vllm())
        self.assert_verdict(run, 0, r"replica: 1 other replica \(single\)")
        self.assertRegex(run.stderr, r"replica 2: vllm at http://127.0.0.1:\d+: tier A")
        self.assertEqual(self.modes(), [(0, False, "pass"), (1, False, "pass"), (None, True, "pass")])
        report = self.report()
        across = report["judgement"]["modes"][2]["requests"][0]
        own = [mode["requests"][0]["total_samples"] for mode in report["judgement"]["modes"][:2]]
        self.assertEqual(across["total_samples"], sum(own))
        self.assertEqual(across["unique_samples"], 1)
        self.assertEqual(len(report["replicas"]), 2)

    def test_one_that_answers_otherwise_fails(self):
        run = self.run_replicas("single", self.vllm(), self.vllm(OtherEngine()))
        self.assert_verdict(run, 1, r"When: +on replica 2, not on replica 1")
        self.assertRegex(run.stdout, r"Requirement: A request gets the same answer on every replica")
        self.assertRegex(run.stdout, r"at output position 5 .*\(step 0 'q13 alone, cold', replica 2\)")
        self.assertEqual(self.modes(), [(0, False, "pass"), (1, False, "pass"), (None, True, "fail")])
        request = self.report()["judgement"]["modes"][2]["requests"][0]
        self.assertEqual(request["condition_kind"], "replica")
        self.assertIn("nothing that they tell of themselves explains it", request["reasons"])

    def test_logprobs_alone_fail_too(self):
        run = self.run_replicas("single", self.vllm(), self.vllm(OtherEngine("drift")))
        self.assert_verdict(run, 1, r"Unique samples: 1, Unique logprob traces: 2")

    def test_what_they_say_of_themselves_explains(self):
        first = self.vllm(dev_mode=1)
        second = self.vllm(OtherEngine(), dev_mode=0)
        self.assert_verdict(self.run_replicas("single", first, second), 1, "which can explain it")

    def test_the_plan_is_made_of_what_all_have(self):
        run = self.run_replicas("radix_cache", self.vllm(), self.vllm(no_details=True, no_metrics=True))
        self.assert_verdict(run, 3, "the target does not report cached tokens")
        self.assertRegex(run.stderr, "the plan is made of what all replicas have: .*no cached tokens")

    def test_one_that_fails_by_itself(self):
        run = self.run_replicas("batch", self.vllm(), self.vllm(MockEngine("batch")))
        self.assert_verdict(run, 1)
        self.assertEqual(self.modes(), [(0, False, "pass"), (1, False, "fail"), (None, True, "pass")])

    def test_one_that_is_down_takes_nothing_from_the_others(self):
        run = self.run_replicas("single", self.vllm(), "http://127.0.0.1:9", self.vllm())
        self.assert_verdict(run, 4, "target lost: replica 2: ")
        self.assertEqual(self.modes()[:2], [(0, False, "pass"), (2, False, "pass")])
        gate = self.detcheck("gate", "r.json")
        self.assertEqual(gate.returncode, 4, gate.stdout)

    def test_a_divergence_tells_before_one_that_is_down(self):
        run = self.run_replicas("batch", self.vllm(MockEngine("batch")), "http://127.0.0.1:9")
        self.assert_verdict(run, 1)

    def test_all_down_is_an_error(self):
        run = self.detcheck("single", "--endpoint", "http://127.0.0.1:9", "--endpoint", "http://127.0.0.1:10")
        self.assertEqual(run.returncode, 4)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)

    def test_the_same_command_goes_on_when_it_is_back(self):
        first, late = self.vllm(), self.vllm()
        url = late.url
        cut = self.run_replicas("single", first, "http://127.0.0.1:9")
        self.assert_verdict(cut, 4)
        asked = len(first.bodies)
        run = self.run_mode("single", first, "--endpoint", url, "--report", "r.json", "--resume")
        self.assert_verdict(run, 0)
        self.assertGreater(self.report()["run"]["resumed_records"], 0)
        self.assertLess(len(first.bodies) - asked, asked, "the first replica's plan is not run again")
        self.assertEqual(self.modes()[2], (None, True, "pass"))

    def test_interrupted_it_goes_on_where_it_was(self):
        first, second = self.vllm(), self.vllm(MockEngine(step_s=0.05))
        options = ["single", *(word for option in SHORT.items() for word in option), "--no-progress", "--endpoint",
                   first.url, "--endpoint", second.url, "--report", "r.json"]
        run = self.start(*options)
        lines = self.folder / "r.json.transcript.jsonl"
        while not (lines.exists() and '"replica":1' in lines.read_text()):
            self.assertIsNone(run.poll())
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)
        self.assertEqual(run.returncode, 130)
        asked = len(first.bodies)
        resumed = self.detcheck(*options, "--resume")
        self.assert_verdict(resumed, 0)
        self.assertLess(len(first.bodies) - asked, asked, "what the first replica answered is kept")
        self.assertEqual(self.modes(), [(0, False, "pass"), (1, False, "pass"), (None, True, "pass")])

    def test_a_budget_is_of_all_together(self):
        run = self.run_mode("single", self.vllm(), "--endpoint", self.vllm().url, "--budget", "0.3", "--report", "r.json")
        self.assert_verdict(run, 3, r"replica \d: .*budget of 0.3 s spent")
        resumed = self.run_mode("single", self.vllm(), "--endpoint", self.vllm().url, "--report", "r.json", "--resume")
        self.assert_verdict(resumed, 0)

    def test_shards_of_replicas_merge(self):
        first, second = self.vllm(), self.vllm(OtherEngine())
        for shard in ("1", "2"):
            run = self.run_mode("single", first, "--endpoint", second.url, "--shard", f"{shard}/2", "--report", f"s{shard}.json")
            self.assert_verdict(run, 1)
        merged = self.detcheck("merge", "s1.json", "s2.json", "-o", "r.json")
        self.assertEqual(merged.returncode, 1, merged.stderr)
        self.assertEqual(self.modes(), [(0, False, "pass"), (1, False, "pass"), (None, True, "fail")])

    def test_what_ci_reads_tells_replicas_apart(self):
        self.run_replicas("single", self.vllm(), self.vllm(OtherEngine()))
        self.detcheck("show", "r.json", "--junit", "r.xml", "--markdown", "r.md", "--html", "r.html")
        suites = [suite.get("name") for suite in xml.etree.ElementTree.parse(self.path("r.xml")).getroot()]
        self.assertEqual(suites[:3], ["detcheck.single.replica-1", "detcheck.single.replica-2", "detcheck.single.replicas"])
        self.assertIn("| single, across replicas | **fail**", (self.folder / "r.md").read_text())
        self.assertIn("single, across replicas", (self.folder / "r.html").read_text())
        gate = self.detcheck("gate", "r.json", "--annotations")
        self.assertEqual(gate.returncode, 1, gate.stdout)
        self.assertIn("::error title=detcheck.single.replicas", gate.stdout)
        self.assertEqual(self.detcheck("diff", "r.json", "r.json").returncode, 0)

    def test_replay_asks_for_as_many_replicas(self):
        first, second = self.vllm(), self.vllm()
        self.run_replicas("single", first, second)
        replay = ["replay", "r.json", "--no-progress", "--timeout", "20"]
        named = rf"is of 2 replicas \({first.url}, {second.url}\): give --endpoint for each of them, in this order"
        self.assert_refused(self.detcheck(*replay, "--endpoint", first.url), named)
        self.assert_refused(self.detcheck("replay", "r.json"), named)
        swapped = self.detcheck(*replay, "--endpoint", second.url, "--endpoint", first.url)
        self.assert_refused(swapped, "is of the same replicas in another order: ")
        again = self.detcheck(*replay, "--endpoint", first.url, "--endpoint", second.url)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertIn("0 changed", again.stdout)
        other = self.detcheck(*replay, "--endpoint", first.url, "--endpoint", self.vllm(OtherEngine()).url)
        self.assertEqual(other.returncode, 1, other.stdout)
        self.run_mode("single", first, "--report", "one.json")
        replay[1] = "one.json"
        several = self.detcheck(*replay, "--endpoint", first.url, "--endpoint", second.url)
        self.assert_refused(several, "is of one target, not of 2 replicas: give one --endpoint")

    def test_one_that_cannot_be_tested_is_no_divergence_of_a_replay(self):
        first = self.vllm()
        self.run_replicas("single", first, self.vllm())
        deaf = self.vllm(DeafEngine())
        run = self.detcheck("replay", "r.json", "--no-progress", "--timeout", "20", "--endpoint", first.url, "--endpoint", deaf.url)
        self.assertIn("cannot be tested: pre-flight: two different prompts had the same answer", run.stdout)
        self.assertEqual(run.returncode, 3, run.stdout + run.stderr)

    def test_one_server_twice_is_refused(self):
        url = self.vllm().url
        self.assert_refused(self.detcheck("single", "--endpoint", url, "--endpoint", url + "/"), "given twice")

    def test_records_of_no_replica_are_refused(self):
        first, second = self.vllm(), self.vllm()
        self.run_mode("single", first, "--endpoint", second.url, "--budget", "0.2", "--report", "r.json")
        path = self.folder / "r.json.transcript.jsonl"
        header, record = path.read_text().splitlines()[:2]
        for change, fact in (({"replica": 7}, "replica: 7 is not below 2"), ({"step": 999999}, "step: 999999 is no step of the plan")):
            self.write(path.name, "\n".join([header, json.dumps({**json.loads(record), **change}), ""]))
            run = self.run_mode("single", first, "--endpoint", second.url, "--report", "r.json", "--resume", "--quiet")
            self.assert_refused(run, rf"r\.json\.transcript\.jsonl: line 2: {fact}")

    def test_the_manifest_of_each(self):
        run = self.detcheck("manifest", "--json", "--endpoint", self.vllm().url, "--endpoint", self.vllm().url)
        self.assertEqual(len(json.loads(run.stdout)["subjects"]), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
