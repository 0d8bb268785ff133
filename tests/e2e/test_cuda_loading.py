"""How the CUDA engine is found or not: drivers without a device and shared objects that are not the engine."""

import os
import pathlib
import shutil
import unittest

from binary_case import DETERMINISTIC, QUICK, BinaryCase

DRIVER = pathlib.Path(os.environ["FAKE_CUDA_DRIVER"])
OTHER_PLUGIN = pathlib.Path(os.environ["OTHER_CUDA_PLUGIN"])


class CudaLoading(BinaryCase):
    def setUp(self):
        super().setUp()
        self.libraries = self.folder / "libraries"
        self.libraries.mkdir()
        shutil.copy(DRIVER, self.libraries / "libcuda.so.1")
        path = ":".join(filter(None, [str(self.libraries), os.environ.get("LD_LIBRARY_PATH")]))
        self.environment = {**os.environ, "LD_LIBRARY_PATH": path}
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)

    def run_single(self, engine, *options):
        return self.detcheck("single", *QUICK, *DETERMINISTIC, "--engine", engine, *options, env=self.environment)

    def refuses(self, pattern):
        """--engine cuda ends with exit code 4 and one line."""
        run = self.run_single("cuda")
        self.assertEqual((run.returncode, run.stdout), (4, ""), run.stderr)
        self.assertRegex(run.stderr, r"\Adetcheck: --engine cuda: " + pattern + r"\n\Z")

    def test_a_driver_without_a_device(self):
        self.refuses("no GPU: no CUDA-capable device is detected")

    def test_devices_that_are_hidden(self):
        self.environment["CUDA_VISIBLE_DEVICES"] = ""
        self.refuses(r"no GPU: no CUDA-capable device is detected \(CUDA_VISIBLE_DEVICES is set\)")

    def test_an_old_driver(self):
        self.environment["FAKE_CUDA_VERSION"] = "12020"
        self.refuses(r"no GPU: the driver is of CUDA 12\.2, this build needs \d+\.\d+ or later")

    def test_a_library_that_is_not_a_driver(self):
        shutil.copy(OTHER_PLUGIN, self.libraries / "libcuda.so.1")
        self.refuses("no GPU: CUDA driver version is insufficient for CUDA runtime version")

    def test_an_engine_of_another_build(self):
        shutil.copy(OTHER_PLUGIN, self.libraries / "libdetcheck_cuda.so")
        self.refuses(r"libdetcheck_cuda\.so is of another build")

    def test_a_damaged_engine(self):
        self.write("libraries/libdetcheck_cuda.so", "not a shared object")
        self.refuses(r"the CUDA engine cannot be loaded: .*libdetcheck_cuda\.so: .*")

    def choice_of_auto(self):
        """What --engine auto says on stderr and puts into the report."""
        run = self.run_single("auto", "--report", "r.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        harness = {field["name"]: field["value"] for field in self.report()["harness"]}
        self.assertIn(harness["detcheck.engine_choice"] + "\n", run.stderr)
        return harness["detcheck.engine_choice"]

    def test_auto_takes_the_cpu_and_says_why(self):
        self.assertEqual(self.choice_of_auto(), "engine cpu: no GPU: no CUDA-capable device is detected")

    def test_auto_does_not_tell_folders(self):
        self.write("libraries/libdetcheck_cuda.so", "not a shared object")
        self.assertRegex(self.choice_of_auto(),
                         r"\Aengine cpu: the CUDA engine cannot be loaded: libdetcheck_cuda\.so: [a-zA-Z ]+\Z")


if __name__ == "__main__":
    unittest.main()
