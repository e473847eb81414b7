"""Results made with the authors' own scripts become the tables of a run; no model is asked.

What is read: predictions (<model>_cot.json, <model>_direct.json; predictions_cot.json of a
stand-alone script), totals of times (<model>_summary.json, timing_results/<model>.json), and what
judges said: the scripts' cache (<question>/<model>/<index>.json), their accuracies and orders,
judges/<judge>/<question>/<model>/<index>.txt, and JSON lines of {judge, question, model, mode,
index, reply}. `results/names` says what names and folders mean.

Without cases, items are known by their number alone: those of `type.xlsx` beside the results, which
says their tasks, or else those of a reader's own files. What others did is no matter. Recall is
over the gold steps, so that it needs the cases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.benchmark import Imported, ReaderRecord, Tables
from overread.benchmarks.files.models import declared_models
from overread.benchmarks.m3cot.edition import MODES, Edition, Options, settings
from overread.benchmarks.m3cot.marks import IMPORTED
from overread.benchmarks.m3cot.results.collected import Collected
from overread.benchmarks.m3cot.results.files import Result, results_of
from overread.benchmarks.m3cot.results.items import Items
from overread.benchmarks.m3cot.results.judges import Judgement
from overread.benchmarks.m3cot.schemas import answer_schema, case_schema
from overread.benchmarks.m3cot.verdicts import read_verdict
from overread.case import BadInput, Policy, Traits
from overread.judging.verdict import VERDICT_COLUMNS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["import_results", "read_results"]

_ROLE_OF: Final = {"answer": "answer", "precision": "steps", "recall": "steps", "order": "order"}
_STRICTEST: Final[Policy] = "credentialed"


def import_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    reparse: bool = False,
    also: Sequence[str] = (),
) -> Imported:
    """Read the authors' results at `replies`, a file or a folder, and at the places of `also`.

    `cases` is a set of questions as for a run. `readers` is a models.json with their roles. What
    judges said is always read again under the edition, so that `reparse` changes nothing.
    """
    from overread.benchmarks.registry import reopen_benchmark

    tables, warnings = read_results(cases, replies, readers, edition, words, also)
    _, options = settings(edition, words)
    name, policy = IMPORTED, _STRICTEST
    if cases is not None:
        from overread.benchmarks.m3cot.loading import policy_at

        place = Path(cases)
        name = (place if place.is_dir() else place.parent).absolute().name
        policy = policy_at(cases, options)
    digest = hashlib.sha256(tables.cases.write_json().encode()).hexdigest()[:8]
    bench = reopen_benchmark("m3cot", f"{name}@{digest}", policy, edition, words)
    return Imported(bench, tables, warnings, dict(words or {}))


def read_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    also: Sequence[str] = (),
) -> tuple[Tables, list[str]]:
    """The tables of what the files hold, and a line for everything odd."""
    import polars as pl

    rules, options = settings(edition, words)
    declared = {} if readers is None else declared_models(Path(readers))
    found = [result for root in (replies, *also) for result in results_of(Path(root))]
    collected = Collected(totals=rules.error_text == "searched")
    for result in found:
        collected.add(result)
    if not collected.models:
        raise BadInput(f"{replies} holds no prediction and no verdict. Give the authors' results.")
    items = _items(cases, options, found, collected)
    if cases is None and any(one.question == "recall" for one in collected.judgements):
        raise BadInput("--cases is missing: recall is over the gold steps. Give the questions.")
    answers = pl.DataFrame(
        [row for model in collected.models for row in _answer_rows(model, collected, items)],
        schema={"reader": pl.String, **answer_schema()},
        orient="row",
    )
    verdicts = _verdicts(collected, items, rules)
    collected.warnings.extend(items.warnings())
    collected.warnings.extend(
        f"{name} of the readers file has no results." for name in declared
        if name not in collected.models
    )  # fmt: skip
    tables = Tables(
        cases=pl.DataFrame(items.rows(), schema=dict(case_schema()), orient="row"),
        answers=answers,
        verdicts=verdicts,
        readers=tuple(
            ReaderRecord(name=name, traits=declared.get(name, Traits()), identity=IMPORTED)
            for name in collected.models
        ),
    )
    return tables, [*collected.all_warnings(), *_strange(found)]


def _items(
    cases: str | Path | None, options: Options, found: Sequence[Result], collected: Collected
) -> Items:
    if cases is not None:
        from overread.benchmarks.m3cot.loading import load

        return Items.of_cases(*load(cases, options, seen=False))
    tasks = [result.path for result in found if result.kind == "tasks"]
    return Items.of_numbers(collected.indices, tasks)


def _answer_rows(model: str, collected: Collected, items: Items) -> Iterator[tuple[Any, ...]]:
    """The rows of one reader, mode by mode, by index."""
    for mode in MODES:
        timed = collected.timed(model, mode)
        for index, said in sorted(collected.replies.get((model, mode), {}).items()):
            case = items.case(index, f"{model} {mode}")
            if case is None:
                continue
            outcome = "unanswered" if said.text is None else "answered"
            # In the order of ANSWER_COLUMNS, the reader first.
            where = (model, case, mode, "original", "", timed)
            yield (*where, outcome, said.text, None, said.seconds, None, said.reason or None)


def _verdicts(collected: Collected, items: Items, rules: Edition) -> pl.DataFrame | None:
    import polars as pl

    if not collected.judgements:
        return None
    other: dict[str, Any] = {"check": pl.Boolean, "attempts": pl.Int8}
    schema = {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
    rows = []
    for one in collected.judgements:
        case = items.case(one.item, one.where)
        if case is not None:
            timed = collected.timed(one.model, one.mode)
            rows.append(_verdict(one, case, items.gold(case), rules, timed=timed))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _verdict(
    one: Judgement, case: str, gold: int, rules: Edition, *, timed: bool
) -> tuple[Any, ...]:
    about = {"follow": "", "image": "original", "mode": one.mode, "timed": timed}
    read = read_verdict(one.question, one.reply, rules, gold)
    valid = one.reply is not None and read.valid
    cells: dict[str, Any] = {
        "judge": one.judge,
        "role": _ROLE_OF[one.question],
        "question": one.question,
        "reader": one.model,
        "case": case,
        "about": msgspec.json.encode(about).decode(),
        "check": False,
        "attempts": 1,
        "outcome": "judged" if valid else "invalid",
        "how": read.how if one.reply is not None else None,
        "payload": msgspec.json.encode(read.value).decode() if valid else None,
        "text": one.reply,
        "reason": one.reason or read.fault,
        "prompt": IMPORTED,
    }
    return tuple(cells[column] for column in VERDICT_COLUMNS)


def _strange(found: Sequence[Result]) -> Iterator[str]:
    """One line for all files that are nothing known."""
    strange = [result.shown for result in found if result.kind == "strange"]
    if strange:
        more = f" and {len(strange) - 3} more" if len(strange) > 3 else ""
        yield f"left out, for it is no result that is known: {', '.join(strange[:3])}{more}."
