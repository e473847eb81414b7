"""The measures of the Med-CMR benchmark, each registered once in `METRICS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from msgspec.structs import replace

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.medcmr import choice_measures, people_measures
from overread.benchmarks.medcmr.cases import MedCase, cases_in
from overread.benchmarks.medcmr.choice_measures import ACCURACY, CHOICE_SPECS
from overread.benchmarks.medcmr.edition import Edition, Options
from overread.benchmarks.medcmr.scores import SCORE_BY_CASE, SCORE_SPECS, score_comparisons
from overread.benchmarks.medcmr.study import (
    MCQ,
    OPEN,
    REFORMULATED,
    Asking,
    Labels,
    Marks,
    Study,
    facts_of,
)
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS
from overread.benchmarks.sentences import unseeing_noted
from overread.benchmarks.similarity import edit_similarity, rouge_l
from overread.case import Measure
from overread.judging.agreement import judge_counts
from overread.judging.checking import CheckedReply, people_said
from overread.judging.fitness import fitness_in, fitness_measures, labels_of, shift_measures
from overread.judging.question import Question
from overread.measuring import specs
from overread.measuring.contrasts import with_q
from overread.measuring.estimates import Estimate, Floats, Mask, Resampling
from overread.measuring.specs import OUTCOMES, PLAIN, Codes, Condition, Counted, Spec, values

# ---------------------------------------------------------------- replies against references
# Leakage: do replies repeat the references word for word? (MEDCMR, "Analyses" 5).

_SIMILARITY: Final[Mapping[str, Callable[[str, str], float | None]]] = {
    "rouge_l": rouge_l,
    "edit_similarity": edit_similarity,
}


class _Compared(NamedTuple):
    """Similarities by item, NaN where there is none; which have a reply, and which no section."""

    values: Mapping[str, Floats]
    said: Mask
    whole: Mask


def _compare(study: Study, marks: Marks, asking: Asking) -> _Compared:
    """Every reply to one asking against the true answer.

    A refusal, a blank reply or none says nothing of what a reader knows by heart: it is left out,
    not 0, or a reader that answers half would look half as leaky. A reply without an Answer
    section is compared whole, whatever the edition.
    """
    truths = study.once(("truths",), lambda: _truths(study))
    rows = study.replies(marks.reader, asking).select("place", "outcome", "text", "answer")
    values = {name: np.full(study.n, np.nan) for name in _SIMILARITY}
    spoke, whole = np.zeros((2, study.n), dtype=bool)
    for place, outcome, text, answer in rows.iter_rows():
        if outcome not in ("answered", "unparsed") or not (text or "").strip():
            continue
        spoke[place] = True
        said = (answer or "").strip() if study.edition.leakage == "answer" else text
        whole[place] = not said
        for name, similarity in _SIMILARITY.items():
            found = similarity(said or text, truths[place])
            values[name][place] = np.nan if found is None else found
    return _Compared(values, spoke, whole)


def _truths(study: Study) -> dict[int, str]:
    """The true answers in words, by place, of what was asked openly."""
    openly = np.zeros(study.n, dtype=bool)
    for marks in study.marks:
        for asking, said in marks.said.items():
            openly |= said.rows & (asking.form != MCQ.form)
    places = {study.facts.cases[place]: int(place) for place in np.flatnonzero(openly)}
    items = study.tables.scan("cases").filter(pl.col("case").is_in(list(places))).collect()
    return {places[name]: case.truth for name, case in cases_in(items).items()}


def _conditions(study: Study, marks: Marks) -> list[Condition]:
    asked: list[Condition] = [{"kind": one.form} for one in marks.plainly if one != MCQ]
    return [PLAIN, *asked] if asked else []


def _similarity_of(name: str, study: Study, marks: Marks, condition: Condition) -> Counted:
    """How alike each reply and its reference are; both kinds together where none is named."""
    forms = [condition["kind"]] if condition else [OPEN.form, REFORMULATED.form]
    value = np.full(study.n, np.nan)
    population, whole = np.zeros(study.n, dtype=bool), 0
    why: Codes = np.zeros(study.n, dtype=np.int8)
    for asking in map(Asking, forms):
        if asking not in marks.said:
            continue
        make = partial(_compare, study, marks, asking)
        found = study.at_hand(marks.reader, ("leakage", asking), make)
        # An item is of one kind, so at most one of these has a number for it.
        value = np.fmax(value, found.values[name])
        asked = marks.asked(asking)
        refused = marks.said[asking].had("refused")
        silent = np.where(refused, OUTCOMES.index("refused"), OUTCOMES.index("unanswered"))
        why = np.where(asked & ~found.said, silent, why).astype(np.int8)
        population |= asked
        whole += int(found.whole.sum())
    remark = f"{whole} without an answer section compared whole" if whole else ""
    return Counted(value, population, why, remark=remark)


_SAYS: Final = {
    "rouge_l": "words of the reply that stand in the reference in order, as an F-score",
    "edit_similarity": "1 - edit distance of reply and reference over the longer",
}
LEAKAGE_SPECS: Final = tuple(
    Spec(
        name=name,
        says=says,
        of=partial(_similarity_of, name),
        conditions=_conditions,
        estimate=specs.MEAN_OF_CASES,
        better=None,
    )
    for name, says in _SAYS.items()
)


# ---------------------------------------------------------------- size
# Does size help? Correlation of scores with log parameters over readers ("Analyses" 6).

_LEAST: Final = 3
# What is set beside size; the first also by dimension.
_OF: Final = ("accuracy", "accuracy_macro", *COMPONENTS, "score", "score_macro")


def scale_measures(records: Sequence[Measure], readers: Sequence[ReaderRecord]) -> list[Measure]:
    """`r` and `rho` of each score with the logarithm of the parameters, over readers.

    Readers count that declare `params_b` and have the score. None where nobody declares it. `r` is
    Pearson's with Fisher's interval, `rho` Spearman's with its permutation p.
    """
    sizes = {one.name: one.params_b for one in readers if one.params_b and one.params_b > 0}
    if not sizes:
        return []
    found: dict[tuple[str, str], dict[str, float]] = {}
    for record in records:
        each = list(record.by) == ["dimension"] and record.measure == _OF[0]
        if each or (not record.by and record.measure in _OF):
            group = found.setdefault((record.measure, record.by.get("dimension", "")), {})
            if record.value is not None and record.reader in sizes:
                group[record.reader] = record.value
    order = sorted(found, key=lambda key: (bool(key[1]), _OF.index(key[0])))
    return [made for key in order for made in _correlations(*key, found[key], sizes)]


def _correlations(
    of: str, dimension: str, values: Mapping[str, float], sizes: Mapping[str, float]
) -> Iterator[Measure]:
    from overread.stats import fisher_interval, pearson, spearman, spearman_exact_p

    names = [name for name in sizes if name in values]
    size, score = [sizes[name] for name in names], [values[name] for name in names]
    r = pearson([math.log(one) for one in size], score) if len(names) >= _LEAST else None
    by = {"of": of, "with": "log_params", **({"dimension": dimension} if dimension else {})}
    started = Measure(reader="", measure="r", by=by, n=len(names))
    if r is None:
        few = f"needs {_LEAST} models with params_b and this score"
        why = few if len(names) < _LEAST else "sizes or scores do not vary"
        yield from (replace(started, measure=measure, note=why) for measure in ("r", "rho"))
        return
    if (bounds := fisher_interval(r, len(names))) is None:
        why = "no interval: needs 4 models that are not on one line"
        yield replace(started, value=r, note=why)
    else:
        yield replace(started, value=r, low=bounds[0], high=bounds[1], method="fisher z")
    # Sizes themselves: their order is that of their logarithms.
    p, how = spearman_exact_p(size, score)
    family = "size by dimension" if dimension else "size"
    rho = replace(started, measure="rho", value=spearman(size, score), p=p, family=family)
    yield replace(rho, method=f"p: {how}")


# ---------------------------------------------------------------- all measures

SPECS: Final = (*CHOICE_SPECS, *SCORE_SPECS, *LEAKAGE_SPECS)
"""Every measure of a reader, in the order of its records."""
METRICS: Final = specs.named(SPECS)


def measure(
    tables: Tables,
    verdicts: pl.DataFrame | None,
    edition: Edition,
    options: Options | None = None,
    *,
    labels: Labels | None = None,
    people: Mapping[CheckedReply, str] | None = None,
) -> list[Measure]:
    """Every registered measure of every reader, the readers against each other, and what stands
    beside them: chance, alignment with people, labelled errors, size.

    `verdicts` have the columns of `VERDICT_COLUMNS`, read under this edition. `labels` say what a
    judge's verdicts on a question are worth, where fitness was tested. `people` is what they said
    of replies that judges had scored.
    """
    chosen = options or Options()
    study = Study(tables, verdicts, edition, chosen, labels)
    records = study.finish(_made(study))
    records.extend(scale_measures(records, tables.readers))
    records.extend(people_measures.alignment_measures(study, tables, chosen))
    records.extend(people_measures.error_measures(study, tables, chosen))
    if people and study.robust:
        records.extend(people_measures.checked_scores(study, records, people))
    return with_q(records)


def measure_run(
    tables: Tables, edition: Edition, options: Options, questions: Sequence[Question]
) -> list[Measure]:
    """All measures of a run, with what its judges are worth beside every judged number."""
    if (verdicts := tables.verdicts) is None:
        records = measure(tables, None, edition, options)
        return unseeing_noted(records, tables.readers, "unanswered_rate")
    judged = verdicts.filter(~verdicts["check"])
    # What needs the items with their texts is worked out before they are let go.
    cases = tables.scan("cases")
    about = pl.col("case").is_in(verdicts["case"].unique().implode())
    known = cases_in(cases.filter(about).collect())
    found = fitness_in(questions, verdicts, known)
    labels = labels_of(questions, judged, found)
    answers = tables.scan("answers")
    people = people_said(options.sheets("people"), questions, COMPONENTS, known, answers)
    of_judges = [
        *fitness_measures(found),
        *shift_measures(questions, verdicts, known),
        *agreement_measures(cases, judged, edition, questions, known),
    ]
    del known
    records = measure(tables, judged, edition, options, labels=labels, people=people)
    return [*unseeing_noted(records, tables.readers, "unanswered_rate"), *of_judges]


def agreement_measures(
    cases: pl.DataFrame | pl.LazyFrame,
    verdicts: pl.DataFrame,
    edition: Edition,
    questions: Sequence[Question],
    known: Mapping[str, MedCase],
) -> Iterator[Measure]:
    """`judge_agreement` and `judge_kappa` of each pair of judges at each score, and by dimension.

    Of replies with the item's own image alone: those without it are other replies to the same
    items. Replies to one item (to items of one image) are resampled together.
    """
    if verdicts["judge"].n_unique() < 2:
        return
    facts = facts_of(cases, edition.clusters)
    at = {case: place for place, case in enumerate(facts.cases)}
    counts = judge_counts(
        questions,
        verdicts,
        known,
        groups=dict(zip(facts.cases, facts.columns["dimension"].tolist(), strict=True)),
        grouped_by="dimension",
        among=lambda about: bool(about["image"] == "original"),
    )
    pairs = sorted((one for pair in counts for one in pair), key=lambda one: one.judges)
    for _, group in groupby(pairs, key=lambda one: one.judges):
        own = list(group)
        clusters = facts.clusters[[at[case] for case in own[0].cases]]
        drawn = Resampling(clusters, boot=edition.boot, seed=edition.seed, robust=edition.robust)
        yield from drawn.finish(own)


def _made(study: Study) -> Iterator[Estimate | Measure]:
    yield from choice_measures.chance(study)
    # What was declared of a reader's size, in billions of parameters.
    for reader in study.declared:
        if reader.params_b is not None:
            yield Measure(reader=reader.name, measure="params_b", value=reader.params_b)
    for marks in study.marks:
        for spec in SPECS:
            yield from specs.made_by(study, marks, spec)
    yield from specs.contrasts_of(study, study.marks, ACCURACY)
    yield from choice_measures.gained_and_lost(study)
    yield from score_comparisons(study)


# ---------------------------------------------------------------- values by case

COMPARED: Final = (ACCURACY, SCORE_BY_CASE)
"""What readers are compared by, item by item."""


def per_case(tables: Tables, edition: Edition, options: Options) -> dict[str, pl.DataFrame]:
    """Frames of reader, case, cluster and value, of those of `COMPARED` that were asked.

    `accuracy`: whether the right option was named (1 or 0), a row for each multiple-choice item;
    whatever names none is 0. `score`: S of an open answer, from 0 to 1, the mean of the judges that
    all readers have in common; a refusal and no reply are 0, what no judge could be read on has no
    row. So the mean of a reader's values is the measure itself, S where all have the same judges.
    The cluster is the item, or the first by name of those resampled with it (shared images or
    patients), under the edition's rule for clusters.
    """
    study = Study(tables, tables.verdicts, edition, options)
    first: dict[int, str] = {}
    for case, code in zip(study.cases, study.clusters.tolist(), strict=True):
        first[code] = min(first.get(code, case), case)
    clusters = [f"item:{first[code]}" for code in study.clusters.tolist()]
    found = values(study, study.marks, COMPARED, clusters)
    return {name: frame for name, frame in found.items() if frame.height}
