"""Rates within groups: findings, patients, sentences, rated boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from overread.benchmarks.exhibits.cells import (
    NOT_KNOWN,
    cell,
    fraction,
    interval,
    p_value,
    percent,
    table,
)
from overread.benchmarks.exhibits.style import INK, Spec, figure_spec, reader_axis, shown
from overread.benchmarks.grounding.exhibits.dot_plot import Index, category_marks, hundred, identity
from overread.case import Figure, Measure, Table

__all__ = [
    "FEW",
    "finding_heatmap",
    "findings",
    "rated_boxes",
    "rated_boxes_by_finding",
    "sentences",
    "subgroups",
]

FEW: Final = 10
"""Below so many cases a rate by finding is printed and not to be read (Supplementary Table 2)."""
_FEW_NOTE: Final = f"† Fewer than {FEW} cases: not to be interpreted."
_RATED_SETS: Final = (
    ("all", "all boxes"),
    ("accurate", "box rated accurate"),
    ("accurate_or_partial", "accurate or partial"),
)


def _few_mark(record: Measure | None) -> str:
    return "†" if record is not None and 0 < (record.n or 0) < FEW else ""


def findings(index: Index, signature: str) -> Table | None:
    """Supplementary Table 2: CGR by finding."""
    named = [name for name in index.groups("cgr", "finding") if index.any("cgr", finding=name)]

    def of(reader: str, finding: str) -> str:
        record = index.get(reader, "cgr", finding=finding)
        return fraction(record, _few_mark(record))

    return table(
        "findings",
        "Which findings does it look for? CGR by finding",
        ("reader", *(name.replace("_", " ") for name in named)),
        ((reader, *(of(reader, name) for name in named)) for reader in index.readers),
        signature,
        ("Percent [95 % interval] and flips / correct Yes.", _FEW_NOTE),
    )


def subgroups(index: Index, signature: str) -> Table | None:
    """Table 2: CGR and UAR by sex, view and age, with the test between the groups."""
    return table(
        "subgroups",
        "Does image use differ between patients?",
        ("reader", "rate", "by", "groups", "gap", "p", "q"),
        _gap_rows(index),
        signature,
        (
            "Percent. The gap is the first group less the second, or the largest less the smallest "
            "of three, in percentage points [95 % interval].",
            "p by permutation; q is adjusted among the tests of one reader (Benjamini–Hochberg). "
            "† q < 0.05.",
        ),
        facts=3,
    )


def _gap_rows(index: Index) -> Iterator[tuple[str, ...]]:
    for reader in index.readers:
        for name, title in (("cgr", "CGR"), ("uar", "UAR")):
            for attribute in index.groups(f"gap_{name}", "attribute"):
                test = index.get(reader, f"gap_{name}", attribute=attribute)
                if test is None:
                    continue
                rates = (
                    (group, index.known(reader, name, **{attribute: group}))
                    for group in index.groups(name, attribute)
                )
                said = ", ".join(
                    f"{group} {percent(r.value)} (n={r.n})" for group, r in rates if r is not None
                )
                gap = percent(test.value, signed=True)
                mark = "†" if test.q is not None and test.q < 0.05 else ""
                yield (
                    reader,
                    title,
                    attribute,
                    said or NOT_KNOWN,
                    gap + interval(test) if test.value is not None else NOT_KNOWN,
                    p_value(test.p),
                    p_value(test.q) + mark,
                )


def sentences(index: Index, signature: str) -> Table | None:
    """Verdicts on report sentences that another image changes, by kind of injected error."""
    name = "rexerr_sensitivity"
    kinds = [("error_group", group) for group in index.groups(name, "error_group")]
    kinds += [("error_type", kind) for kind in index.groups(name, "error_type")]
    return table(
        "sentences",
        "Does the verdict on a sentence change with the image?",
        ("reader", *(kind.replace("_", " ") for _, kind in kinds)),
        (
            (reader, *(cell(index.get(reader, name, **{key: kind})) for key, kind in kinds))
            for reader in index.readers
        ),
        signature,
        (
            "Percent of correct verdicts another patient's image of the same finding and label "
            "changes, of any where the sentence names no finding [95 % interval]; first by what it "
            "takes to notice the error, then by its type.",
        ),
    )


def rated_boxes(index: Index, signature: str) -> Table | None:
    """Supplementary Table 7: CGR where human readers said the box holds the finding."""
    return table(
        "coverage",
        "Do boxes that miss part of a finding explain a low CGR?",
        ("reader", *(title for _, title in _RATED_SETS)),
        (
            (
                reader,
                *(fraction(index.get(reader, "cgr", coverage=name)) for name, _ in _RATED_SETS),
            )
            for reader in index.readers
        ),
        signature,
        ("CGR in percent [95 % interval] and flips / correct Yes.",),
    )


def rated_boxes_by_finding(index: Index, signature: str) -> Table | None:
    """The same by finding, on boxes rated accurate."""
    records = index.all("cgr", "coverage", "finding")
    named = list(dict.fromkeys(record.by["finding"] for record in records))

    def of(reader: str, finding: str) -> str:
        record = index.get(reader, "cgr", coverage="accurate", finding=finding)
        return fraction(record, _few_mark(record))

    return table(
        "coverage_findings",
        "CGR by finding on boxes rated accurate",
        ("reader", *(name.replace("_", " ") for name in named)),
        ((reader, *(of(reader, name) for name in named)) for reader in index.readers),
        signature,
        ("Percent [95 % interval] and flips / correct Yes.", _FEW_NOTE),
    )


# ---------------------------------------------------------------- findings as a heat map
# Figure 5: CGR by reader and finding, with the number of cases in every cell.


_NAME_OFFSET: Final = 22
_TILE_SIZE: Final = (80, 38)
_PALE, _DEEP = "#e8f1f8", "#08519c"
_DARK_FROM: Final = 0.72
"""The share of the largest CGR from which a cell is dark enough for white figures."""


def finding_heatmap(index: Index, signature: str) -> Figure | None:
    """Which findings carry a reader's CGR, and on how many cases."""
    findings = _findings_by_cgr(index)
    if not findings:
        return None
    names = shown(index.readers)
    order = index.ranked("cgr")
    rows = [
        identity(index, reader, names) | _tile(index, reader, finding)
        for reader in order
        for finding in findings
    ]
    lanes = [names[reader] for reader in order]
    top = max((row["value"] for row in rows if row["n"] >= FEW), default=0.0) or 1.0
    x: Any = {
        "field": "finding",
        "type": "nominal",
        "scale": {"domain": [name.replace("_", " ") for name in findings]},
        "sort": None,
        "axis": {
            "title": None,
            "orient": "top",
            "labelAngle": 0,
            "domain": False,
            "ticks": False,
            "labelExpr": "split(datum.label, ' ')",
            "labelBaseline": "top",
            "labelLineHeight": 13,
            "labelPadding": 4 + 13 * max(name.count("_") + 1 for name in findings),
        },
    }
    y = reader_axis(lanes, offset=_NAME_OFFSET, grid=False)
    fill = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, top], "range": [_PALE, _DEEP]},
        "legend": None,
    }
    read = f"isValid(datum.value) && datum.n >= {FEW}"
    place = {"x": x, "y": y}

    def words(field: str, dy: int, size: int) -> Spec:
        dark = f"{read} && datum.value >= {_DARK_FROM * top}"
        colour = {
            "condition": [{"test": dark, "value": "#fffffe"}, {"test": read, "value": "#111111"}],
            "value": INK,
        }
        mark = {"type": "text", "dy": dy, "fontSize": size, "baseline": "middle"}
        return {"mark": mark, "encoding": {**place, "text": {"field": field}, "color": colour}}

    layers = [
        category_marks(rows, lanes, _NAME_OFFSET, grid=False),
        {
            "transform": [{"filter": read}],
            "mark": {"type": "rect", "width": _TILE_SIZE[0] - 4, "height": _TILE_SIZE[1] - 4},
            "encoding": {**place, "color": fill},
        },
        {
            "transform": [{"filter": "datum.beyond_any_mask"}],
            "mark": {
                "type": "rect",
                "width": _TILE_SIZE[0] - 4,
                "height": _TILE_SIZE[1] - 4,
                "filled": False,
                "stroke": INK,
                "strokeWidth": 2,
            },
            "encoding": place,
        },
        words("text", -6, 12),
        words("n_text", 9, 10),
    ]
    return Figure(
        name="finding_heatmap",
        title="Which findings does it look for?",
        spec=figure_spec(
            rows, width={"step": _TILE_SIZE[0]}, height={"step": _TILE_SIZE[1]}, layer=layers
        ),
        alt=f"Causal grounding rate (CGR) by reader and finding, percent: {_heatmap_alt(rows)}.",
        signature=signature,
        notes=(
            "CGR in percent, and the correct Yes answers it stands on. Framed: the interval of CGR "
            "lies above the flips a mask elsewhere causes on the same finding. Without colour: "
            f"fewer than {FEW} cases, not to be interpreted.",
        ),
    )


def _findings_by_cgr(index: Index) -> list[str]:
    """The findings by falling CGR over all readers together."""
    pooled = {}
    for finding in index.groups("cgr", "finding"):
        found = [index.known(reader, "cgr", finding=finding) for reader in index.readers]
        n = sum(record.n or 0 for record in found if record is not None)
        if n:
            pooled[finding] = sum(record.k or 0 for record in found if record is not None) / n
    return sorted(pooled, key=lambda finding: -pooled[finding])


def _tile(index: Index, reader: str, finding: str) -> Spec:
    record = index.known(reader, "cgr", finding=finding)
    facts: Spec = {"finding": finding.replace("_", " "), "value": None, "n": 0}
    if record is None:
        return facts | {"beyond_any_mask": False, "text": NOT_KNOWN, "n_text": ""}
    return facts | {
        "value": hundred(record.value),
        "low": hundred(record.low),
        "high": hundred(record.high),
        "n": record.n,
        "beyond_any_mask": _beyond_any_mask(record, index.known(reader, "is", finding=finding)),
        "text": percent(record.value),
        "n_text": f"n={record.n}",
    }


def _beyond_any_mask(cgr: Measure, stable: Measure | None) -> bool:
    """Whether the target mask flips more than a mask elsewhere does, by the interval [D37]."""
    if cgr.low is None or stable is None or stable.value is None or (cgr.n or 0) < FEW:
        return False
    return cgr.low > 1 - stable.value


def _heatmap_alt(rows: list[Spec]) -> str:
    of: dict[str, list[str]] = {}
    for row in rows:
        if row["value"] is not None:
            said = f"{row['finding']} {row['text']} ({row['n_text']})"
            of.setdefault(row["reader"], []).append(said)
    return "; ".join(f"{reader}: {', '.join(cells)}" for reader, cells in of.items())
