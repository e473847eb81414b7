"""Rulings as a person reads them: a table for each reader and run, and sentences for the unmet."""

from __future__ import annotations

from overread.case import Table
from overread.report.gate.ruling import OUTCOMES, Gated, Ruling
from overread.report.gate.words import number, one_line

_SHOWN = {"pass": "pass", "fail": "FAIL", "cannot tell": "CANNOT TELL", "skipped": "skipped"}


def rulings_tables(gated: Gated) -> list[Table]:
    """One table for each reader of each run, the worst rulings first.

    Below it stands what each unmet one means, and why the rule is there.
    """
    together: dict[tuple[str, str], list[Ruling]] = {}
    for ruling in gated.rulings:
        together.setdefault((ruling.reader, ruling.run), []).append(ruling)
    return [_table(rulings) for rulings in together.values()]


def _table(rulings: list[Ruling]) -> Table:
    rulings = sorted(rulings, key=lambda one: -OUTCOMES.index(one.outcome))
    first = rulings[0]
    where = f"{first.run}, edition {first.edition}" if first.run else "not measured in any run"
    return Table(
        name="gate",
        title=one_line(f"{first.reader}: {where}"),
        columns=("rule", "outcome", "margin", "found", "demanded"),
        rows=tuple(tuple(map(one_line, _row(ruling))) for ruling in rulings),
        notes=tuple(one_line(_sentence(one)) for one in rulings if one.outcome != "pass"),
        signature=one_line(first.signature or ""),
    )


def _row(ruling: Ruling) -> tuple[str, ...]:
    margin = ruling.margin
    return (
        ruling.rule,
        _SHOWN[ruling.outcome],
        "-" if margin is None else f"{'+' * (margin >= 0)}{number(margin, 0)}",
        ruling.found,
        ruling.demanded,
    )


def _sentence(ruling: Ruling) -> str:
    about = f"{_SHOWN[ruling.outcome]} {ruling.rule}: {ruling.says}."
    return f"{about} Why the rule: {ruling.why}"


def verdict(gated: Gated) -> str:
    """`FAIL: of 12 checks 1 failed, 2 cannot be told from the data, 9 passed.`"""
    count = gated.counts
    parts = [
        f"{count[outcome]} {words}"
        for outcome, words in (
            ("fail", "failed"),
            ("cannot tell", "cannot be told from the data"),
            ("pass", "passed"),
            ("skipped", "skipped as optional"),
        )
        if count[outcome]
    ]
    whole = {"pass": "PASS", "fail": "FAIL", "cannot tell": "THE DATA CANNOT TELL"}
    return f"{whole[gated.outcome]}: of {len(gated.rulings)} checks {', '.join(parts)}."
