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
