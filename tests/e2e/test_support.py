"""detcheck support: tables, look-ups, and what a run records of its own combination."""

import html
import json
import unittest

from binary_case import DETERMINISTIC, QUICK, BinaryCase


class Support(BinaryCase):
    def support(self, *arguments):
        run = self.detcheck("support", *arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_all_tables(self):
        text = self.support()
        for engine in ("detcheck-cpu 0 and later", "sglang 0.5.3 to before 0.5.5", "vllm 0.11.1"):
            self.assertIn(engine, text)
        self.assertIn("https://lmsys.org/blog/2025-09-22-sglang-deterministic/", text)
        self.assertIn("test of detcheck: CpuOpsTest.DeterministicLogitsOfAnyChunking", text)

    def test_one_release(self):
        text = self.support("--engine-name", "sglang", "--engine-version", "0.5.6")
        self.assertIn("sglang 0.5.5 to before 0.5.24", text)
        self.assertNotIn("0.5.3 to before", text)
        self.assertNotIn("https://lmsys.org", text, "no statement of this release rests on it")
        text = self.support("--engine-name", "sglang", "--engine-version", "0.4.0")
        self.assertEqual(text, "sglang 0.4.0: nothing is documented of this release\n")

    def test_a_combination(self):
        combination = [
            *("--engine-name", "sglang", "--engine-version", "0.5.6"),
            *("--attention-backend", "fa3", "--radix-cache", "on", "--cuda-graph", "on"),
            *("--chunked-prefill", "on", "--speculative-decoding", "off"),
            *("--pp-size", "1", "--dp-size", "1", "--ep-size", "1", "--non-greedy"),
        ]
        text = self.support(*combination, "--tp-size", "1")
        self.assertTrue(text.startswith("documented: sglang 0.5.6 with fa3"), text)
        answer = json.loads(self.support(*combination, "--tp-size", "2", "--json"))
        self.assertEqual(answer["answer"], "undocumented")
        self.assertEqual(answer["reason"], "nothing is said of tensor_parallelism")
        self.assertTrue(all(source["read"] for source in answer["sources"]))
        text = self.support(*combination, "--default-mode")
        self.assertTrue(text.startswith("documented_unsupported: sglang 0.5.6"), text)

    def test_bad_input(self):
        for arguments, pattern in (
            (["--engine-name", "x"], "--engine-name x: no support table; there are detcheck-cpu, "),
            (["--radix-cache", "on"], "support: a combination needs --engine-name"),
            (["--engine-name", "vllm", "--radix-cache", "yes"], "yes: not one of on|off"),
            (["--engine-name", "vllm", "--tp-size", "0"], "--tp-size 0"),
            (["--json"], "support --json: needs a combination"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.detcheck("support", *arguments), pattern)

    def recorded(self, *options):
        run = self.detcheck("single", *QUICK, *options, "--max-new-tokens", "8",
                            *("--report", "r.json", "--markdown", "r.md", "--html", "r.html"))
        self.assertIn(run.returncode, (0, 1), run.stderr)
        support = self.report()["support"]
        (self.folder / "r.json").unlink()
        line = f"{support['answer']}: detcheck-cpu"
        for text in (run.stdout, *((self.folder / name).read_text() for name in ("r.md", "r.html"))):
            self.assertIn(line, html.unescape(text))
        return support

    def test_a_run_records_its_own_combination(self):
        support = self.recorded(*DETERMINISTIC)
        self.assertEqual(support["answer"], "documented")
        uses = {feature["feature"]: feature["use"] for feature in support["features"]}
        self.assertEqual(uses["radix_cache"], "on")
        self.assertEqual(uses["non_greedy_sampling"], "off")
        self.assertEqual(uses["tensor_parallelism"], "off")

    def test_the_combination_is_the_one_that_ran(self):
        self.assertEqual(self.recorded()["answer"], "documented_unsupported")
        support = self.recorded(*DETERMINISTIC, "--disable-radix-cache", "--temperature", "0.8")
        uses = {feature["feature"]: feature["use"] for feature in support["features"]}
        self.assertEqual(uses["radix_cache"], "off")
        self.assertEqual(uses["non_greedy_sampling"], "on")


if __name__ == "__main__":
    unittest.main()
