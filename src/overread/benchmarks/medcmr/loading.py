"""Cases from whatever lies at a path: the release, a set of another layout, or one's own.

Items of a user's own: a csv, JSON lines or a JSON list.

Columns or fields: `question`, `image` (below the data root; several as a list in `images`, in a
csv as JSON or by semicolons), `answer`; and, if they are known, `caption`, `dimension`, `subtype`,
`ability`, `modality`, `system`, `language`, `patient`, `case_id`, `kind` (mcq, open).

Options stand in the columns A to J, of which the last may be empty, or in one, `options`: a list
of texts, or an object of texts by their letters. An item with options is a multiple-choice one;
its answer is the letter, or the text of exactly one option. Letters that all options carry (`A. x`)
are taken off. Any other item is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files import layouts
from overread.benchmarks.files.fields import JSON_ERRORS, Fields, data_of
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr import cases
from overread.benchmarks.medcmr.cases import Kind, MedCase
from overread.benchmarks.medcmr.published_sets import PUBLISHED_SETS
from overread.case import BadInput

# ---------------------------------------------------------------- Med-CMR as it is published
# `dataset.zip`, read in place, or its extracted folder.
#
# Two JSON lists, of multiple-choice and of open items, and `imgs/*.png` (MEDCMR, "The release").
# Whatever else the archive holds (`.bak`, `__MACOSX`) is never looked at. `answer` and
# `visual_description` become the case's answer and caption, and no part of its question.

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


def _find_release(path: Path) -> layouts.FoundSet | None:
    place = find(path)
    if place is None:
        return None
    files = [place.root] if place.zipped else [place.root / name for name in place.files.values()]
    return layouts.FoundSet(tuple(files), place.root, place=place)


def _read_release(
    found: layouts.FoundSet, root: Path, options: Any, seen: bool
) -> layouts.Contents[MedCase]:
    """All items, multiple choice first, each file in its order; images stand below `root`."""
    place: Place = found.place
    remarks: list[str] = []
    prefix = place.prefix
    if root != place.root:  # images kept elsewhere
        prefix = f"{FOLDER}/" if (root / FOLDER).is_dir() else ""
    facts = _Facts()

    def stated() -> Iterator[layouts.Stated[MedCase]]:
        """One file after the other: a large one is not held beside what is made of it."""
        empty = True
        for kind in cases.KINDS:
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
            empty = empty and not rows
            yield from _stated(kind, rows, prefix, facts)
        if empty:
            raise BadInput(f"{place.root}: its lists of items are empty. Fetch the release again.")

    return layouts.Contents(stated(), remarks, facts.remarks)


RELEASE: Final = layouts.Layout("Med-CMR", _find_release, _read_release)


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
) -> Iterator[layouts.Stated[MedCase]]:
    decode = msgspec.json.Decoder(_Row).decode
    for place, raw in enumerate(rows, start=1):
        where = f"{FILES[kind]} item {place}"
        try:
            row = decode(raw)
            index = cases.whole_index(row.index)
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
        answer = cases.letter_of(answer, _OPTIONS, texts=False) or answer
        options = cases.unlettered(facts.shorter(f"{kind}-{index}", options, answer))
    image = row.image_path.strip().removeprefix("./").removeprefix(f"{FOLDER}/")
    caption = (row.visual_description or "").strip()
    return MedCase(
        case_id=f"{kind}-{index}",
        index=index,
        kind=kind,
        question=row.question,
        images=(layouts.below(prefix, image),) if image else (),
        options=options,
        answer=answer,
        caption=caption or None,
        dimension=facts.looked("dimension", "task", row.task),
        subtype=(row.subtype or "").strip() or None,
        ability=facts.named("ability", "question type", row.ability),
        modality=facts.named("modality", "modality", row.modality),
        system=facts.named("system", "organ system", row.system),
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

    def named(self, label: str, field: str, text: str | None) -> str | None:
        """A label by the paper's name, or as it is given."""
        return self.looked(label, field, text) or (text or "").strip() or None

    def looked(self, label: str, field: str, text: str | None) -> str | None:
        """A label by the paper's name; one that is not known is counted under its field."""
        word = (text or "").strip()
        key = (label, word)
        if key not in self._known:
            self._known[key] = cases.label_of(label, word)
        found = self._known[key]
        if found is None and (word or field == "task"):
            self._odd.setdefault(field, Counter())[word] += 1
        return found

    def remarks(self) -> Iterator[str]:
        if self._short:
            items = "1 item has" if len(self._short) == 1 else f"{len(self._short)} items have"
            yield (
                f"{items} fewer than {len(_OPTIONS)} options, the last being empty: "
                f"{layouts.first_of(self._short)}. Only the others are shown."
            )
        for field, words in self._odd.items():
            named = [f'"{word}" ({n} {"item" if n == 1 else "items"})' for word, n in words.items()]
            end = (
                f"no dimension that is known ({', '.join(cases.DIMENSIONS)}, or their full "
                "names), so that these items are of none"
                if field == "task"
                else "not among the paper's and kept as given"
            )
            verb = "is" if len(named) == 1 else "are"
            yield f"{field}: {layouts.first_of(named, 5)} {verb} {end}."


_NEEDED: Final = ("question", "answer")
_OPTIONS_ARE: Final = (
    f"a list of 2 to {len(LETTERS)} texts, or an object of texts by letters from A"
)


def _own_case(row: Fields, index: int) -> MedCase:
    options = _own_options(row)
    answer = row.text("answer").strip()
    kind = row.text("kind").strip().lower() or ("mcq" if options else "open")
    if kind not in ("mcq", "open"):
        row.wrong("kind", "it is mcq, open or empty")
    if kind == "open" and options:
        row.wrong("kind", "an open item has no options")
    if kind == "mcq":
        if not 2 <= len(options) <= len(LETTERS):
            row.wrong("options", f"an item of kind mcq has {_OPTIONS_ARE}")
        letter, options = cases.answer_among(answer, options)
        if letter is None:
            last = LETTERS[len(options) - 1]
            need = f"it is a letter, A to {last}, or the text of exactly one option"
            row.wrong("answer", need)
        answer = letter
    bare = row.raw("images") in (None, "")
    case = MedCase(
        case_id=row.fact("case_id") or str(index),
        index=index,
        kind="mcq" if kind == "mcq" else "open",
        question=row.text("question"),
        images=tuple(filter(None, [row.fact("image")])) if bare else row.texts("images"),
        options=options,
        answer=answer,
        caption=row.fact("caption"),
        subtype=row.fact("subtype"),
        language=row.fact("language"),
        patient=row.fact("patient"),
        **{label: cases.label_or_own(label, row.fact(label)) for label in cases.LABELS},
    )
    lack = cases.lack_of(case)
    # An unsafe name is an image that cannot be had, as one that is not there.
    if lack is not None and not lack.startswith("its image "):
        raise BadInput(f"{row.where}: {lack}. {row.remedy}")
    return case


def _own_options(row: Fields) -> tuple[str, ...]:
    given = row.decoded("options")
    if given is None:
        given = {letter: row.text(letter) for letter in LETTERS}
        while given and not given[LETTERS[len(given) - 1]].strip():
            del given[LETTERS[len(given) - 1]]
    if isinstance(given, dict):
        letters = sorted(given)
        if "".join(letters) != LETTERS[: len(letters)]:
            row.wrong("options", f"it is {_OPTIONS_ARE}")
        given = [given[letter] for letter in letters]
    if not isinstance(given, list) or any(
        isinstance(text, bool) or not isinstance(text, str | int | float) for text in given
    ):
        row.wrong("options", f"it is {_OPTIONS_ARE}")
    return tuple(str(text).strip() for text in given)


_OWN: Final = layouts.own_set(
    (".csv", ".jsonl", ".json", ".parquet"),
    _NEEDED,
    _own_case,
    called="items. Give one",
    folder="medcmr",
    fits=lambda fields: bool(fields & {"image", "images"}),
    keeps=lambda case, asked: case.language is None or asked.language in ("all", case.language),
)
SETS: Final = layouts.SetReader(
    layouts=(RELEASE, *PUBLISHED_SETS, _OWN),
    case=MedCase,
    expected=(
        f"{ARCHIVE} of Med-CMR or its folder; "
        f"{', '.join(sorted(layout.name for layout in PUBLISHED_SETS))} as published; or a csv, "
        "jsonl or json with question, image and answer"
    ),
    images=lambda case: case.images,
    name=lambda case: case.case_id,
    lack=cases.lack_of,
    remarks=cases.remarks_on,
)
"""Everything that may be given as `--cases`, in the order in which it is tried."""
