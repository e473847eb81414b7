"""What people's answers come to: shares, agreement, a reader against himself, people and models.

Cases of one patient are counted together throughout. Rates of people are those that the benchmark
measures of any reader; here is what only a study has: forms, pairs of readers, repeats, and models
against several readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import nan, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from overread import stats
from overread.benchmarks.people import CANNOT_TELL, Ask
from overread.case import BadInput, Measure, Method, Published
from overread.measuring.contrasts import held_to_margin, paired
from overread.measuring.notes import FEW_CLUSTERS, noted, remarked, with_method
from overread.study.journal import Given
from overread.study.packets import Key, Opened

if TYPE_CHECKING:
    import polars as pl

_ONE_PATIENT = "no interval: the cases are one patient's"
PEOPLE = "readers"
"""What a difference to all readers together is `versus`."""


class Reading(NamedTuple):
    """One answer and what it is about; `task` is the kind, numbered where there are several."""

    reader: str
    task: str
    key: Key
    ask: Ask
    value: str


def readings_of(study: Opened, answers: Iterable[Given], key: Mapping[str, Key]) -> list[Reading]:
    """Every answer that counts: no practice, nothing left empty, no notes."""
    found = []
    kinds = [task.kind for task in study.design.task]
    names = {
        number: kind if kinds.count(kind) == 1 else f"{kind}-{number}"
        for number, kind in enumerate(kinds, 1)
    }
    for one in answers:
        if one.display not in key:
            raise BadInput(
                f"{study.folder}: answers are of display {one.display}, and this study has none "
                "such. Are they of another?"
            )
        shown = key[one.display]
        asks = {ask.name: ask for ask in study.displays[one.display].asks}
        if one.value and not shown.training and one.question in asks:
            task = names.get(shown.task, shown.kind)
            found.append(Reading(one.reader, task, shown, asks[one.question], one.value))
    return sorted(found, key=lambda r: (r.reader, r.key.task, r.key.case, r.key.condition))


# ---------------------------------------------------------------- forms


def form_shares(readings: Sequence[Reading]) -> Iterator[Measure]:
    """How often each answer to a choice was given: of each reader, overall and by what is known.

    Of several options that are chosen together each has a share of its own. Where displays offer
    different answers, an answer's share is of those that offer it.

    Groups are the finding, and the model where a display was about one; of a form the condition,
    where it has several. Whoever could not tell counts among all. Questions that models are asked
    too are measured as models are.
    """
    chosen = [
        one
        for one in readings
        if not one.key.iteration
        and (
            one.ask.kind in ("choice", "several")
            or (one.ask.kind == "yesno" and not one.key.request)
            # Elsewhere a scale says how sure somebody was of his answer.
            or (one.ask.kind == "scale" and one.key.kind == "form")
        )
    ]
    for reader, task, question in sorted({(r.reader, r.task, r.ask.name) for r in chosen}):
        own = [
            one
            for one in chosen
            if (one.reader, one.task, one.ask.name) == (reader, task, question)
        ]
        groups: dict[tuple[tuple[str, str], ...], list[Reading]] = {(): own}
        for fact in ("finding", "model"):
            for one in own:
                if one.key.facts.get(fact):
                    groups.setdefault(((fact, one.key.facts[fact]),), []).append(one)
        if len({one.key.condition for one in own if one.key.kind == "form"}) > 1:
            for one in own:
                groups.setdefault((("condition", one.key.condition),), []).append(one)
        for by, some in groups.items():
            for word in _words(own):
                offered = [one for one in some if word in _offered(one)]
                if not offered:
                    continue
                record = Measure(
                    reader=reader,
                    measure=f"{task}_{question}",
                    by={"answer": word, **dict(by)},
                )
                hits = [word in one.value.split("\n") for one in offered]
                yield _share(record, hits, _patients(offered))


def _offered(one: Reading) -> tuple[str, ...]:
    return one.ask.answers or one.ask.options


def _words(some: Sequence[Reading]) -> list[str]:
    """The answers of a question, of which not every display need offer all.

    What one display of many offers alone, as an item's own options, has no share worth the name.
    """
    offered = Counter(
        word for ask in {one.key.display: one for one in some}.values() for word in _offered(ask)
    )
    alone = len({one.key.display for one in some}) == 1
    return [word for word, count in offered.items() if count > 1 or alone]


# ---------------------------------------------------------------- agreement


def agreements(readings: Sequence[Reading]) -> Iterator[Measure]:
    """How far every two readers agree on what both answered, and each with himself.

    `agreement` is the share of displays with the same answer; `kappa` Cohen's; of a scale
    `kappa_weighted`, quadratic, on all of its levels [D27]. A ranking is compared pair by pair of
    what is ranked: which of the two is better, or neither. Of several options chosen, `agreement`
    is the share of displays with the same. Intervals are the jackknife's by patient. Who could not
    tell has answered so.
    """
    for task, question in sorted({(r.task, r.ask.name) for r in readings}):
        own = [
            one
            for one in readings
            if (one.task, one.ask.name) == (task, question)
            and one.ask.kind in ("yesno", "choice", "scale", "several", "ranking")
        ]
        first: dict[str, dict[tuple[str, str], Reading]] = {}
        again: dict[str, dict[tuple[str, str], Reading]] = {}
        for one in own:
            times = again if one.key.iteration else first
            times.setdefault(one.reader, {})[one.key.case, one.key.condition] = one
        by = {"task": task, "question": question}
        for one_reader, other in combinations(sorted(first), 2):
            yield from _agreement(
                one_reader, {**by, "versus": other}, first[one_reader], first[other]
            )
        for reader in sorted(again):
            yield from _agreement(
                reader, {**by, "versus": "himself"}, first.get(reader, {}), again[reader]
            )


def _agreement(
    reader: str,
    by: dict[str, str],
    one: Mapping[tuple[str, str], Reading],
    other: Mapping[tuple[str, str], Reading],
) -> Iterator[Measure]:
    shared = [(one[place], other[place]) for place in one if place in other]
    if not shared:
        return
    said = [
        (first.key.patient, a, b)
        for first, second in shared
        for a, b in zip(_compared(first), _compared(second), strict=True)
    ]
    patients = [patient for patient, _, _ in said]
    a, b = (np.array([one[at] for one in said]) for at in (1, 2))
    yield _share(Measure(reader=reader, measure="agreement", by=by), a == b, patients)
    ask = shared[0][0].ask
    if ask.kind == "several":
        return
    weighted = ask.kind == "scale"
    # Displays need not offer the same: letters, as many as an item has options.
    known = dict.fromkeys(word for pair in shared for one in pair for word in one.ask.answers)
    words = {word: at for at, word in enumerate(known or ("<", "=", ">"))}
    x, y = (np.array([words.get(str(word), -1) for word in some]) for some in (a, b))

    def kappa(keep: np.ndarray) -> float:
        if weighted:
            found = stats.weighted_kappa(x[keep], y[keep], range(len(words)))
        else:
            found = stats.cohen_kappa(x[keep], y[keep])
        return nan if found is None else found

    name = "kappa_weighted" if weighted else "kappa"
    yield _jackknifed(Measure(reader=reader, measure=name, by=by, n=len(said)), kappa, patients)


def _compared(one: Reading) -> list[str]:
    """What of an answer is held against another's: of a ranking, how each pair stands."""
    if one.ask.kind != "ranking":
        return [one.value]
    ranks = one.ask.ranks(one.value)
    pairs = combinations(one.ask.options, 2)
    return ["<=>"[1 + (ranks[a] > ranks[b]) - (ranks[a] < ranks[b])] for a, b in pairs]


def _jackknifed(record: Measure, merit, patients: Sequence[str]) -> Measure:  # type: ignore[no-untyped-def]
    """A smooth figure with Student's interval by the jackknife over patients, within [-1, 1]."""
    from scipy import stats as tests

    whole, parts = stats.jackknifed(merit, patients)
    value = None if np.isnan(whole) else float(whole)
    count = len(parts)
    record = replace(record, value=value)
    if value is None:
        return remarked(record, "both gave one answer only")
    if count < 2 or np.isnan(parts).any():
        return remarked(record, "no interval: undefined without one of the patients")
    se = sqrt((count - 1) / count * float(((parts - parts.mean()) ** 2).sum()))
    if se <= 0:
        return remarked(record, "no interval: every patient agrees alike")
    reach = float(tests.t.ppf(0.975, count - 1)) * se
    record = replace(record, se=se, low=max(-1.0, value - reach), high=min(1.0, value + reach))
    record = with_method(record, Method(kind="jackknife", of="patients", t=count - 1))
    return noted(record, FEW_CLUSTERS) if stats.stands_on_few(patients) else record


# ---------------------------------------------------------------- readers under two conditions


def conditions_apart(readings: Sequence[Reading], margin: float | None = None) -> list[Measure]:
    """`diff_right`: right answers under each further condition minus those under the first.

    Right is the answer that is true of the case as it was, before anything was hidden. Conditions
    stand in the order of the alphabet, `original` first where there is one; `versus` is the first.
    Only cases that a reader decided under both; for all readers together those that all did, by the
    analysis of Obuchowski, Rockette and Hillis for readers and cases like these (three readers or
    more). q is within each condition, of readers, and of all of them together within the
    conditions. With a `margin`, whether readers are not worse by more than that.
    """
    own = [one for one in readings if one.ask.name == "answer" and one.key.truth in ("yes", "no")]
    found: list[Measure] = []
    for task in sorted({one.task for one in own}):
        right = {
            (one.reader, one.key.condition, one.key.case): float(one.value == one.key.truth)
            for one in own
            if one.task == task and not one.key.iteration and one.value != CANNOT_TELL
        }
        patients = {one.key.case: one.key.patient for one in own}
        names = sorted({name for _, name, _ in right}, key=lambda name: (name != "original", name))
        readers = sorted({reader for reader, _, _ in right})
        cases = sorted({case for _, _, case in right})
        owners = stats.counted_from_zero(np.array([patients[case] for case in cases]))
        table = np.array(
            [[[right.get((r, c, case), nan) for case in cases] for r in readers] for c in names]
        )
        of_each: list[Measure] = []
        of_all: list[Measure] = []
        for at, name in enumerate(names[1:], 1):
            by = {"task": task, "condition": name, "versus": names[0]}
            family = f"right under {name} against {names[0]}"
            alone = [
                paired(
                    Measure(reader=reader, measure="diff_right", by=by),
                    table[at, number],
                    table[0, number],
                    owners,
                    family=family,
                )
                for number, reader in enumerate(readers)
            ]
            of_each += _with_q(alone)
            family = f"{task}: all readers, right against {names[0]}"
            record = Measure(reader=PEOPLE, measure="diff_right", by=by, family=family)
            together = _under_both(record, table[[0, at]], owners)
            of_all += [] if together is None else [together]
        some = [*of_each, *_with_q(of_all)]
        if margin is not None:
            some = [held_to_margin(one, margin, higher=True) for one in some]
        found += some
    return found


def _under_both(record: Measure, table: np.ndarray, owners: np.ndarray) -> Measure | None:
    """ORH of readers under two conditions, over the cases that all of them decided under both."""
    readers = table.shape[1]
    if readers < stats.LEAST_READERS:
        return None
    whole = ~np.isnan(table).any(axis=(0, 1))
    if not whole.any():
        return None
    table, owners = table[..., whole], owners[whole]
    figures = table.mean(axis=-1)
    beside = float(figures[1].mean()), float(figures[0].mean())
    record = replace(record, n=int(whole.sum()), beside=beside, value=beside[0] - beside[1])
    if _is_one(owners):
        return remarked(record, _ONE_PATIENT)
    figures, parts = stats.jackknifed(lambda keep: table[..., keep].mean(axis=-1), owners)
    apart = (table[1] - table[0]).mean(axis=0)
    return _by_orh(record, stats.conditions_apart(figures, parts), owners, apart)


def _by_orh(
    record: Measure, found: stats.MultiReader | None, owners: np.ndarray, apart: np.ndarray
) -> Measure:
    """A record of what was found; `apart` is what each case adds to it, on the readers' average."""
    if found is None:
        return remarked(record, "no interval: neither readers nor cases say how far it may vary")
    ours = {"se": found.se, "low": found.low, "high": found.high, "p": found.p}
    record = replace(record, value=found.effect, against=0.0, **ours)
    theirs = found.published
    published = Published(t=_finite(theirs.df), low=theirs.low, high=theirs.high, p=theirs.p)
    df = round(found.df) if np.isfinite(found.df) else None
    of = f"{found.readers} readers"
    record = with_method(record, Method(kind="orh", of=of, t=df, published=published))
    # Ten readers have nine degrees of freedom.
    few = found.df < stats.FEW or stats.stands_on_few(owners, apart)
    # Where they have no end the readers came out alike, and patients alone say how far it varies:
    # less than it does, for the readers are not alike. Of three readers and 11 to 30 patients such
    # a difference, where there was none, was found in 6 to 15 of 100 studies, and any in 2 to 5.
    few = few or (np.isinf(found.df) and stats.worth_in_clusters(owners) <= 3 * stats.FEW)
    return noted(record, FEW_CLUSTERS) if few else record


def _is_one(owners: np.ndarray) -> bool:
    """Whether all cases are one patient's: without him there is no figure at all."""
    return bool((owners == owners[0]).all())


def _finite(df: float) -> float | None:
    return df if np.isfinite(df) else None


# ---------------------------------------------------------------- people and models


def differences(
    values: Mapping[str, pl.DataFrame],
    people: Sequence[str],
    margin: float | None = None,
    higher_is_better: Mapping[str, bool] = {},
    shares: Container[str] = (),
) -> list[Measure]:
    """Each model minus each reader, on the same cases; and minus all readers together.

    `values` has for each measure the columns reader, case, cluster and value. Against all readers
    together stands the analysis of Obuchowski, Rockette and Hillis, for readers and cases like
    these; with fewer than three readers nothing is said of others, and `versus` names each alone. q
    is within each measure, of single readers and of all of them apart. With a `margin` each says
    whether the model is not worse by more than that, which way worse is being the measure's.
    """
    found: list[Measure] = []
    for measure, frame in values.items():
        wide = frame.pivot(
            "reader", index=["case", "cluster"], values="value", aggregate_function="first"
        )
        clusters = (
            stats.counted_from_zero(wide["cluster"].cast(str).to_numpy()) if wide.height else None
        )
        if clusters is None:
            continue
        columns = {
            name: wide[name].cast(float).fill_null(nan).to_numpy()
            for name in wide.columns
            if name not in ("case", "cluster")
        }
        readers = [name for name in people if name in columns]
        models = [name for name in columns if name not in people]
        alone, together = [], []
        for model in models:
            for reader in readers:
                record = Measure(reader=model, measure=f"diff_{measure}", by={"versus": reader})
                one, other = columns[model], columns[reader]
                family = f"{measure}: models against readers"
                alone.append(paired(record, one, other, clusters, family=family))
            record = Measure(
                reader=model,
                measure=f"diff_{measure}",
                by={"versus": PEOPLE},
                family=f"{measure}: models against all readers",
            )
            bounds = stats.SHARES if measure in shares else None
            of_all = _against_all(record, columns, model, readers, clusters, bounds)
            together += [] if of_all is None else [of_all]
        own = [*_with_q(alone), *_with_q(together)]
        if margin is not None:
            higher = higher_is_better.get(measure)
            own = [held_to_margin(one, margin, higher=higher) for one in own]
        found += own
    return found


def _against_all(
    record: Measure,
    columns: Mapping[str, np.ndarray],
    model: str,
    readers: Sequence[str],
    clusters: np.ndarray,
    bounds: tuple[float, float] | None,
) -> Measure | None:
    """ORH of a model against these readers, over the cases that all of them and it decide."""
    if len(readers) < stats.LEAST_READERS:
        return None
    table = np.stack([columns[name] for name in (model, *readers)])
    whole = ~np.isnan(table).any(axis=0)
    if not whole.any():
        return None
    table, owners = table[:, whole], clusters[whole]
    figures = table.mean(axis=1)
    beside = float(figures[0]), float(figures[1:].mean())
    record = replace(record, n=int(whole.sum()), beside=beside, value=beside[0] - beside[1])
    if _is_one(owners):
        return remarked(record, _ONE_PATIENT)
    figures, parts = stats.jackknifed(lambda keep: table[:, keep].mean(axis=1), owners)
    found = stats.model_against_readers(
        float(figures[0]), figures[1:], parts[:, 0], parts[:, 1:], bounds=bounds
    )
    return _by_orh(record, found, owners, table[0] - table[1:].mean(axis=0))


def _with_q(family: Sequence[Measure]) -> list[Measure]:
    if not family:
        return []
    adjusted = stats.benjamini_hochberg([nan if one.p is None else one.p for one in family])
    return [
        one if one.p is None else replace(one, q=float(q))
        for one, q in zip(family, adjusted, strict=True)
    ]


def _share(record: Measure, hits: Iterable[bool], patients: Sequence[str]) -> Measure:
    marks = np.array(list(hits), dtype=int)
    found, effect = stats.clustered_share(marks, np.array(patients))
    record = replace(
        record, value=found.point, n=found.n, k=int(marks.sum()), low=found.low, high=found.high
    )
    record = with_method(record, Method(kind="wilson", effect=effect))
    return noted(record, FEW_CLUSTERS) if stats.stands_on_few(np.array(patients), marks) else record


def _patients(some: Sequence[Reading]) -> list[str]:
    return [one.key.patient for one in some]


def cannot_tell(readings: Sequence[Reading]) -> dict[str, int]:
    """How often each reader could not tell."""
    found: dict[str, int] = {}
    for one in readings:
        if one.value == CANNOT_TELL:
            found[one.reader] = found.get(one.reader, 0) + 1
    return found
