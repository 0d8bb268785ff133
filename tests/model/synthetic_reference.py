#!/usr/bin/env python3
"""Writes the logits that transformers computes, in float32, for a synthetic model of detcheck.

The weights are made here a second time, from the formula of engine/embedded/synthetic_fill.h. For
each prompt and each of some positions: the IDs of the largest logits, most probable first, with
their float32 log-softmax. Beside them the distance of transformers' own bf16 run from it, over the
32 largest logits of the bf16 run: root mean square and largest, in nats. Run by hand; needs numpy,
torch and transformers.
"""

import argparse
import json
import math
import pathlib

import numpy
import torch
import transformers

SEED = 42
NUM_TOP = 128
PROMPT_LENS = (40, 300)
NUM_POSITIONS = 4

MODELS = {
    "tiny": dict(
        qwen3=False, layers=4, hidden=64, heads=8, kv_heads=2, head_dim=32, intermediate=192, vocab=32000,
        eps=1e-5, theta=1e4, tied=False, embedding_std=0.2, score_std=2.5, branch_std=0.5, logit_std=3.5),
    "tiny-qwen3": dict(
        qwen3=True, layers=3, hidden=96, heads=6, kv_heads=3, head_dim=64, intermediate=256, vocab=32000,
        eps=1e-6, theta=1e6, tied=True, embedding_std=0.1, score_std=2.5, branch_std=1.0, logit_std=3.5),
}


def philox(count, index, seed):
    """Words of Philox4x32-10 for the counters 0 .. count - 1 of tensor `index`: [count, 4]."""
    counter = numpy.arange(count, dtype=numpy.uint64)
    low = numpy.uint64(0xFFFFFFFF)
    shift = numpy.uint64(32)
    c = [counter & low, counter >> shift, numpy.full(count, index, numpy.uint64), numpy.ones(count, numpy.uint64)]
    key = [numpy.uint64(seed & 0xFFFFFFFF), numpy.uint64(seed >> 32)]
    for _ in range(10):
        p0 = c[0] * numpy.uint64(0xD2511F53)
        p1 = c[2] * numpy.uint64(0xCD9E8D57)
        c = [(p1 >> shift) ^ c[1] ^ key[0], p1 & low, (p0 >> shift) ^ c[3] ^ key[1], p0 & low]
        key = [(key[0] + numpy.uint64(0x9E3779B9)) & low, (key[1] + numpy.uint64(0xBB67AE85)) & low]
    return numpy.stack(c, axis=1)


def tensor(shape, index, mean, std):
    """A weight, rounded to bf16, as float32."""
    count = math.prod(shape)
    words = philox((count + 3) // 4, index, SEED).reshape(-1)[:count]
    sums = sum((words >> numpy.uint64(8 * byte)) & numpy.uint64(255) for byte in range(4)).astype(numpy.int64)
    scale = numpy.float32(std / math.sqrt(21845.0))
    values = numpy.float32(mean) + (sums - 510).astype(numpy.float32) * scale
    return torch.from_numpy(values.reshape(shape)).to(torch.bfloat16).to(torch.float32)


def weights(m):
    hidden, head_dim, intermediate = m["hidden"], m["head_dim"], m["intermediate"]
    q_width, kv_width = m["heads"] * head_dim, m["kv_heads"] * head_dim
    unit = 1.0 / math.sqrt(hidden)
    qk = math.sqrt(m["score_std"])
    qk_std = unit if m["qwen3"] else qk * unit
    head_std = m["logit_std"] / math.sqrt(hidden)
    gain = head_std / m["embedding_std"] if m["tied"] else 1.0
    state = {
        "model.embed_tokens.weight": tensor((m["vocab"], hidden), 0, 0.0, m["embedding_std"]),
        "model.norm.weight": tensor((hidden,), 1, gain, 0.1 * gain),
    }
    if not m["tied"]:
        state["lm_head.weight"] = tensor((m["vocab"], hidden), 2, 0.0, head_std)
    for layer in range(m["layers"]):
        parts = [
            ("input_layernorm", (hidden,), 1.0, 0.1),
            ("self_attn.q_proj", (q_width, hidden), 0.0, qk_std),
            ("self_attn.k_proj", (kv_width, hidden), 0.0, qk_std),
            ("self_attn.v_proj", (kv_width, hidden), 0.0, unit),
            ("self_attn.o_proj", (hidden, q_width), 0.0, m["branch_std"] / (0.6 * math.sqrt(q_width))),
            ("self_attn.q_norm", (head_dim,), qk, 0.1 * qk),
            ("self_attn.k_norm", (head_dim,), qk, 0.1 * qk),
            ("post_attention_layernorm", (hidden,), 1.0, 0.1),
            ("mlp.gate_proj", (intermediate, hidden), 0.0, unit),
            ("mlp.up_proj", (intermediate, hidden), 0.0, unit),
            ("mlp.down_proj", (hidden, intermediate), 0.0, m["branch_std"] / (0.6 * math.sqrt(intermediate))),
        ]
        for k, (name, shape, mean, std) in enumerate(parts):
            if name.endswith(("q_norm", "k_norm")) and not m["qwen3"]:
                continue
            state[f"model.layers.{layer}.{name}.weight"] = tensor(shape, 16 * (layer + 1) + k, mean, std)
    return state


def model(m):
    kind = (transformers.Qwen3Config, transformers.Qwen3ForCausalLM) if m["qwen3"] else (
        transformers.LlamaConfig, transformers.LlamaForCausalLM)
    config = kind[0](
        vocab_size=m["vocab"], hidden_size=m["hidden"], intermediate_size=m["intermediate"],
        num_hidden_layers=m["layers"], num_attention_heads=m["heads"], num_key_value_heads=m["kv_heads"],
        head_dim=m["head_dim"], rms_norm_eps=m["eps"], rope_theta=m["theta"], tie_word_embeddings=m["tied"],
        max_position_embeddings=16384, attn_implementation="eager")
    built = kind[1](config).to(torch.float32).eval()
    missing, unexpected = built.load_state_dict(weights(m), strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    built.tie_weights()
    return built


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(MODELS))
    parser.add_argument("output", type=pathlib.Path)
    args = parser.parse_args()
    built = model(MODELS[args.name])
    rounded = model(MODELS[args.name]).to(torch.bfloat16)
    document = {"model": f"synthetic:{args.name}", "seed": SEED, "transformers": transformers.__version__,
                "torch": torch.__version__.split("+")[0], "prompts": []}
    distances = []
    for prompt, length in enumerate(PROMPT_LENS):
        ids = [(1000 + 37 * prompt + 7919 * i) % MODELS[args.name]["vocab"] for i in range(length)]
        with torch.no_grad():
            logprobs = torch.log_softmax(built(torch.tensor([ids])).logits[0], dim=-1)
            bf16 = torch.log_softmax(rounded(torch.tensor([ids])).logits[0].to(torch.float32), dim=-1)
        positions = [round(i * (length - 1) / (NUM_POSITIONS - 1)) for i in range(NUM_POSITIONS)]
        rows = []
        for position in positions:
            values, top = logprobs[position].topk(NUM_TOP)
            near = bf16[position].topk(32).indices
            distances.append(bf16[position][near] - logprobs[position][near])
            rows.append({"position": position, "ids": top.tolist(),
                         "logprobs": [round(value, 5) for value in values.tolist()]})
        document["prompts"].append({"ids": ids, "rows": rows})
    distances = torch.cat(distances)
    document["bf16_rms"] = float(distances.square().mean().sqrt())
    document["bf16_largest"] = float(distances.abs().max())
    args.output.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


main()
