"""`overread build`: a probe set from the datasets a lab has."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from overread import runs
from overread.case import BadInput
from overread.cli import options
from overread.cli.command_line import Option
from overread.cli.show import print_table

if TYPE_CHECKING:
    from overread.runs._reach import Reach

# As many lines of what was left out as a screen takes; the file has all.
_SHOWN: Final = 30


def build(
    benchmark: options.Benchmark,
    out: Annotated[Path | None, Option(help="The folder to write: new or empty.")] = None,
    mimic: Annotated[Path | None, Option(help="MIMIC-CXR-JPG's folder (with files/).")] = None,
    ms_cxr: Annotated[Path | None, Option(help="MS-CXR's local alignments, csv or json.")] = None,
    rexerr: Annotated[Path | None, Option(help="ReXErr's sentence-level test csv.")] = None,
    patients: Annotated[Path | None, Option(help="MIMIC-IV's patients.csv, or its folder.")] = None,
    labels: Annotated[
        str | None, Option(help="MIMIC's labeler: chexpert (default) or negbio.")
    ] = None,
    master_list: Annotated[
        Path | None, Option(help="The authors' MIMIC list, in place of --mimic.")
    ] = None,
    chexpert: Annotated[
        Path | None, Option(help="CheXpert's folder, or one of its csv files.")
    ] = None,
    chexpert_plus: Annotated[Path | None, Option(help="CheXpert Plus's csv, for reports.")] = None,
    chexpert_master_list: Annotated[Path | None, Option(help="The authors' CheXpert list.")] = None,
    nih: Annotated[Path | None, Option(help="NIH ChestX-ray14's folder.")] = None,
    rsna: Annotated[Path | None, Option(help="The RSNA 2018 challenge's folder.")] = None,
    nih_mapping: Annotated[Path | None, Option(help="RSNA's mapping to NIH, for patients.")] = None,
    folder: Annotated[
        Path | None, Option(help="A csv of your own: image, finding, label, …")
    ] = None,
    column: Annotated[
        list[str] | None, Option(help="OURS=THEIRS, a column of your csv. Repeatable.")
    ] = None,
    finding: Annotated[str | None, Option(help="The finding of every row of your csv.")] = None,
    name: Annotated[str | None, Option(help="What your set is called.")] = None,
    policy: Annotated[
        str | None, Option(help="Of your set: open, research or credentialed (default).")
    ] = None,
    edition: options.Edition = "corrected",
    seed: Annotated[int, Option(help="Seed of every draw.")] = 42,
    per_finding: Annotated[
        int | None, Option(help="Most cases of a finding, half without it.")
    ] = None,
    boxes_per_finding: Annotated[int | None, Option(help="Most boxes of MS-CXR (100).")] = None,
    normals: Annotated[int | None, Option(help="Most films without any finding.")] = None,
    sentences: Annotated[int | None, Option(help="Sentences of ReXErr (800).")] = None,
    minimum_side: Annotated[
        int | None, Option(help="Least side of a box, of 224 pixels (50).")
    ] = None,
    images: Annotated[Path | None, Option(help="The images' folder, if it is another one.")] = None,
    no_images: Annotated[
        bool, Option("--no-images", help="Read tables only: no digests, no matched boxes.")
    ] = False,
    skip_missing: Annotated[
        bool, Option("--skip-missing", help="Leave out films whose image is not there.")
    ] = False,
    matched: Annotated[int | None, Option(help="Matched boxes for each box (5).")] = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Make a probe set: MIMIC, CheXpert, NIH, RSNA, or films of your own. docs/probe-sets.md.

    Example: overread build grounding --nih NIH --out nih-probe
    """
    given = locals()  # every option by its name

    from overread.benchmarks.registry import builder

    makes = builder(benchmark)
    if out is None:
        raise BadInput("--out is missing. Give a new folder for the set.")
    # An empty THEIRS leaves a column aside.
    columns = options.pairs_from(column, "--column", "label=edema", "OURS=THEIRS") or None
    drawn = {name: given[name] for name in makes.Recipe.__struct_fields__ if name in given}
    recipe = makes.Recipe(**drawn, columns=columns)
    made = makes.build(recipe, out, images=not no_images, matched=matched, watch=_watch)
    return _show(made, _reach(benchmark, made), json=json, wide=wide)


def _reach(benchmark: str, made: Any) -> Reach | None:
    """What the built cases can show; why nobody can be asked about them, as a warning."""
    try:
        return runs.reach(benchmark, made.folder, made.edition)
    except BadInput as error:
        options.tell(str(error))
        return None


def _watch(paths: Iterable[str], total: int) -> Iterator[str]:
    """The images as they are, behind a bar if somebody looks."""
    if not sys.stderr.isatty():
        yield from paths
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(paths, total=total, description="images")


def _show(made: Any, reach: Reach | None, *, json: bool, wide: bool) -> int:
    for warning in made.warnings:
        options.tell(warning)
    if json:
        return options.print_json(msgspec.structs.asdict(made) | {"reach": reach})
    composition, exclusions = made.tables
    print_table(composition, wide=wide)
    print()
    if reach is not None:
        print_table(reach.table, wide=wide)
        print()
    more = len(exclusions.rows) - _SHOWN
    if more > 0:
        note = f"And {more:,} lines more: {made.folder / 'exclusions.csv'}."
        exclusions = msgspec.structs.replace(
            exclusions, rows=exclusions.rows[:_SHOWN], notes=(*exclusions.notes, note)
        )
    print_table(exclusions, wide=wide)
    print(f"{made.folder / 'manifest.csv'}")
    print(f"Next: {made.next}")
    return 0
