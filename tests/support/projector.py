"""A tiny vision tower with random weights, so that a text model's server takes pictures.

`write_projector` makes the `mmproj` file of llama.cpp: a vision transformer of one working layer
and a two-layer perceptron into the language model's embedding space (the LLaVA 1.5 arrangement,
projector type "mlp"). The weights mean nothing; what matters to tests of the wire is that pixels
become tokens, that other pixels give other log-probabilities, and that nothing overflows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

PATCH = 14
WIDTH, HEADS, INNER = 64, 4, 128


def write_projector(
    path: Path, *, n_embd: int = 576, image_size: int = 56, scale: float = 0.14, seed: int = 0
) -> Path:
    """Write the file and return its path. A picture becomes (image_size / 14)^2 tokens.

    `n_embd` is the language model's width (576 for SmolLM2-135M) and `scale` the standard
    deviation of its token embeddings, which the picture's embeddings get too.
    """
    import gguf

    if image_size % PATCH:
        raise ValueError(f"image_size is {image_size}; it must be a multiple of {PATCH}.")
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_name("random projector")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    writer.add_uint32("clip.vision.image_size", image_size)
    writer.add_uint32("clip.vision.patch_size", PATCH)
    writer.add_uint32("clip.vision.embedding_length", WIDTH)
    writer.add_uint32("clip.vision.feed_forward_length", INNER)
    writer.add_uint32("clip.vision.projection_dim", n_embd)
    # LLaVA reads the last layer but one, so the second of two is there to be left out.
    writer.add_uint32("clip.vision.block_count", 2)
    writer.add_uint32("clip.vision.attention.head_count", HEADS)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.25, 0.25, 0.25])
    for name, values in weights(n_embd, image_size, scale, seed).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def weights(n_embd: int, image_size: int, scale: float, seed: int) -> dict[str, np.ndarray]:
    """All tensors by name, each drawn so that its output has about unit variance."""
    draw = np.random.default_rng(seed)

    def normal(*shape: int, std: float) -> np.ndarray:
        return (draw.standard_normal(shape) * std).astype(np.float32)

    def linear(name: str, out: int, into: int, gain: float = 1.0) -> dict[str, np.ndarray]:
        weight = normal(out, into, std=gain / np.sqrt(into))
        return {f"{name}.weight": weight, f"{name}.bias": np.zeros(out, np.float32)}

    def norm(name: str) -> dict[str, np.ndarray]:
        ones, zeros = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
        return {f"{name}.weight": ones, f"{name}.bias": zeros}

    patches = (image_size // PATCH) ** 2
    tensors = {
        "v.patch_embd.weight": normal(WIDTH, 3, PATCH, PATCH, std=1 / np.sqrt(3 * PATCH**2)),
        "v.position_embd.weight": normal(patches, WIDTH, std=0.5),
        **norm("v.pre_ln"),
    }
    for block in ("v.blk.0", "v.blk.1"):
        tensors |= norm(f"{block}.ln1") | norm(f"{block}.ln2")
        for part in ("attn_q", "attn_k", "attn_v", "attn_out"):
            tensors |= linear(f"{block}.{part}", WIDTH, WIDTH)
        tensors |= linear(f"{block}.ffn_up", INNER, WIDTH) | linear(
            f"{block}.ffn_down", WIDTH, INNER
        )
    return tensors | linear("mm.0", INNER, WIDTH) | linear("mm.2", n_embd, INNER, gain=scale)
