"""A policy's rules upon the measures of runs: one ruling for every rule and reader."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations
from typing import Final, Literal, Protocol

import msgspec

from overread.benchmarks.exhibits.judges import LEXICAL
from overread.benchmarks.registry import class_of
from overread.benchmarks.sentences import PHANTOM
from overread.case import BadInput, Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT
from overread.measuring.contrasts import held_to_margin
from overread.records import JudgeEntry, Measures, RunRecord
from overread.report.gate.policy import ALL, Policy, Rule
from overread.report.gate.weighing import Outcome, Weighed, number, weigh_bound, weigh_gap

# From best to worst; a gate's own outcome is its worst ruling's.
OUTCOMES: Final[tuple[Outcome, ...]] = ("skipped", "pass", "cannot tell", "fail")
EXIT_CODES: Final[Mapping[Outcome, int]] = {"pass": 0, "fail": 1, "cannot tell": 4}

# Measures of judges and of their replies say nothing by way of a verdict.
_OF_JUDGES = ("judge", "verdicts_")


class GatedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for in a run, and what was measured."""

    folder: str
    record: RunRecord
    measures: Measures

    def has(self, reader: str) -> bool:
        named = any(reader == one.name for one in self.record.readers)
        return named or any(reader == one.reader for one in self.measures.measures)

    def unanswered(self, reader: str) -> float:
        """The share of a reader's trials that got no reply."""
        asked = next((one for one in self.record.readers if one.name == reader), None)
        return asked.unanswered / asked.asked if asked and asked.asked else 0.0

    def by_words_alone(self, record: Measure) -> bool:
        """Whether the lexical judge is behind a measure of cases that were not made up for it.

        Who judged a measure is known by its records judge by judge.
        """
        if self.record.dataset.startswith(PHANTOM) or record.measure.startswith(_OF_JUDGES):
            return False
        lexical = {one.name for one in self.record.judges if _is_lexical(one)}
        if not lexical:
            return False
        if "judge" in record.by:
            return record.by["judge"] in lexical
        base = record.measure.removeprefix("diff_").removesuffix("_macro")
        names = {base, *class_of(self.record.benchmark).made_of.get(base, ())}
        return any(
            one.by.get("judge") in lexical
            for one in self.measures.measures
            if one.measure in names and one.reader == record.reader
        )


def _is_lexical(judge: JudgeEntry) -> bool:
    """By what it is, for it may go by another name."""
    said = (judge.name, judge.spec.rpartition("=")[2], judge.identity.rpartition(":")[0])
    return any(one.removeprefix("control:") == LEXICAL for one in said)


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """One rule upon one reader of one run: what was demanded, what was found, and by how much.

    `margin` is above 0 where the demand is met and below where it is not, in the measure's own unit
    and from the end of the interval that decides; None where there is nothing to compare. `needed`
    is how many cases would settle what the data cannot tell with a power of 80 %, were the value
    the true one.
    `run` is empty where no run of the benchmark has the reader.
    """

    rule: str
    why: str
    run: str
    benchmark: str
    reader: str
    measure: str
    by: dict[str, str]
    demanded: str
    found: str
    outcome: Outcome
    says: str
    margin: float | None = None
    needed: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    label: str | None = None
    method: str | None = None
    note: str | None = None
    edition: str | None = None
    signature: str | None = None


class Gated(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy says of some runs."""

    title: str
    policy: str
    policy_sha256: str
    overread: str
    outcome: Outcome
    exit_code: int
    counts: dict[str, int]
    rulings: list[Ruling]
    disclaimer: str


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of some outcomes; `skipped` where there is nothing else."""
    return max(outcomes, key=OUTCOMES.index, default="skipped")


class PairedReader(Protocol):
    """A reader's difference from another, case by case, and which way is better."""

    @property
    def versus(self) -> str: ...
    @property
    def record(self) -> Measure | None: ...
    @property
    def higher(self) -> bool | None: ...


class PairedReaders(Protocol):
    """Where differences come from: the tables of runs, which the gate itself does not read."""

    def baseline(self, benchmark: str) -> object | None: ...
    def difference(
        self, folder: str, benchmark: str, measure: str, reader: str, versus: str | None
    ) -> PairedReader: ...


def judge(
    policy: Policy,
    runs: Sequence[GatedRun],
    readers: Sequence[str] = (),
    paired: PairedReaders | None = None,
) -> list[Ruling]:
    """Every rule upon every reader it is about, in the order of the policy.

    "*" is every reader of any of the runs, so that none slips through by having been left out of
    one of them; `readers` are the only ones it then stands for. A required rule about a benchmark
    or reader that no run has is a failure; a policy of which nothing was measured is bad input.
    """
    everyone = list(dict.fromkeys(one.name for run in runs for one in run.record.readers))
    for reader in readers:
        if reader not in everyone:
            known = ", ".join(everyone) or "none"
            raise BadInput(f"--reader {reader}: no run has this reader; they have {known}.")
    if readers and all(rule.readers != ALL for rule in policy.rule):
        raise BadInput(f"--reader {readers[0]}: every rule names its readers. Leave it out.")
    rulings = [
        ruling
        for rule in policy.rule
        for ruling in _of_rule(rule, runs, list(readers) or everyone, paired)
    ]
    if not any(ruling.run for ruling in rulings):
        wanted = ", ".join(sorted({rule.benchmark for rule in policy.rule}))
        raise BadInput(
            f"the policy matches no reader of these runs: its rules are about {wanted}. "
            "Give runs of these, with the readers it names."
        )
    if all(ruling.outcome == "skipped" for ruling in rulings):
        raise BadInput(
            "every rule is optional and nothing it asks for was measured: the gate would check "
            "nothing. Give other runs, or make a rule required."
        )
    return rulings


def _of_rule(
    rule: Rule,
    runs: Sequence[GatedRun],
    everyone: Sequence[str],
    paired: PairedReaders | None,
) -> Iterator[Ruling]:
    about = [run for run in runs if run.record.benchmark == rule.benchmark]
    names = everyone if rule.readers == ALL else list(dict.fromkeys(rule.readers))
    if rule.margin is not None and (paired is None or paired.baseline(rule.benchmark) is None):
        if rule.versus is None:
            raise BadInput(
                f"rule {rule.name}: margin needs somebody to be held against. Give --baseline with "
                f'a run of {rule.benchmark}, or versus = "READER" in the rule.'
            )
        if about and not any(run.has(rule.versus) for run in about):
            known = dict.fromkeys(one.name for run in about for one in run.record.readers)
            raise BadInput(
                f'rule {rule.name}: versus = "{rule.versus}" is no reader of these runs of '
                f"{rule.benchmark}; they have {', '.join(known)}."
            )
        names = [name for name in names if name != rule.versus] or names
    if not names or (not about and rule.readers == ALL and len(names) > 1):
        names = [ALL]  # once, not once for each
    for reader in names:
        having = [run for run in about if run.has(reader)]
        for run in having:
            if rule.margin is None or paired is None:
                yield _in_run(rule, run, reader)
            else:
                yield _margin(rule, run, reader, rule.margin, paired)
        if not having:
            where = f"the model is in no run of {rule.benchmark}"
            says = where if about else f"no run of {rule.benchmark} was given"
            yield _ruling(rule, None, reader, _missing(rule, f": {says}"))


def _in_run(rule: Rule, run: GatedRun, reader: str) -> Ruling:
    own = [one for one in run.measures.measures if one.reader == reader]
    if rule.gap is not None:
        return _gap(rule, run, reader, own)
    records = [one for one in own if one.measure == rule.measure and one.by == rule.by]
    if not records:
        return _ruling(rule, run, reader, _missing(rule, _hint(rule, own)))
    _check_once(run, records)
    record = records[0]
    weighed = _refused(rule, run, [record]) or _doubted(rule, run, reader, record)
    return _ruling(rule, run, reader, weighed or _weighed(rule, record), _found(record), record)


def _check_once(run: GatedRun, records: Sequence[Measure]) -> None:
    for one, other in combinations(records, 2):
        if one.by == other.by:
            raise BadInput(
                f"{run.folder}/measures.json: {one.measure}{_group(one.by)} of {one.reader} "
                f"is there twice. Run `overread measure {run.folder}` again."
            )


def _missing(rule: Rule, says: str) -> Weighed:
    return Weighed("skipped" if rule.optional else "fail", f"was not measured{says}")


def _hint(rule: Rule, own: Sequence[Measure]) -> str:
    """What there is instead: the same measure by other keys, or one with a like name."""
    keys = sorted({"+".join(sorted(one.by)) for one in own if one.measure == rule.measure})
    if keys:
        there = ", ".join(key or "no key" for key in keys[:6])
        return f"{_group(rule.by) or ' overall'}; it is there by {there}"
    like = get_close_matches(rule.measure, {one.measure for one in own}, n=1)
    return f"; there is {like[0]}" if like else ""


def _refused(rule: Rule, run: GatedRun, records: Sequence[Measure]) -> Weighed | None:
    """Why a number is another number than the one demanded, whatever its value."""
    if run.measures.edition != rule.edition:
        says = f"edition {run.measures.edition} is another number than {rule.edition}"
        return Weighed("fail", says)
    if run.record.partial and not rule.partial:
        return Weighed("fail", "the run is partial: a sample of its cases was asked")
    if rule.judges != "any" and any(UNFIT in (one.label or "") for one in records):
        return Weighed("fail", "a judge behind it is unfit on replies of known truth")
    return None


def _doubted(rule: Rule, run: GatedRun, reader: str, record: Measure) -> Weighed | None:
    """Why a number is not judged: it stands on too little, either way."""
    if rule.label is None and (record.value is None or not math.isfinite(record.value)):
        note = f": {record.note}" if record.note else ""
        missing = rule.optional and not record.n
        return Weighed("skipped" if missing else "cannot tell", f"it has no value{note}")
    if rule.label is None and record.label == "cannot tell":
        return Weighed("cannot tell", record.note or "the number says so itself")
    if (record.n or 0) < rule.minimum_n:
        says = f"n = {record.n or 0:,} where {rule.minimum_n:,} are demanded"
        needed = max(rule.minimum_n, _weighed(rule, record).needed or 0)
        if needed > rule.minimum_n:
            says += f", and the bound takes {needed:,}"
        return Weighed("cannot tell", says, needed=needed)
    return _doubted_run(rule, run, reader, [record])


def _doubted_run(
    rule: Rule, run: GatedRun, reader: str, records: Sequence[Measure]
) -> Weighed | None:
    if rule.judges == "fit" and any(NOT_CHECKED in (one.label or "") for one in records):
        says = "a judge behind it was not tried on enough replies of known truth"
        return Weighed("cannot tell", says)
    if rule.judges != "any" and any(run.by_words_alone(one) for one in records):
        says = "a judge behind it compares words and knows no medicine: fit for made-up cases alone"
        return Weighed("cannot tell", says)
    share = run.unanswered(reader)
    if share > rule.unanswered:
        says = (
            f"{100 * share:.2g} % of the trials got no reply, where {100 * rule.unanswered:g} % "
            "may; run the same command again to resume"
        )
        return Weighed("cannot tell", says)
    return None


def _weighed(rule: Rule, record: Measure) -> Weighed:
    """Of labels, the word demanded passes, one listed as undecided cannot tell, any other fails."""
    if rule.at_least is not None:
        return weigh_bound(record, "at_least", rule.at_least, point=rule.point)
    if rule.at_most is not None:
        return weigh_bound(record, "at_most", rule.at_most, point=rule.point)
    if record.label == rule.label:
        return Weighed("pass", "as demanded")
    note = f": {record.note}" if record.note else ""
    if record.label is None:
        return Weighed("cannot tell", f"it has no label{note}")
    undecided = record.label in rule.undecided
    return Weighed("cannot tell" if undecided else "fail", f"{record.label}{note}")


def _gap(rule: Rule, run: GatedRun, reader: str, own: Sequence[Measure]) -> Ruling:
    assert rule.gap is not None
    across = rule.gap.across
    groups = [
        (one.by[across], one)
        for one in own
        if one.measure == rule.measure and across in one.by and one.by | rule.by == one.by
        if len(one.by) == len(rule.by) + 1
    ]
    if rule.gap.groups:
        groups = [(name, one) for name, one in groups if name in rule.gap.groups]
    each = ", ".join(f"{name}: {_found(one)}" for name, one in groups) or None
    records = [one for _, one in groups]
    _check_once(run, records)
    absent = [name for name in rule.gap.groups if name not in {name for name, _ in groups}]
    if absent or len(groups) < 2:
        where = f" in {across}={absent[0]}" if absent else f" in two groups of {across}"
        return _ruling(rule, run, reader, _missing(rule, where), note=each)
    weighed = _refused(rule, run, records) or _doubted_run(rule, run, reader, records)
    if weighed is None:
        weighed = weigh_gap(
            groups, rule.gap.at_most, point=rule.point, minimum_n=max(rule.minimum_n, 1)
        )
    if weighed.apart is None:
        return _ruling(rule, run, reader, weighed, each or "-", note=each)
    apart = Measure(reader=reader, measure=rule.measure, **msgspec.structs.asdict(weighed.apart))
    return _ruling(rule, run, reader, weighed, _found(apart), apart, note=each)


def _margin(rule: Rule, run: GatedRun, reader: str, margin: float, paired: PairedReaders) -> Ruling:
    """Not worse than the other by more than the margin: the difference against that bound."""
    found = paired.difference(run.folder, rule.benchmark, rule.measure, reader, rule.versus)
    demanded = _demanded(rule, found.versus)
    if found.higher is None:
        raise BadInput(
            f"rule {rule.name}: of {rule.measure} nobody can say what is worse. Use at_least, "
            "at_most or gap."
        )
    if found.record is None or not found.record.n:
        says = f" case by case of {reader} and {found.versus}"
        return _ruling(rule, run, reader, _missing(rule, says), demanded=demanded)
    record = held_to_margin(found.record, margin, higher=found.higher)
    # Whose verdicts are behind it stands with the measures of the run, by judge or by mode.
    behind = [
        one
        for one in run.measures.measures
        if one.reader == reader and f"_{one.measure}_" in f"_{rule.measure}_"
    ]
    side: Literal["at_least", "at_most"] = "at_least" if found.higher else "at_most"
    bounded = msgspec.structs.replace(
        rule, margin=None, **{side: -margin if found.higher else margin}
    )
    weighed = _refused(rule, run, behind) or _doubted(bounded, run, reader, record)
    weighed = weighed or _doubted_run(rule, run, reader, behind) or _weighed(bounded, record)
    return _ruling(rule, run, reader, weighed, _found(record), record, demanded=demanded)


def _ruling(
    rule: Rule,
    run: GatedRun | None,
    reader: str,
    weighed: Weighed,
    said: str = "-",
    record: Measure | None = None,
    note: str | None = None,
    demanded: str | None = None,
) -> Ruling:
    """What was weighed, with what it stands on; the note of a gap says what each group has."""
    at = record or Measure(reader=reader, measure=rule.measure)
    return Ruling(
        rule=rule.name,
        why=rule.why,
        run=run.folder if run else "",
        benchmark=rule.benchmark,
        reader=reader,
        measure=rule.measure,
        by=rule.by,
        demanded=demanded or _demanded(rule),
        found=said,
        outcome=weighed.outcome,
        says=weighed.says,
        margin=weighed.margin,
        needed=weighed.needed,
        **{key: getattr(at, key) for key in ("value", "low", "high", "n", "label", "method")},
        note=note or at.note,
        edition=run.measures.edition if run else None,
        signature=run.measures.signature if run else None,
    )


# ---------------------------------------------------------------- in words


def _demanded(rule: Rule, versus: str | None = None) -> str:
    """`accuracy by mode=cot at least 0.8, n >= 100`; it says so where the interval is left out."""
    if rule.at_least is not None:
        what = f"at least {rule.at_least:g}"
    elif rule.at_most is not None:
        what = f"at most {rule.at_most:g}"
    elif rule.gap is not None:
        what = f"at most {rule.gap.at_most:g} apart across {rule.gap.across}"
    elif rule.margin is not None:
        other = versus or rule.versus or "the baseline"
        what = f"not worse than {other} by more than {rule.margin:g}"
    else:
        what = f'is "{rule.label}"'
    basis = " on the value alone" if rule.point and rule.label is None else ""
    least = f", n >= {rule.minimum_n}" if rule.minimum_n > 1 else ""
    return f"{rule.measure}{_group(rule.by)} {what}{basis}{least}"


def _group(by: Mapping[str, str]) -> str:
    """` by mode=cot, task=Action`; nothing for the overall measure."""
    return " by " + ", ".join(f"{key}={by[key]}" for key in by) if by else ""


def _found(record: Measure) -> str:
    """`0.933 [0.912, 0.950] n=480`, and the label where there is one."""
    parts = []
    if record.value is not None:
        parts.append(number(record.value))
        if record.low is not None and record.high is not None:
            parts.append(f"[{number(record.low)}, {number(record.high)}]")
    elif record.label is None:
        parts.append("no value")
    if record.label:
        parts.append(record.label)
    if record.n is not None:
        parts.append(f"n={record.n}")
    return " ".join(parts)
