"""`overread judge`, `judge-sample`, `error-sample`, `rank-sample`: who judges a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from overread import runs
from overread.case import BadInput
from overread.cli import options
from overread.cli.show import print_table, watch


def judge(
    run: Annotated[Path, Argument(help="A run folder, of run or of import.")],
    judge: options.Judges = None,
    store: options.StoreFile = None,
    set_: options.Settings = None,
    concurrency: options.Concurrency = None,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> int:
    """Have a finished or imported run judged, and measure it again. No reader is asked.

    Judges that judged it before stay; verdicts are kept, and resumed by the same command.

    Example: overread judge imported --judge control:lexical-judge
    """
    done = runs.judge(
        run,
        judge or [],
        store=store,
        settings=options.settings_from(set_),
        concurrency=concurrency,
        fresh=fresh,
        watch=watch,
        tell=options.tell,
    )
    return options.finish([done], json=json, judged=True, fresh=fresh)


def judge_sample(
    run: Annotated[Path, Argument(help="A run folder with judges.")],
    n: Annotated[int, Option(help="How many things to judge.")] = 50,
    out: Annotated[Path | None, Option(help="The folder for sheet.csv and key.csv.")] = None,
    seed: Annotated[int, Option(help="Of the sample, and of resampling.")] = 0,
    filled: Annotated[Path | None, Option(help="The sheet, filled by the person.")] = None,
    key: Annotated[Path | None, Option(help="The key of that sheet.")] = None,
    json: options.Json = False,
) -> int:
    """Write a sheet for a person; or, with --filled and --key, print how the judges agree with it.

    Example: overread judge-sample runs/m3cot-phantom-questions-1a2b3c --n 50 --out sample
    """
    if out is not None and (filled is not None or key is not None):
        raise BadInput("--out writes a sheet, --filled and --key compare one. Give one of the two.")
    if out is not None:
        made = runs.judge_sample(run, out, n=n, seed=seed)
        if made.rows < n:
            options.tell(f"the run has {made.rows} things judged; all of them are in the sheet.")
        if json:
            return options.print_json(made)
        print(f"{made.rows} rows to judge: {made.sheet}. Leave {made.key} closed until it is done.")
        return 0
    if filled is None or key is None:
        raise BadInput(
            "give --out FOLDER to write a sheet, or --filled SHEET and --key KEY to compare one."
        )
    found = runs.person_agreement(run, filled, key, seed=seed)
    if json:
        return options.print_json(found)
    print_table(found.table)
    return 0


def error_sample(
    run: options.Folder,
    reader: Annotated[str, Option(help="Whose answers.")],
    out: Annotated[Path, Option(help="The folder for the sheet, and errors.html.")],
    per_dimension: Annotated[
        int, Option(help="How many of each dimension, or finding, at most.")
    ] = 100,
    right_for: Annotated[str | None, Option(help="Only items this other reader got right.")] = None,
    seed: Annotated[int, Option(help="Of the sample.")] = 0,
    json: options.Json = False,
) -> int:
    """Write a sheet of errors, and a page on which a person labels them and saves the sheet.

    Then: overread measure RUN --set errors=SHEET. Which answers these are the benchmark says; some
    have a sheet and no page.

    Example: overread error-sample runs/medcmr-1a2b3c --reader qwen3-vl --out errors
    """
    made = runs.error_sample(
        run, out, reader=reader, per_dimension=per_dimension, right_for=right_for, seed=seed
    )
    if json:
        return options.print_json(made)
    if made.page is None:
        print(f"{made.rows} {made.holds}: {made.sheet}")
        return 0
    print(f"{made.rows} {made.holds}: open {made.page} in a browser, or fill {made.sheet}.")
    print(f"Then: overread measure {run} --set errors={made.sheet}")
    return 0


def rank_sample(
    run: Annotated[Path, Argument(help="A run folder with open answers.")],
    out: Annotated[Path, Option(help="The folder for ranks.csv.")],
    reader: Annotated[
        list[str] | None, Option(help="Whose replies; all readers by default.")
    ] = None,
    n: Annotated[int, Option(help="How many items.")] = 200,
    seed: Annotated[int, Option(help="Of the sample.")] = 0,
    json: options.Json = False,
) -> int:
    """Write a sheet of replies side by side, with nobody named, for people to rank.

    Then: overread measure RUN --set ranks=SHEET.

    Example: overread rank-sample runs/medcmr-1a2b3c --n 200 --out ranks
    """
    made = runs.rank_sample(run, out, readers=reader or (), n=n, seed=seed)
    if made.items < n:
        options.tell(f"the run has {made.items} items that all of them answered; all are in it.")
    if json:
        return options.print_json(made)
    print(f"{made.rows} replies to {made.items} items to rank: {made.sheet}.")
    print(f"Then: overread measure {run} --set ranks={made.sheet}")
    return 0
