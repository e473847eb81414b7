"""`overread probe fit`: a frozen encoder with a head for each finding becomes a reader."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from overread import runs
from overread.case import Table
from overread.cli import options
from overread.cli.command_line import Option

if TYPE_CHECKING:
    from overread.runs import Fitted


def fit(
    train: Annotated[
        str, Option(help="A table of films: image, patient and findings; or phantom:N[:SEED].")
    ],
    out: Annotated[Path, Option(help="The folder to write: new or empty.")],
    cases: Annotated[
        str | None, Option(help="The probe set, whose patients are left out of the training.")
    ] = None,
    encoder: Annotated[
        str, Option(help="builtin, hf:MODEL[@REVISION] or onnx:FILE.")
    ] = "hf:microsoft/rad-dino",
    part: Annotated[
        str, Option(help="whole: the film's vector; local: its patches, the strongest of each.")
    ] = "whole",
    edition: options.Edition = "corrected",
    finding: Annotated[list[str] | None, Option(help="Only this finding. Repeatable.")] = None,
    column: Annotated[
        list[str] | None, Option(help="OURS=THEIRS, a column of your table. Repeatable.")
    ] = None,
    where: Annotated[
        list[str] | None, Option(help="COLUMN=VALUE[,VALUE]: only such rows. Repeatable.")
    ] = None,
    images: Annotated[
        Path | None, Option(help="The images' folder, if it is not the table's.")
    ] = None,
    px: Annotated[
        int | None, Option(help="The side that films are brought to first (224).")
    ] = None,
    seed: Annotated[int, Option(help="Seed of the folds.")] = 0,
    device: Annotated[str | None, Option(help="Of an hf: encoder: cpu, cuda, cuda:1.")] = None,
    other_patients: Annotated[
        bool,
        Option("--other-patients", help="Equal ids in table and probe set are different people."),
    ] = False,
    benchmark: Annotated[
        str | None, Option(help="Whose case file --cases is, if not the first that has findings.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Fit a logistic head for each finding on a frozen encoder: a `probe:` model.

    Example: overread probe fit --train phantom:1600:7 --cases phantom:480 --other-patients
    --encoder builtin --out probe
    """
    fitted = runs.fit_probe(
        train=train,
        out=out,
        cases=cases,
        encoder=encoder,
        part=part,
        edition=edition,
        findings=finding or (),
        columns=options.pairs_from(column, "--column", "image=path", "OURS=THEIRS"),
        where=options.pairs_from(where, "--where", "split=train,valid", "COLUMN=VALUES"),
        images=images,
        px=px,
        seed=seed,
        device=device,
        other_patients=other_patients,
        benchmark=benchmark,
        watch=_watch,
    )
    for line in fitted.remarks:
        options.tell(line)
    options.print_found(fitted, _heads_table(fitted), json=json)
    if not json:
        print(f"Next: overread run BENCHMARK --cases … --reader probe:{fitted.folder}")
    return 0


def _watch(starts: Iterable[Any], total: int) -> Iterator[Any]:
    """Batches as they are, behind a bar if somebody looks."""
    if not sys.stderr.isatty():
        yield from starts
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(starts, total=total, description="encoding")


def _heads_table(fitted: Fitted) -> Table:
    card = fitted.card
    rows = [
        (
            head.finding,
            f"{head.films:,}",
            f"{head.present:,}",
            f"{head.patients:,}",
            f"{head.c:g}",
            _number(head.auroc, 100, 1)
            + (
                f" [{100 * head.auroc_low:.1f}, {100 * head.auroc_high:.1f}]"
                if head.auroc_low is not None and head.auroc_high is not None
                else ""
            ),
            _number(head.brier, 1, 3),
            _number(head.ece, 100, 1),
        )
        for head in card.head
    ]
    return Table(
        name="heads",
        title="Heads, each judged on patients of other folds",
        columns=("finding", "films", "with it", "patients", "C", "AUROC", "Brier", "ECE"),
        rows=tuple(rows),
        notes=(
            f"{card.films:,} films of {card.patients:,} patients; ECE of P(finding) against the "
            "label, ten bins.",
        ),
        signature=f"probe|{card.edition}|{card.part}|{card.encoder_identity}|px:{card.px}"
        f"|train:{card.train}|seed:{card.seed}|overread:{card.overread}",
    )


def _number(value: float | None, times: int, places: int) -> str:
    return "–" if value is None else f"{times * value:.{places}f}"
