"""Every result file below a folder, opened and sorted by what it is."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.m3cot.official import TYPES
from overread.benchmarks.m3cot.results.names import CachedName, cached_name
from overread.case import BadInput
from overread.files import read_bytes, read_text

__all__ = ["Result", "objects_of", "results_of"]

_MARK = b"\xef\xbb\xbf"

Kind: TypeAlias = Literal[
    "predictions", "totals", "accuracy", "reply", "replies", "orders", "tasks", "strange"
]
_ORDERS: Final = frozenset(
    {"index", "modality_order", "feature_order", "conclusion_order", "others_order"}
)


class Result(NamedTuple):
    """One file: what it is, and what it holds where that was read to find out."""

    kind: Kind
    path: Path
    root: Path
    holds: Any = None
    name: CachedName | None = None

    @property
    def shown(self) -> str:
        """The file as messages name it."""
        inside = self.path.is_relative_to(self.root) and self.path != self.root
        return str(self.path.relative_to(self.root)) if inside else self.path.name


def results_of(root: Path) -> Iterator[Result]:
    """The file itself, or every file below the folder, in the order of their names."""
    if root.is_file():
        yield _sorted(root, root.parent)
        return
    if not root.is_dir():
        raise BadInput(f"{root}: there is no such file or folder. Give the authors' results.")
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        if not any(part.startswith(".") for part in path.relative_to(root).parts):
            yield _sorted(path, root)


def _sorted(path: Path, root: Path) -> Result:
    suffix = path.suffix.lower()
    name = cached_name(path, root)
    if name is not None:
        holds = read_text(path) if suffix == ".txt" else _json(path)
        return Result("reply", path, root, holds, name)
    if path.name.lower() == TYPES:
        return Result("tasks", path, root)
    if suffix == ".jsonl":
        return Result("replies", path, root)
    if suffix == ".csv":
        return Result("orders" if _has_orders(path) else "strange", path, root)
    if suffix != ".json":
        return Result("strange", path, root)
    holds = _json(path)
    return Result(_kind(path, holds), path, root, holds)


def _kind(path: Path, holds: Any) -> Kind:
    if isinstance(holds, list):
        return "predictions"
    if isinstance(holds, Mapping):
        if isinstance(holds.get("results"), list):
            return "accuracy"
        # Of the runner, and of the three stand-alone scripts: timing_results/<model>.json.
        if path.stem.endswith("_summary") or isinstance(holds.get("modes"), Mapping):
            return "totals"
    return "strange"


def _has_orders(path: Path) -> bool:
    line = read_text(path).partition("\n")[0]
    return {name.strip() for name in next(csv.reader([line.strip("\r")]), [])} >= _ORDERS


def orders_in(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file of orders, each with its line."""
    yield from rows_of(path, sorted(_ORDERS))


def objects_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its line."""
    for number, raw in enumerate(io.BytesIO(read_bytes(path).removeprefix(_MARK)), start=1):
        line = _decoded_text(raw, f"{path.name} line {number}")
        if not line.strip():
            continue
        holds = _decoded(line, f"{path.name} line {number}")
        if not isinstance(holds, dict):
            raise BadInput(f"{path.name} line {number} is no JSON object. Fix the line.")
        yield number, holds


def _json(path: Path) -> Any:
    return _decoded(read_text(path), str(path))


def _decoded(text: str, where: str) -> Any:
    try:
        # Predictions hold any character a model came up with, control characters among them.
        return json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadInput(f"{where} is no JSON: {why}. Fetch or mend it.") from None


def _decoded_text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{where}: byte 0x{data[error.start]:02x} at {error.start} is not UTF-8. Save it as "
            "UTF-8, or fetch it again."
        ) from None
