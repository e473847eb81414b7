"""A policy's rules upon the measures of runs: one ruling for every rule and reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from overread.case import BadInput, Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT
from overread.report.gate.bounds import weigh_bound
from overread.report.gate.gaps import weigh_gap
from overread.report.gate.gated_run import GatedRun
from overread.report.gate.policy import ALL, Policy, Rule
from overread.report.gate.ruling import Ruling
from overread.report.gate.weighed import Weighed, has_value
from overread.report.gate.words import demanded, found, group


def judge(policy: Policy, runs: Sequence[GatedRun], readers: Sequence[str] = ()) -> list[Ruling]:
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
        ruling for rule in policy.rule for ruling in _of_rule(rule, runs, list(readers) or everyone)
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


def _of_rule(rule: Rule, runs: Sequence[GatedRun], everyone: Sequence[str]) -> Iterator[Ruling]:
    about = [run for run in runs if run.record.benchmark == rule.benchmark]
    names = everyone if rule.readers == ALL else list(dict.fromkeys(rule.readers))
    if not names or (not about and rule.readers == ALL and len(names) > 1):
        names = [ALL]  # once, not once for each
    for reader in names:
        having = [run for run in about if run.has(reader)]
        for run in having:
            yield _in_run(rule, run, reader)
        if not having:
            where = f"the reader is in no run of {rule.benchmark}"
            says = where if about else f"no run of {rule.benchmark} was given"
            yield _ruling(rule, None, reader, _missing(rule, f"was not measured: {says}"), "-")


def _in_run(rule: Rule, run: GatedRun, reader: str) -> Ruling:
    own = [one for one in run.measures.measures if one.reader == reader]
    if rule.gap is not None:
        return _gap(rule, run, reader, own)
    records = [one for one in own if one.measure == rule.measure and one.by == rule.by]
    if not records:
        missing = _missing(rule, f"was not measured{_hint(rule, own)}")
        return _ruling(rule, run, reader, missing, "-")
    _check_once(run, records)
    record = records[0]
    weighed = _refused(rule, run, [record]) or _doubted(rule, run, reader, record)
    return _ruling(rule, run, reader, weighed or _weighed(rule, record), found(record), record)


def _check_once(run: GatedRun, records: Sequence[Measure]) -> None:
    seen: list[Measure] = []
    for one in records:
        if any(one.by == other.by for other in seen):
            raise BadInput(
                f"{run.folder}/measures.json: {one.measure}{group(one.by)} of {one.reader} "
                f"is there twice. Run `overread measure {run.folder}` again."
            )
        seen.append(one)


def _missing(rule: Rule, says: str) -> Weighed:
    return Weighed(outcome="skipped" if rule.optional else "fail", says=says)


def _hint(rule: Rule, own: Sequence[Measure]) -> str:
    """What there is instead: the same measure by other keys, or one with a like name."""
    keys = sorted({"+".join(sorted(one.by)) for one in own if one.measure == rule.measure})
    if keys:
        there = ", ".join(key or "no key" for key in keys[:6])
        return f"{group(rule.by) or ' overall'}; it is there by {there}"
    like = get_close_matches(rule.measure, {one.measure for one in own}, n=1)
    return f"; there is {like[0]}" if like else ""


def _refused(rule: Rule, run: GatedRun, records: Sequence[Measure]) -> Weighed | None:
    """Why a number is another number than the one demanded, whatever its value."""
    if run.measures.edition != rule.edition:
        says = f"edition {run.measures.edition} is another number than {rule.edition}"
        return Weighed(outcome="fail", says=says)
    if run.partial and not rule.partial:
        return Weighed(outcome="fail", says="the run is partial: a sample of its cases was asked")
    if rule.judges != "any" and any(UNFIT in (one.label or "") for one in records):
        return Weighed(outcome="fail", says="a judge behind it is unfit on replies of known truth")
    return None


def _doubted(rule: Rule, run: GatedRun, reader: str, record: Measure) -> Weighed | None:
    """Why a number is not judged: it stands on too little, either way."""
    if rule.label is None and not has_value(record):
        note = f": {record.note}" if record.note else ""
        missing = rule.optional and not record.n
        return Weighed(
            outcome="skipped" if missing else "cannot tell", says=f"it has no value{note}"
        )
    if rule.label is None and record.label == "cannot tell":
        return Weighed(outcome="cannot tell", says=record.note or "the number says so itself")
    if (record.n or 0) < rule.minimum_n:
        says = f"n = {record.n or 0:,} where {rule.minimum_n:,} are demanded"
        more = None if rule.label is not None else _weighed(rule, record).needed
        needed = max(rule.minimum_n, more or 0)
        if needed > rule.minimum_n:
            says += f", and the bound takes {needed:,}"
        return Weighed(outcome="cannot tell", says=says, needed=needed)
    return _doubted_run(rule, run, reader, [record])


def _doubted_run(
    rule: Rule, run: GatedRun, reader: str, records: Sequence[Measure]
) -> Weighed | None:
    if rule.judges == "fit" and any(NOT_CHECKED in (one.label or "") for one in records):
        says = "a judge behind it was not tried on enough replies of known truth"
        return Weighed(outcome="cannot tell", says=says)
    if rule.judges != "any" and any(run.by_words_alone(one) for one in records):
        says = "a judge behind it compares words and knows no medicine: fit for made-up cases alone"
        return Weighed(outcome="cannot tell", says=says)
    share = run.unanswered(reader)
    if share > rule.unanswered:
        says = (
            f"{100 * share:.2g} % of the trials got no reply, where {100 * rule.unanswered:g} % "
            "may; run the same command again to resume"
        )
        return Weighed(outcome="cannot tell", says=says)
    return None


def _weighed(rule: Rule, record: Measure) -> Weighed:
    if rule.label is not None:
        return _label(rule, record)
    if rule.at_least is not None:
        return weigh_bound(record, "at_least", rule.at_least, point=rule.point)
    assert rule.at_most is not None
    return weigh_bound(record, "at_most", rule.at_most, point=rule.point)


def _label(rule: Rule, record: Measure) -> Weighed:
    """The word demanded passes, one listed as undecided cannot tell, any other fails."""
    if record.label == rule.label:
        return Weighed(outcome="pass", says="as demanded")
    note = f": {record.note}" if record.note else ""
    if record.label is None:
        return Weighed(outcome="cannot tell", says=f"it has no label{note}")
    undecided = record.label in rule.undecided
    return Weighed(outcome="cannot tell" if undecided else "fail", says=f"{record.label}{note}")


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
    each = ", ".join(f"{name}: {found(one)}" for name, one in groups) or None
    records = [one for _, one in groups]
    _check_once(run, records)
    absent = [name for name in rule.gap.groups if name not in {name for name, _ in groups}]
    if absent or len(groups) < 2:
        where = f"in {across}={absent[0]}" if absent else f"in two groups of {across}"
        missing = _missing(rule, f"was not measured {where}")
        return _ruling(rule, run, reader, missing, "-", note=each)
    weighed = _refused(rule, run, records) or _doubted_run(rule, run, reader, records)
    if weighed is None:
        weighed = weigh_gap(
            groups, rule.gap.at_most, point=rule.point, minimum_n=max(rule.minimum_n, 1)
        )
    apart = Measure(
        reader=reader, measure=rule.measure, value=weighed.value, low=weighed.low,
        high=weighed.high, n=weighed.n,
    )  # fmt: skip
    said = found(apart) if weighed.value is not None else each or "-"
    return _ruling(rule, run, reader, weighed, said, apart, note=each)


def _ruling(
    rule: Rule,
    run: GatedRun | None,
    reader: str,
    weighed: Weighed,
    said: str,
    record: Measure | None = None,
    note: str | None = None,
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
        demanded=demanded(rule),
        found=said,
        outcome=weighed.outcome,
        says=weighed.says,
        margin=weighed.margin,
        needed=weighed.needed,
        value=at.value,
        low=at.low,
        high=at.high,
        n=at.n,
        label=at.label,
        method=at.method,
        note=note or at.note,
        edition=run.measures.edition if run else None,
        signature=run.measures.signature if run else None,
    )
