"""The paper's reader study, from its filled sheets to numbers (GROUNDING 14 and 15).

Two radiologists rate boxes (task A), say of films with and without a mask whether a finding is
there (tasks B and C), and put a name to models' errors (task D). Sheets carry display ids; a
mapping beside each says which case and condition a display showed.

All of it is edition `authors`: what the published scripts count, bootstraps over cases in the order
of their names, reader minus model in one table and model minus reader in another [D26], confidence
compared by the levels that occur [D27]. In `corrected` people are readers like any others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from overread import stats
from overread.benchmarks.base import Tables
from overread.benchmarks.files.sheets import rows_of
from overread.case import BadInput, Measure, Method
from overread.measuring.notes import with_method

Metric = Literal["accuracy", "cgr", "is"]

ORIGINAL, TARGET, IRRELEVANT = "original", "target_mask", "irrelevant_mask"
# The mask each rate is about, and whether it counts answers that change under it.
_MASKED: Final[Mapping[str, tuple[str, bool]]] = {"cgr": (TARGET, True), "is": (IRRELEVANT, False)}
METRICS: Final[tuple[Metric, ...]] = ("accuracy", "cgr", "is")
RATINGS: Final = ("accurate", "partial", "inaccurate", "cannot_tell")
# By what a rating begins with, in small letters.
_RATED_BY: Final = {"acc": "accurate", "par": "partial", "inac": "inaccurate", "can": "cannot_tell"}
MODES: Final = (
    "Ambiguous",
    "Image quality",
    "Plausible confounder",
    "Clear model failure",
    "Other",
)
_YES: Final = frozenset({"yes", "y", "1", "true"})
_NO: Final = frozenset({"no", "n", "0", "false"})
# Fewer cases that a reader and a model share are not compared (GROUNDING 15).
FEWEST_SHARED: Final = 10

Answers = Mapping[str, Mapping[str, int]]
"""By condition, then by case: 1 is Yes, 0 No. Whoever gave none, or none that could be read, has no
entry."""


class Presence(NamedTuple):
    """One answer to "is it there?": which display, what it showed, and how sure the reader was."""

    display: str
    case: str
    condition: str
    answer: int
    confidence: float | None


class Failure(NamedTuple):
    """What a radiologist called one error of a model; no mode where none of the list was named."""

    model: str
    mode: str
    confidence: float | None


class ReaderStudy(NamedTuple):
    """Everything that was filled in, by reader; the first reader is the one who decides."""

    boxes: Mapping[str, Mapping[str, str]]
    presence: Mapping[str, Sequence[Presence]]
    failures: Sequence[Failure]

    @property
    def readers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.presence, *self.boxes]))


# ---------------------------------------------------------------- reading sheets


def read_sheets(folders: Mapping[str, Path]) -> ReaderStudy:
    """The sheets of each reader's folder, as the packets of the paper have them.

    A folder holds some of `task_A_…`, `task_B_…` or `task_C_…`, and `task_D_…`, each with
    `cases.csv` and `case_mapping.csv`. An answer that is neither Yes nor No, and an empty rating,
    is left out.
    """
    boxes: dict[str, dict[str, str]] = {}
    presence: dict[str, list[Presence]] = {}
    failures: list[Failure] = []
    for reader, folder in folders.items():
        if not folder.is_dir():
            raise BadInput(f"{folder} is no folder of filled sheets. Name one for each reader.")
        tasks = {path.name[5:6]: path for path in sorted(folder.glob("task_[A-D]_*"))}
        if "A" in tasks:
            boxes[reader] = {
                shown["case_id"]: rating
                for row, shown in _filled(tasks["A"], ("rating",), ("case_id",))
                if (rating := rating_of(row["rating"]))
            }
        for task in ("B", "C"):
            if task in tasks:
                presence[reader] = list(_presence(tasks[task]))
        if "D" in tasks:
            needed = ("error_category", "radiologist_confidence")
            failures += [
                Failure(shown["source_model"], mode, _number(row["radiologist_confidence"]))
                for row, shown in _filled(tasks["D"], needed, ("source_model",))
                for mode in [_mode(row["error_category"])]
            ]
    if not (boxes or presence or failures):
        named = ", ".join(map(str, folders.values()))
        raise BadInput(f"{named}: no folder task_A_… to task_D_… with cases.csv in it.")
    return ReaderStudy(boxes, presence, failures)


def rating_of(text: str) -> str:
    """A rating of a box by how it begins; empty where it is none.

    >>> rating_of("Inaccurate"), rating_of("acc."), rating_of(" ")
    ('inaccurate', 'accurate', '')
    """
    word = text.strip().lower()
    return next((rating for start, rating in _RATED_BY.items() if word.startswith(start)), "")


def yes_or_no(text: str) -> int | None:
    """1 for yes, y, 1 and true, 0 for no, n, 0 and false, in any letters; else None."""
    word = text.strip().lower()
    return 1 if word in _YES else 0 if word in _NO else None


def _presence(folder: Path) -> Iterator[Presence]:
    needed = ("answer", "confidence")
    for row, shown in _filled(folder, needed, ("case_id", "condition")):
        answer = yes_or_no(row["answer"])
        if answer is not None:
            sure = _number(row["confidence"])
            yield Presence(row["display_id"], shown["case_id"], shown["condition"], answer, sure)


def _filled(
    folder: Path, needed: Sequence[str], mapped: Sequence[str]
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Rows of a sheet, each with what the mapping says its display showed."""
    keys = rows_of(folder / "case_mapping.csv", ("display_id", *mapped))
    shown = {row["display_id"]: row for _, row in keys}
    for number, row in rows_of(folder / "cases.csv", ("display_id", *needed)):
        name = row["display_id"]
        if name not in shown:
            raise BadInput(
                f"{folder / 'cases.csv'} row {number}: display {name} is not in case_mapping.csv. "
                "Put the mapping of these very sheets beside them."
            )
        yield row, shown[name]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _mode(text: str) -> str:
    word = text.strip().lower()
    return next((mode for mode in MODES if mode.lower() == word), "")


# ---------------------------------------------------------------- from answers to outcomes


def answers_of(readings: Iterable[Presence]) -> Answers:
    """A reader's answers by condition and case."""
    found: dict[str, dict[str, int]] = {}
    for one in readings:
        found.setdefault(one.condition, {})[one.case] = one.answer
    return found


def outcomes(answers: Answers, metric: Metric) -> dict[str, int]:
    """What one measure says of each case it is about, in the order of their names.

    Every case has the finding: it is right to say Yes. CGR and IS are of the cases that were so
    answered, and answered again under the mask.
    """
    original = answers.get(ORIGINAL, {})
    if metric == "accuracy":
        return {case: original[case] for case in sorted(original)}
    mask, changed = _MASKED[metric]
    under = answers.get(mask, {})
    return {
        case: int((under[case] != 1) == changed)
        for case in sorted(original)
        if original[case] == 1 and case in under
    }


# ---------------------------------------------------------------- numbers


def box_validity(study: ReaderStudy, finding: Mapping[str, str]) -> Iterator[Measure]:
    """The share of rated boxes that are accurate, overall and by finding, of each reader.

    Whoever could not tell counts among the rated. `box_rating` has how often each rating was given.
    """
    for reader, rated in study.boxes.items():
        groups: dict[str, list[str]] = {"": list(rated)}
        for case in rated:
            groups.setdefault(finding.get(case, ""), []).append(case)
        for name in sorted(groups):
            by = {"finding": name} if name else {}
            counts = Counter(rated[case] for case in groups[name])
            n = counts.total()
            yield _share(
                Measure(reader=reader, measure="box_accurate", by=by), counts["accurate"], n
            )
            for rating in RATINGS:
                value = counts[rating] / n if n else None
                yield Measure(
                    reader=reader,
                    measure="box_rating",
                    by={**by, "rating": rating},
                    value=value,
                    n=n,
                    k=counts[rating],
                )


def reader_rates(study: ReaderStudy, finding: Mapping[str, str]) -> Iterator[Measure]:
    """Accuracy, CGR and IS of each reader, overall and by finding, and how sure it was."""
    for reader, readings in study.presence.items():
        answers = answers_of(readings)
        for metric in METRICS:
            by_case = outcomes(answers, metric)
            groups = {"": list(by_case)}
            for case in by_case:
                groups.setdefault(finding.get(case, ""), []).append(case)
            for name in sorted(groups):
                by = {"finding": name} if name else {}
                values = [by_case[case] for case in groups[name]]
                yield _drawn(Measure(reader=reader, measure=metric, by=by), values)
        sure = [one for one in readings if one.condition == ORIGINAL and one.confidence is not None]
        for word, said in (("correct", 1), ("incorrect", 0)):
            given = [one.confidence for one in sure if one.answer == said]
            numbers = [number for number in given if number is not None]
            yield Measure(
                reader=reader,
                measure="stated_confidence",
                by={"answer": word},
                value=sum(numbers) / len(numbers) if numbers else None,
                n=len(numbers),
            )


def agreement(study: ReaderStudy) -> Iterator[Measure]:
    """How far every two readers agree on the displays both answered: share, kappa, confidence."""
    readers = list(study.presence)
    for at, first in enumerate(readers):
        for second in readers[at + 1 :]:
            of_first = {one.display: one for one in study.presence[first]}
            of_second = {one.display: one for one in study.presence[second]}
            shared = [name for name in of_first if name in of_second]
            pairs = [(of_first[name], of_second[name]) for name in shared]
            a, b = [one.answer for one, _ in pairs], [other.answer for _, other in pairs]
            record = Measure(reader=first, measure="agreement", by={"versus": second})
            yield _drawn(record, [int(x == y) for x, y in zip(a, b, strict=True)])
            yield _interval(replace(record, measure="kappa"), stats.bootstrap_kappa(a, b))
            sure = [(one.confidence, other.confidence) for one, other in pairs]
            known = [(x, y) for x, y in sure if x is not None and y is not None]
            if known and len(known) == len(sure):
                columns = [x for x, _ in known], [y for _, y in known]
                found = stats.bootstrap_kappa(*columns, weighted=True)
                yield _interval(replace(record, measure="kappa_confidence"), found)


def against_models(
    reader: str, readings: Iterable[Presence], models: Mapping[str, Answers]
) -> list[Measure]:
    """One reader minus each model with all three conditions, on the cases both answered.

    The record is the model's; q is within each measure.
    """
    own = answers_of(readings)
    found: list[Measure] = []
    for metric in METRICS:
        mine = outcomes(own, metric)
        family: list[Measure] = []
        for model, answers in models.items():
            if any(condition not in answers for condition in (ORIGINAL, TARGET, IRRELEVANT)):
                continue
            theirs = outcomes(answers, metric)
            shared = [case for case in mine if case in theirs]
            if len(shared) < FEWEST_SHARED:
                continue
            a, b = [mine[case] for case in shared], [theirs[case] for case in shared]
            record = Measure(
                reader=model,
                measure=f"diff_{metric}",
                by={"versus": reader},
                family=f"{metric} against {reader}",
            )
            family.append(_paired(record, a, b))
        found += _with_q(family)
    return found


def failure_modes(study: ReaderStudy) -> Iterator[Measure]:
    """What share of each model's errors each mode has, and how sure the radiologist was."""
    models = sorted({one.model for one in study.failures})
    for model in models:
        own = [one for one in study.failures if one.model == model]
        named = Counter(one.mode for one in own if one.mode)
        for mode in MODES:
            record = Measure(reader=model, measure="failure_mode", by={"mode": mode})
            yield _share(record, named[mode], named.total())
        sure = [one.confidence for one in own if one.confidence is not None]
        yield Measure(
            reader=model,
            measure="failure_confidence",
            value=sum(sure) / len(sure) if sure else None,
            n=len(sure),
        )


def accurate_boxes(study: ReaderStudy) -> tuple[frozenset[str], frozenset[str]]:
    """Cases whose box is accurate, and accurate or partial; the first reader's word counts."""
    decided: dict[str, str] = {}
    for rated in study.boxes.values():
        for case, rating in rated.items():
            decided.setdefault(case, rating)
    accurate = frozenset(case for case, rating in decided.items() if rating == "accurate")
    partial = frozenset(case for case, rating in decided.items() if rating == "partial")
    return accurate, accurate | partial


def covered_cgr(
    study: ReaderStudy, models: Mapping[str, Answers], finding: Mapping[str, str]
) -> Iterator[Measure]:
    """CGR where people found that the box covers the finding (GROUNDING 14).

    `cgr` by `boxes`: all, accurate, accurate or partial; the second also by finding; and each model
    minus each reader on accurate boxes. A model's answer under the mask that is missing or cannot
    be read counts as unchanged [D4].
    """
    accurate, or_partial = accurate_boxes(study)
    entities = {model: _flips_or_not(answers) for model, answers in models.items()}
    people = {name: outcomes(answers_of(some), "cgr") for name, some in study.presence.items()}
    sets = {"all": None, "accurate": accurate, "accurate or partial": or_partial}
    for name, flips in {**entities, **people}.items():
        own = {case: flip for case, flip in flips.items() if finding.get(case)}
        for boxes, among in sets.items():
            chosen = [flip for case, flip in own.items() if among is None or case in among]
            record = Measure(reader=name, measure="cgr", by={"boxes": boxes})
            yield _share(record, sum(chosen), len(chosen))
        for word in sorted({finding[case] for case in own}):
            some = [
                flip for case, flip in own.items() if case in accurate and finding[case] == word
            ]
            record = Measure(reader=name, measure="cgr", by={"boxes": "accurate", "finding": word})
            yield _share(record, sum(some), len(some))
    for reader, flips in people.items():
        family = []
        for model, theirs in entities.items():
            shared = sorted(case for case in accurate if case in flips and case in theirs)
            if not shared:
                continue
            a, b = [theirs[case] for case in shared], [flips[case] for case in shared]
            record = Measure(
                reader=model,
                measure="diff_cgr",
                by={"boxes": "accurate", "versus": reader},
                family=f"cgr of accurate boxes against {reader}",
            )
            family.append(_paired(record, a, b))
        yield from _with_q(family)


def _flips_or_not(answers: Answers) -> dict[str, int]:
    original, under = answers.get(ORIGINAL, {}), answers.get(TARGET, {})
    return {
        case: int(case in under and under[case] != 1)
        for case in sorted(original)
        if original[case] == 1
    }


# ---------------------------------------------------------------- records


def _share(record: Measure, k: int, n: int) -> Measure:
    found = stats.wilson(k, n)
    return _interval(replace(record, k=k), found, Method(kind="wilson"))


def _drawn(record: Measure, values: Sequence[int]) -> Measure:
    found = stats.bootstrap_proportion(values)
    return _interval(replace(record, k=sum(values)), found)


def _interval(record: Measure, found: stats.Interval, how: Method | None = None) -> Measure:
    method = how or Method(kind="bootstrap", of="cases", boot=10_000, seed=0)
    record = replace(record, value=found.point, n=found.n, low=found.low, high=found.high)
    return with_method(record if how else replace(record, sd_boot=found.sd), method)


def _paired(record: Measure, a: Sequence[int], b: Sequence[int]) -> Measure:
    """mean(a) - mean(b) as the authors draw it, ties lost and all."""
    found = stats.paired_bootstrap(a, b, exact_ties=False)
    record = replace(
        record,
        value=found.point,
        n=found.n,
        low=found.low,
        high=found.high,
        sd_boot=found.sd,
        p=found.p,
        beside=(sum(a) / len(a), sum(b) / len(b)),
    )
    return with_method(record, Method(kind="bootstrap", of="cases", boot=10_000, seed=0))


def _with_q(family: Sequence[Measure]) -> list[Measure]:
    adjusted = stats.benjamini_hochberg([nan if one.p is None else one.p for one in family])
    return [replace(one, q=float(q)) for one, q in zip(family, adjusted, strict=True)]


# ---------------------------------------------------------------- beside a run


def of_sheets(tables: Tables, folders: Mapping[str, Path]) -> list[Measure]:
    """Everything the paper's scripts make of filled sheets and of a run's models.

    The first reader named is the reference: models are held against him, and his word on a box
    counts where both rated it.
    """
    import polars as pl

    study = read_sheets(folders)
    cases = tables.cases
    finding = dict(zip(cases["case"], cases["finding"].fill_null(""), strict=True))
    boxed = frozenset(cases.filter(pl.col("source") == "ms_cxr")["case"])
    rows = tables.answers.filter(pl.col("repeat") == 0, pl.col("answer").is_in([0, 1]))
    models: dict[str, dict[str, dict[str, int]]] = {}
    asked = tables.answers.filter(pl.col("image").is_in([ORIGINAL, TARGET, IRRELEVANT]))
    for reader, image in asked.select("reader", "image").unique(maintain_order=True).iter_rows():
        models.setdefault(reader, {})[image] = {}
    for reader, image, case, answer in rows.select("reader", "image", "case", "answer").iter_rows():
        if image in models.get(reader, {}):
            models[reader][image][case] = answer
    reference = next(iter(study.presence), "")
    own = {case: word for case, word in finding.items() if case in boxed}
    return [
        *box_validity(study, finding),
        *reader_rates(study, finding),
        *agreement(study),
        *against_models(reference, study.presence.get(reference, ()), models),
        *failure_modes(study),
        *covered_cgr(study, models, own),
    ]
