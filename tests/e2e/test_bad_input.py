"""Everything that is wrong with what was given: exit code 2, one line that names file, place and
fact, nothing written and nothing lost."""

import copy
import json
import unittest

import model_folder
from binary_case import DETERMINISTIC, QUICK, BinaryCase

FIXTURES = {
    "schema": "detcheck.fixtures/1",
    "name": "mine",
    "description": "",
    "origin": "",
    "license": "CC0-1.0",
    "tokenizer": None,
    "vocab_size": 32000,
    "fixtures": [{"id": "m1", "role": "subject", "prompt_ids": [1, 2, 3]}],
}


class BadFixtures(BinaryCase):
    def refuse(self, content, pattern, *options):
        self.write("mine.json", content)
        before = self.names()
        run = self.detcheck("single", "--fixture", "mine.json", *options, "--report", "r.json")
        self.assert_refused(run, r"mine\.json: " + pattern)
        self.assertEqual(self.names(), before)

    def with_fixture(self, **fields):
        fixtures = copy.deepcopy(FIXTURES)
        fixtures["fixtures"][0].update(fields)
        return fixtures

    def test_the_good_file_is_accepted(self):
        self.write("mine.json", FIXTURES)
        run = self.detcheck("fixture", "check", "mine.json")
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_no_such_file(self):
        run = self.detcheck("single", "--fixture", "none.json")
        self.assert_refused(run, r"none\.json: cannot open: No such file")

    def test_unknown_field(self):
        self.refuse({**FIXTURES, "colour": 1}, "unknown field \"colour\"")
        self.refuse(self.with_fixture(colour=1), r"fixtures\[0\].*colour")

    def test_duplicate_field(self):
        self.refuse(json.dumps(FIXTURES).replace('"name"', '"name": "x", "name"'), ".*name")

    def test_wrong_schema_version(self):
        self.refuse({**FIXTURES, "schema": "detcheck.fixtures/2"}, "schema.*detcheck.fixtures/2")

    def test_truncated_file(self):
        self.refuse(json.dumps(FIXTURES)[:-9], ".*line 1")

    def test_id_outside_the_vocabulary_of_the_set(self):
        self.refuse(
            self.with_fixture(prompt_ids=[1, 32000]),
            r"fixtures\[0\].prompt_ids\[1\]: 32000 is not below vocab_size 32000",
        )

    def test_id_outside_the_vocabulary_of_the_target(self):
        content = {**self.with_fixture(prompt_ids=[1, 99999]), "vocab_size": 100000}
        self.refuse(
            content,
            r"fixture m1: prompt_ids\[1\]: 99999 is outside the target's vocabulary of 32000",
        )

    def test_empty_prompt(self):
        self.refuse(self.with_fixture(prompt_ids=[]), r"fixtures\[0\].prompt_ids: is empty")

    def test_prompt_longer_than_the_context(self):
        self.refuse(
            self.with_fixture(prompt_ids=[5] * 20000),
            "fixture m1: a prompt of 20000 tokens and an answer of 128 are longer than the "
            "target's context of 16384",
        )

    def test_sampling_out_of_range(self):
        for sampling in ({"seed": -1}, {"temperature": -1}, {"top_p": 0}, {"top_k": 0}):
            with self.subTest(sampling=sampling):
                self.refuse(self.with_fixture(sampling=sampling), r"fixtures\[0\].sampling")

    def test_nan_is_not_json(self):
        content = json.dumps(self.with_fixture(sampling={"temperature": float("nan")}))
        self.assertIn("NaN", content)
        self.refuse(content, ".*line 1")

    def test_fixture_check_says_the_same(self):
        self.write("mine.json", self.with_fixture(prompt_ids=[]))
        run = self.detcheck("fixture", "check", "mine.json")
        self.assert_refused(run, r"mine\.json: fixtures\[0\].prompt_ids: is empty")


class BadPlans(BinaryCase):
    def setUp(self):
        super().setUp()
        run = self.detcheck("single", *QUICK, "--dry-run", "--plan", "plan.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.plan = json.loads((self.folder / "plan.json").read_text())

    def refuse(self, change, pattern, *options):
        plan = copy.deepcopy(self.plan)
        change(plan)
        self.write("broken.json", plan)
        run = self.detcheck("run", "broken.json", *options, "--report", "r.json")
        self.assert_refused(run, r"broken\.json: " + pattern)
        self.assertEqual(self.names(), ["broken.json", "plan.json"])

    def test_fields_and_version(self):
        self.refuse(lambda plan: plan.update(colour=1), "unknown field \"colour\"")
        self.refuse(lambda plan: plan.update(schema="detcheck.plan/9"), "schema.*detcheck.plan/9")

    def test_an_index_that_points_nowhere(self):
        self.refuse(lambda plan: plan["steps"][0]["items"][0].update(request=7), r"steps\[0\]")

    def test_a_vocabulary_that_the_target_lacks(self):
        self.refuse(lambda plan: plan.update(vocab_size=99999), "vocab_size: 99999 is more than")

    def test_an_answer_longer_than_the_context(self):
        self.refuse(
            lambda plan: plan["requests"][0].update(max_new_tokens=20000),
            r"requests\[0\]: a prompt of \d+ tokens and an answer of 20000 are longer",
        )


class BadModels(BinaryCase):
    def setUp(self):
        super().setUp()
        self.header, self.data = model_folder.tensors()
        self.config = dict(model_folder.CONFIG)

    def write_model(self, weights=None):
        self.write("model/config.json", self.config)
        if weights is None:
            weights = model_folder.safetensors(self.header, self.data)
        if weights != b"":
            self.write("model/model.safetensors", weights)

    def refuse(self, pattern):
        run = self.detcheck("manifest", "--model", "model")
        self.assert_refused(run, pattern)
        run = self.detcheck("single", *DETERMINISTIC, "--model", "model", "--report", "r.json")
        self.assert_refused(run, pattern)
        self.assertEqual(self.names(), ["model"])

    def test_the_good_directory_is_accepted(self):
        self.write_model()
        run = self.detcheck("manifest", "--model", "model")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_no_directory(self):
        self.assert_refused(self.detcheck("single", "--model", "none"), "none: ")
        self.assert_refused(self.detcheck("single", "--model", "synthetic:none"), "synthetic:none")

    def test_no_config(self):
        self.write("model/model.safetensors", model_folder.safetensors(self.header, self.data))
        self.refuse(r"config\.json")

    def test_no_weights(self):
        self.write_model(weights=b"")
        self.refuse("safetensors")

    def test_another_architecture(self):
        self.config.update(architectures=["GPT2LMHeadModel"], model_type="gpt2")
        self.write_model()
        self.refuse(r"config\.json.*(GPT2LMHeadModel|gpt2)")

    def test_truncated_weights(self):
        whole = model_folder.safetensors(self.header, self.data)
        for length in (4, 100, len(whole) - 1):
            with self.subTest(length=length):
                self.write_model(whole[:length])
                self.refuse(r"model\.safetensors")

    def test_header_longer_than_the_file(self):
        self.write_model(model_folder.safetensors(self.header, self.data, header_len=1 << 40))
        self.refuse(r"model\.safetensors.*header")

    def test_overlapping_tensors(self):
        begin, end = self.header["model.norm.weight"]["data_offsets"]
        self.header["model.norm.weight"]["data_offsets"] = [begin - 4, end - 4]
        self.write_model()
        self.refuse(r"model\.safetensors.*model\.(norm|layers)")

    def test_unknown_dtype(self):
        self.header["model.norm.weight"]["dtype"] = "F99"
        self.write_model()
        self.refuse(r"model\.safetensors.*F99")

    def test_a_missing_tensor(self):
        del self.header["model.layers.0.mlp.up_proj.weight"]
        self.write_model()
        self.refuse(r"model.*")


class BadCommandLines(BinaryCase):
    def test_each_is_one_line(self):
        for line, pattern in (
            ("", "A subcommand is required"),
            ("frob", "frob: no such command"),
            ("single --frob", "--frob"),
            ("single --temperature nan", "--temperature nan: not a finite number"),
            ("single --sampling-seed -1", "--sampling-seed -1: not a whole number"),
            ("single --batch-sizes ,", "--batch-sizes ,: not whole numbers"),
            ("single --batch-sizes 4000", "--batch-sizes: the target runs at most"),
            ("single --fixture q99", "--fixture q99: no file"),
            ("single --report none/r.json", "--report none/r.json: no such directory"),
            ("single --report .", r"--report \.: is a directory"),
            ("single --attention-backend none", '--attention-backend none: the CPU engine has only "cpu"'),
            ("run", "FILE is required"),
            ("run none.json", r"none\.json: cannot open"),
            ("fixture show short-questions none", "no fixture has the ID none"),
        ):
            with self.subTest(line=line):
                self.assert_refused(self.detcheck(*line.split()), pattern)
                self.assertEqual(self.names(), [])

    def test_an_engine_that_is_not_there_is_no_usage_error(self):
        run = self.detcheck("single", "--engine", "cuda")
        self.assertEqual(run.returncode, 4)
        self.assertRegex(run.stderr, r"\Adetcheck: --engine cuda: (this build has no CUDA engine|no NVIDIA driver .*|.* libcublas.*)\n\Z")


if __name__ == "__main__":
    unittest.main()
