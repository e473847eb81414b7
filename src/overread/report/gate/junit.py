"""Rulings as JUnit XML, which every continuous integration reads.

One suite for each run and reader, one case for each rule. What the data cannot tell is a
`<failure type="cannot tell">`: who reads the file takes a skipped case for a green one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from overread.report.gate.ruling import Gated, Ruling

# What no XML 1.0 document may hold, and marks that turn the direction of writing.
_UNFIT = re.compile(
    "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def junit(gated: Gated) -> bytes:
    """The document, whatever the names of readers and rules hold."""
    suites: dict[tuple[str, str], list[Ruling]] = {}
    for ruling in gated.rulings:
        suites.setdefault((ruling.run, ruling.reader), []).append(ruling)
    root = ElementTree.Element("testsuites", _counts(gated.title, gated.rulings))
    for (run, reader), rulings in suites.items():
        where = run or "no run"
        suite = ElementTree.SubElement(root, "testsuite", _counts(f"{where}: {reader}", rulings))
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
    failures = outcomes.count("fail") + outcomes.count("cannot tell")
    return {
        "name": _clean(name),
        "tests": str(len(outcomes)),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(outcomes.count("skipped")),
        "time": "0",
    }


def _clean(text: str) -> str:
    return _UNFIT.sub("", text)
