#!/usr/bin/env python3
"""Compares an engine's greedy answers with the reference: tokens, and logprobs at equal prefixes.

Both files hold {"prompts": [{"id": ..., "token_ids": [...], "logprobs": [...]}, ...]}; the first
one is written by reference_logprobs.py. A logprob counts where all tokens up to and with it are
equal on both sides. Exit codes: 0 the bar is met, 1 it is not, 2 a file cannot be used.
"""

import argparse
import json
import math
import pathlib
import sys


class BadInput(Exception):
    """An input that cannot be used."""


def read_prompts(path):
    try:
        prompts = json.loads(path.read_text(encoding="utf-8"))["prompts"]
        return {prompt["id"]: prompt for prompt in prompts}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: {error!r}") from error


def equal_len(a, b):
    """How many tokens are equal from the start."""
    length = min(len(a), len(b))
    return next((i for i in range(length) if a[i] != b[i]), length)


def reference_gap(prompt, position):
    """The distance of the reference's two best candidates, where it is known."""
    top = prompt.get("top", [])
    if position >= len(top) or len(top[position]) < 2:
        return None
    return top[position][0][1] - top[position][1][1]


class Comparison:
    """What is known after each prompt has been looked at."""

    def __init__(self, num_tokens):
        self._num_tokens = num_tokens
        self.num_prompts = 0
        self.num_equal = 0
        self.num_logprobs = 0
        self.largest_diff = 0.0
        self.largest_at = None
        self.notes = []

    def add(self, reference, other):
        name = reference["id"]
        expected = reference["token_ids"][: self._num_tokens]
        actual = other["token_ids"][: self._num_tokens]
        same = equal_len(expected, actual)
        self.num_prompts += 1
        if same == self._num_tokens:
            self.num_equal += 1
        else:
            self._note_divergence(name, reference, expected, actual, same)
        for i in range(same):
            diff = abs(reference["logprobs"][i] - other["logprobs"][i])
            if math.isnan(diff):
                diff = math.inf
            self.num_logprobs += 1
            if diff > self.largest_diff:
                self.largest_diff = diff
                self.largest_at = (name, i)

    def _note_divergence(self, name, reference, expected, actual, same):
        if same == min(len(expected), len(actual)):
            self.notes.append(f"{name}: {len(expected)} and {len(actual)} tokens")
            return
        gap = reference_gap(reference, same)
        shown = "" if gap is None else f"; the reference's two best are {gap:.3g} nats apart"
        self.notes.append(
            f"{name}: token {same}: expected {expected[same]}, got {actual[same]}{shown}"
        )


def compare(reference, other, num_tokens):
    missing = [name for name in reference if name not in other]
    if missing:
        raise BadInput(f"no answer to {missing[0]} and {len(missing) - 1} more")
    if not reference:
        raise BadInput("the reference has no prompts")
    result = Comparison(num_tokens)
    for name, prompt in reference.items():
        result.add(prompt, other[name])
    return result


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=pathlib.Path)
    parser.add_argument("other", type=pathlib.Path)
    parser.add_argument("--tokens", type=int, default=32, help="tokens compared (default 32)")
    parser.add_argument(
        "--min-equal", type=float, default=0.95, help="share of prompts that must be equal"
    )
    parser.add_argument("--max-diff", type=float, help="largest allowed logprob difference, nats")
    return parser.parse_args()


def main():
    args = parse_args()
    try:
        result = compare(read_prompts(args.reference), read_prompts(args.other), args.tokens)
    except BadInput as error:
        print(f"compare_reference: error: {error}", file=sys.stderr)
        return 2
    for note in result.notes:
        print(note)
    share = result.num_equal / result.num_prompts
    print(
        f"first {args.tokens} tokens equal: {result.num_equal} of {result.num_prompts}"
        f" prompts ({share:.1%})"
    )
    print(
        f"largest logprob difference: {result.largest_diff:.3g} nats at {result.largest_at},"
        f" {result.num_logprobs} logprobs compared"
    )
    close = args.max_diff is None or result.largest_diff <= args.max_diff
    return 0 if share >= args.min_equal and close else 1


if __name__ == "__main__":
    sys.exit(main())
