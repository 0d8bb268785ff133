"""Criteria on single texts and protocols, with the real program on a synthetic model, whose texts
are syllables of a fixed table."""

import hashlib
import json
import subprocess
import tempfile
import unittest

from binary_case import DETERMINISTIC, PROGRAM, QUICK, BinaryCase

RUN = ["single", *QUICK, *DETERMINISTIC, "--max-new-tokens", "8"]
SYLLABLES = r"\A(?: (?:[bcdfghjklmnprstvwxyz][aeiou])+)*\z"
ANY_STRING = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}

PROTOCOL = {
    "schema": "detcheck.protocol/1",
    "name": "mine",
    "modes": ["single"],
    "fixtures": ["q13"],
    "settings": {
        "profile": "quick",
        "n_trials": 2,
        "batch_sizes": [1, 2],
        "max_new_tokens": 8,
    },
    "criterion": "token_ids",
    "required_scope": ["run_to_run", "batch"],
}


def has_schema_check():
    """Whether the program was built with a JSON Schema validator."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as schema:
        schema.write("true")
        schema.flush()
        probe = [PROGRAM, "single", "--criterion", "json_schema:" + schema.name, "--dry-run"]
        run = subprocess.run(probe, capture_output=True, text=True)
    return "no JSON Schema validator" not in run.stderr


class Criteria(BinaryCase):
    def judge(self, criterion, *options):
        return self.detcheck(*RUN, "--criterion", criterion, "--report", "r.json", *options)

    def validity(self):
        request = self.report()["judgement"]["modes"][0]["requests"][0]
        return request["validity"]

    def test_a_pattern_that_every_text_matches(self):
        run = self.judge("regex:" + SYLLABLES)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, r"Valid texts: (\d+) of \1\n")
        self.assertEqual(self.validity()["invalid"], 0)
        report = self.report()
        self.assertEqual(report["plan"]["criterion"], "regex:" + SYLLABLES)
        canonical = json.dumps(
            {"argument": SYLLABLES, "kind": "regex"}, separators=(",", ":"), sort_keys=True
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        self.assertEqual(report["judgement"]["criterion_sha256"], digest)
        self.assertEqual({output.get("validity") for output in report["outputs"]} - {None},
                         {"valid"})

    def test_texts_that_are_equally_wrong(self):
        run = self.judge(r"regex:\d")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("all texts are invalid alike, which is not nondeterminism", run.stdout)
        self.assertIn("Verdict: FAIL: equal answers that do not meet the criterion", run.stdout)
        self.assertEqual(self.validity()["valid"], 0)
        self.assertEqual(self.detcheck("gate", "r.json").returncode, 1)

    def test_a_command_gets_every_distinct_text_once(self):
        script = "#!/bin/sh\nprintf x >>calls\ngrep -q ' '\n"
        self.write("check", script)
        (self.folder / "check").chmod(0o755)
        run = self.judge("command:./check")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("criterion: runs for each distinct text: ./check\n", run.stderr)
        judged = [o for o in self.report()["outputs"] if "validity" in o]
        self.assertEqual(len((self.folder / "calls").read_text()),
                         len({o["text"] for o in judged}))
        # Reading a report runs nothing.
        calls = (self.folder / "calls").read_text()
        self.assertEqual(self.detcheck("show", "r.json").returncode, 0)
        self.assertEqual(self.detcheck("gate", "r.json").returncode, 0)
        self.assertEqual((self.folder / "calls").read_text(), calls)
        # Running it again does.
        self.assertEqual(self.detcheck("replay", "r.json", *DETERMINISTIC).returncode, 0)
        self.assertNotEqual((self.folder / "calls").read_text(), calls)

    def test_a_command_that_is_killed_shows_nothing(self):
        run = self.judge("command:sh -c 'kill -9 $$'")
        self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
        self.assertIn("could not be judged: the command was ended by signal 9", run.stdout)

    def test_a_text_that_differs_in_validity(self):
        # The engine's default mode chooses by shape: texts differ, and about half of all texts
        # have an even checksum.
        command = "command:sh -c 'test $(( $(cksum | cut -d\" \" -f1) % 2 )) = 0'"
        run = self.detcheck("batch", "--profile", "quick", "--criterion", command, "--fixture",
                            "q13", "--max-new-tokens", "128", "--report", "r.json")
        report = self.report()
        subject = next(r for r in report["judgement"]["modes"][0]["requests"] if r["subject"])
        counts = subject["validity"]
        differs = counts["valid"] > 0 and counts["invalid"] > 0
        self.assertEqual(any("validity differs" in reason for reason in subject["reasons"]), differs)
        self.assertEqual(subject["verdict"] == "fail", counts["invalid"] > 0)
        self.assertEqual(counts["unknown"], 0)
        self.assertGreater(subject["unique_texts"], 1)

    @unittest.skipUnless(has_schema_check(), "built without valijson")
    def test_a_schema(self):
        folder = self.folder / "schemas"
        path = self.write("schemas/any.json", ANY_STRING)
        run = self.judge("json_schema:" + path)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("not JSON: line 1, column ", run.stdout)
        text = (self.folder / "r.json").read_text()
        self.assertNotIn(str(folder), text)
        plan = json.loads(text)["plan"]
        self.assertEqual(plan["criterion"], "json_schema:any.json")
        self.assertEqual(json.loads(plan["criterion_schema"]), ANY_STRING)
        # The plan holds all that it takes to run it elsewhere.
        (folder / "any.json").unlink()
        self.assertIn(self.detcheck("replay", "r.json", *DETERMINISTIC).returncode, (0, 1))

    @unittest.skipIf(has_schema_check(), "built with valijson")
    def test_a_build_without_a_schema_validator(self):
        path = self.write("any.json", ANY_STRING)
        self.assert_refused(self.judge("json_schema:" + path), "this build has no JSON Schema")


class BadCriteria(BinaryCase):
    def refuse(self, criterion, pattern):
        before = self.names()
        run = self.detcheck(*RUN, "--criterion", criterion, "--report", "r.json")
        self.assert_refused(run, pattern)
        self.assertEqual(self.names(), before)

    def test_what_is_no_criterion(self):
        self.refuse("exact", '"exact" is none of bitwise, token_ids, text, json_schema:FILE')
        self.refuse("regex:", '"regex:" lacks its RE')
        self.refuse("regex:a(", r'regex: "a\(": at byte 2: missing closing parenthesis')
        self.refuse("command:no-such-program", '"no-such-program": no such program')
        self.refuse("command:grep 'x", "a ' is never closed")
        self.refuse("json_schema:none.json", r"none\.json: cannot open: No such file")

    @unittest.skipUnless(has_schema_check(), "built without valijson")
    def test_what_is_no_schema(self):
        self.write("bad.json", {"properties": {"a": {"typ": "string"}}})
        self.refuse("json_schema:bad.json", r"bad\.json: properties\.a\.typ: is no keyword")
        self.write("bad.json", "{")
        self.refuse("json_schema:bad.json", r"bad\.json: line 1, column 2: ")


class Protocols(BinaryCase):
    def run_protocol(self, protocol, *options, name="p.json"):
        self.write(name, protocol)
        return self.detcheck("run", name, *DETERMINISTIC, "--report", "r.json", *options)

    def test_a_run_keeps_it_and_the_gate_asks_for_it(self):
        run = self.run_protocol(PROTOCOL)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        kept = self.report()["protocol"]
        self.assertEqual(kept["content"], PROTOCOL)
        canonical = json.dumps(PROTOCOL, separators=(",", ":"), sort_keys=True)
        self.assertEqual(kept["sha256"], hashlib.sha256(canonical.encode()).hexdigest())
        self.assertEqual(self.detcheck("gate", "r.json").returncode, 0)
        # Another layout of the file is the same protocol.
        self.write("again.json", json.dumps(PROTOCOL, indent=4))
        for name in ("p.json", "again.json"):
            gate = self.detcheck("gate", "--protocol", name, "r.json")
            self.assertEqual(gate.returncode, 0, gate.stdout + gate.stderr)

    def test_a_criterion_that_was_changed_afterwards(self):
        self.assertEqual(self.run_protocol(PROTOCOL).returncode, 0)
        self.write("p.json", {**PROTOCOL, "criterion": "bitwise"})
        gate = self.detcheck("gate", "--protocol", "p.json", "r.json")
        self.assert_refused(gate, r"r\.json: judgement: by the criterion token_ids .* is bitwise")

    def test_another_protocol_or_none(self):
        self.assertEqual(self.run_protocol(PROTOCOL).returncode, 0)
        self.write("other.json", {**PROTOCOL, "name": "other"})
        gate = self.detcheck("gate", "--protocol", "other.json", "r.json")
        self.assert_refused(gate, r"r\.json: protocol\.sha256: was run by mine .* not by other")
        run = self.detcheck(*RUN, "--criterion", "token_ids", "--report", "free.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        gate = self.detcheck("gate", "--protocol", "p.json", "free.json")
        self.assert_refused(gate, r"free\.json: protocol: was run by none, not by mine")

    def test_required_scope_that_is_not_covered(self):
        run = self.run_protocol({**PROTOCOL, "required_scope": ["batch", "replica"]})
        self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
        self.assertIn("the required scope replica is not tested", run.stdout)
        self.assertEqual(self.detcheck("gate", "--protocol", "p.json", "r.json").returncode, 3)
        self.assertEqual(self.detcheck("gate", "r.json").returncode, 3)

    def test_a_required_mode_that_the_target_cannot_run(self):
        protocol = {**PROTOCOL, "modes": ["single", "radix_cache"]}
        run = self.run_protocol(protocol, "--disable-radix-cache")
        self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
        self.assertEqual(self.detcheck("gate", "--protocol", "p.json", "r.json").returncode, 3)

    def run_with_own_fixtures(self):
        """Runs deep/p.json, which names deep/own.json; returns what that holds."""
        fixtures = {
            "schema": "detcheck.fixtures/1", "name": "own", "description": "", "origin": "",
            "license": "CC0-1.0", "tokenizer": None, "vocab_size": 32000,
            "fixtures": [{"id": "m1", "role": "subject", "prompt_ids": [1, 2, 3]}],
        }
        self.write("deep/own.json", fixtures)
        run = self.run_protocol({**PROTOCOL, "fixtures": ["own.json"]}, name="deep/p.json")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return fixtures

    def test_files_are_found_from_its_folder(self):
        self.run_with_own_fixtures()
        requests = self.report()["judgement"]["modes"][0]["requests"]
        self.assertEqual([r["id"] for r in requests if r["subject"]], ["m1"])

    def test_a_file_of_fixtures_that_was_changed_afterwards(self):
        fixtures = self.run_with_own_fixtures()
        self.assertEqual([file["name"] for file in self.report()["protocol"]["fixture_files"]], ["own.json"])
        gate = ("gate", "--protocol", "deep/p.json", "r.json")
        self.write("deep/own.json", json.dumps(fixtures, indent=2))
        self.assertEqual(self.detcheck(*gate).returncode, 0)
        fixtures["fixtures"][0]["prompt_ids"] = [1, 2, 4]
        self.write("deep/own.json", fixtures)
        changed = r"r\.json: protocol\.fixture_files: own\.json was another \(\w+…, now \w+…\)"
        self.assert_refused(self.detcheck(*gate), changed)
        self.assertEqual(self.detcheck("gate", "r.json").returncode, 0)

    def test_a_dry_run_saves_its_plan(self):
        self.write("p.json", PROTOCOL)
        run = self.detcheck("run", "p.json", "--dry-run", "--plan", "plan.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertEqual(plan["required_scope"], ["run_to_run", "batch"])
        self.assertTrue(plan["modes_named"])
        self.assertEqual(plan["criterion"], "token_ids")

    def test_what_is_wrong_with_one(self):
        for change, pattern in {
            ("modes", ("chunked",)): r'p\.json: modes\[0\]: "chunked" is none of single, batch',
            ("colour", 1): r'p\.json: unknown field "colour"',
            ("name", 7): r"p\.json: name: must be a string",
            ("required_scope", ("batches",)): r'p\.json: required_scope\[0\]: "batches" is none of',
            ("criterion", "exact"): r'p\.json: criterion: "exact" is none of',
            ("criterion", "regex:("): r'p\.json: criterion: criterion regex: "\("',
            ("criterion", "command:no-such"): r'p\.json: criterion: .* "no-such": no such program',
            ("criterion", "json_schema:no.json"): r"p\.json: criterion: no\.json: cannot open",
            ("fixtures", ("q99",)): r"p\.json: fixtures: .*q99",
            ("fixtures", ("no.json",)): r"no\.json: cannot open",
            ("schema", "detcheck.protocol/2"): r'p\.json: schema: "detcheck\.protocol/2"',
        }.items():
            with self.subTest(change=change):
                field, value = change
                value = list(value) if isinstance(value, tuple) else value
                run = self.run_protocol({**PROTOCOL, field: value})
                self.assert_refused(run, pattern)
                self.assertEqual(self.names(), ["p.json"])

    def test_duplicate_field_and_torn_file(self):
        text = json.dumps(PROTOCOL)
        twice = text.replace('"name"', '"name": "x", "name"')
        self.assert_refused(self.run_protocol(twice), r'p\.json: duplicate field "name"')
        self.assert_refused(self.run_protocol(text[:-9]), r"p\.json: line 1, column \d+: ")
        gate = self.detcheck("gate", "--protocol", "p.json", "r.json")
        self.assert_refused(gate, r"p\.json: line 1, column \d+: ")


if __name__ == "__main__":
    unittest.main()
