"""Lines of text for comparing tokenizers: the repository's files, and lines drawn from a seed."""

import pathlib
import random
import subprocess
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_FILE_LINES = 14000
SUFFIXES = {".cc", ".h", ".cu", ".cuh", ".py", ".txt", ".md", ".jsonl", ".js", ".css", ".html"}

# First and last character of blocks of many scripts.
SCRIPTS = {
    "latin": (0x41, 0x24F),
    "ipa": (0x250, 0x2FF),
    "greek": (0x370, 0x3FF),
    "cyrillic": (0x400, 0x52F),
    "armenian": (0x531, 0x58F),
    "hebrew": (0x591, 0x5F4),
    "arabic": (0x600, 0x6FF),
    "devanagari": (0x900, 0x97F),
    "bengali": (0x980, 0x9FE),
    "tamil": (0xB82, 0xBFA),
    "sinhala": (0xD82, 0xDF4),
    "thai": (0xE01, 0xE5B),
    "tibetan": (0xF00, 0xFDA),
    "myanmar": (0x1000, 0x109F),
    "georgian": (0x10A0, 0x10FF),
    "jamo": (0x1100, 0x11FF),
    "ethiopic": (0x1200, 0x137C),
    "cherokee": (0x13A0, 0x13FD),
    "khmer": (0x1780, 0x17F9),
    "mongolian": (0x1800, 0x18AA),
    "latin extended": (0x1E00, 0x1EFF),
    "greek extended": (0x1F00, 0x1FFE),
    "punctuation": (0x2010, 0x205E),
    "currency": (0x20A0, 0x20C0),
    "letterlike": (0x2100, 0x218B),
    "mathematics": (0x2200, 0x23FF),
    "boxes": (0x2500, 0x27BF),
    "kana": (0x3041, 0x30FF),
    "bopomofo": (0x3105, 0x312F),
    "han": (0x4E00, 0x9FFC),
    "hangul": (0xAC00, 0xD7A3),
    "compatibility han": (0xF900, 0xFAD9),
    "presentation forms": (0xFB00, 0xFDFF),
    "full width": (0xFF01, 0xFFEE),
    "gothic": (0x10330, 0x1034A),
    "egyptian": (0x13000, 0x1342E),
    "mathematical letters": (0x1D400, 0x1D7FF),
    "emoji": (0x1F300, 0x1F64F),
    "more emoji": (0x1F680, 0x1FAF6),
    "han extension b": (0x20000, 0x2A6DF),
}

WHITE = ["\t", "\n", "\v", "\f", "\r", "\r\n", " ", "\x85", "\xa0", "\u1680", "\u2003", "\u2028",
         "\u2029", "\u202f", "\u205f", "\u3000"]  # fmt: skip
# What some take for white space.
NEARLY_WHITE = ["\u180e", "\u200b", "\u200d", "\u2060", "\ufeff", "\x1c", "\x1f", "\x00"]
MARKS = ["\u0300", "\u0301", "\u0323", "\u0327", "\u0338", "\u05b4", "\u0651", "\u093c", "\u3099",
         "\u0345", "\u0f71", "\u1dc4"]  # fmt: skip
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "🇯🇵🇫🇷", "1️⃣", "❤️", "🤷🏿‍♂️", "☺", "🫠"]
CONTRACTIONS = ["'s", "'S", "'ſ", "'t", "'T", "'re", "'RE", "'rE", "'ve", "'VE", "'m", "'M", "'ll",
                "'LL", "'Ll", "'d", "'D", "’s", "''", "'lL'", "'K", "'x"]  # fmt: skip
NUMBERS = ["0", "7", "12", "345", "6789", "1234567890", "3.14159", "1,000,000", "-42", "0x1F", "1e-9",
           "٠١٢٣٤", "१२३", "½", "Ⅷ", "ⅷ", "①", "²", "𝟘𝟙", "一二三", "〇", "１２３"]  # fmt: skip
WORDS = ["the", "token", "Determinism", "batch", "straße", "naïve", "İstanbul", "ﬁne", "don", "We",
         "HTTP", "camelCase", "snake_case", "x", "ΑΒΓ", "мир", "世界", "こんにちは", "안녕"]  # fmt: skip
CODE = ["{", "}", "();", "->", "::", "<<", "==", "!=", "//", "/*", "*/", "#include", "\\n", "$", "@",
        "`", "~", "^", "&&", "||", "%d", "[]", "...", "--", "___", "</", "<", ">", "<|", "|>"]  # fmt: skip


def assigned(code_point):
    return unicodedata.category(chr(code_point)) not in ("Cn", "Cs")


def file_lines():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True)
    lines = []
    for name in sorted(listed.stdout.decode().split("\0")):
        path = ROOT / name
        if path.suffix in SUFFIXES and path.is_file():
            lines += path.read_text(encoding="utf-8", errors="ignore").splitlines(keepends=True)
    step = max(1, len(lines) // MOST_FILE_LINES)
    return lines[::step]


def script_lines(rng):
    for low, high in SCRIPTS.values():
        letters = [chr(c) for c in range(low, high + 1) if assigned(c)]
        for _ in range(60):
            words = ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(8)]
            yield rng.choice(["", " ", "  "]).join(words)
        for _ in range(20):
            yield "".join(c + rng.choice(["", *MARKS]) for c in rng.choices(letters, k=20))


def mixed_lines(rng, added):
    kinds = [WHITE, NEARLY_WHITE, EMOJI, CONTRACTIONS, NUMBERS, WORDS, CODE, MARKS, [" "]]
    kinds += [added] if added else []
    for _ in range(5000):
        some = rng.sample(kinds, k=rng.randint(1, 4))
        yield "".join(rng.choice(rng.choice(some)) for _ in range(rng.randint(1, 24)))


def cut_added_lines(rng, added):
    """Added tokens whole, cut short, doubled, and among other text."""
    for _ in range(800 if added else 0):
        token = rng.choice(added)
        cut = rng.choice([token, token[:-1], token[1:], token[: len(token) // 2], token.upper()])
        words = [rng.choice(WORDS), token, cut, rng.choice([" ", "\n", "\t ", ""]), rng.choice(CODE)]
        rng.shuffle(words)
        yield "".join(words)


def white_lines(rng):
    for _ in range(800):
        runs = [rng.choice(WHITE) * rng.randint(0, 6) for _ in range(4)]
        yield "".join(run + rng.choice([*WORDS, *CODE, *NUMBERS, ""]) for run in runs)


def any_character_lines(rng):
    every = [chr(c) for c in range(0x110000) if assigned(c)]
    for _ in range(2000):
        yield "".join(rng.choices(every, k=rng.randint(1, 12)))


def every_character_lines(rng):
    """Each character once, also those that only later versions of Unicode have."""
    blocks = [*range(0xD800), *range(0xE000, 0x32400), *range(0xE0000, 0xE0200)]
    between = ["", "", "a", " ", "1", "!", "\u0301", "\u0323", "'s"]
    for i in range(0, len(blocks), 20):
        yield "".join(chr(c) + rng.choice(between) for c in blocks[i : i + 20])


def long_lines(rng):
    for text in ["a", "ab", " ", "\n", "=", "9", "字", "é", "e\u0301", "👍🏽", "\t ", "'s", "aA1 _"]:
        yield text * 700
    for _ in range(10):
        yield "".join(rng.choice(WORDS) for _ in range(500))


def lines(added):
    """At least 30,000 lines, always the same for the same files and added tokens."""
    rng = random.Random(5)
    drawn = ["", *script_lines(rng), *mixed_lines(rng, added), *cut_added_lines(rng, added)]
    drawn += [*white_lines(rng), *any_character_lines(rng), *long_lines(rng)]
    drawn += every_character_lines(rng)
    return [*file_lines(), *drawn]
