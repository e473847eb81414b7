"""What is made of finished runs: pages, files, comparisons, a gate, sheets for people.

`overread report`, `serve`, `compare`, `transfer`, `gate`, `published`, `judge-sample`,
`error-sample`, `rank-sample`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

import overread.runs
from overread.case import BadInput, printable
from overread.cli import options
from overread.cli.command_line import Argument, Option
from overread.cli.show import print_table, print_verdict, write_no_more

if TYPE_CHECKING:
    from overread.report.serving import Serving


def report(
    runs: options.Folders,
    out: Annotated[
        Path | None, Option(help="The page: report.html in the only run, or here.")
    ] = None,
    csv: Annotated[Path | None, Option(help="A folder for tables and measures as csv.")] = None,
    latex: Annotated[Path | None, Option(help="A folder for tables that fit a column.")] = None,
    columns: Annotated[
        str | None, Option(help="Columns of LaTeX tables, as accuracy,CGR; or all.")
    ] = None,
    figures: Annotated[Path | None, Option(help="A folder for figures: SVG, PDF, PNG.")] = None,
    eee: Annotated[
        Path | None, Option(help="A folder for Every Eval Ever records, one for each model.")
    ] = None,
    include_images: options.IncludeImages = False,
    cases: Annotated[int | None, Option(help="How many cases the page embeds (60).")] = None,
    seed: Annotated[int, Option(help="Of the sample of cases.")] = 0,
    title: Annotated[
        str | None, Option(help="Of the page; models, data and day where left out.")
    ] = None,
    policy: Annotated[
        Path | None, Option(help="A gate's rules: the page shows its verdict.")
    ] = None,
    board: Annotated[
        Path | None, Option(help="A print of two pages: matrix, gate, limitations.")
    ] = None,
    checklist: Annotated[
        str | None,
        Option(help="mi-clear-llm, claim or stard-ai: that alone; --out is .html, .md or .csv."),
    ] = None,
    json: options.Json = False,
) -> int:
    """Write one page of some runs that opens from disk, and files for a paper.

    Example: overread report runs/grounding-phantom-chest-1a2b3c --latex tables --figures figures
    """
    if checklist is not None:
        others = {
            "--csv": csv, "--latex": latex, "--columns": columns, "--figures": figures,
            "--eee": eee, "--include-images": include_images, "--cases": cases, "--title": title,
            "--policy": policy, "--board": board, "--seed": seed,
        }  # fmt: skip
        given = [name for name, value in others.items() if value]
        if given:
            raise BadInput(
                f"--checklist writes the checklist alone. Leave {', '.join(given)} to another call."
            )
        page = overread.runs.checklist(runs, checklist, out, tell=options.tell)
        if json:
            return options.print_json({"checklist": str(page)})
        print(page)
        return 0
    wanted = {} if cases is None else {"cards": cases}
    done = overread.runs.report(
        runs,
        out,
        include_images=include_images,
        csv=csv,
        latex=latex,
        columns=options.listed(columns),
        figures=figures,
        eee=eee,
        seed=seed,
        title=title or "",
        policy=policy,
        board=board,
        tell=options.tell,
        **wanted,
    )
    if json:
        return options.print_json(done)
    options.print_files(done.files)
    if done.gate is not None:
        print(f"gate: {done.gate}")
    if done.board is not None:
        print(done.board)
    print(done.page, flush=True)
    return 0


def serve(
    runs: options.Folders,
    port: Annotated[int, Option(help="0 takes one that is free.")] = 0,
    host: Annotated[
        str | None, Option(help="An address others may reach; without it, this machine only.")
    ] = None,
    include_images: options.IncludeImages = False,
    no_open: Annotated[
        bool, Option("--no-open", help="Print the address and open no browser.")
    ] = False,
) -> int:
    """Serve the page of some runs with all of their cases, until Ctrl-C.

    The printed address opens once: the browser that used it keeps a cookie.

    Example: overread serve runs/grounding-phantom-chest-1a2b3c
    """

    def listens(server: Serving) -> None:
        if server.public:
            options.tell(
                "warning: whoever reaches this machine may see that it serves, and the connection "
                "is not encrypted. Leave --host out, and forward the port by ssh."
            )
        print(server.url, flush=True)
        if not no_open:
            overread.runs.open_in_browser(server.url)

    overread.runs.serve(
        runs,
        host=host,
        port=port,
        include_images=include_images,
        listens=listens,
        trouble=options.tell,
    )
    options.tell("stopped.")
    return 0


def compare(
    runs: Annotated[list[Path], Argument(help="Run folders; one has pairs of its own.")],
    measure: Annotated[list[str] | None, Option(help="Only this measure. Repeatable.")] = None,
    reader: Annotated[
        list[str] | None, Option(help="Only these models; one alone is held against all others.")
    ] = None,
    margin: Annotated[
        float | None,
        Option(help="Is the first not worse by more than this? In the measure's own unit."),
    ] = None,
    csv: Annotated[Path | None, Option(help="A folder for the table as csv.")] = None,
    latex: Annotated[Path | None, Option(help="A folder for it as LaTeX.")] = None,
    columns: Annotated[str | None, Option(help="Columns of the LaTeX table; or all.")] = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Compare models case by case, within a run and across runs of one data set.

    Example: overread compare runs/before runs/after --measure accuracy
    """
    found = overread.runs.compare(runs, measures=measure or [], readers=reader or [], margin=margin)
    files = overread.runs.write_comparisons(
        found, csv=csv, latex=latex, columns=options.listed(columns)
    )
    if json:
        plain = [msgspec.structs.asdict(one) for one in found]
        for one in plain:
            del one["table"]  # the same numbers, ready to print
        return options.print_json({"found": plain})
    for comparison in found:
        print_table(comparison.table, wide=wide)
        for line in comparison.lines:
            print(printable(line))
    options.print_files(files)
    return 0


def transfer(
    first: options.Folder,
    second: Annotated[Path, Argument(help="Another, of the same models.")],
    wide: options.Wide = False,
    json: options.Json = False,
    figure: Annotated[
        Path | None, Option(help="Also draw the one against the other (svg, png, pdf).")
    ] = None,
) -> int:
    """Each model's rates in two runs, and their rank correlation over the models.

    Example: overread transfer runs/mimic runs/chexpert
    """
    found = overread.runs.transfer(first, second)
    if figure is not None:
        overread.runs.transfer_figure(found).save(figure)
    return options.print_found(found, found.table, json=json, wide=wide)


def gate(
    runs: Annotated[list[Path], Argument(metavar="RUN", help="Run folders.")],
    policy: Annotated[Path, Option(help="The rules, a TOML file.")],
    reader: Annotated[
        list[str] | None, Option(help='A model that "*" stands for; all of them if absent.')
    ] = None,
    junit: Annotated[Path | None, Option(help="Write JUnit XML to this file, too.")] = None,
    baseline: Annotated[
        list[Path] | None,
        Option(help="A run over the same cases that rules with a margin compare with. Repeatable."),
    ] = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Hold runs against a policy: exit 0 pass, 1 fail, 4 the data cannot tell.

    A passed gate is not a clearance. docs/gate.example.toml says how a policy is written.

    Example: overread gate runs/grounding runs/heartbeat --policy gate.toml --junit gate.xml
    """
    from overread.report.gate import VERDICTS, one_line, rulings_tables, verdict

    gated = overread.runs.gate(
        runs, policy, readers=reader or [], junit_file=junit, baselines=baseline or []
    )
    try:
        if json:
            options.print_json(gated)
        else:
            word = VERDICTS[gated.outcome]
            print_verdict(word, verdict(gated).removeprefix(word))
            print(one_line(f"{gated.title}. {gated.disclaimer}"))
            for table in rulings_tables(gated):
                print()
                print_table(table, wide=wide)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the second is what rich makes of the first
        # Elsewhere a reader that had enough of our output is no trouble and leaves 0. Here 0 says
        # that the gate is passed.
        write_no_more()
    return gated.exit_code


def published(
    benchmark: Annotated[
        str | None, Argument(help="A benchmark; without one, those that have figures.")
    ] = None,
    table: Annotated[str | None, Option(help="One printed table, as 2, S5 or systems.")] = None,
    beside: Annotated[
        list[Path] | None, Option(help="A run folder whose models are put beside. Repeatable.")
    ] = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Print the figures of a benchmark's paper; rows that do not add up are flagged.

    Example: overread published grounding --beside runs/my-run
    """
    if benchmark is None and (table is not None or beside):
        raise BadInput("name a benchmark. Example: overread published grounding --table S5")
    if benchmark is None:
        listed = overread.runs.published_list()
        return options.print_found([row[0] for row in listed.rows], listed, json=json, wide=wide)
    found = overread.runs.published_figures(benchmark, table=table, beside=beside or [])
    plain = msgspec.structs.asdict(found)
    del plain["exhibits"]  # the same numbers, ready to print
    return options.print_found(plain, *found.exhibits, json=json, wide=wide)


def judge_sample(
    run: Annotated[Path, Argument(help="A run folder with judges.")],
    n: Annotated[int, Option(help="How many things to judge.")] = 50,
    out: Annotated[Path | None, Option(help="The folder for sheet.csv and key.csv.")] = None,
    seed: Annotated[int, Option(help="Of the sample, and of resampling.")] = 0,
    filled: Annotated[Path | None, Option(help="The sheet, filled by the person.")] = None,
    key: Annotated[Path | None, Option(help="The key of that sheet.")] = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> int:
    """Write a sheet for a person; or, with --filled and --key, print how the judges agree with it.

    Example: overread judge-sample runs/m3cot-phantom-questions-1a2b3c --n 50 --out sample
    """
    if out is not None and (filled is not None or key is not None):
        raise BadInput("--out writes a sheet, --filled and --key compare one. Give one of the two.")
    if out is not None:
        made = overread.runs.judge_sample(run, out, n=n, seed=seed)
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
    found = overread.runs.person_agreement(run, filled, key, seed=seed)
    return options.print_found(found, found.table, json=json, wide=wide)


def error_sample(
    run: options.Folder,
    reader: Annotated[str, Option(help="Whose answers.")],
    out: Annotated[Path, Option(help="The folder for the sheet, and errors.html.")],
    per_dimension: Annotated[
        int, Option(help="How many of each dimension, or finding, at most.")
    ] = 100,
    right_for: Annotated[str | None, Option(help="Only items this other model got right.")] = None,
    seed: Annotated[int, Option(help="Of the sample.")] = 0,
    json: options.Json = False,
) -> int:
    """Write a sheet of errors, and a page on which a person labels them and saves the sheet.

    Then: overread measure RUN --set errors=SHEET. Which answers these are the benchmark says; some
    have a sheet and no page.

    Example: overread error-sample runs/medcmr-1a2b3c --reader qwen3-vl --out errors
    """
    made = overread.runs.error_sample(
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
        list[str] | None, Option(help="Whose replies; all models by default.")
    ] = None,
    n: Annotated[int, Option(help="How many items.")] = 200,
    seed: Annotated[int, Option(help="Of the sample.")] = 0,
    json: options.Json = False,
) -> int:
    """Write a sheet of replies side by side, with nobody named, for people to rank.

    Then: overread measure RUN --set ranks=SHEET.

    Example: overread rank-sample runs/medcmr-1a2b3c --n 200 --out ranks
    """
    made = overread.runs.rank_sample(run, out, readers=reader or (), n=n, seed=seed)
    if made.items < n:
        options.tell(f"the run has {made.items} items that all of them answered; all are in it.")
    if json:
        return options.print_json(made)
    print(f"{made.rows} replies to {made.items} items to rank: {made.sheet}.")
    print(f"Then: overread measure {run} --set ranks={made.sheet}")
    return 0
