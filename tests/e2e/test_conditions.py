"""Which classes of cause and which kinds of condition the embedded engine reaches, in default mode.

Causes: numeric and prefix_cache. The engine cannot produce the others: it gets the prompt as it is
sent and counts it right (input); ties go to the lowest ID (exact_tie); one request alone repeats,
from the first run on (not_repeatable, first_run_only); noise is a function of seed, position and
token (sampling); and it tells logprobs of all that is asked (unknown).

Conditions: formed_size, two_axes and cached_tokens, of which the size at which products change
their path decides which one a batch shows. The others are not the engine's: it has no place in a
batch, no earlier traffic and no start that changes bits (item, history, restart, first_run), and
repeats agree (intermittent). What it is moved by comes with another size of its batch, or with
another number of cached tokens, which are told first (neighbour_prefill, same_step_prefill,
chunk_boundary, other_axis, varied_steps); where its answers part depends on the weights
(absolute_position).

All of them are reached by constructed transcripts in tests/reports/cause_and_condition_test.cc.
"""

import unittest

from binary_case import QUICK, BinaryCase

SMALL = [*QUICK, "--max-new-tokens", "24", "--no-progress"]


class Conditions(BinaryCase):
    def failures(self, mode):
        run = self.detcheck(mode, *SMALL, "--report", mode)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        return [
            request
            for judged in self.report(mode)["judgement"]["modes"]
            for request in judged["requests"]
            if request["verdict"] == "fail"
        ]

    def test_batches_differ_numerically_by_size(self):
        failures = self.failures("batch") + self.failures("seeds")
        self.assertEqual({request["cause"] for request in failures}, {"numeric"})
        kinds = {request["condition_kind"] for request in failures}
        self.assertTrue(kinds & {"formed_size", "two_axes"}, kinds)
        self.assertLessEqual(kinds, {"formed_size", "two_axes", "same_step_prefill", "none"})

    def test_warm_differs_from_cold_by_cached_tokens(self):
        failures = self.failures("radix_cache")
        self.assertEqual({request["cause"] for request in failures}, {"prefix_cache"})
        self.assertIn("cached_tokens", {request["condition_kind"] for request in failures})


if __name__ == "__main__":
    unittest.main()
