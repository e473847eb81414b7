"""What the authors' scripts do, fault for fault (M3COT 2, 4, 5, 6, 7, 8).

Judges' replies as their scripts read them: every function takes a reply and gives the verdict in
canonical form, or why there is none; none raises, whatever the reply holds. `verdicts.py` has the
corrected readings. Then orders as they come back from their csv file, which replies their runner
takes for failed attempts, and options as they look for them in a question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from overread.benchmarks.m3cot import verdicts as sound
from overread.benchmarks.m3cot.cases import WORDS
from overread.benchmarks.m3cot.verdicts import ORDERS, Path, clean_text, path_of
from overread.judging import Read
from overread.judging.reading import DEEPEST, repaired

if TYPE_CHECKING:
    from overread.benchmarks.m3cot.study import Asking, Marks

# How often the scripts ask: only the one on order asks again (M3COT 5, 6, 7).
TRIES: Final = {"answer": 1, "precision": 1, "recall": 1, "order": 3}

_CONTROL_CHARACTERS: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
# Ranks beyond this are one rank: no judge means them, and they must fit any JSON reader.
_MOST_RANK: Final = 2**53


def read_verdict(question: str, text: str | None, gold: int) -> Read:
    """A judge's reply to one of the four questions; `gold` counts the gold steps."""
    if question == "recall":
        return read_recall(text, gold)
    return {"answer": read_answer, "precision": read_precision, "order": read_order}[question](text)


def read_answer(text: str | None) -> Read:
    """{"match", "final_answer"}: fences cut, strict JSON, any truthy `match` is a match.

    A missing `match` is wrong; null, and a final answer that is no string, skip the item.
    """
    if not text:
        return Read(fault="no reply")
    body = text.strip()
    body = body.removeprefix("```json" if body.startswith("```json") else "```")
    found = _json_or_none(body.removesuffix("```").strip())
    if not isinstance(found, dict):
        return Read(fault="not a JSON object")
    match, final = found.get("match", False), found.get("final_answer", "")
    if match is None:
        return Read(fault="match is null")
    if not isinstance(final, str):
        return Read(fault="final_answer is no string")
    how = "strict" if isinstance(match, bool) and "match" in found else "truthy"
    return Read({"match": bool(match), "final_answer": clean_text(final.strip())}, how)


def read_precision(text: str | None) -> Read:
    """A list of {"type", "judgment", "text"}, types by their exact spelling.

    Judgments are kept as they are spelt, for only "Match" counts; one that is missing is None.
    """
    found = _array(text)
    if isinstance(found, str):
        return Read(fault=found)
    if not found:
        return Read(fault="empty list of steps")
    steps = []
    for step in found:
        if not isinstance(step, dict) or "step_type" not in step:
            return Read(fault="a step without step_type")
        said = step["step_type"] if isinstance(step["step_type"], str) else ""
        steps.append(
            {
                "type": _TYPES.get(said, "other"),
                "judgment": clean_text(str(step["judgment"])) if "judgment" in step else None,
                "text": clean_text(str(step.get("Step information", ""))),
            }
        )
    return Read(steps, "published")


def read_recall(text: str | None, gold: int) -> Read:
    """One bool per gold step: the first `gold` entries; those missing are unmatched."""
    if gold == 0:
        return Read(fault="no gold steps")
    found = _array(text)
    if isinstance(found, str):
        return Read(fault=found)
    first = found[:gold]
    if not all(isinstance(entry, dict) for entry in first):
        return Read(fault="an entry that is no object")
    matched = [entry.get("judgment") == "Matched" for entry in first]
    return Read(matched + [False] * (gold - len(matched)), "published")


def read_order(text: str | None) -> Read:
    """The four orders as the judge gave them, numbers or not; all eight keys are needed."""
    body = (text or "").replace("```json", "").strip().removesuffix("```").strip()
    first, last = body.find("{"), body.rfind("}")
    if first >= 0 and last > first:
        body = body[first : last + 1]
    found, how = _json_or_none(body), "strict"
    if found is _NOT_JSON:
        found, how = _json_or_none(_CONTROL_CHARACTERS.sub("", body)), "control characters deleted"
    if found is _NOT_JSON:
        return Read(fault="not JSON")
    if not isinstance(found, dict):
        return Read(fault="missing keys")
    missing = [key for key in sound.ORDER_KEYS if key not in found]
    if missing:
        return Read(fault=f"missing keys: {', '.join(missing)}")
    ranks = {name: _rank_in_file(found[f"{name}_order"]) for name in ORDERS}
    if sound.STATUS in found:
        # Their analysis looks at the orders and not at the status.
        blank = all(rank is None for rank in ranks.values())
        return Read(how=sound.TABLE, fault=sound.UNREAD) if blank else Read(ranks, sound.TABLE)
    return Read(ranks, how)


_NOT_JSON: Final = object()
_TYPES: Final = {**sound.STEP_NAMES, sound.RESTATEMENT: "restatement"}


def _json_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _array(text: str | None) -> list[Any] | str:
    """The first array of a reply, or why there is none.

    Every backslash is doubled first, which breaks legal escapes; the brackets are counted inside
    strings too; then json_repair has its say, and its release decides (M3COT 6).
    """
    if not text:
        return "no reply"
    cut = _bracketed(text.replace("\\", "\\\\"))
    if cut is None:
        return "no array"
    try:
        found = json.loads(cut, strict=False)
    except (ValueError, RecursionError):
        # Stopped where it would go on for minutes.
        found = repaired(cut, DEEPEST) if cut.strip("[], \t\r\n") else []
    return found if isinstance(found, list) else "not an array"


def _bracketed(text: str) -> str | None:
    start, depth = text.find("["), 0
    for place in range(max(start, 0), len(text)):
        depth += (text[place] == "[") - (text[place] == "]")
        if depth == 0 and start >= 0:
            return text[start : place + 1]
    return None


def _rank_in_file(said: Any) -> float | str | bool | None:
    """A scalar as it is; anything else as its cell in the authors' CSV file."""
    if isinstance(said, bool) or said is None:
        return said
    if isinstance(said, int | float):
        # JSON of ours has neither NaN nor numbers without end; both end as text in their file.
        return max(-_MOST_RANK, min(_MOST_RANK, said)) if abs(said) < float("inf") else str(said)
    return clean_text(said if isinstance(said, str) else str(said))


# What pandas takes for a missing cell, and for a truth, when it reads the authors' file.
_MISSING_CELLS: Final = frozenset(WORDS["missing_cells"])
_TRUTHS: Final = {
    **dict.fromkeys(("True", "TRUE", "true"), True),
    **dict.fromkeys(("False", "FALSE", "false"), False),
}


def cells_of(rows: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any]]:
    """Orders as they come back from the authors' CSV file, all rows of one reader and judge.

    A cell that is no number turns its whole column to text, after which "1.0" is no whole number
    any more and its path is lost (M3COT 7, golden `odd_orders`). None is a row that failed.
    """
    told = [
        {name: "" if (said := (row or {}).get(name)) is None else str(said) for name in ORDERS}
        for row in rows
    ]
    as_text = text_columns(told)
    return [
        {
            name: cell if name in as_text and cell not in _MISSING_CELLS else _cell_number(cell)
            for name, cell in row.items()
        }
        for row in told
    ]


def text_columns(rows: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Columns of cells that are read as text: neither all numbers nor all truths."""
    columns: dict[str, list[str]] = {name: [] for name in ORDERS}
    for row in rows:
        for name, cells in columns.items():
            if row[name] not in _MISSING_CELLS:
                cells.append(row[name])
    return frozenset(
        name
        for name, cells in columns.items()
        if not all(cell in _TRUTHS for cell in cells)
        and not all(cell not in _TRUTHS and _is_number(cell) for cell in cells)
    )


def _cell_number(cell: str) -> float | bool | None:
    if cell in _MISSING_CELLS:
        return None
    return _TRUTHS[cell] if cell in _TRUTHS else float(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def table_paths(marks: Marks, judge: str, asking: Asking) -> list[Path | None]:
    """The path of each item as their table of orders has it; None where it has no row.

    Rows that failed have the empty path, and orders go through a csv file.
    """
    facts, given = marks.facts, dict(marks.given("order", asking, judge))
    rows = table_rows(marks, judge, asking)
    found: list[Path | None] = [None] * facts.n
    for place, row in zip(rows, cells_of([given.get(place) for place in rows]), strict=True):
        found[place] = path_of(row) if facts.tasks[place] else None
    return found


def table_rows(marks: Marks, judge: str, asking: Asking) -> Sequence[int]:
    """The rows of their table: of an imported one those that it has; else it is made with a row for
    every index up to the last predicted."""
    verdicts = marks.verdicts.get(("order", asking), {}).get(judge, {})
    rows = [place for place, verdict in verdicts.items() if verdict.how == sound.TABLE]
    if rows:
        return rows
    facts, predicted = marks.facts, list(marks.said.get(asking, {}))
    last = int(facts.index[predicted].max()) if predicted else 0
    return [place for place in range(facts.n) if facts.index[place] <= last]


# Case-sensitive and anywhere in the text: a reply on a "Refractive Error" can never succeed.
_TELLTALES: Final = ("Error", "Failed")


def failed_text(text: str | None) -> bool:
    """Whether the authors take a returned text for a failed attempt. An empty one succeeds."""
    return text is not None and any(word in text for word in _TELLTALES)


_OPTION: Final = re.compile(r"[A-Z][.)]")


def options_of(text: str) -> dict[str, str]:
    """Options as the published code finds them: in all lines but the first of the whole cell.

    An option starts with a capital and a full stop or bracket; its text starts at the fourth
    character whatever the third is ("A.Liver" is "iver"), and "E. coli" is one too. A letter that
    comes again replaces the first.
    """
    lines = (line.strip() for line in text.split("\n")[1:])
    return {line[0]: line[3:].strip() for line in lines if _OPTION.match(line)}
