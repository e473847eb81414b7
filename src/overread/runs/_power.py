"""How many cases, and patients, a claim needs: from declared rates, or from a pilot run's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from overread.benchmarks import registry
from overread.case import BadInput
from overread.runs._kept import Kept, kept_runs

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Benchmark

Claim: TypeAlias = Literal["half-width", "apart", "not inferior", "equivalent"]
_POWERS: Final = (0.8, 0.9)
# Cases a patient that are told of beside what was asked for.
_EACH: Final = (1, 2, 5)
_MOST_EACH: Final = 10_000
_SAY: Final = (
    "say what is to be shown: --rate P --half-width H, or --rates P1,P2, with --margin X for "
    "non-inferiority, or --category uses --uses U; or name a --pilot run."
)
# What says nothing beside an option; and what one says nothing without.
_NOT_BESIDE: Final = {
    "half_width": ("rates", "margin", "both_sides", "discordant", "power"),
    "pilot": ("per_patient", "alike", "uses", "flips"),
    "word": ("half_width", "rates", "discordant", "both_sides", "measure"),
}
_NEEDS: Final = {
    "rate": (("half_width", "word"), "two readers have --rates P1,P2"),
    "half_width": (("rate", "pilot"), "about which share"),
    "both_sides": (("margin",), "within how much are two equivalent"),
    "margin": (("rates", "pilot", "word"), "of which two readers"),
    "discordant": (("rates", "pilot"), "of which two readers"),
    "power": (("rates", "pilot", "word"), "to show what"),
    "word": (("uses", "flips", "pilot"), "of a reader that does what"),
    "uses": (("word",), "to reach which word"),
    "flips": (("word",), "to reach which word"),
    "of_readers": (("word",), "Holm's correction is that of a category"),
    "alike": (("per_patient",), "how many cases does a patient have"),
    "measure": (("pilot",), "of which run"),
    "readers": (("pilot",), "of which run"),
}


class Clustering(NamedTuple):
    """Cases a patient, and by how much more of them are needed for it (the design effect)."""

    per_patient: float = 1.0
    effect: float = 1.0


class Needed(msgspec.Struct, frozen=True):
    """Cases and patients needed; `power` None of an interval's width, which has none."""

    per_patient: float
    effect: float
    power: float | None
    cases: int
    patients: int


class Pilot(msgspec.Struct, frozen=True, kw_only=True):
    """What a pilot run says of one reader's share, or of two readers' on their common cases."""

    run: str
    measure: str
    readers: tuple[str, ...]
    rates: tuple[float, ...]
    discordant: float | None
    cases: int
    patients: int
    effect: float


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, what it needs, and what other powers and clusterings would.

    `goal` is the half-width or the margin; `discordant` the share of cases that only one of two
    readers has right, None where they are taken to err independently. Where a word that a reader
    is given is claimed, `rates` has the share of cases that count for it, and `behaviour` what the
    reader does with them.
    """

    claim: str
    rates: tuple[float, ...]
    goal: float | None
    discordant: float | None
    pilot: Pilot | None
    behaviour: Any = None
    of_readers: int = 1
    notes: tuple[str, ...] = ()
    needed: Needed
    others: tuple[Needed, ...]
    sentence: str


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `power`, which are the options of the command."""

    rate: float | None
    half_width: float | None
    rates: tuple[float, float] | None
    discordant: float | None
    margin: float | None
    both_sides: bool
    power: float | None
    per_patient: int | None
    alike: float | None
    pilot: str | Path | None
    measure: str | None
    readers: tuple[str, ...]
    word: str | None
    uses: float | None
    flips: float | None
    of_readers: int | None

    @property
    def claim(self) -> Claim:
        if self.half_width is not None:
            return "half-width"
        if self.margin is None:
            return "apart"
        return "equivalent" if self.both_sides else "not inferior"

    @property
    def goal(self) -> float | None:
        return self.margin if self.half_width is None else self.half_width


def power(
    *,
    rate: float | None = None,
    half_width: float | None = None,
    rates: tuple[float, float] | None = None,
    discordant: float | None = None,
    margin: float | None = None,
    both_sides: bool = False,
    power: float | None = None,
    per_patient: int | None = None,
    alike: float | None = None,
    pilot: str | Path | None = None,
    measure: str | None = None,
    readers: Sequence[str] = (),
    word: str | None = None,
    uses: float | None = None,
    flips: float | None = None,
    of_readers: int | None = None,
) -> Power:
    """The cases, and patients, that a claim needs.

    An interval of `half_width` about a `rate`; two readers of these `rates` told apart; or, with a
    `margin`, the first shown to be no worse than the second by as much (`both_sides`: nor better).
    Cases of one patient, `per_patient` of them, correlate by `alike` (one half where it is not
    said). A `pilot` run has what is not given: rates, how often only one reader is right, and the
    design effect of its patients.

    With a `word`, "uses" or "ignores", the cases at which a reader is said to do that with the
    image: one that `uses` a share of the images and by chance `flips` a share of its answers, of a
    run of so many readers (`of_readers`). `rate` is then the share of cases that count.

    Examples
    --------
    >>> power(rate=0.8, half_width=0.05, per_patient=2, alike=1.0).sentence
    '489 cases (245 patients with 2 each): the 95 % interval of a share of 80 % is 10 points wide.'
    """
    asked = _Asked(**(locals() | {"readers": tuple(readers)}))
    _check(asked)
    _check_together(asked)
    if word is not None:
        return _of_word(asked)
    found = None if pilot is None else _piloted(asked)
    used = rates or (() if rate is None else (rate,)) or (() if found is None else found.rates)
    apart = found.discordant if discordant is None and found is not None else discordant
    cases_of = _cases_of(asked.claim, used, asked.goal, apart)
    needed, others = _needed(asked, found, cases_of)
    return Power(
        claim=asked.claim,
        rates=used,
        goal=asked.goal,
        discordant=apart,
        pilot=found,
        needed=needed,
        others=others,
        sentence=_sentence(asked.claim, used, asked.goal, needed),
    )


def _needed(
    asked: _Asked, found: Pilot | None, cases_of: Callable[[Clustering, float | None], Needed]
) -> tuple[Needed, tuple[Needed, ...]]:
    """What was asked for, and what other powers and patients would need."""
    wished = None if asked.claim == "half-width" else asked.power or _POWERS[0]
    powers = (None,) if wished is None else tuple(sorted({*_POWERS, wished}))
    if found is None:
        own = _clustering(asked.per_patient or 1, asked.alike)
        several = {own, *(_clustering(each, asked.alike) for each in _EACH)}
    else:
        own = Clustering(found.cases / found.patients, found.effect)
        several = {own, Clustering()}
    others = tuple(cases_of(one, at) for one in sorted(several) for at in powers)
    return cases_of(own, wished), others


def _clustering(each: int, alike: float | None) -> Clustering:
    from overread.stats import USUAL

    return Clustering(float(each), 1 + (each - 1) * (USUAL if alike is None else alike))


# ---------------------------------------------------------------- what was asked for


def _check(asked: _Asked) -> None:
    """Every number within what it can be; NaN is within nothing."""
    if asked.of_readers is not None and not 1 <= asked.of_readers <= _MOST_EACH:
        raise BadInput(
            f"--readers {asked.of_readers}: give the readers of the run that see a picture, 1 to "
            f"{_MOST_EACH:,}."
        )
    shares = [("--rate", asked.rate), ("--discordant", asked.discordant), ("--alike", asked.alike)]
    shares += [("--uses", asked.uses), ("--flips", asked.flips)]
    for option, value in (*shares, *(("--rates", one) for one in asked.rates or ())):
        if value is not None and not 0 <= value <= 1:
            raise BadInput(f"{option} {value:g}: give a share from 0 to 1, as 0.8.")
    for option, value in (("--half-width", asked.half_width), ("--margin", asked.margin)):
        if value is not None and not 0 < value < 1:
            raise BadInput(f"{option} {value:g}: give a share above 0, below 1, as 0.05.")
    if asked.power is not None and not 0.5 <= asked.power < 1:
        raise BadInput(f"--power {asked.power:g}: give 0.5 or more, below 1, as 0.8 or 0.9.")
    if asked.per_patient is not None and not 1 <= asked.per_patient <= _MOST_EACH:
        raise BadInput(
            f"--per-patient {asked.per_patient}: give the cases of a patient, 1 to {_MOST_EACH:,}."
        )


def _check_together(asked: _Asked) -> None:
    """What was given is all that the claim needs, and nothing that says nothing about it."""
    given = {
        name
        for name in asked.__struct_fields__
        if (value := getattr(asked, name)) is not None and value is not False and value != ()
    }
    for one, others in _NOT_BESIDE.items():
        for other in others:
            if {one, other} <= given:
                raise BadInput(f"{_option(other)} does not go with {_option(one)}. Leave one out.")
    for one, (others, why) in _NEEDS.items():
        if one in given and given.isdisjoint(others):
            raise BadInput(f"{_option(one)} needs {' or '.join(map(_option, others))}: {why}.")
    if given.isdisjoint(("half_width", "rates", "pilot", "word")):
        raise BadInput(_SAY)


def _option(name: str) -> str:
    odd = {"readers": "--reader", "of_readers": "--readers", "word": "--category"}
    return odd.get(name) or f"--{name.replace('_', '-')}"


# ---------------------------------------------------------------- what it needs


def _cases_of(
    claim: Claim, rates: tuple[float, ...], goal: float | None, discordant: float | None
) -> Callable[[Clustering, float | None], Needed]:
    """The cases that a claim needs, as a function of the patients and the power."""
    from overread import stats

    first, second = rates[0], rates[-1]
    low, high = stats.discordant_limits(first, second)
    if discordant is not None and not low - 1e-9 <= discordant <= high + 1e-9:
        raise BadInput(
            f"--discordant {discordant:.4g}: readers of {first:.4g} and {second:.4g} differ in "
            f"{low:.4g} to {high:.4g} of cases. Give one between, or other --rates."
        )

    def cases(effect: float, power: float) -> int | None:
        how = {"power": power, "effect": effect}
        if claim == "half-width":
            return stats.cases_for_half_width(first, goal or 0.0, effect=effect)
        if claim == "apart":
            return stats.cases_to_tell_apart(first, second, discordant=discordant, **how)
        both = claim == "equivalent"
        return stats.cases_within_margin(
            first, second, goal or 0.0, discordant=discordant, both_sides=both, **how
        )

    def needed(of: Clustering, power: float | None) -> Needed:
        found = cases(of.effect, power or _POWERS[0])
        if found is None:
            raise BadInput(_why_none(claim, rates, goal))
        if claim == "apart":  # all cases of a patient change signs together
            found = max(found, math.ceil(stats.LEAST_DISCORDANT * of.per_patient))
        return Needed(*of, power, found, math.ceil(found / of.per_patient - 1e-9))

    return needed


def _why_none(claim: Claim, rates: tuple[float, ...], goal: float | None) -> str:
    said = " and ".join(f"{one:g}" for one in rates)
    if claim == "half-width":
        return f"--half-width {goal:g}: no study is large enough. Give a wider one."
    if claim == "apart":
        return (
            f"--rates {said}: no number of cases tells readers apart that are alike. "
            "Give rates that differ, or a --margin to show that they are equivalent."
        )
    return (
        f"--margin {goal:g}: with rates of {said} no number of cases shows it. "
        "Give a wider margin, or rates that lie within it."
    )


def _sentence(claim: Claim, rates: tuple[float, ...], goal: float | None, needed: Needed) -> str:
    first, *rest = (f"{100 * one:.4g} %" for one in rates)
    second = rest[0] if rest else ""
    points = "" if goal is None else f"{100 * goal:.4g} points"
    each = needed.per_patient
    of = "" if each == 1 else f" ({needed.patients:,} patients with {each:.3g} each)"
    cases = f"{needed.cases:,} case{'s' * (needed.cases > 1)}{of}"
    if needed.power is None:
        wide = f"{200 * (goal or 0.0):.4g} points"
        return f"{cases}: the 95 % interval of a share of {first} is {wide} wide."
    shown = {
        "apart": f"models that are right in {first} and {second} are told apart",
        "not inferior": f"a model of {first} is shown to be no worse than one of {second} by "
        f"{points}",
        "equivalent": f"models of {first} and {second} are shown to be within {points}",
    }[claim]
    return f"{cases}: {shown} with {100 * needed.power:.4g} % power."


# ---------------------------------------------------------------- a word that a reader is given


def _of_word(asked: _Asked) -> Power:
    """The cases at which a run gives a reader a word, by the benchmark that gives it."""
    giver, words = registry.word_power()
    if asked.word not in words.WORDS:
        known = " or ".join(words.WORDS)
        raise BadInput(f'--category "{asked.word}": give {known}.')
    margin, readers = asked.margin or words.MARGIN, asked.of_readers or 1
    pilot, counted = None, 1.0
    if asked.pilot is None:
        reader = words.declared(asked.uses or 0.0, asked.flips or 0.0)
    else:
        pilot, found = _piloted_word(asked, giver, words)
        reader, counted = found.behaviour, found.counted
    counted = counted if asked.rate is None else asked.rate
    if not counted:
        raise BadInput("--rate 0: no case counts for the category. Give a share above 0.")

    def cases_of(of: Clustering, power: float | None) -> Needed:
        how = {"effect": of.effect, "readers": readers, "margin": margin}
        cases = words.cases_for_word(asked.word, reader, power=power, **how)
        if cases is None:
            raise BadInput(f"--category {asked.word}: {words.why_none(asked.word, reader, margin)}")
        cases = math.ceil(cases / counted - 1e-9)
        return Needed(*of, power, cases, math.ceil(cases / of.per_patient - 1e-9))

    needed, others = _needed(asked, pilot, cases_of)
    who = "the pilot's model"
    if asked.pilot is None:
        does = f"uses {100 * (asked.uses or 0.0):.4g} % of the images"
        who = f"a model that {does} and flips {100 * (asked.flips or 0.0):.4g} % by chance"
    each = needed.per_patient
    of = "" if each == 1 else f" ({needed.patients:,} patients with {each:.3g} each)"
    right = "" if counted == 1 else f", of which {100 * counted:.3g} % count"
    claim = words.WORDS[asked.word]
    called = f"is called `{claim}` with {100 * (needed.power or 0.0):.4g} % power"
    return Power(
        claim=claim,
        rates=(counted,),
        goal=margin,
        discordant=None,
        pilot=pilot,
        behaviour=reader,
        of_readers=readers,
        needed=needed,
        others=others,
        sentence=f"{needed.cases:,} boxed cases{of}{right}: {who} {called}.",
        notes=tuple(words.notes_on(asked.word, reader, readers=readers, margin=margin)),
    )


def _piloted_word(asked: _Asked, giver: type[Benchmark], words: Any) -> tuple[Pilot, Any]:
    """What one reader of a run does that decides the word, and the run's patients."""
    (kept,) = kept_runs([Path(asked.pilot or "")])
    if kept.bench.name != giver.name:
        raise BadInput(
            f"--pilot {kept.folder}: it is a run of {kept.bench.name}; a category has "
            f"{giver.name}. Give a run of that, or --uses and --flips."
        )
    known = [reader.name for reader in kept.tables.readers]
    chosen = list(dict.fromkeys(asked.readers)) or known
    if len(chosen) > 1 or chosen[0] not in known:
        raise BadInput(
            f"--pilot {kept.folder}: name one of its readers with --reader; there are "
            f"{', '.join(known)}."
        )
    found = words.piloted(asked.word, kept.bench, kept.tables, chosen[0])
    if found is None:
        raise BadInput(
            f"--pilot {kept.folder}: {chosen[0]} has no answers to changed images of two patients "
            "that count for the category. Give another run, or --uses and --flips."
        )
    pilot = Pilot(
        run=str(kept.folder),
        measure=words.MEASURE,
        readers=(chosen[0],),
        rates=(found.behaviour.changed,),
        discordant=None,
        cases=found.cases,
        patients=found.patients,
        effect=found.effect,
    )
    return pilot, found


# ---------------------------------------------------------------- what a pilot says


def _piloted(asked: _Asked) -> Pilot:
    """What a run says of one or two of its readers, by the values by case its benchmark has."""
    from overread.stats import spread_of_mean

    (kept,) = kept_runs([Path(asked.pilot or "")])
    name, values = _values(kept, asked.measure)
    frames = [values.filter(reader=one) for one in _readers(asked, kept, values)]
    both = frames[0]
    if len(frames) == 2:
        both = both.join(frames[1].select("case", other="value"), on="case")
    patients = both["cluster"].n_unique()
    if patients < 2:
        raise BadInput(
            f"--pilot {kept.folder}: {name} of {both.height} cases of {patients} patients says "
            "nothing. Give a larger run, or --rates."
        )
    columns = [both[column].to_numpy() for column in ("value", "other") if column in both.columns]
    each = columns[0] if len(columns) == 1 else columns[0] - columns[1]
    rates = tuple(float(column.mean()) for column in columns)
    return Pilot(
        run=str(kept.folder),
        measure=name,
        readers=tuple(frame["reader"][0] for frame in frames),
        rates=rates,
        # Judged values may lie between 0 and 1: their squares, but no less than the difference.
        discordant=None
        if len(rates) == 1
        else max(float((each**2).mean()), abs(rates[0] - rates[1])),
        cases=both.height,
        patients=patients,
        effect=spread_of_mean(each, both["cluster"].to_numpy()).effect,
    )


def _values(kept: Kept, measure: str | None) -> tuple[str, pl.DataFrame]:
    """The measure meant, and its values by case; if none is, that by which a case is right."""
    bench = kept.bench
    values = {
        name: frame
        for name, frame in bench.per_case(kept.tables).items()
        if bench.words_of(name).in_shares and frame.height
    }
    if not values:
        raise BadInput(f"--pilot {kept.folder}: it has no share by case. Give --rates instead.")
    if measure is not None and measure not in values:
        there = ", ".join(values)
        raise BadInput(f'--measure "{measure}" is no share by case of the run; there are {there}.')
    usual = bench.right_by[0]
    name = measure or (usual if usual in values else next(iter(values)))
    return name, values[name]


def _readers(asked: _Asked, kept: Kept, values: pl.DataFrame) -> list[str]:
    """One of whom a share is; two that are compared; either where rates are given."""
    known = values["reader"].unique(maintain_order=True).to_list()
    for name in asked.readers:
        if name not in known:
            raise BadInput(f'--reader "{name}" is not in the run; there are {", ".join(known)}.')
    chosen = list(dict.fromkeys(asked.readers)) or known
    numbers = (1,) if asked.claim == "half-width" else (2,) if asked.rates is None else (1, 2)
    if len(chosen) in numbers:
        return chosen
    said = " or ".join(("one", "two")[number - 1] for number in numbers)
    raise BadInput(
        f"--pilot {kept.folder}: name {said} of its readers with --reader; "
        f"there are {', '.join(known)}."
    )
