"""`overread study new`, `serve`, `export`, `import`, `analyse`: people as readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import overread.runs
from overread.case import BadInput, printable
from overread.cli import options
from overread.cli.command_line import Argument, Option
from overread.cli.show import print_table

if TYPE_CHECKING:
    from overread.study.app import Links

Study = Annotated[Path, Argument(help="A study folder.")]


def new(
    file: Annotated[Path, Argument(help="A study file, .toml.")],
    out: Annotated[Path | None, Option(help="The folder to make; the study's name.")] = None,
    json: options.Json = False,
) -> int:
    """Make a study: what readers will see, and apart from it the key to what that is.

    Example: overread study new study.toml --out chest-readers
    """
    made = overread.runs.study_new(file, out)
    if json:
        return options.print_json(made)
    for remark in made.remarks:
        options.tell(f"note: {remark}")
    numbers = (("display", made.displays), ("reader", made.readers), ("session", made.sessions))
    displays, readers, sessions = (f"{n:,} {word}{'s' * (n != 1)}" for word, n in numbers)
    print(f"{displays} for {readers} in {sessions}: {made.folder}")
    print(f"Keep {made.folder / 'key'} to yourself: it says what each display shows.")
    return 0


def serve(
    folder: Study,
    port: Annotated[int, Option(help="0 takes one that is free.")] = 0,
    host: Annotated[
        str | None, Option(help="An address others may reach; it needs a certificate.")
    ] = None,
    name: Annotated[
        list[str] | None, Option(help="A name readers reach it by, as the certificate has it.")
    ] = None,
    tls_cert: Annotated[Path | None, Option(help="A certificate, PEM.")] = None,
    tls_key: Annotated[Path | None, Option(help="Its key, PEM.")] = None,
) -> int:
    """Serve a study to its readers until Ctrl-C; prints everybody's own link.

    Example: overread study serve chest-readers --port 8443
    """

    def listens(links: Links) -> None:
        for reader, link in links.readers.items():
            print(f"{reader}: {link}")
        print(f"organiser: {links.organiser}", flush=True)

    overread.runs.study_serve(
        folder,
        host=host,
        port=port,
        names=name or (),
        cert=tls_cert,
        key=tls_key,
        listens=listens,
        trouble=options.tell,
    )
    options.tell("stopped. Every answer is kept; start it again to go on.")
    return 0


def export(
    folder: Study,
    out: Annotated[Path, Option(help="A new folder for sheets, or a file with --imrmc.")],
    imrmc: Annotated[
        bool, Option("--imrmc", help="The answers in iMRMC's list mode; opens the key.")
    ] = False,
    paper: Annotated[
        bool,
        Option("--paper", help="The filled sheets of the benchmark's paper; opens the key."),
    ] = False,
    early: Annotated[
        bool, Option("--early", help="Open the key although somebody still reads.")
    ] = False,
) -> int:
    """Write sheets for readers who work elsewhere, or all answers in iMRMC's list mode.

    Example: overread study export chest-readers --out sheets
    """
    rows = overread.runs.study_export(folder, out, imrmc=imrmc, paper=paper, early=early)
    print(f"{rows:,} rows in {out}")
    return 0


def import_sheet(
    folder: Study,
    sheet: Annotated[Path, Argument(help="A filled sheet, csv.")],
    reader: Annotated[str, Option(help="Whose it is.")],
) -> int:
    """Take a filled sheet of one reader into the study.

    Example: overread study import chest-readers anna/session-1/task-1.csv --reader anna
    """
    new_ones, changed, same = overread.runs.study_import(folder, reader, sheet)
    said = f"{new_ones:,} answers of {reader} taken, {same:,} were there already"
    print(printable(said + (f", {changed:,} stand in place of others" if changed else "")))
    return 0


def analyse(
    folder: Study,
    run: Annotated[
        Path | None, Option(help="A run of models over the same cases, to stand beside people.")
    ] = None,
    margin: Annotated[
        float | None, Option(help="Are models not worse than readers by more than this?")
    ] = None,
    sheets: Annotated[
        list[str] | None,
        Option(help="READER=FOLDER of the paper's filled sheets; then STUDY is a run. Repeatable."),
    ] = None,
    audit: Annotated[
        Path | None, Option(help="A study of what its readers did not agree on, read to its end.")
    ] = None,
    early: Annotated[
        bool, Option("--early", help="Open the key although somebody still reads.")
    ] = False,
    json: options.Json = False,
) -> int:
    """Measure people as readers: their rates, agreement, and models against them.

    Example: overread study analyse chest-readers --run my-run
    """
    if sheets:
        given = {"run": run, "margin": margin, "audit": audit, "early": early or None}
        if others := [name for name, value in given.items() if value is not None]:
            raise BadInput(
                f"--{others[0]} is for a study of one's own, and --sheets for a paper's. Leave one "
                "of them out."
            )
        named = options.pairs_from(sheets, "--sheets", "SZ=reader1", "READER=FOLDER")
        places = {reader: Path(place) for reader, place in named.items()}
        found = overread.runs.study_sheets(folder, places)
    else:
        found = overread.runs.study_analyse(
            folder, run=run, margin=margin, early=early, audit=audit
        )
    if json:
        return options.print_json(found)
    for table in overread.runs.study_tables(found):
        print_table(table)
    for rater in found.raters:
        print(printable(f"{rater.name}: {rater.in_words}"))
    for remark in found.remarks:
        print(remark)
    print(f"edition: {found.edition}")
    if not sheets:
        print(found.folder / "analysis.json")
    return 0
