"""The packets of the paper's reader study: which cases its readers got, and in which order.

All of it is edition `authors` (GROUNDING 15): every draw is `DataFrame.sample` or a permutation
of `RandomState`, from one seed and the four after it. Task A is boxes to rate, B films with and
without a mask, C the same for a second reader, D errors of models to name. `paper_readers` reads
the sheets when they are filled.

Its choice is kept with its faults [D13]: only films that have the finding, views are ignored.
`corrected` draws by `study.packets`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from overread.benchmarks.grounding.authors import any_sample
from overread.benchmarks.grounding.cases import BOXED_SOURCES, GroundingCase, truth
from overread.benchmarks.grounding.edition import AUTHORS
from overread.benchmarks.grounding.paper_readers import IRRELEVANT, ORIGINAL, TARGET
from overread.benchmarks.grounding.prompts import NORMAL, display
from overread.case import Box

SEED: Final = 20260526  # the paper says 42 [D18]
# What each of the seeds after it is for.
_SESSIONS, _WITHIN, _LETTERS, _ERRORS = (SEED + step for step in (1, 2, 3, 4))
_CONDITIONS: Final = (ORIGINAL, TARGET, IRRELEVANT)
_BOXES_OF_A_FINDING, _BOXES = 15, 120
_OF_A_FINDING: Final = 12  # of the easy, and of the hard cases
_ERRORS_OF_A_FINDING, MOST_ERRORS = 8, 50
PRESENCE_CASES: Final = 80

Rows = Sequence[Mapping[str, str]]
Packets = Mapping[str, Rows]
"""Sheets by path, as `task_A_box_validation/cases.csv`."""


class Error(NamedTuple):
    """A wrong answer to the film as it is; `p_yes` is the model's probability of Yes."""

    model: str
    case: str
    answer: int
    p_yes: float | None


class Chosen(NamedTuple):
    """A case of task B: how hard it is for models, and how many of them answered rightly."""

    case: GroundingCase
    difficulty: str
    right: int


class Shown(NamedTuple):
    session: int
    case: GroundingCase
    condition: str


# ---------------------------------------------------------------- which cases, in which order


def boxes_to_rate(cases: Iterable[GroundingCase]) -> list[GroundingCase]:
    """Task A: at most 15 boxes of each finding, shuffled.

    Where there are more than 120 in all, which of them is ours: no golden sheet has so many.
    """
    drawn: list[GroundingCase] = []
    for _, some in _by_finding(one for one in cases if _positive(one)):
        drawn += any_sample(some, _BOXES_OF_A_FINDING, SEED)
    return [*any_sample(drawn, min(len(drawn), _BOXES), SEED)]


def presence_cases(
    cases: Iterable[GroundingCase],
    right: Callable[[str], int],
    models: int,
    wanted: int = PRESENCE_CASES,
) -> list[Chosen]:
    """Task B: half easy, half hard, each finding in turn; of medium ones as many as are missing.

    `right` is how many of the models answered a case rightly: three quarters make it easy, a
    quarter hard.
    """
    pools: dict[str, list[GroundingCase]] = defaultdict(list)
    for one in cases:
        if _positive(one) and one.irrelevant_box is not None:
            share = right(one.case_id) / models
            word = "easy" if share >= 0.75 else "hard" if share <= 0.25 else "medium"
            pools[word].append(one)
    found: list[Chosen] = []
    for word in ("easy", "hard"):
        queues = [
            list(any_sample(some, 0, SEED))[:_OF_A_FINDING] for _, some in _by_finding(pools[word])
        ]
        in_turn = (queue[at] for at in range(_OF_A_FINDING) for queue in queues if at < len(queue))
        some = [one for _, one in zip(range(wanted // 2), in_turn, strict=False)]
        found += [Chosen(one, word, right(one.case_id)) for one in some]
    missing = wanted - len(found)
    if missing > 0:
        more = any_sample(pools["medium"], missing, SEED)
        found += [Chosen(one, "medium", right(one.case_id)) for one in more]
    return found


def sessions_of(chosen: Sequence[Chosen]) -> list[Shown]:
    """Each case once in each of three sessions, under one condition after another.

    Which condition comes in which session is drawn case by case, in the order of their names;
    each session is shuffled with a seed that is itself drawn.
    """
    shuffled = any_sample([(one.case, how) for one in chosen for how in _CONDITIONS], 0, SEED)
    by_case: dict[str, list[tuple[GroundingCase, str]]] = defaultdict(list)
    for case, how in shuffled:
        by_case[case.case_id].append((case, how))
    draw = np.random.RandomState(_SESSIONS)
    session: dict[tuple[str, str], int] = {}
    for name in sorted(by_case):
        order = draw.permutation(len(_CONDITIONS))
        for (_, how), at in zip(by_case[name], order, strict=True):
            session[name, how] = int(at) + 1
    seeds = np.random.RandomState(_WITHIN)
    found: list[Shown] = []
    for number in range(1, len(_CONDITIONS) + 1):
        own = [(case, how) for case, how in shuffled if session[case.case_id, how] == number]
        seed = int(seeds.randint(0, 1_000_000))
        found += [Shown(number, case, how) for case, how in any_sample(own, 0, seed)]
    return found


def errors_to_name(
    wrong: Mapping[str, Sequence[Error]], finding: Mapping[str, str | None]
) -> tuple[list[Error], dict[str, str]]:
    """Task D: errors in the order they are shown, and the letter each model goes by.

    Of each model a third of 50, by lot: of those it was surest of, where its probabilities say
    more than Yes and No. At most 8 of a finding, as many as there are of none.

    The golden sheets do not tell letters dealt by models' names from letters dealt by the order in
    which models first occur; here it is names.
    """
    pool: list[Error] = []
    for at, errors in enumerate(wrong.values()):
        share = MOST_ERRORS // len(wrong) + (at < MOST_ERRORS % len(wrong))
        pool += any_sample(_surest(errors, share), share, SEED)[
            :share
        ]  # of none all would be drawn
    kept: list[Error] = []
    taken: Counter[str] = Counter()
    for one in any_sample(pool, 0, SEED):
        name = finding[one.case]
        if name:
            taken[name] += 1
            if taken[name] > _ERRORS_OF_A_FINDING:
                continue
        kept.append(one)
    shown = any_sample(kept[:MOST_ERRORS], 0, _ERRORS)
    models = sorted({one.model for one in shown})
    dealt = np.random.RandomState(_LETTERS).permutation(len(models))
    letters = {
        model: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[k] for model, k in zip(models, dealt, strict=True)
    }
    return [*shown], letters


def _surest(errors: Sequence[Error], wanted: int) -> Sequence[Error]:
    """The quarter that the model was surest of; the `wanted` surest where these are too few."""
    said = np.array([np.nan if one.p_yes is None else one.p_yes for one in errors])
    if not errors or np.isin(said, (0.0, 1.0)).mean() > 0.5 or np.isnan(said).all():
        return errors
    sure = np.where([one.answer == 1 for one in errors], said, 1 - said)
    bound = np.nanpercentile(sure, 75)
    surest = [one for one, own in zip(errors, sure, strict=True) if own >= bound]
    if len(surest) >= wanted:
        return surest
    return [errors[k] for k in np.argsort(-sure, kind="stable")[:wanted]]


def _positive(case: GroundingCase) -> bool:
    return case.source in BOXED_SOURCES and case.label == 1 and case.box is not None


def _by_finding(cases: Iterable[GroundingCase]) -> Iterator[tuple[str, list[GroundingCase]]]:
    groups: dict[str, list[GroundingCase]] = defaultdict(list)
    for one in cases:
        if one.finding:
            groups[one.finding].append(one)
    yield from sorted(groups.items())


# ---------------------------------------------------------------- sheets


def box_sheets(cases: Iterable[GroundingCase]) -> Packets:
    sheet, key = [], []
    for number, one in enumerate(boxes_to_rate(cases), 1):
        name, finding = f"A_{number:03d}", one.finding or ""
        words = {"finding": finding, "finding_display": display(finding)}
        sheet.append({"display_id": name, **words, "rating": "", "comment": ""})
        box = _box_cells(one.box)
        key.append({"display_id": name, "case_id": one.case_id, "finding": finding, **box})
    task = "task_A_box_validation"
    return {f"{task}/cases.csv": sheet, f"{task}/case_mapping.csv": key}


def _box_cells(box: Box | None) -> dict[str, str]:
    assert box is not None
    return {f"box_{side}": f"{getattr(box, side):.1f}" for side in "xywh"}


def presence_sheets(chosen: Sequence[Chosen], *, second: bool = False) -> Packets:
    """Task B, or for a second reader C: the same displays in the same order."""
    sheet, key, sessions = [], [], []
    for number, (session, case, condition) in enumerate(sessions_of(chosen), 1):
        first = {"display_id": f"B_{number:03d}", "session": str(session)}
        finding = case.finding or ""
        empty = {"answer": "", "confidence": "", "comment": ""}
        sheet.append({**first, "question": question_of(finding), **empty})
        key.append({**first, "case_id": case.case_id, "condition": condition, "finding": finding})
        sessions.append(first)
    diagnostics = [
        {
            "case_id": one.case.case_id,
            "finding": one.case.finding or "",
            "difficulty": one.difficulty,
            "n_correct_top": f"{one.right:.1f}",
        }
        for one in chosen
    ]
    task = "task_C_reader2_agreement" if second else "task_B_finding_presence"
    packets: dict[str, Rows] = {
        f"{task}/cases.csv": sheet,
        f"{task}/case_mapping.csv": key,
        f"{task}/session_assignment.csv": sessions,
    }
    if not second:
        packets[f"{task}/case_selection_diagnostics.csv"] = diagnostics
    return packets


def error_sheets(
    wrong: Mapping[str, Sequence[Error]], cases: Mapping[str, GroundingCase]
) -> Packets:
    shown, letters = errors_to_name(wrong, {name: one.finding for name, one in cases.items()})
    sheet, key = [], []
    words = ("No", "Yes")
    for number, one in enumerate(shown, 1):
        case = cases[one.case]
        name, right, finding = f"D_{number:03d}", truth(case, AUTHORS), case.finding or ""
        rounded, whole = (
            ("", "") if one.p_yes is None else (str(round(one.p_yes, 3)), str(one.p_yes))
        )
        sheet.append(
            {
                "display_id": name,
                "question": question_of(finding),
                "ground_truth": words[right],
                "model_label": letters[one.model],
                "model_answer": words[one.answer],
                "model_confidence": rounded,
                "error_category": "",
                "radiologist_confidence": "",
                "comment": "",
            }
        )
        key.append(
            {
                "display_id": name,
                "case_id": one.case,
                "source_model": one.model,
                "model_label": letters[one.model],
                "finding_from_case": finding,
                "ground_truth": str(right),
                "parsed_answer": str(one.answer),
                "confidence": whole,
            }
        )
    task = "task_D_failure_taxonomy"
    by_letter = sorted((letter, model) for model, letter in letters.items())
    return {
        f"{task}/cases.csv": sheet,
        f"{task}/case_mapping.csv": key,
        f"{task}/model_label_key.csv": [
            {"model_label": letter, "source_model": model} for letter, model in by_letter
        ],
    }


def question_of(finding: str) -> str:
    """What models are asked, without how to answer; normal films by their label's own words.

    The wording for a case without a finding is ours: no golden sheet has one.
    """
    if not finding:
        return "Is an abnormality present in this chest X-ray?"
    words = finding.replace("_", " ") if finding == NORMAL else display(finding)
    return f"Is {words} present in this chest X-ray?"
