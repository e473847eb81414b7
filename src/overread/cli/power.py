"""`overread power`: how many cases, and patients, a claim needs. Nobody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from overread import runs
from overread.case import BadInput, Table, printable
from overread.cli import options
from overread.cli.command_line import Option

if TYPE_CHECKING:
    from overread.runs import Power


def power(
    rate: Annotated[float | None, Option(help="The share expected, as 0.8.")] = None,
    half_width: Annotated[
        float | None, Option(help="Half the width of its 95 % interval, as 0.05.")
    ] = None,
    rates: Annotated[str | None, Option(help="The shares of two models, as 0.85,0.80.")] = None,
    discordant: Annotated[
        float | None,
        Option(help="The share of cases only one has right; else they err independently."),
    ] = None,
    margin: Annotated[
        float | None, Option(help="The first is no worse than the second by as much, as 0.05.")
    ] = None,
    both_sides: Annotated[
        bool, Option("--both-sides", help="With --margin: nor better, they are equivalent.")
    ] = False,
    power: Annotated[float | None, Option(help="The chance to show it (0.8).")] = None,
    per_patient: Annotated[int | None, Option(help="Cases a patient has (1).")] = None,
    alike: Annotated[
        float | None, Option(help="How a patient's cases correlate, 0 to 1 (0.5).")
    ] = None,
    pilot: Annotated[
        Path | None, Option(help="A run that has rates, discordance and patients.")
    ] = None,
    measure: Annotated[
        str | None, Option(help="The share meant of the pilot; else that of right cases.")
    ] = None,
    reader: Annotated[
        list[str] | None, Option(help="Whose of the pilot; twice for two models.")
    ] = None,
    category: Annotated[
        str | None, Option(help="What a model is said to do with the image: uses or ignores.")
    ] = None,
    uses: Annotated[
        float | None, Option(help="With --category: the share of images it uses, as 0.1.")
    ] = None,
    flips: Annotated[
        float | None, Option(help="With --category: answers changed by chance, as 0.02 (0).")
    ] = None,
    readers: Annotated[
        int | None, Option(help="With --category: models of the run, for Holm's q (1).")
    ] = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """How many cases, and patients, are needed to show what you want to show.

    For an interval of a width (--rate --half-width), to tell two models apart (--rates), to show
    that one is no worse (--margin) or equivalent (--both-sides), or to reach a --category.

    Example: overread power --rates 0.85,0.80 --discordant 0.15 --per-patient 2
    """
    found = runs.power(
        rate=rate,
        half_width=half_width,
        rates=None if rates is None else _two(rates),
        discordant=discordant,
        margin=margin,
        both_sides=both_sides,
        power=power,
        per_patient=per_patient,
        alike=alike,
        pilot=pilot,
        measure=measure,
        readers=reader or (),
        word=category,
        uses=uses,
        flips=flips,
        of_readers=readers,
    )
    if not json:
        print(printable(found.sentence))
    return options.print_found(found, _needed_table(found), json=json, wide=wide)


def _two(words: str) -> tuple[float, float]:
    """`0.85,0.80` -> the two."""
    try:
        first, second = map(float, words.split(","))
    except ValueError:
        raise BadInput(
            f'--rates "{words}": expected two shares, as in --rates 0.85,0.80.'
        ) from None
    return first, second


def _needed_table(found: Power) -> Table:
    powered = found.claim != "half-width"
    rows = []
    for one in found.others:
        chance = [f"{100 * one.power:.4g} %"] if one.power is not None else []
        counts = (f"{one.cases:,}", f"{one.patients:,}")
        rows.append((f"{one.per_patient:.3g}", f"{one.effect:.3g}", *chance, *counts))
    notes = []
    if (pilot := found.pilot) is not None:
        whose = " and ".join(pilot.readers)
        notes.append(
            f"By {pilot.run}: {pilot.measure} of {whose}, {pilot.cases:,} cases of "
            f"{pilot.patients:,} patients."
        )
    notes += found.notes
    if found.discordant is not None:
        notes.append(f"Only one of the two is right in {100 * found.discordant:.3g} % of cases.")
    elif powered and found.behaviour is None:
        notes.append("Models that err independently; with --discordant fewer cases may do.")
    return Table(
        name="power",
        title="Cases and patients needed",
        columns=("cases a patient", "design effect", *["power"] * powered, "cases", "patients"),
        rows=tuple(rows),
        notes=tuple(notes),
        signature="docs/statistics.md says by which formulas; nothing was asked",
    )
