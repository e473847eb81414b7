"""Items of Med-CMR as it is published: `dataset.zip`, read in place, or its extracted folder.

Two JSON lists, of multiple-choice and of open items, and `imgs/*.png` (MEDCMR, "The release").
Whatever else the archive holds (`.bak`, `__MACOSX`) is never looked at. `answer` and
`visual_description` become the case's answer and caption, and no part of its question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files.fields import JSON_ERRORS, data_of
from overread.benchmarks.files.layouts import Contents, FoundSet, Layout, Stated, below, first_of
from overread.benchmarks.medcmr.cases import (
    DIMENSIONS,
    KINDS,
    Kind,
    MedCase,
    ability_of,
    dimension_of,
    letter_of,
    modality_of,
    system_of,
    unlettered,
    whole_index,
)
from overread.case import BadInput

ARCHIVE: Final = "dataset.zip"
FOLDER: Final = "dataset"
FILES: Final[Mapping[Kind, str]] = {
    "mcq": "cmed.copy.mcq_cate.cleaned.json",
    "open": "cmed.copy.open_taged.cleaned.json",
}
_OPTIONS: Final = "ABCDE"
# Of the open items; the release has one more than the paper (MEDCMR, "The release").
_IN_THE_RELEASE: Final = 3_999
_IN_THE_PAPER: Final = 3_998
_MACOS: Final = "__MACOSX"


class Place(NamedTuple):
    """Where the release lies: an archive or a folder, and the way from there to its files."""

    root: Path
    # "dataset/", or nothing where the folder has another name.
    prefix: str
    files: Mapping[Kind, str]
    zipped: bool

    def read(self, name: str) -> bytes:
        """The bytes of one of the two JSON files."""
        if not self.zipped:
            return data_of(self.root / name)
        from overread.imaging import archive

        return archive(self.root).read(name).removeprefix(b"\xef\xbb\xbf")


def find(path: Path) -> Place | None:
    """The release at a path: the archive, a folder with it, `dataset/`, or the folder above."""
    from overread.imaging import is_archive

    if path.is_dir():
        for home in (path, path / FOLDER):
            if any((home / name).is_file() for name in FILES.values()):
                return _in_folder(home)
        zipped = path / ARCHIVE
        return _in_archive(zipped) if zipped.is_file() else None
    if path.name in FILES.values() and path.is_file():
        return _in_folder(path.parent)
    return _in_archive(path) if path.is_file() and is_archive(path) else None


def _in_folder(home: Path) -> Place:
    home = home.absolute()
    named = home.name == FOLDER
    prefix = f"{FOLDER}/" if named else ""
    files = {kind: prefix + name for kind, name in FILES.items() if (home / name).is_file()}
    return Place(home.parent if named else home, prefix, files, zipped=False)


def _in_archive(path: Path) -> Place:
    from overread.imaging import archive

    members = archive(path).names
    homes: dict[str, dict[Kind, str]] = {}
    for kind, name in FILES.items():
        # Usually at once; another folder's name costs a look at every member.
        usual = f"{FOLDER}/{name}"
        places = [usual] if usual in members else [m for m in members if _is_file(m, name)]
        for place in places:
            homes.setdefault(place.removesuffix(name), {})[kind] = place
    if not homes:
        raise BadInput(f"{path} holds neither {' nor '.join(FILES.values())}. Give {ARCHIVE}.")
    if len(homes) > 1:
        raise BadInput(
            f"{path} holds items in {' and '.join(home or 'its top' for home in sorted(homes))}. "
            "Keep one of these."
        )
    ((prefix, files),) = homes.items()
    return Place(path, prefix, files, zipped=True)


def _is_file(member: str, name: str) -> bool:
    parts = member.split("/")
    return parts[-1] == name and _MACOS not in parts


class _Row(msgspec.Struct, gc=False, rename={"ability": "question type", "system": "organ system"}):
    """One object of either file, as it is written there."""

    index: int | str
    question: str
    image_path: str
    answer: str
    visual_description: str | None = None
    task: str | None = None
    subtype: str | None = None
    ability: str | None = None
    modality: str | None = None
    system: str | None = None
    A: str | int | float | None = None
    B: str | int | float | None = None
    C: str | int | float | None = None
    D: str | int | float | None = None
    E: str | int | float | None = None


def _find_release(path: Path) -> FoundSet | None:
    place = find(path)
    if place is None:
        return None
    files = [place.root] if place.zipped else [place.root / name for name in place.files.values()]
    return FoundSet(tuple(files), place.root, place=place)


def _read_release(found: FoundSet, root: Path, options: Any, seen: bool) -> Contents[MedCase]:
    """All items, multiple choice first, each file in its order; images stand below `root`."""
    place: Place = found.place
    remarks: list[str] = []
    prefix = place.prefix
    if root != place.root:  # images kept elsewhere
        prefix = f"{FOLDER}/" if (root / FOLDER).is_dir() else ""
    facts = _Facts()
    stated: list[Stated[MedCase]] = []
    for kind in KINDS:
        name = place.files.get(kind)
        if name is None:
            remarks.append(f"there is no {FILES[kind]}: the set has no {_WORDS[kind]} items.")
            continue
        rows = _rows(place, name)
        if kind == "open" and len(rows) == _IN_THE_RELEASE:
            remarks.append(
                f"{FILES[kind]} has {_IN_THE_RELEASE:,} items and the paper says "
                f"{_IN_THE_PAPER:,}; none is taken away."
            )
        stated.extend(_stated(kind, rows, prefix, facts))
    if not stated:
        raise BadInput(f"{place.root}: its lists of items are empty. Fetch the release again.")
    return Contents(stated, remarks, facts.remarks)


RELEASE: Final = Layout("Med-CMR", _find_release, _read_release)


_WORDS: Final[Mapping[Kind, str]] = {"mcq": "multiple-choice", "open": "open"}


def _rows(place: Place, name: str) -> list[msgspec.Raw]:
    data = place.read(name)
    try:
        return msgspec.json.decode(data, type=list[msgspec.Raw])
    except JSON_ERRORS as error:
        told = " ".join(str(error).split()).rstrip(".")
        where = place.root / name
        raise BadInput(f"{where} is no JSON list: {told}. Fetch the release again.") from None


def _stated(
    kind: Kind, rows: list[msgspec.Raw], prefix: str, facts: _Facts
) -> Iterator[Stated[MedCase]]:
    decode = msgspec.json.Decoder(_Row).decode
    for place, raw in enumerate(rows, start=1):
        where = f"{FILES[kind]} item {place}"
        try:
            row = decode(raw)
            index = whole_index(row.index)
            if index < 0:
                raise msgspec.ValidationError("index is no whole number from 0")
        except JSON_ERRORS as error:
            told = " ".join(str(error).split())
            yield where, Left(f"{kind} item {place}", f"{where}: {told}")
        else:
            yield where, _case(kind, index, row, prefix, facts)


def _case(kind: Kind, index: int, row: _Row, prefix: str, facts: _Facts) -> MedCase:
    options: tuple[str, ...] = ()
    answer = row.answer.strip()
    if kind == "mcq":
        given = (row.A, row.B, row.C, row.D, row.E)
        options = tuple("" if text is None else str(text).strip() for text in given)
        answer = letter_of(answer, _OPTIONS, texts=False) or answer
        options = unlettered(facts.shorter(f"{kind}-{index}", options, answer))
    image = row.image_path.strip().removeprefix("./").removeprefix(f"{FOLDER}/")
    caption = (row.visual_description or "").strip()
    return MedCase(
        case_id=f"{kind}-{index}",
        index=index,
        kind=kind,
        question=row.question,
        images=(below(prefix, image),) if image else (),
        options=options,
        answer=answer,
        caption=caption or None,
        dimension=facts.dimension(row.task),
        subtype=(row.subtype or "").strip() or None,
        ability=facts.named("question type", row.ability, ability_of),
        modality=facts.named("modality", row.modality, modality_of),
        system=facts.named("organ system", row.system, system_of),
    )


class _Facts:
    """Labels as the vocabulary has them, and those it has not. A class, for it counts."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str | None] = {}
        self._odd: dict[str, Counter[str]] = {}
        self._short: list[str] = []

    def shorter(self, name: str, options: tuple[str, ...], answer: str) -> tuple[str, ...]:
        """The options without empty ones at their end, where the answer is among at least two."""
        n = max((place for place, text in enumerate(options, 1) if text), default=0)
        if n == len(options) or n < 2 or answer not in _OPTIONS[:n]:
            return options
        self._short.append(name)
        return options[:n]

    def dimension(self, text: str | None) -> str | None:
        return self._looked("task", text, dimension_of)

    def named(self, field: str, text: str | None, known: Callable[[str], str | None]) -> str | None:
        """A label by the paper's name, or as it is given."""
        return self._looked(field, text, known) or (text or "").strip() or None

    def _looked(
        self, field: str, text: str | None, known: Callable[[str], str | None]
    ) -> str | None:
        word = (text or "").strip()
        key = (field, word)
        if key not in self._known:
            self._known[key] = known(word)
        found = self._known[key]
        if found is None and (word or field == "task"):
            self._odd.setdefault(field, Counter())[word] += 1
        return found

    def remarks(self) -> Iterator[str]:
        if self._short:
            items = "1 item has" if len(self._short) == 1 else f"{len(self._short)} items have"
            yield (
                f"{items} fewer than {len(_OPTIONS)} options, the last being empty: "
                f"{first_of(self._short)}. Only the others are shown."
            )
        for field, words in self._odd.items():
            named = [f'"{word}" ({n} {"item" if n == 1 else "items"})' for word, n in words.items()]
            end = (
                f"no dimension that is known ({', '.join(DIMENSIONS)}, or their full names), so "
                "that these items are of none"
                if field == "task"
                else "not among the paper's and kept as given"
            )
            verb = "is" if len(named) == 1 else "are"
            yield f"{field}: {first_of(named, 5)} {verb} {end}."
