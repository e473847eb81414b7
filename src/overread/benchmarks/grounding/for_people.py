"""What radiologists are asked about these cases (GROUNDING 15): is the finding there, does the box
hold it, and what went wrong where a model erred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import astuple

import overread.case as oc
from overread.benchmarks.base import Tables
from overread.benchmarks.draws import lot
from overread.benchmarks.grounding.cases import GroundingCase, boxed, truth
from overread.benchmarks.grounding.paper_readers import MODES
from overread.benchmarks.grounding.prompts import SENTENCE_SOURCE, display
from overread.benchmarks.people import Ask, ForPeople
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
    """Wrong answers to the film as it is, of each model by lot; models go by letters.

    The surest first: an error that a model was sure of is the one to understand.
    """
    import polars as pl

    cases = bench.by_id
    letters = {name: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[at % 26] for at, name in enumerate(readers)}
    rows = tables.answers.filter(
        pl.col("reader").is_in(list(readers)),
        pl.col("image") == "original",
        pl.col("phrasing") == bench.options.phrasing,
        pl.col("repeat") == 0,
        pl.col("answer").is_in([0, 1]),
    )
    for reader in readers:
        taken: Counter[str] = Counter()
        own = sorted(
            rows.filter(pl.col("reader") == reader).iter_rows(named=True),
            key=lambda row: lot("failures", bench.rules.seed, f"{row['reader']}:{row['case']}"),
        )
        for row in own:
            case = cases.get(row["case"])
            if case is None or case.source == SENTENCE_SOURCE:
                continue
            right, finding = truth(case, bench.rules), case.finding or ""
            if right < 0 or row["answer"] == right or taken[finding] >= _MOST_OF_A_FINDING:
                continue
            taken[finding] += 1
            words = ("No", "Yes")
            sure = row.get("p_yes")
            texts = [("Truth", words[right]), (f"Model {letters[reader]}", words[row["answer"]])]
            if sure is not None:
                own_answer = sure if row["answer"] == 1 else 1 - sure
                texts.append(("Its probability of that", f"{own_answer:.2f}"))
            yield ForPeople(
                case=case.case_id,
                patient=_patient(case),
                condition=letters[reader],
                slides=(oc.Slide(label="", picture=_original(bench, case)),),
                texts=(("Question", _asked(case)), *texts),
                asks=(
                    Ask(name="mode", text="What went wrong?", kind="choice", options=MODES),
                    _SURE,
                ),
                stratum=(reader,),
                facts={**_facts(bench, case), "model": reader},
            )
