"""A tokenizer for the mock servers: a token for each byte of UTF-8, and one special token, which stands before a text where
special tokens are added and is found in texts as "<s>"."""

SPECIAL = 1
SPECIAL_TEXT = "<s>"
FIRST_BYTE = 10


def encode(text, add_special):
    ids = [SPECIAL] if add_special else []
    for number, part in enumerate(text.split(SPECIAL_TEXT)):
        ids += [SPECIAL] if number > 0 else []
        ids += [FIRST_BYTE + byte for byte in part.encode()]
    return ids


def decode(ids, skip_special=False, clean_up=False):
    """`clean_up`: blanks before punctuation are dropped, as the Hugging Face library's clean_up_tokenization_spaces does."""
    data = bytearray()
    for token in ids:
        if token == SPECIAL:
            data += b"" if skip_special else SPECIAL_TEXT.encode()
        else:
            data.append(token - FIRST_BYTE)
    text = data.decode(errors="replace")
    return text.replace(" ,", ",").replace(" .", ".") if clean_up else text


def spelling(byte):
    """How byte-level vocabularies write a byte: itself where it is printable, else a letter beyond Latin-1."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in printable:
        return chr(byte)
    return chr(0x100 + [other for other in range(256) if other not in printable].index(byte))


def tokenizer_json():
    """The same tokenizer as a tokenizer.json, which puts its special token in front where special tokens are added."""
    special = {"id": SPECIAL, "content": SPECIAL_TEXT, "single_word": False, "lstrip": False, "rstrip": False,
               "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [special], "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {SPECIAL_TEXT: SPECIAL, **{spelling(byte): FIRST_BYTE + byte for byte in range(256)}},
                      "merges": []}}
