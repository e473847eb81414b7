"""Frozen encoders: a picture becomes two vectors, one of the whole film and one of its parts.

`builtin` needs no weights, `hf:MODEL` is any vision encoder of the Hugging Face kind, `onnx:FILE`
any other whose sidecar says what it takes. Nothing about an encoder is guessed: not its size, not
its normalisation, not which token stands for the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from overread.case import BadInput
from overread.files import open_file, read_toml

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels: TypeAlias = NDArray[np.uint8]
    Vectors: TypeAlias = NDArray[np.float32]

DEFAULT: Final = "hf:microsoft/rad-dino"
KNOWN: Final = "builtin, hf:MODEL[@REVISION] and onnx:FILE"


class Encoded(NamedTuple):
    """A row for each picture: of the whole film, and of its most telling parts."""

    whole: Vectors
    local: Vectors


class Encoder(Protocol):
    """A frozen encoder. `identity` names the weights and all that is done to a picture first;
    `runs_as` the precision and the device, which change the last digits of a vector.
    """

    @property
    def identity(self) -> str: ...
    @property
    def runs_as(self) -> str: ...
    @property
    def batch(self) -> int: ...
    def encode(self, pictures: Sequence[Pixels]) -> Encoded:
        """Encode pictures of 8-bit grey or RGB, of any size."""


def open_encoder(word: str, device: str | None = None) -> Encoder:
    """The encoder of that name; of another's weights only what is needed to name them is read."""
    kind, _, what = word.partition(":")
    if word == "builtin":
        return BuiltIn()
    if kind == "hf" and what:
        return HuggingFace(what, device)
    if kind == "onnx" and what:
        return Onnx(Path(what))
    raise BadInput(f'encoder "{word}": encoders are {KNOWN}.')


def _need(word: str, extra: str, *modules: str) -> None:
    if not all(find_spec(name) for name in modules):
        raise BadInput(f"encoder {word} needs an extra. Run pip install 'overread[{extra}]'.")


# ---------------------------------------------------------------- without weights
#
# Of the whole film, the distribution of its greys: exposure, how much is dense, how much is lead.
# Where anything is does not enter, so that a mask moves it little. Of its parts, how a patch
# differs from the one mirrored on the other side: random mixtures of that difference, each with a
# field of its own and by its strongest patch there. What is hidden adds nothing.


class BuiltIn:
    """Fixed filters; no use on patients, but quick, and with a film's two kinds of evidence.

    Black is what was not exposed, or is masked; lead prints whiter than tissue. Neither is tissue,
    so no part of a film that touches either counts.
    """

    identity: Final = "builtin-1"
    runs_as: Final = "float32 on cpu"
    batch: Final = 32
    _SIDE: Final = 112
    _CELL: Final = 16
    _STEP: Final = 8
    _BLACK: Final = 6
    _LEAD: Final = 238
    _FEATURES: Final = 256
    _REACH: Final = 0.3  # of half a film
    # Spreads of a patch's mean, slopes and twist (its lowest cosines), as films have them.
    _SPREADS: Final = (3.0, 1.3, 0.8, 0.4)

    def encode(self, pictures: Sequence[Pixels]) -> Encoded:
        import numpy as np

        grey = np.stack([self._grey(one) for one in pictures])
        return Encoded(self._greys(grey), self._strongest(grey))

    def _grey(self, pixels: Pixels) -> Pixels:
        import numpy as np
        from PIL import Image

        side = 2 * self._SIDE
        image = Image.fromarray(pixels).convert("L")
        if image.size != (side, side):
            image = image.resize((side, side), Image.Resampling.BILINEAR)
        return np.asarray(image)

    def _greys(self, grey: Pixels) -> Vectors:
        """Quantiles of what was exposed, the brightest thousandth of it among them."""
        import numpy as np

        shares = [*np.linspace(0.02, 0.98, 25), 0.99, 0.995, 0.998, 0.999]
        exposed = (one[one > self._BLACK] for one in grey)
        found = [np.quantile(one, shares) if one.size else np.zeros(len(shares)) for one in exposed]
        return np.asarray(found, np.float32)

    def _strongest(self, grey: Pixels) -> Vectors:
        import numpy as np

        content, tissue = self._patches(grey)
        across = np.array([1, -1, 1, -1], np.float32)  # what a mirror turns round
        differs = (content - content[:, :, ::-1] * across) / np.array(self._SPREADS, np.float32)
        counts = (tissue & tissue[:, :, ::-1])[..., None]
        mix, fields = self._filters(content.shape[1])
        strength = np.maximum(differs @ mix, 0) * fields * counts
        return np.asarray(strength.max(axis=(1, 2)), np.float32)

    def _patches(self, grey: Pixels) -> tuple[Vectors, NDArray[np.bool_]]:
        """Overlapping patches by their four lowest cosines, and whether each is tissue only."""
        import numpy as np

        blocks = grey.reshape(len(grey), self._SIDE, 2, self._SIDE, 2)
        half = blocks.mean(axis=(2, 4), dtype=np.float32) / 255
        odd = (blocks.min(axis=(2, 4)) <= self._BLACK) | (blocks.max(axis=(2, 4)) > self._LEAD)
        window, step = (self._CELL, self._CELL), self._STEP
        views = np.lib.stride_tricks.sliding_window_view
        tiles = views(half, window, (1, 2))[:, ::step, ::step]
        turn = np.cos(np.pi * (np.arange(self._CELL) + 0.5) / self._CELL)
        waves = np.stack([np.full(self._CELL, 0.5**0.5), turn]) * (2 / self._CELL) ** 0.5
        waves = waves.astype(np.float32)
        found = np.einsum("nrcij,ai,bj->nrcab", tiles, waves, waves, optimize=True)
        tissue = ~views(odd, window, (1, 2))[:, ::step, ::step].any(axis=(3, 4))
        return found.reshape(*found.shape[:3], 4), np.asarray(tissue)

    def _filters(self, rows: int) -> tuple[Vectors, Vectors]:
        """How each feature mixes a difference, and its field: a height and a distance from the
        midline, drawn at random."""
        import numpy as np

        draw = np.random.default_rng(1)
        mix = draw.standard_normal((4, self._FEATURES))
        middle = draw.uniform(-1, 1, (2, self._FEATURES))
        down, out = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, rows), indexing="ij")
        place = np.stack([down, 2 * np.abs(out) - 1])[..., None] - middle[:, None, None]
        fields = np.exp(-(place**2).sum(axis=0) / (2 * self._REACH**2))
        return mix.astype(np.float32), fields.astype(np.float32)


# ---------------------------------------------------------------- Hugging Face


class HuggingFace:
    """A vision encoder with its published processor; the class token is the whole film.

    A checkpoint is found in the local cache or in a folder and never fetched. Which token is which
    follows from how many there are: the patches that the processor's size makes, and before them
    the class token and registers. An encoder without a class token has its pooled output, and one
    without either the mean of its patches.
    """

    batch: Final = 16

    def __init__(self, model: str, device: str | None = None) -> None:
        from overread.readers.huggingface import checkpoint
        from overread.readers.spec import ReaderSpec

        _need(f"hf:{model}", "hf", "torch", "transformers")
        name, _, revision = model.rpartition("@") if "@" in model else (model, "", "")
        spec = ReaderSpec(kind="hf", model=name, revision=revision or None, label=f"hf:{model}")
        try:
            self._folder, called = checkpoint(spec)
        except BadInput as error:
            raise BadInput(f"encoder{str(error).removeprefix('reader')}") from None
        import torch

        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        # Half precision where there is a GPU, as the paper's.
        self._half = self._device.startswith("cuda")
        self.identity = f"hf:{called}"
        self.runs_as = f"float{16 if self._half else 32} on {self._device}"

    def encode(self, pictures: Sequence[Pixels]) -> Encoded:
        import torch
        from PIL import Image

        model, processor = self._loaded
        images = [Image.fromarray(one).convert("RGB") for one in pictures]
        given = processor(images=images, return_tensors="pt")["pixel_values"]
        given = given.to(self._device, model.dtype)
        with torch.inference_mode():
            found = model(pixel_values=given)
        tokens = found.last_hidden_state.float()
        pooled = getattr(found, "pooler_output", None)
        if tokens.dim() == 4:  # a convolutional encoder: channels first
            tokens = tokens.flatten(2).transpose(1, 2)
            before = 0
        else:
            before = tokens.shape[1] - self._patches(model.config, given)
        patches = tokens[:, before:]
        if before:
            whole = tokens[:, 0]
        else:
            whole = patches.mean(1) if pooled is None else pooled.float().flatten(1)
        return Encoded(whole.cpu().numpy(), patches.amax(1).cpu().numpy())

    def _patches(self, config: Any, given: Any) -> int:
        side = getattr(config, "patch_size", None)
        if not isinstance(side, int):
            raise BadInput(
                f"encoder {self.identity}: its configuration names no patch_size, so its class "
                "token cannot be told from its patches. Export it to ONNX with a sidecar."
            )
        return int(given.shape[-2] // side) * int(given.shape[-1] // side)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        dtype = torch.float16 if self._half else torch.float32
        try:
            processor = transformers.AutoImageProcessor.from_pretrained(
                self._folder, backend="pil", **local
            )
            model = transformers.AutoModel.from_pretrained(
                self._folder, use_safetensors=True, dtype=dtype, **local
            )
        except (OSError, ValueError, TypeError) as error:
            said = " ".join(str(error).split())[:200]
            raise BadInput(f"encoder {self.identity} cannot be loaded: {said}") from None
        # Of a model with two towers the one that looks.
        tower = getattr(model, "vision_model", model)
        return tower.eval().to(self._device), processor


# ---------------------------------------------------------------- ONNX


class _Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a graph takes: pixels in [0, 1] less the mean, by the spread, channels first."""

    width: int
    height: int
    channels: Literal[1, 3]
    resample: Literal["bilinear", "bicubic"]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    name: str = ""


class _Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An output of (picture, number), or a token of an output of (picture, token, number)."""

    output: str
    token: int | None = None


class _Patches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An output of (picture, token, number), and the token at which its patches begin."""

    output: str
    first: int


class Sidecar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`encoder.toml` beside `encoder.onnx`."""

    input: _Input
    whole: _Output
    patches: _Patches | None = None


class Onnx:
    """A graph and the sidecar that says what it takes and gives, beside it under the same name."""

    batch: Final = 16
    runs_as: Final = "float32 on cpu"

    def __init__(self, path: Path) -> None:
        _need(f"onnx:{path}", "probe", "onnxruntime")
        self._path = path
        with open_file(path, named=f"encoder onnx:{path}") as file:
            digest = blake2b(file.read(), digest_size=16)
        sidecar = path.with_suffix(".toml")
        if not sidecar.is_file():
            raise BadInput(
                f"encoder onnx:{path}: there is no {sidecar.name} beside it, which says the "
                "input's size and normalisation and where the outputs stand. See docs/probe.md."
            )
        self._says = _sidecar(sidecar)
        digest.update(msgspec.json.encode(self._says))
        self.identity = f"onnx:{digest.hexdigest()}"

    def encode(self, pictures: Sequence[Pixels]) -> Encoded:
        import numpy as np

        session, name = self._session
        given = np.stack([self._prepared(one) for one in pictures])
        says = self._says
        wanted = [says.whole.output, *([says.patches.output] if says.patches else [])]
        try:
            whole, *rest = session.run(wanted, {name: given})
        except Exception as error:  # of several kinds, none of them Python's own
            said = " ".join(str(error).split())[:200]
            raise BadInput(f"encoder onnx:{self._path}: {said}") from None
        if says.whole.token is not None:
            whole = whole[:, says.whole.token]
        whole = np.asarray(whole, np.float32).reshape(len(pictures), -1)
        local = rest[0][:, says.patches.first :].max(axis=1) if says.patches else whole[:, :0]
        return Encoded(whole, np.asarray(local, np.float32))

    def _prepared(self, pixels: Pixels) -> Vectors:
        import numpy as np
        from PIL import Image

        says = self._says.input
        image = Image.fromarray(pixels).convert("L" if says.channels == 1 else "RGB")
        how = Image.Resampling.BICUBIC if says.resample == "bicubic" else Image.Resampling.BILINEAR
        image = image.resize((says.width, says.height), how)
        values = np.asarray(image, np.float32).reshape(says.height, says.width, says.channels) / 255
        values = (values - np.array(says.mean, np.float32)) / np.array(says.std, np.float32)
        return np.ascontiguousarray(values.transpose(2, 0, 1))

    @cached_property
    def _session(self) -> tuple[Any, str]:
        import onnxruntime

        try:
            session = onnxruntime.InferenceSession(
                str(self._path), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # of several kinds, none of them Python's own
            said = " ".join(str(error).split())[:200]
            raise BadInput(f"encoder onnx:{self._path} cannot be loaded: {said}") from None
        inputs = [one.name for one in session.get_inputs()]
        outputs = [one.name for one in session.get_outputs()]
        says = self._says
        name = says.input.name or (inputs[0] if len(inputs) == 1 else "")
        parts = {"input.name": (name, inputs), "whole.output": (says.whole.output, outputs)}
        if says.patches is not None:
            parts["patches.output"] = (says.patches.output, outputs)
        for key, (given, there) in parts.items():
            if given not in there:
                raise BadInput(
                    f'{self._path.with_suffix(".toml")}: {key} is "{given}"; the graph has '
                    f"{', '.join(there)}."
                )
        return session, name


def _sidecar(path: Path) -> Sidecar:
    found: Mapping[str, Any] = read_toml(path)
    try:
        says = msgspec.convert(found, Sidecar)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {error}. docs/probe.md says what it holds.") from None
    given = says.input
    if not (1 <= given.width <= 8192 and 1 <= given.height <= 8192):
        raise BadInput(f"{path}: input is {given.width} x {given.height}; sides are 1 to 8192.")
    for name in ("mean", "std"):
        values = getattr(given, name)
        if len(values) != given.channels or not all(abs(one) < 1e6 for one in values):
            raise BadInput(f"{path}: input.{name} needs {given.channels} numbers.")
    if not all(one > 0 for one in given.std):
        raise BadInput(f"{path}: input.std needs numbers above 0.")
    return says
