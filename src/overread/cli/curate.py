"""`overread curate …`: new items, step by step, in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from overread import runs
from overread.case import BadInput
from overread.cli import options
from overread.cli.command_line import Argument, Option
from overread.cli.show import print_table, watch
from overread.curate.funnel import table_of

if TYPE_CHECKING:
    from overread.runs import Stepped

Set = Annotated[Path, Argument(help="The folder of a set, with its curate.toml.")]


def _finish(done: Stepped, folder: Path, *, json: bool) -> int:
    """Print the funnel's new line; 3 where questions were not answered."""
    if json:
        options.print_json(done)
    else:
        print_table(table_of([done.stage], folder.name))
        print(done.file)
    if done.unanswered:
        options.tell(
            f"{done.unanswered:,} questions were not answered; each costs its own item alone. "
            "Run the same command again to ask them once more."
        )
        return 3
    return 0


def collect(folder: Set, json: options.Json = False) -> int:
    """Collect pictures with what is known of them; doubtful ones wait for a person.

    Example: overread curate collect ward
    """
    return _finish(runs.curate_collect(folder, tell=options.tell), folder, json=json)


def review(
    folder: Set,
    of: Annotated[
        str,
        Option(
            help="Instead of the items: doubtful pictures (collect), proposed wrong options "
            "(distract), gold steps (steps)."
        ),
    ] = "",
    unreviewed: Annotated[
        bool,
        Option("--unreviewed", help="Let in what nobody has reviewed; it is written on the set."),
    ] = False,
    json: options.Json = False,
) -> int:
    """Have people review the items in a reader study, and take what they decided.

    Example: overread curate review ward
    """
    if of:
        known = {
            "collect": runs.curate_look,
            "distract": runs.curate_choose,
            "steps": runs.curate_rounds,
        }
        if of not in known or unreviewed:
            raise BadInput(f"--of {of}: it is {', '.join(known)}, without --unreviewed.")
        known[of](folder, tell=options.tell)
        return 0
    done = runs.curate_review(folder, unreviewed=unreviewed, tell=options.tell)
    return _finish(done, folder, json=json)


def leakage(folder: Set, json: options.Json = False) -> int:
    """Ask models for signs that they have met the items before; no value of them says "clean".

    Example: overread curate leakage ward
    """
    from overread.curate.leakage import table_of as signs

    found = runs.curate_leakage(folder, watch=watch, tell=options.tell)
    return options.print_found(found, signs(found, folder.name), json=json)


def publish(
    folder: Set,
    out: Annotated[Path | None, Option(help="The folder to write; FOLDER/published.")] = None,
    json: options.Json = False,
) -> int:
    """Write the reviewed items as a set that runs, with its datasheet and metadata.

    Example: overread curate publish ward --out ward-2026
    """
    done = runs.curate_publish(folder, out)
    if json:
        return options.print_json(done)
    for benchmark, count in done.items.items():
        left = ", ".join(
            f"{r.replace('_', ' ')} {n:,}" for r, n in done.left_out[benchmark].items()
        )
        print(f"{benchmark}: {count:,} items" + (f"; left out: {left}" if left else ""))
        if count:
            print(f"  overread run {benchmark} --cases {done.folder} --reader …")
    if done.unreviewed:
        print(f"{done.unreviewed:,} items were reviewed by nobody, and the set says so.")
    print(f"{done.folder}/README.md")
    return 0


def ask(folder: Set, json: options.Json = False) -> int:
    """Make questions of the pictures: a model writes them from captions, rules from labels.

    Example: overread curate ask ward
    """
    return _ask(folder, "ask", json=json)


def distract(folder: Set, json: options.Json = False) -> int:
    """Have models propose wrong options, choose among them, and check what their form gives away.

    Example: overread curate distract ward
    """
    return _ask(folder, "distract", json=json)


def steps(folder: Set, json: options.Json = False) -> int:
    """Have gold reasoning written, merged and checked; people's rounds are read from a sheet.

    Example: overread curate steps ward
    """
    return _ask(folder, "steps", json=json)


def filter_items(folder: Set, json: options.Json = False) -> int:
    """Have models answer the items: how hard they are, and which are solved without looking.

    Example: overread curate filter ward
    """
    return _ask(folder, "filter", json=json)


def _ask(folder: Path, step: str, *, json: bool) -> int:
    done = runs.curate_step(folder, step, watch=watch, tell=options.tell)
    also = runs.curate_findings(folder, step)
    if json:
        options.print_json({**msgspec.structs.asdict(done), **also.found})
        return 3 if done.unanswered else 0
    code = _finish(done, folder, json=False)
    for table in also.tables:
        print_table(table)
    if also.sheet:
        print(f"{also.rows:,} rows wait for people: fill in a copy of {also.sheet}")
    return code
