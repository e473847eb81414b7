"""The tables: Table 1, what stands beside it, and what the numbers depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Final

from overread.benchmarks.base import Transferred
from overread.benchmarks.exhibits.cells import (
    FEW_MARK,
    NOT_KNOWN,
    OTHER_RULE_MARK,
    cell,
    fraction,
    interval,
    p_value,
    percent,
    told_apart,
)
from overread.benchmarks.exhibits.index import Column
from overread.benchmarks.exhibits.tables import Shows, difference_rows, reader_rows, readers_table
from overread.benchmarks.grounding.category import (
    BY_TESTS,
    FEW_PARSED,
    RULE_DIFFERS,
    SWEEP,
    WORDS,
)
from overread.benchmarks.grounding.exhibits.dot_plot import BASELINE, FEW, Index
from overread.case import Measure, Table
from overread.typeset import Cell

_RATES: Final = {"cgr": "CGR", "accuracy": "accuracy", "uar": "UAR", "is": "IS"}


def _spelled(word: str) -> str:
    return word.replace("_", " ")


def _by_reader(
    index: Index, name: str, columns: Sequence[Column], shows: Shows | None = None
) -> Table | None:
    return readers_table(index, name, columns, shows=shows)


def _columns(index: Index, measure: str, *keys: str, **also: str) -> list[Column]:
    """A column for each group of a measure under these keys."""
    return [
        Column(_spelled(group), measure, (*also.items(), (key, group)))
        for key in keys
        for group in dict.fromkeys(
            record.by[key]
            for record in index.all(measure, key, *also)
            if all(record.by[name] == value for name, value in also.items())
        )
    ]


# ---------------------------------------------------------------- Table 1

_SUMMARY: Final = {
    "accuracy": "accuracy",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "cgr": "CGR",
    "uar": "UAR",
    "is": "IS",
    "retest": "retest",
    "gsp": "GSP",
    "parse_rate": "parse rate",
}


def summary(index: Index) -> Table:
    """Category, accuracy and the causal triad of every reader, each with interval and n."""
    again = index.any("retest")
    columns = [Column(title, name) for name, title in _SUMMARY.items() if again or name != "retest"]
    found = {reader: index.get(reader, "category") for reader in index.readers}
    marks = {
        reader: OTHER_RULE_MARK if one and RULE_DIFFERS in one.flags else ""
        for reader, one in found.items()
    }
    rows = (
        (reader, _label(found[reader]) + marks[reader], *cells)
        for reader, *cells in reader_rows(index, columns)
    )
    notes = (
        *_what_words_mean(index, [one for one in found.values() if one]),
        *([index.note("retest")] if again else []),
        *([index.note("other_rule")] if any(marks.values()) else []),
        *(f"{reader}: {one.note}." for reader, one in found.items() if one and one.note),
    )
    headings = ("reader", "category", *(column.heading for column in columns))
    return index.whole_table("summary", rows, *notes, columns=headings)


def _what_words_mean(index: Index, categories: Sequence[Measure]) -> Iterator[str]:
    """Of every word that was given by tests, what it means and how often it is wrong."""
    if any(one.how is not None and one.how.kind == BY_TESTS for one in categories):
        given = {one.label for one in categories}
        for word in WORDS:
            if word in given:
                yield index.note(f"means_{word.replace(' ', '_')}")


def _label(record: Measure | None) -> str:
    return (record.label if record is not None else None) or NOT_KNOWN


# ---------------------------------------------------------------- beside it


def thresholds(index: Index) -> Table | None:
    """Supplementary Table 13: the category were a reader unstable below another IS."""
    swept = [f"{threshold / 100:.2f}" for threshold in SWEEP]
    rows = (
        (
            *row,
            index.category(row[0]),
            *(_label(index.get(row[0], "category", unstable_below=below)) for below in swept),
        )
        for row in reader_rows(index, [Column("IS", "is")])
    )
    columns = ("reader", "IS", "category", *(f"below {percent(float(below))}" for below in swept))
    return index.table("thresholds", rows, columns=columns, first=3)


def parse_rates(index: Index) -> Table | None:
    """Supplementary Table 12: replies in which an answer was found, by condition."""
    return _by_reader(index, "parse_rates", _columns(index, "parse_rate", "condition"))


def conditions(index: Index) -> Table | None:
    """The triad under conditions the paper has not, beside the headline."""
    rows = (
        (
            reader,
            name.upper(),
            _spelled(image),
            cell(index.get(reader, name, condition=image)),
            cell(index.get(reader, name)),
        )
        for reader in index.readers
        for name in ("cgr", "is", "gsp", "uar")
        for image in index.groups(name, "condition")
    )
    return index.table("conditions", rows, first=3)


def worst_cases(index: Index) -> Table | None:
    """The rates if all replies without an answer were misses, and if they were hits [D4]."""
    names = {"accuracy": "accuracy", "cgr": "CGR", "uar": "UAR", "is": "IS", "is_all": "IS of all"}

    def span(reader: str, name: str) -> str:
        low, high = (index.known(reader, name, bound=end) for end in ("low", "high"))
        if low is None or high is None:
            return NOT_KNOWN
        return f"{percent(low.value)} to {percent(high.value)} n={low.n}"

    rows = ((reader, *(span(reader, name) for name in names)) for reader in index.readers)
    return index.table("worst_cases", rows, columns=("reader", *names.values()))


# ---------------------------------------------------------------- one reader against another


def against_baselines(index: Index) -> Table | None:
    """Supplementary Table 1: every reader less each reader that gets no image."""
    return _comparison_table(index, "comparisons", BASELINE)


def pairwise(index: Index) -> Table | None:
    """Every reader less every other."""
    return _comparison_table(index, "pairwise", "pairwise")


def _comparison_table(index: Index, name: str, kind: str) -> Table | None:
    """The comparisons of a kind, as comparisons.py names it."""
    found = (
        (record, _RATES[measure])
        for measure in ("accuracy", "uar", "cgr", "is")
        for record in index.all(f"diff_{measure}", "versus", "comparison")
        if record.by["comparison"] == kind
    )
    return index.table(name, difference_rows(found, beside=True, marked=True), first=3)


# ---------------------------------------------------------------- groups

_RATED_SETS: Final = (
    Column("all boxes", "cgr", (("coverage", "all"),)),
    Column("box rated accurate", "cgr", (("coverage", "accurate"),)),
    Column("accurate or partial", "cgr", (("coverage", "accurate_or_partial"),)),
)


def _marked_fraction(record: Measure | None) -> str:
    few = record is not None and 0 < (record.n or 0) < FEW
    return fraction(record, FEW_MARK if few else "")


def findings(index: Index) -> Table | None:
    """Supplementary Table 2: CGR by finding."""
    columns = [column for column in _columns(index, "cgr", "finding") if column.stands(index)]
    return _by_reader(index, "findings", columns, _marked_fraction)


def rated_boxes_by_finding(index: Index) -> Table | None:
    """The same on boxes rated accurate."""
    columns = _columns(index, "cgr", "finding", coverage="accurate")
    return _by_reader(index, "coverage_findings", columns, _marked_fraction)


def rated_boxes(index: Index) -> Table | None:
    """Supplementary Table 7: CGR where human readers said the box holds the finding."""
    return _by_reader(index, "coverage", _RATED_SETS, fraction)


def sentences(index: Index) -> Table | None:
    """Verdicts on report sentences that another image changes, by kind of injected error."""
    columns = _columns(index, "rexerr_sensitivity", "error_group", "error_type")
    return _by_reader(index, "sentences", columns)


def subgroups(index: Index) -> Table | None:
    """Table 2: CGR and UAR by sex, view and age, with the test between the groups."""
    rows = (
        (reader, name.upper(), attribute, *_gap_cells(index, reader, name, attribute, test))
        for reader in index.readers
        for name in ("cgr", "uar")
        for attribute in index.groups(f"gap_{name}", "attribute")
        if (test := index.get(reader, f"gap_{name}", attribute=attribute))
    )
    return index.table("subgroups", rows, first=3)


def _gap_cells(
    index: Index, reader: str, name: str, attribute: str, test: Measure
) -> tuple[str, ...]:
    said = ", ".join(
        f"{group} {percent(rate.value)} (n={rate.n})"
        for group in index.groups(name, attribute)
        if (rate := index.known(reader, name, **{attribute: group}))
    )
    gap = NOT_KNOWN
    if test.value is not None:
        gap = Cell(percent(test.value, signed=True), interval(test))
    return said or NOT_KNOWN, gap, p_value(test.p), p_value(test.q) + told_apart(test)


# ---------------------------------------------------------------- confidence

REGIMES: Final = (
    ("grounded_correct", "grounded-correct"),
    ("ungrounded_correct", "ungrounded-correct"),
    ("incorrect", "incorrect"),
)
_CALIBRATION: Final = (
    Column("AUROC", "auroc"),
    Column("Brier", "brier"),
    Column("ECE of the answer", "ece_answer"),
    Column("ECE of P(Yes)", "ece_label"),
    Column("ECE as published", "ece_authors"),
)
# What is averaged, and the `by` of its records beside the regime [D8, D8b].
_AVERAGED: Final[dict[str, dict[str, str]]] = {
    "P(Yes)": {},
    "P(answer)": {"of": "answer"},
    "P(Yes), regimes by swap": {"definition": "metrics"},
}


def confidence(index: Index) -> Table | None:
    """Table 3: mean confidence by regime, and calibration."""
    rows = []
    for reader, *calibration in reader_rows(index, _CALIBRATION):
        for title, by in _AVERAGED.items():
            found = [index.get(reader, "confidence", regime=name, **by) for name, _ in REGIMES]
            if any(found) or not by:
                beside = [""] * len(calibration) if by else calibration
                rows.append((reader, title, *map(_mean_with_sd, found), *beside))
    withheld = (
        f"{reader}: no calibration; {record.note}."
        for reader in index.readers
        if (record := index.get(reader, "auroc")) and record.value is None and record.note
    )
    columns = ("reader", "averaged", *(t for _, t in REGIMES), *(c.heading for c in _CALIBRATION))
    return index.table("confidence", rows, *withheld, columns=columns, first=2)


def _mean_with_sd(record: Measure | None) -> str:
    if record is None or record.value is None:
        return NOT_KNOWN
    spread = ""
    if record.se is not None and record.n is not None:
        spread = f" ± {percent(record.se * sqrt(record.n))}"
    return f"{percent(record.value)}{spread} n={record.n}"


# ---------------------------------------------------------------- wordings, sizes, sets of cases


def phrasing(index: Index) -> Table | None:
    """Supplementary Table 4. Parse rate first: an accuracy over few parsed answers is not one."""

    def marked(record: Measure | None) -> str:
        few = record is not None and FEW_PARSED in record.flags
        return cell(record, FEW_MARK if few else "")

    names = {"parse_rate": "parse rate", "accuracy": "accuracy", "uar": "UAR"}
    rows = (
        (reader, words, *(marked(index.get(reader, name, phrasing=words)) for name in names))
        for reader in index.readers
        for words in index.groups("parse_rate", "phrasing")
    )
    return index.table("phrasing", rows, columns=("reader", "phrasing", *names.values()), first=2)


def sizes(index: Index) -> tuple[str, ...]:
    """The resolutions of a run, the headline's first; empty where there is only that one."""
    return index.groups("cgr", "px") or index.groups("accuracy", "px")


def resolution(index: Index) -> Table | None:
    """Supplementary Table 5: every rate at every resolution with its rank, and the change."""
    px = sizes(index)
    if not px:
        return None
    columns = ["reader", "rate", f"{px[0]} px", "rank"]
    for size in px[1:]:
        columns += [f"{size} px", "rank", "change"]
    rows = (row for name in _RATES for row in _resolution_rows(index, name, px))
    correlations = map(_correlation_note, index.together("rho", "px", "of"))
    return index.table("resolution", rows, *correlations, columns=columns, first=2)


def _resolution_rows(index: Index, name: str, px: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    from overread.measuring.contrasts import ranks

    if not any(index.any(name, px=size) for size in px):
        return
    records = {size: [index.get(reader, name, px=size) for reader in index.readers] for size in px}
    ranked = {
        size: ranks([None if r is None else r.value for r in found])
        for size, found in records.items()
    }
    for at, reader in enumerate(index.readers):
        row = [reader, _RATES[name]]
        for size in px:
            rank = ranked[size][at]
            row += [cell(records[size][at]), "" if rank is None else str(rank)]
            if size != px[0]:
                versus = f"px={px[0]}"
                row.append(cell(index.get(reader, f"diff_{name}", px=size, versus=versus)))
        yield tuple(row)


def _correlation_note(record: Measure) -> str:
    rate = _RATES.get(record.by["of"], record.by["of"])
    what = f"{rate} at {record.by['px'].replace(',', ' and ')} px"
    if record.value is None:
        return f"{what}: no rank correlation; {record.note}."
    p = f"p {p_value(record.p)}, {record.method}"
    return f"{what}: Spearman {record.value:.3f} over {record.n} models ({p})."


# Do the numbers of one set of cases hold on another? (GROUNDING 12, Figure 6)
#
# Two runs of the same readers over different cases: each reader's UAR and accuracy side by side,
# and the rank correlation over the readers, with and without those that see but do not read, since
# a vision-only probe may have been trained on one of the sets [D25].


def transferred(
    first: Sequence[Measure],
    second: Sequence[Measure],
    vision_only: frozenset[str],
    *,
    exact: bool = True,
) -> Transferred:
    """The readers side by side; and per measure and set of readers `rho` with its p.

    `exact` permutes the ranks for p, as it should be; otherwise the published t approximation,
    over rates rounded to four decimals as their tables are.
    """
    from overread.measuring.contrasts import rank_correlation

    one, other = Index(first), Index(second)
    beside = [
        (reader, name, ours, theirs)
        for name in ("uar", "accuracy", "cgr", "is")
        for reader in one.readers
        if (ours := one.get(reader, name)) and (theirs := other.get(reader, name))
    ]
    pairs: dict[str, dict[str, tuple[float, float]]] = {}
    for reader, name, ours, theirs in beside:
        if ours.value is not None and theirs.value is not None:
            both = (ours.value, theirs.value)
            rounded = both if exact else (round(both[0], 4), round(both[1], 4))
            pairs.setdefault(name, {})[reader] = rounded
    found = []
    for name, every in pairs.items():
        seeing = {reader: both for reader, both in every.items() if reader not in vision_only}
        for which, some in (("all", every), ("without_vision_only", seeing)):
            if which == "all" or len(some) < len(every):
                by = {"of": name, "readers": which}
                found.append(rank_correlation(list(some.values()), by, exact=exact))
    return Transferred(beside, found)


def transfer_table(found: Transferred, names: tuple[str, str], signature: str) -> Table:
    """One row per reader and measure, and a note per correlation."""
    return Table(
        name="transfer",
        title=Index(()).title("transfer"),
        columns=("reader", "measure", *names),
        rows=tuple((reader, name, cell(x), cell(y)) for reader, name, x, y in found.pairs),
        signature=signature,
        notes=tuple(map(_transfer_note, found.correlations)),
    )


def _transfer_note(record: Measure) -> str:
    over = "all models" if record.by["readers"] == "all" else "models that read"
    what = f"{record.by['of']} over {over} (n={record.n})"
    if record.value is None:
        return f"{what}: no rank correlation; {record.note}."
    return f"{what}: Spearman {record.value:.3f}, p {record.p:.4g} ({record.method})."
