"""The authors' result files: JSON lines, and what their names say of them (HEARTBEAT 5)."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from overread.case import BadInput
from overread.files import read_bytes


class Record(msgspec.Struct, frozen=True):
    """One line. `gt_*` are local indices in T1, positions in T2; T1 alone has `num_frames`."""

    gt_edv: int
    gt_esv: int
    run_id: int
    pred_edv: int | float | None = None
    pred_esv: int | float | None = None
    output: str | None = None
    video_index: int | None = None
    video_path: str | None = None
    model_name: str | None = None
    prompt_name: str | None = None
    num_frames: int | None = None
    start_idx: int | None = None
    seed: int | None = None


class Sheet(NamedTuple):
    """A file, and what its name or its folder's says; None where they say nothing."""

    path: Path
    model: str | None
    context: str | None
    format: str | None
    seed: int | None


# The longer words first: "seg_only" is the non-medical context, not the segmented one.
_CONTEXTS: Final = (
    (re.compile(r"non[_\- ]?medical|seg(mented)?_only"), "non_medical"),
    (re.compile(r"(?<![a-z])seg(mented|mentation)?(?![a-z])"), "segmented"),
    # The runner's own word for a clip as it is, beside "segmented_echo".
    (re.compile(r"(?<![a-z])(original|echo)(?![a-z])"), "original"),
)
_FORMATS: Final = {
    "edv_esv": "edv_esv",
    "esv_edv": "esv_edv",
    "large_small": "edv_esv",
    "small_large": "esv_edv",
    "edv": "edv",
    "esv": "esv",
    "large": "edv",
    "small": "esv",
}
_WORDS: Final = "|".join(_FORMATS)
_NAME: Final = re.compile(
    rf"results_(?P<model>.+?)_(?P<context>[a-z_\-]*?)_?(?P<format>{_WORDS})_(?:video|frame)s?"
    r"_random_seed_(?P<seed>\d{1,18})",
    re.IGNORECASE,
)
_LAST: Final = re.compile(rf"(?:^|.*?[_\-])({_WORDS})(?:_(?:video|frame)s?)?$", re.IGNORECASE)
_SEED: Final = re.compile(r"seed[_\-]?(\d{1,18})", re.IGNORECASE)


def sheets_of(root: Path) -> list[Sheet]:
    """The result files at a path: the file itself, or every .jsonl below the folder."""
    if root.is_file():
        return [_sheet_at(root, root.parent)]
    if not root.is_dir():
        raise BadInput(f"{root}: there is no such file or folder. Give the authors' .jsonl files.")
    found = sorted(path for path in root.rglob("*.jsonl") if path.is_file())
    if not found:
        raise BadInput(f"{root} holds no .jsonl file. Give the folder of the authors' results.")
    return [_sheet_at(path, root) for path in found]


def _sheet_at(path: Path, root: Path) -> Sheet:
    stem = path.stem
    match = _NAME.fullmatch(stem)
    # The nearest name that says it: the file's, its folder's, the folder that was given.
    inner = path.parent.relative_to(root).parts if path.is_relative_to(root) else ()
    names = [stem, *reversed(inner), root.name]
    context = next((found for name in names if (found := _context_in(name))), None)
    if match is not None:
        model = re.sub(r"[_\-]+$", "", match["model"])
        wanted = _FORMATS[match["format"].lower()]
        return Sheet(
            path, model, _context_in(match["context"]) or context, wanted, int(match["seed"])
        )
    last = _LAST.fullmatch(_SEED.sub("", stem).rstrip("_-"))
    seed = _SEED.search(stem)
    folder = inner[0] if inner and _context_in(inner[0]) is None else None
    return Sheet(
        path,
        folder,
        context,
        _FORMATS[last[1].lower()] if last else None,
        int(seed[1]) if seed else None,
    )


def _context_in(name: str) -> str | None:
    return next((word for seen, word in _CONTEXTS if seen.search(name.lower())), None)


def format_of(prompt: str | None) -> str | None:
    """The format a prompt's name ends with: structured_edv_esv, gemma_esv."""
    match = _LAST.fullmatch(prompt) if prompt else None
    return _FORMATS[match[1].lower()] if match else None


def records_of(path: Path) -> Iterator[tuple[int, Record]]:
    """The records of a file with their line numbers."""
    decoder = msgspec.json.Decoder(Record)
    for number, line in enumerate(io.BytesIO(read_bytes(path)), start=1):
        if not line.strip():
            continue
        try:
            yield number, decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(
                f"{path.name} line {number} is no record of the authors' runner: {error}. "
                "Fix the line or leave it out."
            ) from None
