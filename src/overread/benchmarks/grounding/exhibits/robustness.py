"""Do the numbers depend on the wording, the resolution or the set of cases?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from overread.benchmarks.exhibits.cells import cell, p_value, table
from overread.benchmarks.exhibits.style import Spec, figure_spec, number_axis, reader_axis, shown
from overread.benchmarks.grounding.category import FEW_PARSED
from overread.benchmarks.grounding.exhibits.dot_plot import Index, hundred, identity
from overread.case import Figure, Measure, Table

__all__ = [
    "RATES",
    "TRANSFERRED",
    "phrasing",
    "phrasing_lanes",
    "resolution",
    "side_by_side",
    "sizes",
    "transfer",
    "transfer_table",
]

# ---------------------------------------------------------------- tables
# Supplementary Tables 4 and 5: do the numbers depend on the wording or the resolution?


RATES: Final = (("cgr", "CGR"), ("accuracy", "accuracy"), ("uar", "UAR"), ("is", "IS"))


def phrasing(index: Index, signature: str) -> Table | None:
    """Parse rate first: an accuracy over few parsed answers is not one."""

    def accuracy(record: Measure | None) -> str:
        few = record is not None and FEW_PARSED in record.flags
        return cell(record, "†" if few else "")

    return table(
        "phrasing",
        "Does it depend on the wording?",
        ("reader", "phrasing", "parse rate", "accuracy", "UAR"),
        (
            (
                reader,
                words,
                cell(index.get(reader, "parse_rate", phrasing=words)),
                accuracy(index.get(reader, "accuracy", phrasing=words)),
                cell(index.get(reader, "uar", phrasing=words)),
            )
            for reader in index.readers
            for words in index.groups("parse_rate", "phrasing")
        ),
        signature,
        (
            "Percent [95 % interval], on the same sub-sample of cases in every wording.",
            "† Fewer than 50 parsed answers: not to be interpreted.",
        ),
        facts=2,
    )


def sizes(index: Index) -> tuple[str, ...]:
    """The resolutions of a run, the headline's first; empty where there is only that one."""
    return index.groups("cgr", "px") or index.groups("accuracy", "px")


def resolution(index: Index, signature: str) -> Table | None:
    """Every rate at every resolution with the reader's rank, and the paired change."""
    px = sizes(index)
    if not px:
        return None
    base, *others = px
    columns = ["reader", "rate", f"{base} px", "rank"]
    for size in others:
        columns += [f"{size} px", "rank", "change"]
    return table(
        "resolution",
        "Does it depend on the resolution?",
        columns,
        (row for name, title in RATES for row in _resolution_rows(index, name, title, px)),
        signature,
        (
            "Percent [95 % interval]; the change in percentage points, on cases decided at both.",
            *_correlation_notes(index),
        ),
        facts=2,
    )


def _resolution_rows(
    index: Index, name: str, title: str, px: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    from overread.benchmarks.grounding.comparisons import ranks

    if not any(index.any(name, px=size) for size in px):
        return
    ranked = {
        size: ranks(
            [
                r.value if (r := index.get(reader, name, px=size)) else None
                for reader in index.readers
            ]
        )
        for size in px
    }
    base, *others = px
    for at, reader in enumerate(index.readers):
        row = [reader, title, cell(index.get(reader, name, px=base)), _rank_text(ranked[base][at])]
        for size in others:
            change = index.get(reader, f"diff_{name}", px=size, versus=f"px={base}")
            row += [
                cell(index.get(reader, name, px=size)),
                _rank_text(ranked[size][at]),
                cell(change),
            ]
        yield tuple(row)


def _rank_text(rank: int | None) -> str:
    return "" if rank is None else str(rank)


def _correlation_notes(index: Index) -> Iterator[str]:
    for record in index.together("rho", "px", "of"):
        rate = dict(RATES).get(record.by["of"], record.by["of"])
        what = f"{rate} at {record.by['px'].replace(',', ' and ')} px"
        if record.value is None:
            yield f"{what}: no rank correlation; {record.note}."
        else:
            p = f"p {p_value(record.p)}, {record.method}"
            yield f"{what}: Spearman {record.value:.3f} over {record.n} readers ({p})."


# ---------------------------------------------------------------- wordings side by side
# Supplementary Figure 1d, e: parse rate and accuracy of every wording, side by side.


_WORDING_RATES: Final = (
    ("parse_rate", "replies with an answer, percent"),
    ("accuracy", "accuracy, percent"),
)
_WORDING_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_WORDING_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_WORDING_WIDTH: Final = 230


def phrasing_lanes(index: Index, signature: str) -> Figure | None:
    """One lane per reader, one mark per wording: the further apart, the more brittle."""
    wordings = index.groups("parse_rate", "phrasing")
    names = shown(index.readers)
    rows: list[Spec] = []
    for reader in index.readers:
        for place, wording in enumerate(wordings):
            for name, _ in _WORDING_RATES:
                record = index.known(reader, name, phrasing=wording)
                if record is not None:
                    facts = identity(index, reader, names)
                    rows.append(
                        facts
                        | {
                            "rate": name,
                            "phrasing": wording,
                            # Wordings of one lane stand a little above each other.
                            "place": place,
                            "value": hundred(record.value),
                            "low": hundred(record.low),
                            "high": hundred(record.high),
                            "n": record.n,
                            "text": cell(record),
                        }
                    )
    if not rows:
        return None
    asked = {row["reader"] for row in rows}
    lanes = [names[reader] for reader in index.readers if reader in asked]
    panels = [
        _wording_lanes(name, title, lanes, wordings, named=place == 0)
        for place, (name, title) in enumerate(_WORDING_RATES)
    ]
    told = "; ".join(
        f"{row['reader']} {row['phrasing']} {row['rate'].replace('_', ' ')} {row['text']}"
        for row in rows
    )
    return Figure(
        name="phrasing_lanes",
        title="Does it depend on the wording?",
        spec=figure_spec(rows, hconcat=panels, spacing=24),
        alt=f"Parse rate and accuracy in every wording, percent with 95 % interval: {told}.",
        signature=signature,
        notes=("Bars are 95 % intervals. An accuracy over few parsed answers is not one.",),
    )


def _wording_lanes(
    name: str, title: str, lanes: Sequence[str], wordings: Sequence[str], *, named: bool
) -> Spec:
    x: Any = number_axis("value", title, 0, 100)
    y = reader_axis(lanes)
    if not named:
        y["axis"] = {**y["axis"], "labels": False, "minExtent": 0}
    nudge = {"field": "place", "type": "ordinal", "scale": {"paddingInner": 0}}
    key = {"field": "phrasing", "type": "nominal"}
    colour = {**key, "scale": _wording_scale(wordings, _WORDING_COLOURS)}
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.6},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "y": y,
                "yOffset": nudge,
                "stroke": colour,
            },
        },
        {
            "mark": {"type": "point", "size": 55, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "yOffset": nudge,
                "stroke": colour,
                "fill": colour,
                "shape": {**key, "scale": _wording_scale(wordings, _WORDING_SHAPES)},
            },
        },
    ]
    return {
        "transform": [{"filter": f"datum.rate === '{name}'"}],
        "width": _WORDING_WIDTH,
        "height": len(lanes) * (10 + 12 * len(wordings)),
        "layer": layers,
    }


def _wording_scale(wordings: Sequence[str], looks: Sequence[str]) -> Spec:
    return {
        "domain": list(wordings),
        "range": [looks[at % len(looks)] for at in range(len(wordings))],
    }


# ---------------------------------------------------------------- two runs
# Do the numbers of one set of cases hold on another? (GROUNDING 12, Figure 6)
#
# Two runs of the same readers over different cases: each reader's UAR and accuracy side by side,
# and the rank correlation over the readers, with and without those that see but do not read, since
# a vision-only probe may have been trained on one of the sets [D25].


TRANSFERRED: Final = ("uar", "accuracy", "cgr", "is")


def transfer(
    first: Sequence[Measure],
    second: Sequence[Measure],
    vision_only: frozenset[str],
    *,
    exact: bool = True,
) -> list[Measure]:
    """One record per measure and set of readers: `rho` with its p and the readers' values.

    `exact` permutes the ranks for p, as it should be; otherwise the published t approximation,
    over rates rounded to four decimals as their tables are.
    """
    found = []
    for name in TRANSFERRED:
        ours, theirs = _overall_values(first, name), _overall_values(second, name)
        shared = [reader for reader in ours if reader in theirs]
        if not shared:
            continue
        found.append(_transfer_correlation(name, shared, ours, theirs, "all", exact))
        seeing = [reader for reader in shared if reader not in vision_only]
        if len(seeing) < len(shared):
            found.append(
                _transfer_correlation(name, seeing, ours, theirs, "without_vision_only", exact)
            )
    return found


def _overall_values(measures: Sequence[Measure], name: str) -> dict[str, float]:
    return {
        record.reader: record.value
        for record in measures
        if record.measure == name and not record.by and record.value is not None
    }


def _transfer_correlation(
    name: str,
    readers: Sequence[str],
    ours: Mapping[str, float],
    theirs: Mapping[str, float],
    which: str,
    exact: bool,
) -> Measure:
    from overread.benchmarks.grounding.comparisons import rank_correlation

    x, y = [ours[r] for r in readers], [theirs[r] for r in readers]
    if not exact:
        x, y = [round(v, 4) for v in x], [round(v, 4) for v in y]
    by = {"of": name, "readers": which}
    return rank_correlation(list(zip(x, y, strict=True)), by, exact=exact)


def side_by_side(
    first: Sequence[Measure], second: Sequence[Measure]
) -> Iterator[tuple[str, str, Measure, Measure]]:
    """(reader, measure, its record in the first run, its record in the second)."""
    for name in TRANSFERRED:
        others = {r.reader: r for r in second if r.measure == name and not r.by}
        for record in first:
            if record.measure == name and not record.by and record.reader in others:
                yield record.reader, name, record, others[record.reader]


def transfer_table(
    pairs: Sequence[tuple[str, str, Measure, Measure]],
    correlations: Sequence[Measure],
    names: tuple[str, str],
    signature: str,
) -> Table:
    """One row per reader and measure, and a note per correlation."""
    return Table(
        name="transfer",
        title="Do the numbers hold on other cases?",
        columns=("reader", "measure", *names),
        rows=tuple(
            (reader, name, _transfer_cell(x), _transfer_cell(y)) for reader, name, x, y in pairs
        ),
        signature=signature,
        notes=tuple(_transfer_note(record) for record in correlations),
    )


def _transfer_cell(record: Measure) -> str:
    if record.value is None:
        return "n/a"
    interval = ""
    if record.low is not None and record.high is not None:
        interval = f" [{100 * record.low:.1f}, {100 * record.high:.1f}]"
    return f"{100 * record.value:.1f}{interval} n={record.n}"


def _transfer_note(record: Measure) -> str:
    over = "all readers" if record.by["readers"] == "all" else "readers that read"
    what = f"{record.by['of']} over {over} (n={record.n})"
    if record.value is None:
        return f"{what}: no rank correlation; {record.note}."
    return f"{what}: Spearman {record.value:.3f}, p {record.p:.4g} ({record.method})."
