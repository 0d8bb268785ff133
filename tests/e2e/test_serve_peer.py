"""detcheck against `detcheck serve`: the same engine as a server, by each of the interfaces that it has."""

import sys
import unittest

from serve_case import ServeCase

# On a busy machine it takes more than three attempts until a batch of short answers forms.
SHORT = ["--profile", "quick", "--fixture", "q13", "--n-trials", "3", "--step-attempts", "20", "--no-progress"]
APIS = ("sglang", "vllm")


class Peer(ServeCase):
    def run_mode(self, mode, server, api, *options, tokens=32, sizes="1,2,8"):
        return self.detcheck(mode, *SHORT, "--batch-sizes", sizes, "--max-new-tokens", str(tokens), "--endpoint", server.url,
                             "--api", api, *options)

    def test_the_deterministic_mode_passes(self):
        server = self.serve()
        for api in APIS:
            for mode in ("single", "batch", "radix_cache", "p_vs_d", "seeds"):
                run = self.run_mode(mode, server, api)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_the_default_mode_fails(self):
        server = self.serve(deterministic=False)
        for api in APIS:
            run = self.run_mode("batch", server, api)
            self.assertEqual(run.returncode, 1, run.stdout + run.stderr)

    def test_short_batches_are_shown_by_the_engine_steps(self):
        # Over before the next look at the running requests.
        run = self.run_mode("single", self.serve(), "vllm", "--report", "r.json", tokens=8, sizes="1,2")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        pairs = [record["items"] for record in self.report()["transcript"]["records"]
                 if len(record["items"]) == 2 and "voided" not in record]
        self.assertEqual({item["witness"]["source"] for pair in pairs for item in pair}, {"server"})

    def test_auto_finds_it(self):
        run = self.run_mode("single", self.serve(), "auto")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("sglang at", run.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
