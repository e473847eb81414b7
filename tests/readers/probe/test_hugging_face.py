"""Vision encoders of the Hugging Face kind, tiny and random, saved as any checkpoint is.

The one file of probe tests that imports torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.case import BadInput
from overread.readers.probe.encoders import Encoded, open_encoder
from support.installed import needs

pytestmark = [pytest.mark.slow, needs("torch", "needs the extra hf: not installed")]

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28}


def save(folder: Path, kind: str, **more: Any) -> str:
    """A checkpoint with its processor, which brings pictures to 28 pixels."""
    import torch
    import transformers

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**SMALL, patch_size=14, **more)
    model = getattr(transformers, f"{kind}Model")(config)
    model.save_pretrained(folder)
    transformers.BitImageProcessorPil(
        size={"height": 28, "width": 28},
        do_center_crop=False,
        image_mean=[0.5] * 3,
        image_std=[0.2] * 3,
    ).save_pretrained(folder)
    return f"hf:{folder}"


def pictures() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.integers(0, 256, size, np.uint8) for size in ((28, 28), (50, 40, 3), (28, 28))]


def test_the_class_token_is_the_whole_and_registers_are_no_patches(tmp_path: Path) -> None:
    plain = open_encoder(save(tmp_path / "plain", "Dinov2"))
    with_registers = open_encoder(
        save(tmp_path / "registers", "Dinov2WithRegisters", num_register_tokens=4)
    )
    for encoder in (plain, with_registers):
        found = encoder.encode(pictures())
        assert found.whole.shape == found.local.shape == (3, 16)
        alone = encoder.encode(pictures()[1:2])
        assert np.allclose(alone.whole[0], found.whole[1], atol=1e-5)
        tokens = _tokens(encoder, pictures()[:1])
        assert np.allclose(found.whole[0], tokens[0, 0], atol=1e-5)
        assert np.allclose(found.local[0], tokens[0, -4:].max(axis=0), atol=1e-5)


def _tokens(encoder: Any, shown: list[np.ndarray]) -> np.ndarray:
    import torch
    from PIL import Image

    model, processor = encoder._loaded
    given = processor(
        images=[Image.fromarray(one).convert("RGB") for one in shown], return_tensors="pt"
    )
    with torch.inference_mode():
        return model(**given).last_hidden_state.numpy()


def test_an_encoder_without_a_class_token_has_its_pooled_output(tmp_path: Path) -> None:
    encoder: Any = open_encoder(save(tmp_path / "siglip", "SiglipVision", intermediate_size=16))
    found: Encoded = encoder.encode(pictures())
    tokens = _tokens(encoder, pictures()[:1])
    assert tokens.shape == (1, 4, 16)
    assert np.allclose(found.local[0], tokens[0].max(axis=0), atol=1e-5)
    assert not np.allclose(found.whole[0], tokens[0, 0])


def test_its_identity_is_of_its_bytes_and_what_is_not_here_is_not_fetched(tmp_path: Path) -> None:
    word = save(tmp_path / "one", "Dinov2")
    first = open_encoder(word)
    assert first.identity.startswith("hf:bytes:")
    assert first.runs_as == "float32 on cpu"
    save(tmp_path / "one", "Dinov2", mlp_ratio=2)
    assert open_encoder(word).identity != first.identity
    with pytest.raises(BadInput, match=r"encoder hf:microsoft/rad-dino: .*hf download microsoft"):
        open_encoder("hf:microsoft/rad-dino")
