"""`--judge-sample N`: verdicts put before a person, who does not see what the judges said.

Two csv files. The sheet has the material and an empty column; the key has the judges' verdicts and
whose reply it was, and stays closed until the sheet is filled: a verdict seen first is a pull.
"""

from __future__ import annotations

import csv
import io
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.case import BadInput
from overread.files import read_text
from overread.judging.question import Question, about_of, choices_of, verdicts_in
from overread.typeset import guarded, one_form

if TYPE_CHECKING:
    import polars as pl

    from overread.judging.agreement import Agreement

PERSON: Final = "person"
_SHOWN: Final = ("item", "question", "asked", "gold", "reply", "part")  # as units have them
_SHEET: Final = ("id", *_SHOWN, "choices", PERSON)
_KEY: Final = ("id", "question", "reader", "judge", "verdict")
_MOST: Final = 64_000_000  # bytes of a sheet


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to be judged, and what each judge said of it.

    `part` says which part of the reply or gold is meant (a step), and is empty for the whole;
    `choices` are the words the person may write.
    """

    item: str
    question: str
    reader: str
    asked: str
    gold: str
    reply: str
    part: str = ""
    choices: tuple[str, ...]
    verdicts: dict[str, str]

    @property
    def key(self) -> str:
        """Names the unit by what is judged, whoever judged it."""
        return unit_key(self.item, self.question, self.reader, self.gold, self.reply, self.part)


def unit_key(*what: str) -> str:
    """The name of a unit: of item, question, reader, gold, reply and part."""
    data = msgspec.json.encode([one_form(text) for text in what])
    return blake2b(data, digest_size=6).hexdigest()


def units_of(
    questions: Sequence[Question],
    cases: Mapping[str, Any],
    answers: pl.DataFrame,
    verdicts: pl.DataFrame,
) -> list[Unit]:
    """Everything judged in a run, with what each judge said of it; judges' checks are left out.

    Judges cut a reply each in its own way: a step in the words of one is a unit that only those who
    have it in the same words said something of. Words that are no choice are left out.
    """
    choices = choices_of(questions)
    columns = dict.fromkeys(name for one in questions for name in one.about.__struct_fields__)
    named = [name for name in columns if name != "variant"]
    abouts = list({question.about: None for question in questions})
    replies = {
        (row["reader"], row["case"], about_of(about, row)): row["text"] or ""
        for row in answers.select("reader", "case", "text", *named).iter_rows(named=True)
        for about in abouts
    }
    said: dict[tuple[str, str, str, str, str], dict[str, str]] = {}
    gold: dict[tuple[str, str], str] = {}
    for one in verdicts_in(questions, verdicts, cases, checks=False):
        place, case = (one.reader, one.case, one.about), cases[one.case]
        if one.payload is None or place not in replies:
            continue
        for name, word_said, part in one.question.units(case, one.payload):
            if word_said in choices[name]:
                gold[one.case, name] = one.question.gold(case, name)
                # Of the same words twice in one reply, the first.
                said.setdefault((*place, name, part), {}).setdefault(one.judge, word_said)
    return [
        Unit(
            item=item,
            question=name,
            reader=reader,
            asked=cases[item].question,
            gold=gold[item, name],
            reply=replies[reader, item, about],
            part=part,
            choices=choices[name],
            verdicts=given,
        )
        for (reader, item, about, name, part), given in said.items()
    ]


def sample(units: Sequence[Unit], n: int, seed: int = 0) -> list[Unit]:
    """N units, as evenly from each question as there are, in an order that says nothing.

    The same units and seed give the same sample, in whatever order they come.
    """
    rng = random.Random(seed)
    each = sorted({(unit.question, unit.key): unit for unit in units}.items())
    pools = []
    for _, own in groupby(each, key=lambda one: one[0][0]):
        pool = [unit for _, unit in own]
        rng.shuffle(pool)
        pools.append(reversed(pool))
    taken = [unit for turn in zip_longest(*pools) for unit in turn if unit is not None][:n]
    rng.shuffle(taken)
    return taken


def write_sheet(units: Sequence[Unit], sheet: Path, key: Path) -> None:
    """Both files; neither may be there yet, since a person may have filled it."""
    for path in (sheet, key):
        _check_new(path)
    rows = [
        (unit.key, *(getattr(unit, name) for name in _SHOWN), " / ".join(unit.choices), "")
        for unit in units
    ]
    told = [
        (unit.key, unit.question, unit.reader, judge, verdict)
        for unit in units
        for judge, verdict in unit.verdicts.items()
    ]
    write_csv(key, _KEY, told)
    write_csv(sheet, _SHEET, rows)


def _check_new(path: Path) -> None:
    if path.exists():
        raise BadInput(f"{path} is there already. Move it away, or give another name.")
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no folder {path.parent}. Make it first.")


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A new file with guarded cells; one that is there stays, since a person may have filled it."""
    _check_new(path)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(header)
    writer.writerows([guarded(cell) for cell in row] for row in rows)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # With a byte-order mark, without which spreadsheets take UTF-8 for something else.
        scratch.write_text(text.getvalue(), "utf-8-sig")
        scratch.replace(path)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise BadInput(f"{path}: {error.strerror}. Give a file that can be written.") from None


def read_sheet(sheet: Path, choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What the person wrote, by unit; rows left empty are left out.

    `choices` are the words allowed for each question, in any case.
    """
    said: dict[str, str] = {}
    for line, name, _, word in filled_cells(sheet, choices):
        if said.setdefault(name, word) != word:
            raise BadInput(f"{sheet.name} row {line}: {name} is judged twice; keep one row.")
    return said


def filled_cells(
    sheet: Path, choices: Mapping[str, Sequence[str]]
) -> Iterator[tuple[int, str, str, str]]:
    """Of each row that a person filled its line, unit, question and word."""
    for line, row in _rows(sheet, ("id", "question", PERSON)):
        name, written = row["id"].strip().lstrip("'"), row[PERSON].strip().lstrip("'")
        if not written:
            continue
        question = row["question"].strip()
        allowed = choices.get(question)
        if allowed is None:
            raise BadInput(
                f'{sheet.name} row {line}: question is "{_short(row["question"])}"; expected '
                f"{', '.join(choices)}. Leave that column as it was written."
            )
        # In any case, and with any blanks or marks around it.
        read = next((one for one in allowed if _folded(one) == _folded(written)), None)
        if read is None:
            raise BadInput(
                f'{sheet.name} row {line}: {PERSON} is "{_short(written)}"; expected '
                f"{', '.join(allowed)}, or nothing."
            )
        yield line, name, question, read


def person_agreement(
    sheet: Path,
    key: Path,
    choices: Mapping[str, Sequence[str]],
    *,
    n_boot: int = 10_000,
    seed: int = 0,
) -> list[Agreement]:
    """How each judge agrees with the person, by question (`group`), with intervals and n.

    Verdicts of a judge on rows the person left empty are `missing`.
    """
    from overread.judging.agreement import pair_agreement

    said = read_sheet(sheet, choices)
    told: dict[tuple[str, str], list[tuple[str | None, str]]] = {}
    known: set[str] = set()
    for _, row in _rows(key, _KEY):
        name = row["id"].strip().lstrip("'")
        known.add(name)
        pairs = told.setdefault((row["question"], row["judge"].lstrip("'")), [])
        pairs.append((said.get(name), row["verdict"].lstrip("'")))
    strange = sorted(set(said) - known)
    if strange:
        raise BadInput(
            f"{sheet}: id {strange[0]} is not in {key.name}. Give the key of this sheet."
        )
    if not said:
        raise BadInput(f"{sheet}: no row has anything in the column {PERSON}. Fill it first.")
    return [
        pair_agreement(
            PERSON, judge, *zip(*pairs, strict=True), group=question, n_boot=n_boot, seed=seed
        )
        for (question, judge), pairs in told.items()
    ]


def _rows(path: Path, needed: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Rows of a csv file that came back from a spreadsheet, with the line each begins on."""
    text = read_text(path, at_most=_MOST)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: list[tuple[int, dict[str, str]]] = []
    line = 1
    try:
        header = [name.strip() for name in next(reader, [])]
        missing = [name for name in needed if name not in header]
        if missing:
            raise BadInput(
                f"{path} has no column {', '.join(missing)}. Save it as csv with commas and leave "
                "the columns as they were."
            )
        line = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                if len(cells) != len(header):
                    raise BadInput(
                        f"{path.name} row {line}: it has {len(cells)} cells and the header "
                        f"{len(header)}. Fix the row."
                    )
                found.append((line, dict(zip(header, cells, strict=True))))
            line = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(f"{path.name} row {line}: {error}. Save it as csv again.") from None
    return found


def _short(text: str) -> str:
    plain = " ".join(one_form(text).split())
    return plain if len(plain) <= 40 else plain[:40] + "…"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .:;\"'`*")
