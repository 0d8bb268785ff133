"""What the end-to-end tests of servers share that take text alone: a tokenizer, and fixtures made with it."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "servers"))

import mock_tokenizer  # noqa: E402
from server_case import ServerCase  # noqa: E402

QUESTION = "What is the capital of the smallest country that borders two seas?"
NEIGHBOURS = ["Name three rivers.", "Why is the sky blue in the morning?", "Count from one to ten, then back again.",
              "How old is the oldest tree?"]
WORDS = ("the rain had stopped and people came out of their houses to see what the river had left behind in the streets"
         " of the old town while the bells were ringing").split()


def passage(start, num_words):
    return " ".join(WORDS[(start + i) % len(WORDS)] for i in range(num_words))


class TextCase(ServerCase):
    def setUp(self):
        super().setUp()
        self.tokenizer = self.write("tok/tokenizer.json", mock_tokenizer.tokenizer_json())
        self.fixtures = self.make_fixtures()

    def make_fixtures(self, question=QUESTION, name="set.json"):
        lines = [{"id": "q13", "role": "subject", "text": question}]
        lines += [{"id": f"n{i}", "role": "neighbour", "text": text} for i, text in enumerate(NEIGHBOURS)]
        lines += [{"id": f"l{i}", "role": "long", "text": passage(i, 150)} for i in range(3)]
        lines += [{"id": f"f/{part}", "role": "family", "text": passage(3 * i, size)}
                  for i, (part, size) in enumerate([("stem", 150), ("tail-a", 6), ("tail-b", 6)])]
        self.write("prompts.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        run = self.detcheck("fixture", "make", "prompts.jsonl", "--tokenizer", "tok", "--output", name)
        self.assertEqual(run.returncode, 0, run.stderr)
        return name

    def with_bos(self, name="bos.json"):
        """The fixtures with the special token in front."""
        made = json.loads((self.folder / self.fixtures).read_text(encoding="utf-8"))
        for fixture in made["fixtures"]:
            fixture["prompt_ids"].insert(0, mock_tokenizer.SPECIAL)
            del fixture["text"]
        made["tokenizer"]["special_tokens"] = True
        self.write(name, made)
        return name

    def run_text(self, mode, server, *options, fixtures=None, tokenizer=True):
        given = ("--tokenizer", "tok") if tokenizer else ()
        return self.run_mode(mode, server, "--fixture", fixtures or self.fixtures, *given, *options)

    def change_fixture(self, prompt_ids, name="changed.json"):
        """The fixtures with another prompt of the subject."""
        made = json.loads((self.folder / self.fixtures).read_text(encoding="utf-8"))
        made["fixtures"][0]["prompt_ids"] = prompt_ids
        del made["fixtures"][0]["text"]
        self.write(name, made)
        return name

    def witness_sources(self, report):
        return {item["witness"]["source"] for record in report["transcript"]["records"] for item in record.get("items", [])
                if len(record["items"]) > 1}
