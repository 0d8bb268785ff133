"""scripts/gpu-test on a machine without a GPU: programs and tools are stand-ins that end as they are told."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

REPO = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["tests/cuda/cuda_gemm_test", "tests/cuda/cuda_rows_test", "tests/cuda/cuda_attention_test",
            "tests/cuda/cuda_engine_test", "tests/embedded/schedule_property_test", "tests/bench/engine_cost",
            "cli/detcheck"]
TOOLS = ["cmake", "nvidia-smi", "nvcc", "compute-sanitizer"]
# What a GoogleTest program prints before the tests that it lists.
LISTED = "Running main() from ./googletest/src/gtest_main.cc\n"
# Ends with the code in the file NAME.rc beside it, 0 where there is none; prints NAME.out.
STAND_IN = """#!/bin/bash
[ -e "$0.out" ] && cat "$0.out"
[ -e "$0.$1.rc" ] && exit "$(cat "$0.$1.rc")"
[ -e "$0.rc" ] && exit "$(cat "$0.rc")"
exit 0
"""


class GpuTest(unittest.TestCase):
    def setUp(self):
        self.repo = pathlib.Path(tempfile.mkdtemp(prefix="detcheck-e2e-"))
        self.addCleanup(shutil.rmtree, self.repo)
        for name in ("scripts/gpu-test", "tests/bench/collect_results.py"):
            (self.repo / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPO / name, self.repo / name)
        self.bin = self.repo / "build" / "gpu"
        self.tools = self.repo / "tools"
        self.out = self.repo / "build" / "gpu-results"
        for path in [self.bin / name for name in PROGRAMS] + [self.tools / name for name in TOOLS]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(STAND_IN)
            path.chmod(0o755)
        self.prints("tools/nvidia-smi", "NVIDIA X, 580.1, 1 MiB, 2 MHz, 3 MHz, 4 W\n")
        self.prints("tools/nvcc", "Cuda compilation tools, release 13.0, V13.0.88\n")
        self.prints("build/gpu/tests/bench/engine_cost", '{"cells": []}')
        for test in ("gemm", "rows", "attention", "engine"):
            self.prints(f"build/gpu/tests/cuda/cuda_{test}_test", LISTED + "SomeTest.\n  Case\n")
        for mode in ("single", "batch", "mixed", "prefix", "radix_cache", "p_vs_d"):
            self.ends(f"build/gpu/cli/detcheck.{mode}", 1)

    def prints(self, program, text):
        (self.repo / f"{program}.out").write_text(text)

    def ends(self, program, code):
        (self.repo / f"{program}.rc").write_text(str(code))

    def gpu_test(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"}
        return subprocess.run([self.repo / "scripts" / "gpu-test", "--revision", "abc", *arguments],
                              capture_output=True, text=True, timeout=60, env=environment)

    def results(self):
        return json.loads((self.out / "results.json").read_text())

    def test_all_parts_pass(self):
        run = self.gpu_test()
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        results = self.results()
        self.assertTrue(results["passed"])
        self.assertEqual(sorted(results["parts"]), ["build", "control", "cost", "modes", "schedules", "tests"])
        self.assertEqual(results["cost"], {"cells": []})
        self.assertEqual(len(results["control"]), 6)
        self.assertFalse((self.out / "results.json.draft").exists())

    def test_each_part_that_fails_is_told(self):
        for program, part in (("build/gpu/tests/cuda/cuda_gemm_test", "tests"),
                              ("build/gpu/tests/cuda/cuda_engine_test", "tests"),
                              ("build/gpu/cli/detcheck.all", "modes"),
                              ("build/gpu/tests/embedded/schedule_property_test", "schedules"),
                              ("build/gpu/tests/bench/engine_cost", "cost"),
                              ("tools/compute-sanitizer", "sanitizers")):
            with self.subTest(program=program):
                self.ends(program, 3)
                run = self.gpu_test(part)
                (self.repo / f"{program}.rc").unlink()
                self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
                self.assertFalse(self.results()["passed"])
                self.assertNotEqual(self.results()["parts"][part]["exit_code"], 0)

    def test_a_control_that_finds_nothing_fails(self):
        self.ends("build/gpu/cli/detcheck.mixed", 0)
        self.assertEqual(self.gpu_test("control").returncode, 1)
        self.assertFalse(self.results()["passed"])

    def test_a_build_that_fails_leaves_no_result_of_an_earlier_call(self):
        self.assertEqual(self.gpu_test().returncode, 0)
        self.ends("tools/cmake", 1)
        self.assertEqual(self.gpu_test().returncode, 1)
        self.assertFalse((self.out / "results.json").exists())

    def test_a_call_tells_of_its_own_parts_alone(self):
        self.assertEqual(self.gpu_test().returncode, 0)
        self.assertEqual(self.gpu_test("tests").returncode, 0)
        results = self.results()
        self.assertEqual(list(results["parts"]), ["tests"])
        self.assertNotIn("cost", results)
        self.assertNotIn("control", results)

    def test_a_part_that_fails_before_the_build_does_not_end_it(self):
        self.ends("build/gpu/tests/cuda/cuda_rows_test", 1)
        self.assertEqual(self.gpu_test("tests", "build", "cost").returncode, 1)
        self.assertEqual(sorted(self.results()["parts"]), ["build", "cost", "tests"])

    def test_measurements_that_were_cut_off_are_left_out(self):
        self.prints("build/gpu/tests/bench/engine_cost", '{"cells": [')
        self.ends("build/gpu/tests/bench/engine_cost", 4)
        self.assertEqual(self.gpu_test("tests", "cost").returncode, 1)
        self.assertNotIn("cost", self.results())
        self.assertFalse(self.results()["passed"])

    def test_results_that_cannot_be_collected_are_a_failure(self):
        self.ends("tools/nvidia-smi", 9)
        self.assertEqual(self.gpu_test("tests").returncode, 1)
        self.assertFalse((self.out / "results.json").exists())

    def test_sanitizers_of_tests_that_there_are_not(self):
        self.assertEqual(self.gpu_test("sanitizers").returncode, 0)
        self.prints("build/gpu/tests/cuda/cuda_gemm_test", LISTED)
        self.assertEqual(self.gpu_test("sanitizers").returncode, 1)
        self.assertIn("no test of cuda_gemm_test is called", (self.out / "sanitizers.log").read_text())

    def test_wrong_arguments(self):
        self.assertEqual(self.gpu_test("nothing").returncode, 2)
        self.assertEqual(self.gpu_test("--out").returncode, 2)


if __name__ == "__main__":
    unittest.main()
