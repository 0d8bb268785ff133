"""A Hugging Face directory of a very small Llama, to be broken one way at a time."""

import json
import struct

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 64,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
}

SHAPES = {
    "model.embed_tokens.weight": [64, 32],
    "model.layers.0.input_layernorm.weight": [32],
    "model.layers.0.self_attn.q_proj.weight": [32, 32],
    "model.layers.0.self_attn.k_proj.weight": [16, 32],
    "model.layers.0.self_attn.v_proj.weight": [16, 32],
    "model.layers.0.self_attn.o_proj.weight": [32, 32],
    "model.layers.0.post_attention_layernorm.weight": [32],
    "model.layers.0.mlp.gate_proj.weight": [64, 32],
    "model.layers.0.mlp.up_proj.weight": [64, 32],
    "model.layers.0.mlp.down_proj.weight": [32, 64],
    "model.norm.weight": [32],
}


def tensors(shapes=SHAPES):
    """Header entries and the bytes that they point into."""
    header, data = {}, b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [((i * 2654435761) % 1000) / 5000.0 - 0.1 for i in range(count)]
        content = struct.pack(f"<{count}f", *values)
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    return header, data


def safetensors(header, data, header_len=None):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if header_len is None else header_len) + text + data


def write_model(folder):
    """A directory that runs, with room for the shipped fixtures."""
    folder.mkdir(parents=True)
    sizes = {"vocab_size": 32000, "max_position_embeddings": 4096}
    (folder / "config.json").write_text(json.dumps({**CONFIG, **sizes}))
    shapes = {**SHAPES, "model.embed_tokens.weight": [32000, 32]}
    (folder / "model.safetensors").write_bytes(safetensors(*tensors(shapes)))
