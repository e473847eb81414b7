"""`hf:` readers: any image-text-to-text or text model of the Hugging Face kind, in this process.

Generic classes only, no code of a checkpoint's own, weights from safetensors, nothing downloaded.
What a checkpoint's `generation_config` says is overridden and recorded: a repetition penalty or a
top_k that nobody asked for changes answers without a word. First-token probabilities are of the raw
logits. That every picture and every frame is encoded is read off the processor's own output.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.case import (
    BadInput,
    Fact,
    Inline,
    Prompt,
    Reader,
    ReaderFailure,
    Reply,
    Shown,
    ShownClip,
)
from overread.readers.guard import Guard
from overread.readers.in_process import InProcessReader, OutOfMemory
from overread.readers.spec import ReaderSpec

if TYPE_CHECKING:
    import torch

_BATCH: Final = 8
# What a checkpoint is made of, as far as it changes replies.
_PARTS: Final = (".safetensors", ".json", ".jinja", ".txt", ".model", ".tiktoken")
_BLOCK: Final = 1 << 24
# Further fields of a spec, by the names they have on a vLLM server.
_SAMPLING: Final = ("top_p", "top_k", "min_p")
_EXTRA: Final = ("chat_template_kwargs", "mm_processor_kwargs", *_SAMPLING)
# One at a time: transformers cannot be imported by two threads at once.
_LOADING: Final = threading.Lock()
# A clip is declared as so many frames a second, as it is when it is sent to a server.
_FPS: Final = 1.0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a checkpoint is loaded; all of it is part of the reader's identity."""

    dtype: str
    device: str
    quantisation: str
    attention: str
    backend: str
    batch: int
    extra: dict[str, Any]


def open_reader(spec: ReaderSpec, guard: Guard, environment: Mapping[str, str]) -> Reader:
    """Find the checkpoint and say what it is; it is loaded by the first question.

    The guard has nothing to watch: no question leaves this process.
    """
    require(spec, "'overread[hf]'", ("torch", "transformers"))
    for name in sorted(spec.extra.keys() - set(_EXTRA)):
        known = ", ".join(_EXTRA)
        raise BadInput(f"reader {spec.name}: extra has {name}; of hf: it may have {known}.")
    folder, called = checkpoint(spec)
    options = Options(
        dtype=spec.dtype or "auto",
        device=_device(spec),
        quantisation=spec.quantisation or "none",
        attention=spec.attention or "auto",
        backend=spec.backend or "pil",
        batch=spec.batch or _BATCH,
        extra=spec.extra,
    )
    _check(spec, options)
    parts = ("hf", spec.identity or called, spec.revision, options)
    identity = msgspec.json.encode(parts, order="deterministic").decode()

    def load() -> Model:
        with _LOADING:
            return Model(folder, called, spec, options)

    return InProcessReader(spec, identity, options.batch, load)


def require(spec: ReaderSpec, package: str, modules: Sequence[str]) -> None:
    """Refuse a kind of reader whose packages are not installed."""
    missing = [name for name in modules if not find_spec(name)]
    if missing:
        raise BadInput(
            f"reader {spec.name}: {spec.kind}: readers need {' and '.join(missing)}. "
            f"Run pip install {package}."
        )


def _check(spec: ReaderSpec, options: Options) -> None:
    needs = {
        "quantisation=8bit and 4bit": ("bitsandbytes", options.quantisation != "none"),
        "device=spread": ("accelerate", options.device == "spread"),
        "backend=torchvision": ("torchvision", options.backend == "torchvision"),
        "clips=video": ("torchvision", spec.clips == "video" and spec.modality != "text"),
    }
    for option, (module, asked) in needs.items():
        if asked and not find_spec(module):
            raise BadInput(
                f"reader {spec.name}: {option} needs the package {module}. "
                f"Run pip install {module}, or leave the option out."
            )


def _device(spec: ReaderSpec) -> str:
    """The device itself and not "auto": replies of a GPU are not those of a processor."""
    if spec.device:
        return spec.device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


# ---------------------------------------------------------------- where a checkpoint is, and which


def checkpoint(spec: ReaderSpec) -> tuple[Path, str]:
    """The folder of a checkpoint, and what it is called: NAME@COMMIT, or by a local one's bytes.

    A name is looked up in the local cache and never fetched.
    """
    folder = Path(spec.model).expanduser()
    if not folder.is_dir():
        if folder.is_absolute() or spec.model.startswith((".", "~")):
            raise BadInput(f"reader {spec.name}: there is no folder {spec.model}. Check the path.")
        return _cached(spec)
    names = sorted(path for path in folder.iterdir() if path.suffix in _PARTS and path.is_file())
    if not (folder / "config.json").is_file() or not any(p.suffix == _PARTS[0] for p in names):
        raise BadInput(
            f"reader {spec.name}: {folder} has no config.json with *.safetensors beside it. Save "
            "the model there with save_pretrained (of an adapter: merge it into its model first)."
        )
    with ThreadPoolExecutor() as pool:
        digests = pool.map(_file_digest, names)
        whole = blake2b(digest_size=16)
        for path, digest in zip(names, digests, strict=True):
            whole.update(path.name.encode() + b"\0" + digest)
    return folder, f"bytes:{whole.hexdigest()}"


def _cached(spec: ReaderSpec) -> tuple[Path, str]:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(spec.model, revision=spec.revision, local_files_only=True))
    except Exception:  # of several kinds: no such name, nothing in the cache, no such revision
        wanted = f" --revision {spec.revision}" if spec.revision else ""
        raise BadInput(
            f"reader {spec.name}: {spec.model} is neither a folder nor in the local cache of "
            f"models, and nothing is fetched unasked. Run hf download {spec.model}{wanted}"
        ) from None
    return folder, f"{spec.model}@{folder.name}"


def _file_digest(path: Path) -> bytes:
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.digest()


# ---------------------------------------------------------------- a loaded model


class Model:
    """A checkpoint in memory. A class, for its parts are of no use without each other."""

    def __init__(self, folder: Path, called: str, spec: ReaderSpec, options: Options) -> None:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        config = transformers.AutoConfig.from_pretrained(folder, **local)
        self.sees = type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        if not self.sees and spec.modality != "text":
            raise BadInput(f"{config.model_type} takes no pictures. Add modality=text.")
        auto = "AutoModelForImageTextToText" if self.sees else "AutoModelForCausalLM"
        kwargs = local | {"use_safetensors": True, **_loading(options)}
        model = getattr(transformers, auto).from_pretrained(folder, config=config, **kwargs)
        model = model if _placed(options) else model.to(options.device)
        self._model = model.eval()
        self._processor, self._tokenizer = _processor(folder, self.sees, options, local)
        self._called = called
        self._options = options
        self._ends, self._said = _overridden(model, self._tokenizer)
        self._stop = threading.Event()
        self._fingerprint = f"torch {torch.__version__}, transformers {transformers.__version__}"
        images = getattr(self._processor, "image_processor", None)
        self.facts: dict[str, Fact] = {
            "architecture": type(model).__name__,
            "parameters": int(model.num_parameters()),
            "dtype": str(model.dtype).removeprefix("torch."),
            "device": str(model.device),
            "attention": str(model.config._attn_implementation),
            "image_processor": type(images).__name__ if images is not None else "none",
            "generation_config_overridden": msgspec.json.encode(self._said).decode(),
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
            "tokenizers": version("tokenizers"),
        }

    def stop(self) -> None:
        self._stop.set()

    def answer(self, prompts: Sequence[Prompt]) -> list[Reply]:
        import torch
        from transformers import GenerationConfig

        began = time.monotonic()
        decoding = prompts[0].decoding
        inputs = self._inputs(prompts)
        first: list[torch.Tensor] = []

        def keep_first(_module: Any, _args: Any, output: Any) -> None:
            if not first:  # what the prompt itself gives: the first token's, before any processor
                first.append(output.logits[:, -1].float())

        hook = self._model.register_forward_hook(keep_first)
        try:
            with torch.inference_mode():
                ids = self._model.generate(
                    **inputs,
                    generation_config=GenerationConfig(
                        max_new_tokens=decoding.max_tokens, do_sample=False, num_beams=1
                    ),
                    logits_processor=self._sampling(prompts),
                    stopping_criteria=[self._stopping],
                )
        except torch.OutOfMemoryError as error:
            raise self._no_room(error) from None
        except RuntimeError as error:
            if "can't allocate memory" not in str(error):  # how a processor's allocator says it
                raise
            raise self._no_room(error) from None
        finally:
            hook.remove()
        if self._stop.is_set():
            raise ReaderFailure("closed: the reader was closed while it answered", heals=True)
        seconds = round(time.monotonic() - began, 6)
        width = inputs["input_ids"].shape[1]
        return [
            self._reply(prompt, inputs, row, ids[row, width:].tolist(), first[0][row], seconds)
            for row, prompt in enumerate(prompts)
        ]

    def _no_room(self, error: Exception) -> OutOfMemory:
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return OutOfMemory(str(error).partition(".")[0])

    def _stopping(self, ids: Any, scores: Any, **_: Any) -> Any:
        import torch

        return torch.full((ids.shape[0],), self._stop.is_set(), device=ids.device)

    def _reply(
        self,
        prompt: Prompt,
        inputs: Mapping[str, Any],
        row: int,
        new: list[int],
        logits: torch.Tensor,
        seconds: float,
    ) -> Reply:
        end = next((at for at, token in enumerate(new) if token in self._ends), None)
        said = new if end is None else new[:end]
        real = inputs["attention_mask"][row].bool()
        sent = blake2b(inputs["input_ids"][row][real].cpu().numpy().tobytes(), digest_size=16)
        for shown in prompt.pictures:
            sent.update(shown.digest)
        return Reply(
            text=self._tokenizer.decode(said, skip_special_tokens=True),
            logprobs=self._alternatives(logits, prompt.decoding.top_logprobs),
            finish="length" if end is None else "stop",
            tokens_in=int(real.sum()),
            tokens_out=len(said) + (end is not None),
            seconds=seconds,
            sent=sent.hexdigest(),
            model=self._called,
            fingerprint=self._fingerprint,
        )

    def _alternatives(
        self, logits: torch.Tensor, many: int
    ) -> tuple[tuple[str, float], ...] | None:
        if not many:
            return None
        top = logits.log_softmax(-1).topk(min(many, logits.shape[-1]))
        pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        return tuple((self._tokenizer.decode([token]), value) for token, value in pairs)

    # ------------------------------------------------------------ sampling

    def _sampling(self, prompts: Sequence[Prompt]) -> list[Any]:
        """Nothing where the most probable token is wanted; else what draws each row by its own lot.

        The largest of the logits plus Gumbel noise is a draw from their softmax. With a generator
        for each trial it does not depend on who else is in the batch, nor on the device.
        """
        import torch
        import transformers

        said = {name: self._said.get(name) for name in ("temperature", *_SAMPLING)}
        temperature = prompts[0].decoding.temperature
        if temperature is None:  # left to the checkpoint
            if not self._said.get("do_sample"):
                return []
            temperature = said.pop("temperature") or 1.0
        else:
            said = {}
        if temperature == 0:
            return []
        said |= {name: value for name, value in self._options.extra.items() if name in _SAMPLING}
        warpers: list[Any] = [transformers.TemperatureLogitsWarper(float(temperature))]
        for name, warper in (
            ("top_k", transformers.TopKLogitsWarper),
            ("top_p", transformers.TopPLogitsWarper),
            ("min_p", transformers.MinPLogitsWarper),
        ):
            if said.get(name):
                warpers.append(warper(said[name]))
        lots = [torch.Generator().manual_seed(seed_of(prompt)) for prompt in prompts]

        def draw(_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            size = scores.shape[-1]
            noise = [-torch.empty(size).exponential_(generator=lot).log() for lot in lots]
            return scores + torch.stack(noise).to(scores.device)

        return [*warpers, draw]

    # ------------------------------------------------------------ what the model is shown

    def _inputs(self, prompts: Sequence[Prompt]) -> Mapping[str, Any]:
        """A batch as the checkpoint's own chat template and processor write it, padded left."""
        conversations = [self._conversation(prompt) for prompt in prompts]
        words = self._options.extra.get("chat_template_kwargs", {})
        asked: dict[str, Any] = words | {
            "add_generation_prompt": True,
            "tokenize": True,
            "return_dict": True,
            "return_tensors": "pt",
        }
        if self._holds_control_token(prompts):
            asked["sanitize_control_tokens"] = True
        if not self.sees:
            made = self._tokenizer.apply_chat_template(conversations, padding=True, **asked)
            return made.to(self._model.device)  # type: ignore[no-any-return]
        made = self._processor.apply_chat_template(
            conversations, processor_kwargs=self._processing(prompts), **asked
        )
        self._check_rows(made["input_ids"], prompts)
        check_encoded(made, prompts, self._processor)
        made.pop("video_metadata", None)
        # What is no whole number takes the type of the weights.
        return made.to(self._model.device, dtype=self._model.dtype)  # type: ignore[no-any-return]

    def _check_rows(self, ids: torch.Tensor, prompts: Sequence[Prompt]) -> None:
        """Every picture has at least a token in the row of its own trial, and in no other's."""
        token = getattr(self._model.config, "image_token_id", None)
        if token is None:
            return
        for row, prompt in zip(ids, prompts, strict=True):
            wanted = _count_images([prompt])
            there = int((row == token).sum())
            if there < wanted or bool(there) != bool(wanted):
                raise ReaderFailure(
                    f"pictures: {wanted} are shown and {there} tokens stand for them", heals=False
                )

    def _conversation(self, prompt: Prompt) -> list[dict[str, Any]]:
        if not self.sees:
            return [
                {"role": m.role, "content": "\n".join(p for p in m.parts if isinstance(p, str))}
                for m in prompt.messages
            ]
        return [
            {"role": m.role, "content": [slot for part in m.parts for slot in _slots(part)]}
            for m in prompt.messages
        ]

    def _processing(self, prompts: Sequence[Prompt]) -> dict[str, Any]:
        """What the processor is told, by modality: beside such a table a flat option gets lost."""
        own = self._options.extra.get("mm_processor_kwargs", {})
        told: dict[str, Any] = {"text_kwargs": {"padding": True}}
        if any(prompt.pictures for prompt in prompts):
            told["images_kwargs"] = dict(own)
        films = [clip for prompt in prompts for clip in prompt.clips if clip.form == "video"]
        if films:
            told["videos_kwargs"] = own | {
                "do_sample_frames": False,
                "video_metadata": [_metadata(clip.count) for clip in films],
            }
            told["return_metadata"] = True  # within the table it would not be handed on to us
        return told

    def _holds_control_token(self, prompts: Sequence[Prompt]) -> bool:
        """Whether a text would be read as the end of a turn, or as a picture that is none."""
        texts = [p for q in prompts for m in q.messages for p in m.parts if isinstance(p, str)]
        return any(token in text for token in self._tokenizer.all_special_tokens for text in texts)


def seed_of(prompt: Prompt) -> int:
    """The lot of a sampled reply: its own, and the same whenever it is drawn again."""
    named = f"{prompt.draw or prompt.digest}:{prompt.decoding.seed}"
    return int.from_bytes(blake2b(named.encode(), digest_size=8).digest()) >> 1


def _placed(options: Options) -> bool:
    """Whether the loader itself puts the weights where they belong."""
    return options.device == "spread" or options.quantisation != "none"


def _loading(options: Options) -> dict[str, Any]:
    import torch

    said: dict[str, Any] = {"dtype": options.dtype}
    if options.dtype != "auto":
        said["dtype"] = getattr(torch, options.dtype)
    if options.attention != "auto":
        said["attn_implementation"] = options.attention
    if options.device == "spread":
        said["device_map"] = "auto"
    if options.quantisation != "none":
        from transformers import BitsAndBytesConfig

        said["quantization_config"] = BitsAndBytesConfig(
            load_in_8bit=options.quantisation == "8bit",
            load_in_4bit=options.quantisation == "4bit",
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
        said.setdefault("device_map", {"": options.device})
    return said


def _processor(
    folder: Path, sees: bool, options: Options, local: Mapping[str, Any]
) -> tuple[Any, Any]:
    """The processor, and the tokenizer in it; both the tokenizer where there is nothing to see."""
    import transformers

    if not sees:
        tokenizer = processor = transformers.AutoTokenizer.from_pretrained(folder, **local)
    else:
        try:
            processor = transformers.AutoProcessor.from_pretrained(folder, **local)
        except ImportError as error:  # many that also take videos need torchvision for it
            said = str(error).partition(" but ")[0].strip()
            raise BadInput(f"{said}. Run pip install 'overread[hf]'.") from None
        tokenizer = processor.tokenizer
        # Given to the processor as a whole the backend may get lost; and outputs differ by it.
        processor.image_processor = transformers.AutoImageProcessor.from_pretrained(
            folder, backend=options.backend, **local
        )
        is_pil = type(processor.image_processor).__name__.endswith("Pil")
        if is_pil != (options.backend == "pil"):
            other = "torchvision" if options.backend == "pil" else "pil"
            raise BadInput(
                f"its image processor has no backend {options.backend}. Say backend={other}."
            )
    template = processor.chat_template
    if not template:
        raise BadInput("it has no chat template, so nobody knows how to ask it. Give it one.")
    for name in options.extra.get("chat_template_kwargs", {}):
        if name not in str(template):
            raise BadInput(f"its chat template does not know {name}. Mend chat_template_kwargs.")
    if sees and not _shows_pictures(processor):
        raise BadInput("its chat template passes over pictures. Give it one that shows them.")
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return processor, tokenizer


def _shows_pictures(processor: Any) -> bool:
    """Whether each picture of a question leaves a mark in what its template writes.

    One that passes over pictures has the model answer blindly, and nothing complains.
    """
    written = []
    for pictures in range(3):
        content = [*[{"type": "image"}] * pictures, {"type": "text", "text": "?"}]
        asked = [{"role": "user", "content": content}]
        written.append(processor.apply_chat_template(asked, add_generation_prompt=True))
    none, one, two = map(len, written)
    return none < one < two


def _overridden(model: Any, tokenizer: Any) -> tuple[frozenset[int], dict[str, Any]]:
    """The tokens that end a reply; and what the checkpoint said of generation, now taken away.

    `generate` fills whatever it is not told from the model's own settings.
    """
    from transformers import GenerationConfig

    said = {
        name: value
        for name, value in model.generation_config.to_diff_dict().items()
        if name != "transformers_version" and not name.startswith("_")
    }
    given = said.get("eos_token_id")
    given = given if given is not None else model.config.get_text_config().eos_token_id
    ends = {given} if isinstance(given, int) else set(given or ())
    if tokenizer.eos_token_id is not None:
        ends.add(tokenizer.eos_token_id)
    model.generation_config = GenerationConfig(
        eos_token_id=sorted(ends) or None, pad_token_id=tokenizer.pad_token_id
    )
    return frozenset(ends), said


# ---------------------------------------------------------------- pictures and clips


def _slots(part: str | Shown | ShownClip) -> list[dict[str, Any]]:
    if isinstance(part, str):
        return [{"type": "text", "text": part}]
    if isinstance(part, ShownClip) and part.form == "video":
        return [{"type": "video", "video": _film(part)}]
    shown = part.frames if isinstance(part, ShownClip) else (part,)
    return [{"type": "image", "image": _image(one)} for one in shown]


def _image(shown: Shown) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(shown.data)).convert("RGB")


def _film(clip: ShownClip) -> Any:
    """The frames of a video, all of them, as an array of frames x rows x columns x 3."""
    import numpy as np

    from overread.imaging import Films

    frames = Films(0).frames(Inline(clip.frames[0].data), range(clip.count))
    grey = [np.stack([f] * 3, axis=-1) if f.ndim == 2 else f for f in frames]
    return np.stack(grey)


def _metadata(count: int) -> dict[str, Any]:
    """Declared, for it is part of what is shown: some templates write times between frames."""
    return {
        "total_num_frames": count,
        "fps": _FPS,
        "duration": count / _FPS,
        "frames_indices": list(range(count)),
    }


def _count_images(prompts: Sequence[Prompt]) -> int:
    return sum(s.media_type.startswith("image/") for p in prompts for s in p.pictures)


def check_encoded(made: Mapping[str, Any], prompts: Sequence[Prompt], processor: Any) -> None:
    """Hold what the processor made against what it was given. Raises ReaderFailure.

    As many pictures as were shown where it counts them; of a video every frame, by the indices it
    says it took and by the length of what it made: one alone has been wrong before.
    """
    wanted = _count_images(prompts)
    grid = made.get("image_grid_thw")
    if grid is not None and len(grid) != wanted:
        raise ReaderFailure(f"pictures: {len(grid)} of {wanted} were encoded", heals=False)
    if wanted and not any(name.startswith("pixel") for name in made):
        raise ReaderFailure("pictures: the processor made nothing of them", heals=False)
    films = [clip.count for p in prompts for clip in p.clips if clip.form == "video"]
    if films:
        taken = _frames_taken(made, processor)
        if taken is None:
            raise ReaderFailure(
                "clips: the processor does not say how many frames it took. Leave clips=video out",
                heals=False,
            )
        if taken != films:
            raise ReaderFailure(
                f"clips: {sum(taken)} of {sum(films)} frames were encoded", heals=False
            )


def _frames_taken(made: Mapping[str, Any], processor: Any) -> list[int] | None:
    """Frames of each video by both witnesses, the fewer; None where one is missing.

    Where frames share a group (`temporal_patch_size`), a last odd one is there twice.
    """
    metadata, grid = made.get("video_metadata"), made.get("video_grid_thw")
    pixels = made.get("pixel_values_videos")
    if metadata is None:
        return None
    if grid is not None:
        together = int(getattr(processor.video_processor, "temporal_patch_size", 1))
        lengths = [int(row[0]) * together for row in grid]
    elif pixels is not None and pixels.ndim == 5:  # videos x frames x channels x rows x columns
        lengths = [int(pixels.shape[1])] * len(pixels)
    else:
        return None
    indices = [set(map(int, one.frames_indices or ())) for one in metadata]
    return [min(len(taken), length) for taken, length in zip(indices, lengths, strict=True)]
