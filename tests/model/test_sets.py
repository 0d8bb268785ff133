"""Checks of the shipped fixture sets. Standard library only: python3 -m unittest test_sets"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETS = ROOT / "fixtures" / "sets"
NAMES = ["short-questions", "neighbours", "long-prompts", "prefix-families"]
EDITIONS = ["any", "smollm2"]
TOKENIZER_SHA256 = "1793f703e5efbc7b88d049f635a2797aeddd72990d7e0653823d9fbbb1191e9e"
LONG_LENS = [300, 512, 700, 1023, 1024, 1025, 2047, 2049, 3000, 4500]
LONGEST_SHARED_LEN = 4097
FIXTURE_FIELDS = {"id", "role", "prompt_ids", "text", "sampling", "max_new_tokens"}
SAMPLING_FIELDS = {"temperature", "top_p", "top_k", "min_p", "seed"}


def refuse_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"duplicate key among {keys}")
    return dict(pairs)


def load(name, edition):
    text = (SETS / f"{name}.{edition}.json").read_text(encoding="utf-8")
    return json.loads(text, object_pairs_hook=refuse_duplicates)


class EverySet(unittest.TestCase):
    def for_each(self, check):
        for name in NAMES:
            for edition in EDITIONS:
                with self.subTest(f"{name}.{edition}"):
                    check(name, edition, load(name, edition))

    def test_header(self):
        def check(name, edition, data):
            self.assertEqual(data["schema"], "detcheck.fixtures/1")
            self.assertEqual(data["name"], name)
            self.assertTrue(data["description"] and data["origin"] and data["license"])
            if edition == "any":
                self.assertIsNone(data["tokenizer"])
                self.assertEqual(data["vocab_size"], 32000)
            else:
                self.assertEqual(data["tokenizer"]["sha256"], TOKENIZER_SHA256)
                self.assertEqual(data["vocab_size"], 49152)

        self.for_each(check)

    def test_ids(self):
        def check(_name, edition, data):
            lowest = 1000 if edition == "any" else 0
            names = [f["id"] for f in data["fixtures"]]
            self.assertEqual(len(names), len(set(names)))
            for fixture in data["fixtures"]:
                self.assertTrue(fixture["prompt_ids"], fixture["id"])
                for token in fixture["prompt_ids"]:
                    self.assertIs(type(token), int)
                    self.assertTrue(lowest <= token < data["vocab_size"], fixture["id"])

        self.for_each(check)

    def test_prompts_differ(self):
        def check(_name, _edition, data):
            prompts = [tuple(f["prompt_ids"]) for f in data["fixtures"]]
            self.assertEqual(len(prompts), len(set(prompts)))

        self.for_each(check)

    def test_fields(self):
        def check(_name, edition, data):
            for fixture in data["fixtures"]:
                self.assertLessEqual(set(fixture), FIXTURE_FIELDS)
                self.assertEqual("text" in fixture, edition == "smollm2")
                self.assertLessEqual(set(fixture.get("sampling", {})), SAMPLING_FIELDS)

        self.for_each(check)

    def test_one_fixture_per_line(self):
        def check(name, edition, data):
            lines = (SETS / f"{name}.{edition}.json").read_text(encoding="utf-8").splitlines()
            starts = [line for line in lines if line.startswith('    {"id": ')]
            self.assertEqual(len(starts), len(data["fixtures"]))

        self.for_each(check)


class Contents(unittest.TestCase):
    def lens(self, name, edition, role):
        fixtures = load(name, edition)["fixtures"]
        self.assertEqual({f["role"] for f in fixtures}, {role})
        return [len(f["prompt_ids"]) for f in fixtures]

    def test_short_questions(self):
        for edition in EDITIONS:
            lens = self.lens("short-questions", edition, "subject")
            self.assertEqual(len(lens), 24)
            self.assertTrue(5 <= min(lens) and max(lens) <= 40, lens)

    def test_neighbours(self):
        for edition in EDITIONS:
            lens = self.lens("neighbours", edition, "neighbour")
            self.assertGreaterEqual(len(lens), 80)
            self.assertTrue(min(lens) == 1 and 60 <= max(lens) <= 64, lens)

    def test_some_neighbours_are_sampled(self):
        for edition in EDITIONS:
            samplings = [f.get("sampling", {}) for f in load("neighbours", edition)["fixtures"]]
            sampled = [s for s in samplings if s.get("temperature", 0) > 0]
            self.assertGreaterEqual(len(sampled), 20)
            self.assertEqual(len({s["seed"] for s in sampled}), len(sampled))
            self.assertEqual({key for s in sampled for key in s}, SAMPLING_FIELDS)

    def test_long_prompts(self):
        for edition in EDITIONS:
            self.assertEqual(self.lens("long-prompts", edition, "long"), LONG_LENS)

    def test_prefix_families(self):
        for edition in EDITIONS:
            self.lens("prefix-families", edition, "family")
            fixtures = load("prefix-families", edition)["fixtures"]
            prompts = {f["id"]: f["prompt_ids"] for f in fixtures}
            for family in ("f1", "f2", "f3"):
                stem = prompts[f"{family}/stem"]
                tails = [ids for key, ids in prompts.items() if key.startswith(f"{family}/tail-")]
                self.assertGreater(len(stem), LONGEST_SHARED_LEN)
                self.assertEqual(len(tails), 6)
                self.assertEqual(len({tail[0] for tail in tails}), 6)
                for tail in tails:
                    self.assertTrue(16 <= len(tail) <= 40)
                    self.assertNotIn(tail[0], stem)


class Generator(unittest.TestCase):
    def test_any_edition_is_reproduced_byte_by_byte(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", SETS / "make_any.py", "--output", folder]
            subprocess.run(command, check=True)
            for name in NAMES:
                file = f"{name}.any.json"
                fresh = (pathlib.Path(folder) / file).read_bytes()
                self.assertEqual(fresh, (SETS / file).read_bytes(), file)


if __name__ == "__main__":
    unittest.main()
