"""Encoders: the built-in one, and graphs whose sidecar says what they take; nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from overread.case import BadInput
from overread.readers.probe.encoders import BuiltIn, open_encoder
from support.onnx_graph import channels_as_tokens

SIDECAR = """
[input]
width = 4
height = 4
channels = 3
resample = "bilinear"
mean = [0.5, 0.5, 0.5]
std = [0.25, 0.25, 0.25]
[whole]
output = "tokens"
token = 0
[patches]
output = "tokens"
first = 1
"""


def film(seed: int = 0, side: int = 224) -> np.ndarray:
    """A grey ramp to the right with noise, and one bright patch on the left."""
    noise = np.random.default_rng(seed).normal(0, 2, (side, side))
    pixels = np.linspace(60, 150, side)[:, None] + noise
    pixels[side // 2 : side * 3 // 4, side // 8 : side // 3] += 60
    return pixels.clip(10, 230).astype(np.uint8)


def masked(pixels: np.ndarray, columns: slice) -> np.ndarray:
    shown = pixels.copy()
    shown[112:168, columns] = 0
    return shown


def test_the_built_in_encoder_gives_the_same_alone_and_among_others() -> None:
    encoder = BuiltIn()
    films = [film(seed) for seed in range(3)]
    together = encoder.encode(films)
    assert together.whole.shape == (3, 29)
    assert together.local.shape == (3, 256)
    for part, whole in zip(encoder.encode(films[1:2]), together, strict=True):
        assert np.allclose(part[0], whole[1], atol=1e-5)
    colour = np.stack([films[1]] * 3, axis=-1)
    assert np.array_equal(encoder.encode([colour]).whole[0], together.whole[1])


def test_hiding_the_patch_takes_away_local_evidence_and_hardly_moves_the_whole() -> None:
    shown, hidden, elsewhere = (
        BuiltIn()
        .encode([film(), masked(film(), slice(28, 84)), masked(film(), slice(84, 112))])
        .local
    )
    assert np.linalg.norm(hidden) < 0.5 * np.linalg.norm(shown)
    assert np.linalg.norm(elsewhere) > 0.8 * np.linalg.norm(shown)
    whole = BuiltIn().encode([film(), masked(film(), slice(84, 112))]).whole
    assert np.abs(whole[0] - whole[1]).max() < 8  # grey levels


def test_a_picture_that_shows_nothing_has_vectors_too() -> None:
    found = BuiltIn().encode([np.zeros((10, 30), np.uint8)])
    assert not found.whole.any()
    assert not found.local.any()


@pytest.mark.parametrize("word", ["", "rad-dino", "hf:", "onnx:", "builtin:x"])
def test_an_unknown_encoder_is_refused_with_those_there_are(word: str) -> None:
    with pytest.raises(BadInput, match="encoders are builtin, hf:MODEL"):
        open_encoder(word)


# ---------------------------------------------------------------- ONNX


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime", reason="needs the extra probe: not installed")
    path = tmp_path / "encoder.onnx"
    path.write_bytes(channels_as_tokens(4))
    path.with_suffix(".toml").write_text(SIDECAR)
    return path


def test_a_graph_gets_pixels_as_its_sidecar_says(graph: Path) -> None:
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[..., 1] = np.arange(16).reshape(4, 4) * 10
    pixels[..., 2] = 200 - pixels[..., 1]
    found = open_encoder(f"onnx:{graph}").encode([pixels, pixels])
    assert np.allclose(found.whole, (0 - 0.5) / 0.25)
    strongest = np.maximum(pixels[..., 1], pixels[..., 2]).ravel() / 255
    assert np.allclose(found.local[1], (strongest - 0.5) / 0.25, atol=1e-6)


def test_its_identity_is_of_the_graph_and_the_sidecar(graph: Path) -> None:
    first = open_encoder(f"onnx:{graph}").identity
    sidecar = graph.with_suffix(".toml")
    sidecar.write_text(SIDECAR.replace("0.25", "0.26"))
    assert open_encoder(f"onnx:{graph}").identity != first
    sidecar.write_text(SIDECAR.split("[patches]")[0])
    assert open_encoder(f"onnx:{graph}").encode([film()]).local.shape == (1, 0)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (SIDECAR, "", "missing required field `input`"),
        ("mean = [0.5, 0.5, 0.5]\n", "", "missing required field `mean`"),
        ("std = [0.25, 0.25, 0.25]", "std = [0.25]", "input.std needs 3 numbers"),
        ("std = [0.25, 0.25, 0.25]", "std = [0.25, 0.25, 0.0]", "numbers above 0"),
        ("width = 4", "width = 0", "sides are 1 to 8192"),
        ('resample = "bilinear"', 'resample = "magic"', "magic"),
        ("token = 0", "tokens = 0", "unknown field `tokens`"),
    ],
)
def test_a_sidecar_that_leaves_something_open_is_refused(
    graph: Path, was: str, now: str, said: str
) -> None:
    graph.with_suffix(".toml").write_text(SIDECAR.replace(was, now))
    with pytest.raises(BadInput, match=said) as refused:
        open_encoder(f"onnx:{graph}")
    assert "encoder.toml" in str(refused.value)


def test_what_the_graph_does_not_have_is_named_with_what_it_has(graph: Path) -> None:
    graph.with_suffix(".toml").write_text(SIDECAR.replace('"tokens"', '"pooled"'))
    with pytest.raises(BadInput, match='whole.output is "pooled"; the graph has tokens'):
        open_encoder(f"onnx:{graph}").encode([film()])
    graph.with_suffix(".toml").write_text(SIDECAR.replace("width = 4", "width = 5"))
    with pytest.raises(BadInput, match="encoder onnx:"):
        open_encoder(f"onnx:{graph}").encode([film()])


def test_a_graph_without_a_sidecar_or_that_is_none_is_refused(graph: Path) -> None:
    graph.write_bytes(b"no graph")
    with pytest.raises(BadInput, match="cannot be loaded"):
        open_encoder(f"onnx:{graph}").encode([film()])
    graph.with_suffix(".toml").unlink()
    with pytest.raises(BadInput, match=r"there is no encoder.toml beside it"):
        open_encoder(f"onnx:{graph}")
    with pytest.raises(BadInput, match="no such file"):
        open_encoder(f"onnx:{graph.parent / 'gone.onnx'}")


@pytest.mark.parametrize(("word", "module"), [("onnx:e.onnx", "onnxruntime"), ("hf:m", "torch")])
def test_a_missing_extra_is_said_with_its_remedy(
    word: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from overread.readers.probe import encoders

    there = encoders.find_spec
    monkeypatch.setattr(encoders, "find_spec", lambda name: None if name == module else there(name))
    with pytest.raises(BadInput, match=r"pip install 'overread\[(probe|hf)\]'"):
        open_encoder(word)
