"""What radiologists are asked about these cases (GROUNDING 15): is the finding there, does the box
hold it, and what went wrong where a model erred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import astuple

import overread.case as oc
from overread.benchmarks.base import Tables
from overread.benchmarks.draws import lot
from overread.benchmarks.grounding.cases import GroundingCase, boxed, truth
from overread.benchmarks.grounding.paper_packets import (
    PRESENCE_CASES,
    Chosen,
    Error,
    Packets,
    Shown,
    box_sheets,
    boxes_to_rate,
    error_sheets,
    errors_to_name,
    presence_cases,
    presence_sheets,
    question_of,
    sessions_of,
)
from overread.benchmarks.grounding.paper_readers import MODES
from overread.benchmarks.grounding.prompts import SENTENCE_SOURCE, display
from overread.benchmarks.people import Ask, Decided, ForPeople
from overread.case import BadInput
from overread.imaging import RESOLUTION

if TYPE_CHECKING:
    from overread.benchmarks.grounding.benchmark import Grounding

_SURE: Final = Ask(
    name="confidence",
    text="How sure are you?",
    kind="scale",
    options=("1", "2", "3", "4", "5"),
    required=False,
)
# Of one finding at most so many errors, that one habit does not fill a sheet.
_MOST_OF_A_FINDING: Final = 8


def for_people(
    bench: Grounding, kind: str, tables: Tables | None, readers: Sequence[str]
) -> Iterator[ForPeople]:
    if kind == "presence":
        for case in bench.cases():
            if case.source != SENTENCE_SOURCE:
                yield from _presence(bench, case)
    elif kind == "boxes":
        for case in bench.cases():
            if boxed(case, bench.rules) and case.label == 1:
                yield _box(bench, case)
    elif kind == "failures" and tables is not None:
        yield from _failures(bench, tables, readers)


def _asked(case: GroundingCase) -> str:
    return f"Is {display(case.finding or '')} present in this chest radiograph?"


def _facts(bench: Grounding, case: GroundingCase) -> dict[str, str]:
    return {
        "finding": case.finding or "",
        "view": case.view or "",
        "source": case.source,
    }


def _right(bench: Grounding, case: GroundingCase) -> str:
    return {1: "yes", 0: "no"}.get(truth(case, bench.rules), "")


def _patient(case: GroundingCase) -> str:
    return case.subject_id or case.image_path


def _presence(bench: Grounding, case: GroundingCase) -> Iterator[ForPeople]:
    facts = _facts(bench, case)
    for trial in bench.trials(case, oc.Traits()):
        own = (trial.condition["phrasing"], trial.condition["px"], trial.repeat)
        if own != (bench.options.phrasing, bench.options.px, 0) or not trial.request.pictures:
            continue
        yield ForPeople(
            case=case.case_id,
            patient=_patient(case),
            condition=str(trial.condition["image"]),
            slides=tuple(oc.Slide(label="", picture=one) for one in trial.request.pictures),
            asks=(Ask(name="answer", text=_asked(case)), _SURE),
            stratum=(facts["finding"], _right(bench, case), facts["view"]),
            truth=_right(bench, case),
            facts=facts,
            trial=trial,
            said={"yes": "Yes", "no": "No"},
        )


def _original(bench: Grounding, case: GroundingCase) -> oc.Picture:
    resize = oc.Resize(bench.options.px, bench.options.px)
    return oc.Picture(oc.Source(bench.root, case.image_path), (resize,), "png")


def _box(bench: Grounding, case: GroundingCase) -> ForPeople:
    assert case.box is not None
    # Rounded, where masks are truncated (GROUNDING 15): what is drawn hides nothing.
    box = oc.Box(*(round(side * bench.options.px / RESOLUTION) for side in astuple(case.box)))
    facts = _facts(bench, case)
    return ForPeople(
        case=case.case_id,
        patient=_patient(case),
        slides=(oc.Slide(label="", picture=_original(bench, case), boxes=(("box", box),)),),
        asks=(
            Ask(
                name="rating",
                text=f"Does the box hold the {display(case.finding or '')}?",
                kind="choice",
                options=("accurate", "partial", "inaccurate"),
            ),
        ),
        stratum=(facts["finding"],),
        facts=facts,
    )


def _failures(bench: Grounding, tables: Tables, readers: Sequence[str]) -> Iterator[ForPeople]:
    """Wrong answers to the film as it is, of each model by lot; models go by letters."""
    cases = bench.by_id
    letters = {name: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[at % 26] for at, name in enumerate(readers)}
    wrong, _ = _answered(bench, tables, readers)
    for reader in readers:
        taken: Counter[str] = Counter()
        for one in sorted(
            wrong[reader],
            key=lambda one: lot("failures", bench.rules.seed, f"{one.model}:{one.case}"),
        ):
            case = cases[one.case]
            finding = case.finding or ""
            if case.source == SENTENCE_SOURCE or taken[finding] >= _MOST_OF_A_FINDING:
                continue
            taken[finding] += 1
            yield _failure(bench, one, letters[reader], _asked(case))


def _answered(
    bench: Grounding, tables: Tables, readers: Sequence[str]
) -> tuple[dict[str, list[Error]], Counter[str]]:
    """Wrong answers of each model to films as they are; how many models were right, by case."""
    import polars as pl

    rows = tables.answers.filter(
        pl.col("reader").is_in(list(readers)),
        pl.col("image") == "original",
        pl.col("phrasing") == bench.options.phrasing,
        pl.col("repeat") == 0,
        pl.col("answer").is_in([0, 1]),
    )
    wrong: dict[str, list[Error]] = {reader: [] for reader in readers}
    right: Counter[str] = Counter()
    for row in rows.iter_rows(named=True):
        case = bench.by_id.get(row["case"])
        if case is None:
            continue
        key = truth(case, bench.rules)
        if row["answer"] == key:
            right[case.case_id] += 1
        elif key >= 0:
            error = Error(row["reader"], case.case_id, row["answer"], row.get("p_yes"))
            wrong[row["reader"]].append(error)
    return wrong, right


def _failure(bench: Grounding, one: Error, letter: str, asked: str) -> ForPeople:
    case = bench.by_id[one.case]
    words = ("No", "Yes")
    texts = [("Truth", words[truth(case, bench.rules)]), (f"Model {letter}", words[one.answer])]
    if one.p_yes is not None:
        own_answer = one.p_yes if one.answer == 1 else 1 - one.p_yes
        texts.append(("Its probability of that", f"{own_answer:.2f}"))
    return ForPeople(
        case=case.case_id,
        patient=_patient(case),
        condition=letter,
        slides=(oc.Slide(label="", picture=_original(bench, case)),),
        texts=(("Question", asked), *texts),
        asks=(Ask(name="mode", text="What went wrong?", kind="choice", options=MODES), _SURE),
        stratum=(one.model,),
        facts={**_facts(bench, case), "model": one.model},
    )


# ---------------------------------------------------------------- as the paper's readers had them


def as_published(
    bench: Grounding, kind: str, tables: Tables | None, readers: Sequence[str], cases: int
) -> Iterator[ForPeople] | None:
    """Tasks A, B and D of the paper, in its sessions and its order (`paper_packets`)."""
    if kind == "boxes":
        return _first_session(_box(bench, case) for case in boxes_to_rate(bench.cases()))
    if kind not in ("presence", "failures"):
        return None
    if tables is None:
        raise BadInput(
            f"{kind}: in the edition authors it is of films that models find easy or hard, or err "
            "on. Name their run and the models, or take the edition corrected."
        )
    wrong, right = _answered(bench, tables, readers)
    if kind == "failures":
        finding = {name: case.finding for name, case in bench.by_id.items()}
        shown, letters = errors_to_name(wrong, finding)
        return _first_session(
            _failure(bench, one, letters[one.model], question_of(finding[one.case] or ""))
            for one in shown
        )
    return _in_sessions(bench, sessions_of(_chosen(bench, right, len(readers), cases)))


def _chosen(bench: Grounding, right: Counter[str], models: int, cases: int) -> list[Chosen]:
    return presence_cases(bench.cases(), right.__getitem__, models, cases or PRESENCE_CASES)


# What a question is called on the paper's sheets.
_CELLS: Final[Mapping[str, Mapping[str, str]]] = {
    "boxes": {"rating": "rating"},
    "presence": {"answer": "answer", "confidence": "confidence"},
    "failures": {"mode": "error_category", "confidence": "radiologist_confidence"},
}


def packets_filled(
    bench: Grounding,
    kind: str,
    tables: Tables | None,
    readers: Sequence[str],
    cases: int,
    given: Sequence[Decided],
    *,
    second: bool,
) -> Packets | None:
    """Tasks A, B and D as `paper_readers` reads them; B is C for a `second` reader."""
    if kind == "boxes":
        packets = box_sheets(bench.cases())
    elif kind not in _CELLS or tables is None:
        return None
    else:
        wrong, right = _answered(bench, tables, readers)
        if kind == "failures":
            packets = error_sheets(wrong, bench.by_id)
        else:
            packets = presence_sheets(_chosen(bench, right, len(readers), cases), second=second)
    (folder,) = {path.partition("/")[0] for path in packets}
    shown = [row["case_id"] for row in packets[f"{folder}/case_mapping.csv"]]
    if shown != [one.case for one in given]:
        raise BadInput(
            f"{kind}: the study's cases are not those that are drawn now. Were its cases or its "
            "run changed? Take them from a copy."
        )
    cells = _CELLS[kind]
    filled = [
        {
            **row,
            **{cell: one.values.get(name, "") for name, cell in cells.items()},
            "comment": one.values.get("note", ""),
        }
        for row, one in zip(packets[f"{folder}/cases.csv"], given, strict=True)
    ]
    return {**packets, f"{folder}/cases.csv": filled}


def _first_session(screens: Iterable[ForPeople]) -> Iterator[ForPeople]:
    return (msgspec.structs.replace(one, session=1) for one in screens)


def _in_sessions(bench: Grounding, shown: Iterable[Shown]) -> Iterator[ForPeople]:
    for one in shown:
        (screen,) = [s for s in _presence(bench, one.case) if s.condition == one.condition]
        first = msgspec.structs.replace(screen.asks[0], text=question_of(one.case.finding or ""))
        yield msgspec.structs.replace(screen, session=one.session, asks=(first, *screen.asks[1:]))
