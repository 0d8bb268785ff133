"""Tokenizers through the binary: fixtures made from text, text beside token IDs, and what is
refused."""

import base64
import hashlib
import json
import shutil
import sys
import unittest

import model_folder
from binary_case import DETERMINISTIC, REPO, BinaryCase

sys.path.append(str(REPO / "tests" / "tokenizer"))
from vocabularies import SPELLINGS  # noqa: E402

GOLDEN = REPO / "tests" / "tokenizer" / "golden"
SCHEMA = REPO / "fixtures" / "schema" / "fixtures-1.schema.json"


def golden_answers():
    """Texts, and their IDs, of the tiny tokenizer as it is."""
    cases = json.loads((GOLDEN / "cases.json").read_text(encoding="utf-8"))
    return next(case["answers"] for case in cases if case["name"] == "gpt2")


class TokenizerCase(BinaryCase):
    def setUp(self):
        super().setUp()
        (self.folder / "tiny").mkdir()
        self.tokenizer = self.folder / "tiny" / "tokenizer.json"
        shutil.copy(GOLDEN / "tiny.json", self.tokenizer)

    def change_tokenizer(self, **fields):
        tree = json.loads(self.tokenizer.read_text(encoding="utf-8"))
        self.tokenizer.write_text(json.dumps({**tree, **fields}), encoding="utf-8")


class FixtureMake(TokenizerCase):
    def make(self, *arguments):
        return self.detcheck(
            "fixture", "make", "--tokenizer", "tiny", "--output", "set.json", *arguments
        )

    def made(self, *arguments):
        run = self.make(*arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assert_valid(SCHEMA, "set.json")
        self.assertEqual(self.detcheck("fixture", "check", "set.json").returncode, 0)
        return json.loads((self.folder / "set.json").read_text(encoding="utf-8"))

    def refuse(self, pattern, *arguments):
        before = self.names()
        self.assert_refused(self.make(*arguments), pattern)
        self.assertEqual(self.names(), before)

    def test_the_ids_are_the_librarys(self):
        answers = [answer for answer in golden_answers() if answer["text"]]
        lines = [json.dumps({"text": answer["text"]}) for answer in answers]
        self.write("some Prompts.jsonl", "\n".join(lines) + "\n")
        made = self.made("some Prompts.jsonl")
        self.assertEqual(
            [(f["id"], f["text"], f["prompt_ids"]) for f in made["fixtures"]],
            [(f"some-prompts-{i + 1}", a["text"], a["ids"]) for i, a in enumerate(answers)],
        )
        sha256 = hashlib.sha256(self.tokenizer.read_bytes()).hexdigest()
        expected = {"name": "tiny", "sha256": sha256, "special_tokens": False, "round_trip": True}
        self.assertEqual(made["tokenizer"], expected)
        self.assertEqual(made["vocab_size"], 420)
        self.assertEqual((made["name"], made["origin"]), ("set", "some Prompts.jsonl"))

    def test_options_and_what_a_line_says_of_itself(self):
        self.write("a.txt", "A whole file.\nTwo lines.\n")
        own = {"text": "Own.", "id": "mine", "role": "neighbour", "max_new_tokens": 3}
        own["sampling"] = {"temperature": 0.5, "top_k": 7}
        self.write("b.jsonl", json.dumps({"text": "Plain."}) + "\n\n" + json.dumps(own))
        made = self.made(
            *["a.txt", "b.jsonl", "--name", "n", "--license", "CC0-1.0", "--origin", "here"],
            *["--description", "d", "--tokenizer-name", "t", "--role", "long"],
            *["--temperature", "1", "--sampling-seed", "9", "--max-new-tokens", "16"],
        )
        header = {key: made[key] for key in ("name", "license", "origin", "description")}
        self.assertEqual(
            header, {"name": "n", "license": "CC0-1.0", "origin": "here", "description": "d"}
        )
        self.assertEqual(made["tokenizer"]["name"], "t")
        ids = [f.pop("prompt_ids") for f in made["fixtures"]]
        self.assertTrue(all(ids))
        common = {"sampling": {"temperature": 1, "seed": 9}, "max_new_tokens": 16, "role": "long"}
        self.assertEqual(
            made["fixtures"],
            [
                {"id": "a", "text": "A whole file.\nTwo lines.\n", **common},
                {"id": "b-1", "text": "Plain.", **common},
                own,
            ],
        )

    def test_special_tokens_where_they_are_asked_for(self):
        answer = golden_answers()[1]
        self.write("q.txt", answer["text"])
        with_special = self.made("q.txt", "--add-special-tokens")["fixtures"][0]
        self.assertEqual(with_special["prompt_ids"], answer["with_special"])
        self.assertEqual(with_special["text"], answer["text"])
        self.assertIs(self.made("q.txt", "--add-special-tokens")["tokenizer"]["special_tokens"], True)

    def test_a_text_that_does_not_come_back_is_refused(self):
        self.change_tokenizer(normalizer={"type": "NFC"})
        self.write("q.txt", "cafe\u0301")
        self.refuse("q.txt: q: the tokenizer does not give this text back: it differs at byte 3",
                    "q.txt")  # fmt: skip

    def test_what_is_wrong_with_texts(self):
        self.write("latin1.txt", b"caf\xe9")
        self.refuse("latin1.txt: latin1: byte 3: not UTF-8", "latin1.txt")
        self.write("empty.txt", "")
        self.refuse("empty.txt: is empty", "empty.txt")
        self.write("bad.jsonl", '{"text": "a"}\n{"txt": "b"}\n')
        self.refuse("bad.jsonl: line 2: unknown field \"txt\"", "bad.jsonl")
        self.write("role.jsonl", '{"text": "a", "role": "judge"}')
        self.refuse("role.jsonl: line 1: role: ", "role.jsonl")
        self.write("twice.jsonl", '{"text": "a", "id": "x"}\n{"text": "b", "id": "x"}')
        self.refuse(r"set.json: fixtures\[1\].id: \"x\" is fixtures\[0\] already", "twice.jsonl")
        self.write("stem.jsonl", '{"text": "a", "id": "f/stem", "role": "family"}')
        self.refuse(r"set.json: fixtures\[0\]: family f has no tail", "stem.jsonl")
        self.refuse("none.txt: cannot open", "none.txt")

    def test_what_must_be_given(self):
        self.write("q.txt", "a")
        run = self.detcheck("fixture", "make", "q.txt", "--output", "set.json")
        self.assert_refused(run, "fixture make: needs --output, and --tokenizer or --endpoint")
        self.assert_refused(self.detcheck("fixture", "make"), "TEXT")


class ModelText(TokenizerCase):
    """A model folder with a tokenizer: its answers have text."""

    def setUp(self):
        super().setUp()
        model_folder.write_model(self.folder / "model")
        self.tokenizer = self.folder / "model" / "tokenizer.json"
        shutil.copy(GOLDEN / "tiny.json", self.tokenizer)
        self.write("q.txt", "The question is this one, 1 and 2")
        run = self.detcheck(
            *["fixture", "make", "q.txt", "--tokenizer", "model", "--output", "set.json"]
        )
        self.assertEqual(run.returncode, 0, run.stderr)

    def single(self, *options):
        return self.detcheck(
            *["single", "--model", "model", "--fixture", "set.json", "--profile", "quick"],
            *["--batch-sizes", "1,2", "--max-new-tokens", "12", "--report", "r.json"],
            *[*DETERMINISTIC, *options],
        )

    def bytes_of(self, text):
        return base64.b64decode(text["base64"]) if isinstance(text, dict) else text.encode()

    def decoded(self, ids):
        """What the IDs spell; the special token and what is no token spell nothing."""
        vocab = json.loads(self.tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        spelled = {token_id: token for token, token_id in vocab.items() if token_id != 0}
        byte_of = {spelling: byte for byte, spelling in SPELLINGS.items()}
        return bytes(byte_of[c] for token_id in ids for c in spelled.get(token_id, ""))

    def test_text_stands_beside_ids(self):
        run = self.single("--criterion", "text")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        outputs = self.report()["outputs"]
        self.assertTrue(outputs)
        for output in outputs:
            self.assertEqual(self.bytes_of(output["text"]), self.decoded(output["ids"]))

    def test_a_tokenizer_that_is_not_supported_is_refused(self):
        tree = json.loads(self.tokenizer.read_text(encoding="utf-8"))
        self.change_tokenizer(model={**tree["model"], "byte_fallback": True})
        self.assert_refused(
            self.single(),
            r"model/tokenizer\.json: model\.byte_fallback: true is not supported",
        )


if __name__ == "__main__":
    unittest.main()
