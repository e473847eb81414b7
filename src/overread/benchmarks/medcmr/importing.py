"""Replies that somebody else's scripts got become the tables of a run; no model is asked.

One file of JSON lines for each reader, called after it: `index` and `kind` (mcq, open,
reformulated) say which item and how it was put, `text` is the reply as it was, null where there
was none. `image` (original, blank, swap, text) and `order` may say what was shown. Where the
reply was judged, `scores` has {clarity, coherence, visual, truth} as the judge gave them and
`judge` its name. Replies are read anew under the edition, whatever the scripts made of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.base import Imported, ReaderRecord, Tables
from overread.benchmarks.files.jsonl import JSON_ERRORS, data_of
from overread.benchmarks.files.models import declared_readers
from overread.benchmarks.medcmr.answers import answer_row
from overread.benchmarks.medcmr.cases import MedCase, answer_schema, case_row, case_schema
from overread.benchmarks.medcmr.edition import BOOK, IMAGES, Edition
from overread.benchmarks.medcmr.judged_questions import FORMS, About, question_of
from overread.benchmarks.medcmr.loading import SETS
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, LINES, read_verdict
from overread.benchmarks.texts import storable
from overread.case import BadInput, Reply, Request, Traits, Trial
from overread.judging import VERDICT_COLUMNS
from overread.judging.question import about_of

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "NOT_KEPT",
    "Taking",
    "import_results",
    "read_results",
]


# ---------------------------------------------------------------- files of replies
# Replies and verdicts in the files of others as rows of ours; what does not fit is counted.

NOT_KEPT: Final = "(the reply is in none of the files)"
"""Stands for words that were judged and are in no file; a verdict on nothing would not count."""
_JUDGE: Final = "theirs"
_KINDS: Final = ("mcq", "open", "reformulated")
_LARGEST: Final = 2**63
_OF_ONE: Final = {"have": "has", "are": "is"}


class _Said(msgspec.Struct):
    """One line as it is written."""

    index: int | str
    kind: str
    text: str | msgspec.UnsetType | None = msgspec.UNSET
    image: str | None = None
    order: int | None = None
    scores: dict[str, Any] | None = None
    judge: str | None = None


class Taking:
    """Replies and verdicts as they come in, and what does not fit. A class, for it grows."""

    def __init__(self, cases: Sequence[MedCase], rules: Edition) -> None:
        self._items = {(case.kind, case.index): case for case in cases}
        self._rules = rules
        self.answers: list[tuple[Any, ...]] = []
        self.verdicts: list[tuple[Any, ...]] = []
        self._texts: dict[tuple[Any, ...], str | None] = {}
        self._judged: set[tuple[Any, ...]] = set()
        self._odd: dict[str, list[str]] = {}

    def read(self, file: Path, reader: str, traits: Traits) -> None:
        """Take in one file."""
        decode = msgspec.json.Decoder(_Said).decode
        for number, line in enumerate(data_of(file).split(b"\n"), start=1):
            if not line.strip():
                continue
            where = f"{file.name} line {number}"
            try:
                said = decode(line)
            except JSON_ERRORS:
                self._pass("have no index, kind and text to be read", where)
            else:
                self._take(said, reader, traits, where)

    def _take(self, said: _Said, reader: str, traits: Traits, where: str) -> None:
        if said.kind not in _KINDS:
            return self._pass(f"have a kind that is none of {', '.join(_KINDS)}", where)
        image, order = said.image or "original", said.order or 0
        if image not in IMAGES:
            return self._pass(f"have an image that is none of {', '.join(IMAGES)}", where)
        case = self._items.get(("open" if said.kind == "open" else "mcq", _index(said.index)))
        if case is None:
            return self._pass("have an index that the set has not", where)
        if not 0 <= order < (len(case.options) if said.kind == "mcq" else 1):
            return self._pass("have an order that the item's options have not", where)
        if said.text is msgspec.UNSET and said.scores is None:
            return self._pass("have no text", where)
        key = (reader, case.case_id, said.kind, image, order)
        text = storable(said.text) if isinstance(said.text, str) else None
        if said.text is msgspec.UNSET:
            text = self._texts.get(key, NOT_KEPT)
        about: dict[str, str | int] = {"form": said.kind, "image": image, "order": order}
        if key not in self._texts:
            self._texts[key] = text
            if text == NOT_KEPT:
                self._note("have scores and no text; what was judged is not known", where)
            trial = Trial(case.case_id, about, Request(()))
            reply = None if text is None else Reply(text)
            reason = "" if reply is not None else "no reply in the file"
            self.answers.append(
                (reader, *answer_row(trial, reply, traits, self._rules, case, reason))
            )
        elif said.scores is None or self._texts[key] != text:
            return self._pass("are of a reply that stands in an earlier line already", where)
        if said.scores is not None:
            self._judge(said, key, case, about, where)
        return None

    def _judge(
        self,
        said: _Said,
        key: tuple[Any, ...],
        case: MedCase,
        about: Mapping[str, str | int],
        where: str,
    ) -> None:
        judge = storable((said.judge or "").strip()) or _JUDGE
        scores = said.scores or {}
        if said.kind not in FORMS or self._texts[key] is None:
            return self._note("have scores of a letter or of no reply, which are left out", where)
        if (judge, *key) in self._judged:
            return self._pass("are of a reply that stands in an earlier line already", where)
        self._judged.add((judge, *key))
        # With the visual score wherever there is one: they had the caption, even if we have not.
        question = "score" if "visual" in scores else question_of(case)
        text = "\n".join(
            f"{LINES[part]}: {_score(scores[part])}" for part in COMPONENTS if part in scores
        )
        read = read_verdict(question, text)
        if not read.valid:
            self._note("have scores off the scale or missing", where)
        cells: dict[str, Any] = {
            "judge": judge,
            "role": "score",
            "question": question,
            "reader": key[0],
            "case": case.case_id,
            "about": about_of(About, about),
            "check": False,
            "attempts": 1,
            "outcome": "judged" if read.valid else "invalid",
            "how": read.how or None,
            "payload": msgspec.json.encode(read.value).decode() if read.valid else None,
            "text": storable(text),
            "reason": read.fault or None,
            # Theirs, which nobody has.
            "prompt": None,
        }
        self.verdicts.append(tuple(cells[column] for column in VERDICT_COLUMNS))
        return None

    def _pass(self, why: str, where: str) -> None:
        self._note(f"{why}; left out", where)

    def _note(self, why: str, where: str) -> None:
        self._odd.setdefault(why, []).append(where)

    def warnings(self) -> list[str]:
        """One line for each kind of oddity, with how many there are and the first."""
        return list(self._told())

    def _told(self) -> Iterator[str]:
        for why, places in self._odd.items():
            n, (verb, _, rest) = len(places), why.partition(" ")
            lines = f"line {_OF_ONE[verb]}" if n == 1 else f"lines {verb}"
            yield f"{n} {lines} {rest} (the first is {places[0]})."


def _score(given: Any) -> str:
    """A score as a judge would have written it; what is neither number nor word is none."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return "none"
    return " ".join(str(given).split())


def _index(given: int | str) -> int:
    if isinstance(given, str):
        word = given.strip()
        return int(word) if word.isascii() and word.isdecimal() and len(word) < 19 else -1
    return given if 0 <= given < _LARGEST else -1


# ---------------------------------------------------------------- tables of an import


def import_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    reparse: bool = False,
    also: Sequence[str] = (),
) -> Imported:
    """Read the replies at `replies`, a file or a folder of them, and at the places of `also`.

    `cases` is a set of questions as for a run; its images need not be there. `readers` is a
    models.json with their roles, `params_b` and `group`. Everything is read under the edition, so
    that `reparse` changes nothing.
    """
    from overread.benchmarks.registry import reopen_benchmark

    tables, warnings = read_results(cases, replies, readers, edition, words, also)
    assert cases is not None
    _, options = BOOK.settings(edition, words)
    place = Path(cases)
    name = (place if place.is_dir() else place.parent).absolute().name
    digest = hashlib.sha256(tables.cases.write_json().encode()).hexdigest()[:8]
    policy = SETS.policy_at(cases, options.root)
    bench = reopen_benchmark("medcmr", f"{name}@{digest}", policy, edition, words)
    return Imported(bench, tables, warnings, dict(words or {}))


def read_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    also: Sequence[str] = (),
) -> tuple[Tables, list[str]]:
    """The tables of what the files hold, and a line for everything passed over."""
    import polars as pl

    rules, options = BOOK.settings(edition, words)
    if cases is None:
        raise BadInput("--cases is missing: a reply is read against its item. Give the questions.")
    declared = {} if readers is None else declared_readers(Path(readers))
    files = [file for root in (replies, *also) for file in _files(Path(root))]
    found = SETS.load(cases, options, options.root, seen=False)
    kept = [case for case in found.cases if case.kind in options.kinds]
    taking = Taking(kept, rules)
    for file in files:
        reader = storable(file.stem)
        taking.read(file, reader, declared.get(reader, ReaderRecord(name=reader)).traits)
    if not taking.answers:
        first = f" ({taking.warnings()[0].rstrip('.')})" if taking.warnings() else ""
        raise BadInput(f"{replies} holds no reply to an item of {cases}{first}. Give its replies.")
    names = list(dict.fromkeys(row[0] for row in taking.answers))
    record = {name: ReaderRecord(name=name, identity="imported") for name in names}
    heard: dict[str, set[str]] = {name: set() for name in names}
    for reader, case, *_ in taking.answers:
        heard[reader].add(case)
    told = set().union(*heard.values())
    asked = [case for case in kept if storable(case.case_id) in told]
    tables = Tables(
        cases=pl.DataFrame(map(case_row, asked), schema=dict(case_schema()), orient="row"),
        answers=pl.DataFrame(
            taking.answers, schema={"reader": pl.String, **answer_schema()}, orient="row"
        ),
        verdicts=_verdicts(taking.verdicts),
        readers=tuple(declared.get(name, record[name]) for name in names),
    )
    unheard = [
        f"{name} of the readers file has no replies." for name in declared if name not in record
    ]
    left = [f"{len(found.left)} items of the set are left out."] if found.left else []
    return tables, [*left, *taking.warnings(), *unheard, *_gaps(heard, told, len(kept))]


def _gaps(heard: Mapping[str, set[str]], told: set[str], whole: int) -> Iterator[str]:
    """What a part of the set, or a part of what others answered, means for the numbers."""
    if len(told) < whole:
        yield (
            f"the replies are about {len(told)} of the set's {whole} items: the others are not "
            "counted."
        )
    for name, cases in heard.items():
        if len(cases) < len(told):
            missing = len(told) - len(cases)
            items = "1 item" if missing == 1 else f"{missing} items"
            yield f"{name} has no reply to {items} that others replied to: counted as wrong."


def _files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise BadInput(f"{root}: there is no such file or folder. Give the replies as JSON lines.")
    found = sorted(
        file for file in root.iterdir() if file.suffix.lower() == ".jsonl" and file.is_file()
    )
    if not found:
        raise BadInput(f"{root} holds no .jsonl. Give one for each reader, called after it.")
    return found


def _verdicts(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame | None:
    import polars as pl

    if not rows:
        return None
    other: dict[str, Any] = {"check": pl.Boolean, "attempts": pl.Int8}
    schema = {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row")
