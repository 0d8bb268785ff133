#!/usr/bin/env python3
"""Writes golden/: a tiny tokenizer.json, and what the Hugging Face library makes of texts with it
and with variants of it. Needs the `tokenizers` package (parity.py's virtual environment has it).
"""

import json
import pathlib

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import vocabularies

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
TEXT = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "sets" / "text"
VOCAB_SIZE = 420

GPT2_TEXTS = [
    "",
    "Hello, world! The people's house, we'll see; they've gone, I'm here, it'd do.",
    "  two spaces,\ttab,\n\nnewlines \r\n and trailing   ",
    "123 4567 3.14 ½ Ⅷ ٣ 2²",
    "naïve café e\u0301 Å\u0301 straße ﬁ İ 'ſ 'S",
    "Привет мир こんにちは 世界 안녕 שלום नमस्ते",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪 ❤️",
    "a\u00a0b\u2003c\u3000d\u180ee\u200bf\ufeffg\u0085h\u2028i\x1cj\x00k",
    "\U00030000\U00031350\U00010940 1\U00010d40",
    "if (x != nullptr) { return *x->y[0] << 2; } // done",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa the the the thethe",
    "<|end|>text<|end|><|en <|end|> |>",
]
ADDED_TEXTS = [
    "say <word>, no<word>, <word>s, é<word> <word>\u0301 _<word> -<word>-",
    "a  \t<left>  b\u3000<left><left> c<left>",
    "a <right>  \n b<right><right>\u00a0 c",
    "x <both>  <both> y  <both>z <right> <left> <right>  <left>",
    "cafe\u0301! café! CAFÉ! caf\u00e9!caf",
    "<long><long-er><long-e <long-er",
    "<raw e\u0301> <raw \u00e9>",
]
PATTERN = vocabularies.QWEN_PATTERN
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def added(token_id, content, **flags):
    return {**vocabularies.added_token(token_id, content, False), **flags}


def split(pattern, behavior, invert=False):
    kind = {"Regex": pattern} if isinstance(pattern, str) else {"String": pattern[0]}
    return {"type": "Split", "pattern": kind, "behavior": behavior, "invert": invert}


def steps(*before, **byte_level):
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, **byte_level}
    return {"type": "Sequence", "pretokenizers": [*before, last]}


def variants(vocab_size):
    """name -> (fields that differ from the tiny file, "model." for those in the model; texts)"""
    first = vocab_size
    flags = [
        added(first, "<word>", single_word=True),
        added(first + 1, "<left>", lstrip=True),
        added(first + 2, "<right>", rstrip=True, special=True),
        added(first + 3, "<both>", lstrip=True, rstrip=True),
        added(first + 4, "caf\u00e9", normalized=True),
        added(first + 5, "<long>"),
        added(first + 6, "<long-er>"),
        added(first + 7, "<raw e\u0301>"),
    ]
    bare = steps(use_regex=False)
    result = {
        "gpt2": ({}, GPT2_TEXTS),
        "prefix space": ({"pre_tokenizer": steps(add_prefix_space=True)}, GPT2_TEXTS),
        "no splitting": ({"pre_tokenizer": bare}, GPT2_TEXTS),
        "nfc": ({"normalizer": {"type": "NFC"}}, GPT2_TEXTS),
        "ignore merges": ({"model.ignore_merges": True, "model.merges": []}, GPT2_TEXTS),
        "added tokens": ({"added_tokens": flags}, ADDED_TEXTS),
        "added tokens, nfc": (
            {"added_tokens": flags, "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]}},
            ADDED_TEXTS,
        ),
        "single digits": (
            {"pre_tokenizer": steps({"type": "Digits", "individual_digits": True})},
            GPT2_TEXTS,
        ),
        "digits": (
            {"pre_tokenizer": steps({"type": "Digits", "individual_digits": False})},
            GPT2_TEXTS,
        ),
        "qwen": ({"pre_tokenizer": steps(split(PATTERN, "Isolated"), use_regex=False)}, GPT2_TEXTS),
        "o200k": ({"pre_tokenizer": steps(split(O200K, "Isolated"), use_regex=False)}, GPT2_TEXTS),
        "qwen, inverted and removed": (
            {"pre_tokenizer": steps(split(PATTERN, "Removed", True), use_regex=False)},
            GPT2_TEXTS,
        ),
        "prefix space after a split": (
            {"pre_tokenizer": steps(split(r"\d", "Isolated"), add_prefix_space=True)},
            GPT2_TEXTS,
        ),
    }
    for behavior in ["Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous", "Isolated"]:
        for invert in (False, True):
            for kind, pattern in {"regex": r"[\s,aeiou]", "string": [" t"]}.items():
                name = f"split {kind} {behavior}{', inverted' if invert else ''}"
                result[name] = (
                    {"pre_tokenizer": steps(split(pattern, behavior, invert), use_regex=False)},
                    GPT2_TEXTS[1:5],
                )
    return result


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    files = ["essay.txt", "code.txt", "languages.txt"]
    lines = [line for name in files for line in (TEXT / name).read_text().splitlines(keepends=True)]
    tokenizer.train_from_iterator(lines, trainer)
    tree = json.loads(tokenizer.to_str())
    begin = {"SpecialToken": {"id": "<|end|>", "type_id": 0}}
    tree["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}, begin, begin],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [0], "tokens": ["<|end|>"]}},
    }
    return tree


def with_changes(tree, changes):
    changed = json.loads(json.dumps(tree))
    for name, value in changes.items():
        if name.startswith("model."):
            changed["model"][name.removeprefix("model.")] = value
        else:
            changed[name] = value
    return changed


def answers(tokenizer, text):
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return {
        "text": text,
        "ids": ids,
        "with_special": tokenizer.encode(text, add_special_tokens=True).ids,
        "decoded": tokenizer.decode(ids, skip_special_tokens=False),
        "without_special": tokenizer.decode(ids, skip_special_tokens=True),
    }


def main():
    tree = train()
    GOLDEN.mkdir(exist_ok=True)
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    (GOLDEN / "tiny.json").write_text(text + "\n", encoding="utf-8")
    cases = []
    for name, (changes, texts) in variants(len(tree["model"]["vocab"])).items():
        tokenizer = Tokenizer.from_str(json.dumps(with_changes(tree, changes)))
        answered = [answers(tokenizer, text) for text in texts]
        cases.append({"name": name, "changes": changes, "answers": answered})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (GOLDEN / "cases.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
