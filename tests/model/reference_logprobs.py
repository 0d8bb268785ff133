#!/usr/bin/env python3
"""Writes what transformers answers to a fixture file: greedy token IDs and their logprobs.

One prompt at a time, float32, eager attention, end-of-sequence ignored. Run by hand; needs the
packages torch and transformers. Fixtures of role "family" are parts of prompts and are left out;
sampling parameters are not used.
"""

import argparse
import json
import pathlib
import sys

import torch
import transformers


def load_model(directory):
    return transformers.AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="eager", local_files_only=True
    ).eval()


def greedy(model, prompt_ids, num_tokens, num_top):
    """Token IDs, their logprobs, and the best [id, logprob] pairs at each position."""
    answer = {"token_ids": [], "logprobs": [], "top": []}
    inputs = torch.tensor([prompt_ids])
    cache = None
    for _ in range(num_tokens):
        # Only the last position's logits: all of a long prompt's would not fit into memory.
        output = model(inputs, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache = output.past_key_values
        # The softmax is taken in float64, so that what differs is the other side's or the logits'.
        logprobs = torch.log_softmax(output.logits[0, -1].double(), dim=-1)
        values, ids = logprobs.topk(max(num_top, 1))
        token = int(ids[0])
        answer["token_ids"].append(token)
        answer["logprobs"].append(float(values[0]))
        pairs = list(zip(ids.tolist(), values.tolist()))
        answer["top"].append([list(pair) for pair in pairs[:num_top]])
        inputs = torch.tensor([[token]])
    return answer


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path, help="Hugging Face directory")
    parser.add_argument("fixtures", type=pathlib.Path, help="fixture file")
    parser.add_argument("output", type=pathlib.Path, help="JSON file to write")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--top", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    transformers.logging.disable_progress_bar()
    fixture_set = json.loads(args.fixtures.read_text(encoding="utf-8"))
    model = load_model(args.model)
    prompts = []
    with torch.inference_mode():
        for fixture in fixture_set["fixtures"]:
            if fixture["role"] == "family":
                continue
            answer = greedy(model, fixture["prompt_ids"], args.tokens, args.top)
            prompts.append({"id": fixture["id"], **answer})
            print(fixture["id"], file=sys.stderr, flush=True)
    result = {
        "made_with": {"torch": torch.__version__, "transformers": transformers.__version__},
        "fixture_set": fixture_set["name"],
        "dtype": "float32",
        "prompts": prompts,
    }
    args.output.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
