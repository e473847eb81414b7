"""Rulings as people and machines read them: tables with sentences for the unmet, and JUnit XML.

What files hold may be hostile: nothing of it steers a terminal, or breaks a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from overread.case import Table, printable
from overread.report.gate.judging import OUTCOMES, Gated, Ruling
from overread.report.gate.weighing import number

_SHOWN = {"pass": "pass", "fail": "FAIL", "cannot tell": "CANNOT TELL", "skipped": "skipped"}
VERDICTS = {"pass": "PASS", "fail": "FAIL", "cannot tell": "THE DATA CANNOT TELL"}
"""What the whole of a gate comes to, by its outcome."""
# What no XML 1.0 document may hold, and marks that turn the direction of writing.
_UNFIT = re.compile(
    "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def one_line(text: str) -> str:
    """One line without what would steer a terminal or turn the direction of writing."""
    return printable(" ".join(text.split()))


def _of_each_reader(gated: Gated) -> Iterable[list[Ruling]]:
    """The rulings on each reader of each run."""
    together: dict[tuple[str, str], list[Ruling]] = {}
    for ruling in gated.rulings:
        together.setdefault((ruling.reader, ruling.run), []).append(ruling)
    return together.values()


def rulings_tables(gated: Gated) -> list[Table]:
    """One table for each reader of each run, the worst rulings first.

    Below it stands what each unmet one means, and why the rule is there.
    """
    return [_table(rulings) for rulings in _of_each_reader(gated)]


def _table(rulings: list[Ruling]) -> Table:
    rulings = sorted(rulings, key=lambda one: -OUTCOMES.index(one.outcome))
    first = rulings[0]
    where = f"{first.run}, edition {first.edition}" if first.run else "not measured in any run"
    rows, notes = [], []
    for one in rulings:
        margin = "-" if one.margin is None else f"{'+' * (one.margin >= 0)}{number(one.margin, 0)}"
        shown = _SHOWN[one.outcome]
        rows.append(tuple(map(one_line, (shown, one.rule, one.found, margin, one.demanded))))
        if one.outcome != "pass":
            notes.append(one_line(f"{shown} {one.rule}: {one.says}. Why the rule: {one.why}"))
    return Table(
        name="gate",
        title=one_line(f"{first.reader}: {where}"),
        columns=("outcome", "rule", "found", "margin", "demanded"),
        headline=("margin",),
        rows=tuple(rows),
        notes=tuple(notes),
        signature=one_line(first.signature or ""),
    )


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
    return f"{VERDICTS[gated.outcome]}: of {len(gated.rulings)} checks {', '.join(parts)}."


def junit(gated: Gated) -> bytes:
    """JUnit XML, which every continuous integration reads, whatever the names of readers hold.

    One suite for each run and reader, one case for each rule. What the data cannot tell is a
    `<failure type="cannot tell">`: who reads the file takes a skipped case for a green one.
    """
    root = ElementTree.Element("testsuites", _counts(gated.title, gated.rulings))
    for rulings in _of_each_reader(gated):
        name = f"{rulings[0].run or 'no run'}: {rulings[0].reader}"
        suite = ElementTree.SubElement(root, "testsuite", _counts(name, rulings))
        facts = {
            "overread": gated.overread,
            "policy": gated.policy,
            "policy_sha256": gated.policy_sha256,
            "edition": rulings[0].edition or "",
            "signature": rulings[0].signature or "",
            "disclaimer": gated.disclaimer,
        }
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in facts.items():
            ElementTree.SubElement(properties, "property", name=name, value=_clean(value))
        for ruling in rulings:
            _case(suite, ruling)
    ElementTree.indent(root)
    made: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"


def _case(suite: ElementTree.Element, ruling: Ruling) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_clean(f"{ruling.benchmark}.{ruling.reader}"),
        name=_clean(ruling.rule),
        time="0",
    )
    message = _clean(f"{ruling.demanded}; found {ruling.found}: {ruling.says}")
    if ruling.outcome in ("fail", "cannot tell"):
        kind = "failed" if ruling.outcome == "fail" else "cannot tell"
        ElementTree.SubElement(case, "failure", type=kind, message=message).text = _clean(
            f"{ruling.says}\nwhy: {ruling.why}"
        )
    elif ruling.outcome == "skipped":
        ElementTree.SubElement(case, "skipped", message=message)
    else:
        ElementTree.SubElement(case, "system-out").text = message


def _counts(name: str, rulings: Iterable[Ruling]) -> dict[str, str]:
    outcomes = [ruling.outcome for ruling in rulings]
    return {
        "name": _clean(name),
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("fail") + outcomes.count("cannot tell")),
        "errors": "0",
        "skipped": str(outcomes.count("skipped")),
        "time": "0",
    }


def _clean(text: str) -> str:
    return _UNFIT.sub("", text)
