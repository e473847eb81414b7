"""`overread build`: a probe set from the datasets a lab has."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from overread.case import BadInput
from overread.cli import options

# As many lines of what was left out as a screen takes; the file has all.
_SHOWN: Final = 30


def build(
    benchmark: options.Benchmark,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write: new or empty.")
    ] = None,
    mimic: Annotated[
        Path | None, typer.Option("--mimic", help="MIMIC-CXR-JPG's folder (with files/).")
    ] = None,
    ms_cxr: Annotated[
        Path | None, typer.Option("--ms-cxr", help="MS-CXR's local alignments, csv or json.")
    ] = None,
    rexerr: Annotated[
        Path | None, typer.Option("--rexerr", help="ReXErr's sentence-level test csv.")
    ] = None,
    patients: Annotated[
        Path | None, typer.Option("--patients", help="MIMIC-IV's patients.csv, or its folder.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", help="MIMIC's labeler: chexpert (default) or negbio.")
    ] = None,
    master_list: Annotated[
        Path | None,
        typer.Option("--master-list", help="The authors' MIMIC list, in place of --mimic."),
    ] = None,
    chexpert: Annotated[
        Path | None, typer.Option("--chexpert", help="CheXpert's folder, or one of its csv files.")
    ] = None,
    chexpert_plus: Annotated[
        Path | None, typer.Option("--chexpert-plus", help="CheXpert Plus's csv, for reports.")
    ] = None,
    chexpert_master_list: Annotated[
        Path | None,
        typer.Option("--chexpert-master-list", help="The authors' CheXpert list."),
    ] = None,
    nih: Annotated[Path | None, typer.Option("--nih", help="NIH ChestX-ray14's folder.")] = None,
    rsna: Annotated[
        Path | None, typer.Option("--rsna", help="The RSNA 2018 challenge's folder.")
    ] = None,
    nih_mapping: Annotated[
        Path | None, typer.Option("--nih-mapping", help="RSNA's mapping to NIH, for patients.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="A csv of your own: image, finding, label, …")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="OURS=THEIRS, a column of your csv. Repeatable."),
    ] = None,
    finding: Annotated[
        str | None, typer.Option("--finding", help="The finding of every row of your csv.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What your set is called.")] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="Of your set: open, research or credentialed (default)."),
    ] = None,
    edition: options.Edition = "corrected",
    seed: Annotated[int, typer.Option("--seed", help="Seed of every draw.")] = 42,
    per_finding: Annotated[
        int | None, typer.Option("--per-finding", help="Most cases of a finding, half without it.")
    ] = None,
    boxes_per_finding: Annotated[
        int | None, typer.Option("--boxes-per-finding", help="Most boxes of MS-CXR (100).")
    ] = None,
    normals: Annotated[
        int | None, typer.Option("--normals", help="Most films without any finding.")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option("--sentences", help="Sentences of ReXErr (800).")
    ] = None,
    minimum_side: Annotated[
        int | None, typer.Option("--minimum-side", help="Least side of a box, of 224 pixels (50).")
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--images", help="The images' folder, if it is another one.")
    ] = None,
    no_images: Annotated[
        bool, typer.Option("--no-images", help="Read tables only: no digests, no matched boxes.")
    ] = False,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out films whose image is not there.")
    ] = False,
    matched: Annotated[
        int | None, typer.Option("--matched", help="Matched boxes for each box (5).")
    ] = None,
    json: options.Json = False,
) -> int:
    """Make a probe set: MIMIC, CheXpert, NIH, RSNA, or films of your own. docs/probe-sets.md.

    Example: overread build grounding --nih NIH --out nih-probe
    """
    from overread.benchmarks.registry import builder

    makes = builder(benchmark)
    if out is None:
        raise BadInput("--out is missing. Give a new folder for the set.")
    recipe = makes.Recipe(
        mimic=mimic,
        master_list=master_list,
        chexpert=chexpert,
        chexpert_master_list=chexpert_master_list,
        nih=nih,
        rsna=rsna,
        folder=folder,
        ms_cxr=ms_cxr,
        rexerr=rexerr,
        patients=patients,
        labels=labels,
        chexpert_plus=chexpert_plus,
        nih_mapping=nih_mapping,
        columns=_columns(column),
        finding=finding,
        name=name,
        policy=policy,
        edition=edition,
        seed=seed,
        per_finding=per_finding,
        boxes_per_finding=boxes_per_finding,
        normals=normals,
        sentences=sentences,
        minimum_side=minimum_side,
        images=images,
        skip_missing=skip_missing,
    )
    made = makes.build(recipe, out, images=not no_images, matched=matched, watch=_watch)
    return _show(made, json=json)


def _columns(words: list[str] | None) -> dict[str, str] | None:
    """`["label=pneumonia"]` -> `{"label": "pneumonia"}`; an empty THEIRS leaves a column aside."""
    if not words:
        return None
    columns: dict[str, str] = {}
    for word in words:
        ours, equals, theirs = word.partition("=")
        if not equals or not ours:
            raise BadInput(f'--column {word}: expected OURS=THEIRS, as in "--column label=edema".')
        if ours in columns:
            raise BadInput(f"--column {ours} is given twice; give it once.")
        columns[ours] = theirs
    return columns


def _watch(paths: Iterable[str], total: int) -> Iterator[str]:
    """The images as they are, behind a bar if somebody looks."""
    if not sys.stderr.isatty():
        yield from paths
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(paths, total=total, description="images")


def _show(made: Any, *, json: bool) -> int:
    import msgspec

    from overread.cli.show import print_table

    for warning in made.warnings:
        options.tell(warning)
    if json:
        print(msgspec.json.encode(made, enc_hook=str).decode())
        return 0
    composition, exclusions = made.tables
    print_table(composition)
    print()
    more = len(exclusions.rows) - _SHOWN
    if more > 0:
        note = f"And {more:,} lines more: {made.folder / 'exclusions.csv'}."
        exclusions = msgspec.structs.replace(
            exclusions, rows=exclusions.rows[:_SHOWN], notes=(*exclusions.notes, note)
        )
    print_table(exclusions)
    print(f"{made.folder / 'manifest.csv'}")
    print(f"Next: {made.next}")
    return 0
