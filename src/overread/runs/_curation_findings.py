"""What a step of curation says beside its funnel: checks of the set, and sheets for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from overread.case import Table
from overread.curate import folder as kept
from overread.curate.records import items_of
from overread.curate.wanted import read_wanted


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What was found about a set after a step, as tables and as values, and a sheet to fill in."""

    tables: tuple[Table, ...] = ()
    found: dict[str, Any] = {}
    sheet: str = ""
    rows: int = 0


def curate_findings(folder: str | Path, step: str) -> Findings:
    """Look at what a step has written.

    After `distract`: whether the form of the options gives answers away, and a sheet of the
    proposals from which people have still to choose. After `steps`: a sheet of the steps that wait
    for somebody. After `filter`: what is answered without looking.
    """
    place = Path(folder)
    wanted, records = read_wanted(place), kept.read_step(place, step)
    items = items_of(records)
    if step == "distract":
        from overread.curate.distract import to_choose
        from overread.curate.form import check_form, form_table

        report = check_form(items, wanted.seed)
        rows = to_choose(records)
        sheet = _write(place, "distract_to_choose.csv", rows)
        return Findings(
            tables=(form_table(report, wanted.name),), found={"form": report}, sheet=sheet,
            rows=len(rows),
        )  # fmt: skip
    if step == "steps":
        from overread.curate.calibration import to_read

        rows = to_read(records)
        return Findings(sheet=_write(place, "steps_to_read.csv", rows), rows=len(rows))
    if step == "filter":
        from overread.curate.blind import blind_report, blind_table

        blind = blind_report(items, wanted.options("filter", _rate()).rate)
        tables = (blind_table(blind, wanted.name),) if blind.n else ()
        return Findings(tables=tables, found={"blind": blind})
    return Findings()


def _rate() -> Any:
    from overread.curate.filtering import Filter

    return Filter


def _write(place: Path, name: str, rows: list[dict[str, str]]) -> str:
    """A sheet, written anew after every step; what people fill in is a copy of another name."""
    from overread.typeset import csv_text

    if not rows:
        (place / name).unlink(missing_ok=True)
        return ""
    text = csv_text(tuple(rows[0]), (tuple(row.values()) for row in rows))
    kept.put(place, name, text.encode())
    return str(place / name)
