"""Run folders become one page, files for a paper, or a gate's rulings. Nothing is measured again.

`run`, `measure`, `demo`, `report` and `serve` make their pages of what `reported` takes of a run:
exhibits, sentences, and cards of a sample of its cases.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from errno import EISDIR
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from overread import __version__
from overread.benchmarks.base import Benchmark, Tables
from overread.case import (
    BadInput,
    Card,
    Clip,
    Headline,
    Inline,
    Measure,
    Picture,
    Policy,
    Shown,
    Source,
    Table,
)
from overread.records import RUN_FILES, RunRecord, check_folder, folder_being_written, make_private
from overread.report import DISCLAIMER
from overread.runs._kept import Kept, kept_runs, records_of
from overread.runs._measuring import exhibits_of, with_pictures
from overread.runs._opening import Tell
from overread.runs._published import published_beside
from overread.scratch import scratch_folder

if TYPE_CHECKING:
    from overread.imaging import Films
    from overread.measuring.units import Unit
    from overread.report import Metric, Reported
    from overread.report.exports import Exported
    from overread.report.gate import Gated, GatedRun, Outcome
    from overread.runs._comparing import Comparison
    from overread.runs._measuring import Run

_PAGE: Final = "report.html"
_MOST_CARDS: Final = 2_000
_LARGEST_SEED: Final = 2**32 - 1
# What every page of ours has near its beginning.
_MARK: Final = b"<title>Overread: "
_MARK_WITHIN: Final = 4096
_LONGEST_TITLE: Final = 200
_COLUMNS_ALONE: Final = "--columns goes with --latex. Give a folder for the tables."

CARDS: Final = 60
"""How many cases the page of `report` embeds, as far as there is room for them."""
OWN_CARDS: Final = 24
"""How many the page that a run writes of itself embeds: it should be there at once."""


def reported(
    kept: Kept,
    opened: Benchmark | None = None,
    *,
    include_images: bool = False,
    cards: int = OWN_CARDS,
    seed: int = 0,
) -> Reported:
    """Everything a page shows of one run.

    `opened` is the benchmark over its cases, where their pictures may be shown. Exhibits, headlines
    and paragraphs are made of the measures alone. Its `record` is the run's as the page may show
    it; its `pictures` says whether this page shows any.
    """
    from overread.report import Reported, choose

    bench, record, tables, measures = kept.bench, kept.record, kept.tables, kept.measures.measures
    exhibits = exhibits_of(bench, record, measures)
    if opened is not None and opened is not bench and record.partial:
        opened.sample_from(frozenset(tables.cases["case"]))
    pictured = (
        {} if opened is None else {x.name: x for x in opened.pictured(tables, record.signature)}
    )
    shown: list[Card] = []
    strata: list[str] = []
    total = 0
    if bench.facets and cards > 0 and may_show_texts(record, include_images):
        index = bench.card_index(tables)
        total = index["case"].n_unique()
        chosen, strata = choose(index, cards, seed)
        shown = list(cards_with_slides(bench, opened, tables, chosen))
    slides = Pictures(shown)
    headlines = list(bench.headlines(measures))
    asked = tables.asked_under
    return Reported(
        record=msgspec.structs.replace(
            record,
            pictures=bool(pictured or slides),
            remarks=_remarks(record, include_images),
        ),
        measures=measures,
        metrics=_metrics(bench, measures),
        exhibits=list((exhibits | pictured).values()),
        headlines=headlines,
        methods=bench.methods(None if asked == bench.edition else asked),
        limitations=bench.limitations(measures),
        settings=_settings_of(bench, record),
        published=published_beside(record, kept.measures),
        cards=shown,
        card_total=total,
        seed=seed,
        strata=strata,
        slides=slides,
        units=_units(bench, headlines),
        share_right=bench.share_right,
        include_images=include_images,
    )


def answers_of(kept: Kept) -> Reported:
    """What the matrix of a run is made of, and nothing else of it."""
    from overread.report import Reported

    headlines = list(kept.bench.headlines(kept.measures.measures))
    return Reported(record=kept.record, headlines=headlines, units=_units(kept.bench, headlines))


def _units(bench: Benchmark, headlines: Sequence[Headline]) -> dict[str, Unit]:
    """What the numbers that decide are counted in, as far as the benchmark declares it."""
    names = dict.fromkeys(one.measure.measure for one in headlines)
    return {name: unit for name in names if (unit := bench.unit_of(name)) is not None}


def _metrics(bench: Benchmark, measures: Sequence[Measure]) -> dict[str, Metric]:
    """What the benchmark declares of the measures there are."""
    from overread.report import Metric

    specs = {spec.name: spec for spec in bench.specs()}
    found = {}
    for name in {one.measure for one in measures}:
        unit, spec = bench.unit_of(name), specs.get(name)
        facts: dict[str, Any] = {}
        if unit is not None:
            # Printed as percent, and kept as shares.
            called = "proportion" if unit.scale == 100 else unit.suffix.strip()
            facts = {"unit": called, "low": unit.low, "high": unit.high}
        if spec is not None:
            asked = tuple(one.role for one in bench.questions if one.name in spec.questions)
            facts |= {"says": spec.says, "better": spec.better}
            facts |= {"questions": spec.questions, "roles": asked}
        found[name] = Metric(**facts)
    return found


def _settings_of(bench: Benchmark, record: RunRecord) -> Table | None:
    """Every rule and option that the run was measured under, beside what the published code has."""
    if bench.book is None:
        return None
    found = bench.book.listing(bench.rules, bench.options)
    return Table(
        name="settings",
        title=f"Rules and options of the run ({record.benchmark})",
        columns=("setting", "value", "published", "decides"),
        rows=tuple(
            (
                one.name,
                one.value or "–",
                "–" if one.published is None else one.published,
                one.decides,
            )
            for one in found
        ),
        headline=("value", "published", "decides"),
        notes=("Published: what the authors' code has; – of options, which both editions share.",),
        signature=record.signature,
        edition=record.edition,
    )


def may_show_texts(record: RunRecord, include_images: bool) -> bool:
    """Whether questions, reports and replies may be shown: never a credentialed set's unasked."""
    return record.policy != "credentialed" or include_images


def _remarks(record: RunRecord, include_images: bool) -> tuple[str, ...]:
    """What a user should know of the set; a credentialed set's lines may name its cases."""
    if not record.remarks or may_show_texts(record, include_images):
        return record.remarks
    kept = "remarks that may name cases are in run.toml."
    if not record.left_out:
        return (kept[0].upper() + kept[1:],)
    return (f"{record.left_out} of the set are left out, wholly or in part; {kept}",)


# ---------------------------------------------------------------- cards


def cards_with_slides(
    bench: Benchmark, opened: Benchmark | None, tables: Tables, chosen: Sequence[str]
) -> Iterator[Card]:
    """Cards as this benchmark's edition reads them, with pictures as they were asked with.

    The two may be of different editions: what was shown stays what it was.
    """
    if opened is None or opened is bench:
        yield from bench.cards(tables, chosen)
        return
    try:
        slides = {card.case: card.slides for card in opened.cards(tables, chosen)}
    except BadInput:  # the files are no longer what they were
        slides = {}
    for card in bench.cards(tables, chosen):
        yield msgspec.structs.replace(card, slides=slides.get(card.case, ()))


class Pictures(Mapping[tuple[str, int], Shown]):
    """The pictures of cards by case and number of the slide, rendered when they are asked for.

    A class, for a page takes only as many as it has room for. One that cannot be rendered is not
    there. They have the size a reader was shown; frames of a clip stand side by side on one sheet.
    """

    def __init__(self, cards: Sequence[Card]) -> None:
        self._recipes: dict[tuple[str, int], Picture | Clip] = {
            (card.case, number): slide.picture
            for card in cards
            for number, slide in enumerate(card.slides)
        }
        # Frames of one film on one card, so that it is decoded once.
        self._together: dict[tuple[str, Source | Inline], set[int]] = {}
        for (case, _), picture in self._recipes.items():
            if isinstance(picture, Clip):
                self._together.setdefault((case, picture.source), set()).update(picture.frames)
        self._films: Films | None = None

    def __getitem__(self, key: tuple[str, int]) -> Shown:
        try:
            return self._rendered(key[0], self._recipes[key])
        except BadInput:
            raise KeyError(key) from None

    def __contains__(self, key: object) -> bool:
        return key in self._recipes

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._recipes)

    def __len__(self) -> int:
        return len(self._recipes)

    def _rendered(self, case: str, picture: Picture | Clip) -> Shown:
        from overread.imaging import Films

        self._films = self._films or Films()
        wanted = self._together.pop((case, picture.source), None)
        if wanted is not None:
            self._films.frames(picture.source, sorted(wanted))
        return rendered(picture, self._films)


def rendered(picture: Picture | Clip, films: Films) -> Shown:
    """A slide's picture in the size a reader was shown; frames stand side by side on one sheet."""
    from overread.imaging import render, render_frames

    return render(picture) if isinstance(picture, Picture) else render_frames(picture, films)


# ---------------------------------------------------------------- the page, and files for a paper


class ReportedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the page: what it is, what it stands on, and its measures."""

    folder: str
    benchmark: str
    edition: str
    dataset: str
    policy: Policy
    n_cases: int
    signature: str
    measures: list[Measure]


_OF_THE_RECORD: Final = ReportedRun.__struct_fields__[1:-1]


class Reporting(msgspec.Struct, frozen=True, kw_only=True):
    """What was written, and of what: the page, a print for a board, what the gate says, and by kind
    the files for a paper."""

    page: Path
    board: Path | None
    gate: Outcome | None
    files: dict[str, list[Path]]
    runs: list[ReportedRun]
    # How many cases are on the page to be looked at, of how many; by run.
    cards: list[tuple[int, int]]


def report(
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    include_images: bool = False,
    csv: str | Path | None = None,
    latex: str | Path | None = None,
    figures: str | Path | None = None,
    eee: str | Path | None = None,
    columns: Sequence[str] = (),
    cards: int = CARDS,
    seed: int = 0,
    title: str = "",
    policy: str | Path | None = None,
    board: str | Path | None = None,
    tell: Tell | None = None,
) -> Reporting:
    """Write the page of some runs, and what is asked for beside it.

    Without `out` the page of one run goes into its folder, that of several into the working folder.
    A file is replaced only if it is such a page, a folder only if it holds an earlier export.
    Pictures of a set that is not open, and texts of a credentialed one, are shown only with
    `include_images`. `columns` are the headings that LaTeX tables have, where a table has any of
    them; without, those that fit a column. `cards` cases are chosen by `seed` for the page to
    embed. With a `policy` the page has the gate's verdict; `board` is a file for a print of two
    pages.
    `tell` gets a line for a run whose set's card has become stricter.

    Examples
    --------
    >>> from overread.runs import report
    >>> report(["runs/a", "runs/b"], "both.html", latex="tables")  # doctest: +SKIP
    """
    if not 0 <= cards <= _MOST_CARDS:
        raise BadInput(f"--cases {cards}: it must be from 0 to {_MOST_CARDS}.")
    if columns and latex is None:
        raise BadInput(_COLUMNS_ALONE)
    if not 0 <= seed <= _LARGEST_SEED:
        raise BadInput(f"--seed {seed}: it must be from 0 to {_LARGEST_SEED}.")
    places = [Path(folder) for folder in folders]
    page = Path(out) if out is not None else (places[0] if len(places) == 1 else Path()) / _PAGE
    wanted = {"csv": csv, "latex": latex, "figures": figures, "eee": eee}
    exports = {option: Path(place) for option, place in wanted.items() if place is not None}
    if len(title) > _LONGEST_TITLE:
        raise BadInput(f"--title: {len(title)} characters; at most {_LONGEST_TITLE} fit.")
    if out is not None or len(places) != 1:
        _check_page(page)
    print_place = None if board is None else Path(board)
    if print_place is not None:
        _check_page(print_place, "--board")
        if print_place.resolve() == page.resolve():
            raise BadInput(f"--board {board}: the page goes there. Give another file.")
    _check_exports(exports, places)
    gated = None if policy is None else gate(places, policy)
    opened = kept_runs(places)
    if out is None and len(places) == 1:  # after the folder is known to be a run
        _check_page(page)
    pictured = [kept_today(kept, include_images, tell) for kept in opened]
    opened = [kept for kept, _ in pictured]
    runs = [
        reported(kept, found, include_images=include_images, cards=cards, seed=seed)
        for kept, found in pictured
    ]
    kept_private: Policy = (
        "credentialed" if any(k.record.policy == "credentialed" for k in opened) else "open"
    )
    pages = {page: "--out", **({} if print_place is None else {print_place: "--board"})}
    return Reporting(
        page=page,
        board=print_place,
        gate=None if gated is None else gated.outcome,
        files=_write(pages, runs, exports, kept_private, columns, title=title, gated=gated),
        runs=[
            ReportedRun(
                folder=str(kept.folder),
                measures=kept.measures.measures,
                **{name: getattr(kept.record, name) for name in _OF_THE_RECORD},
            )
            for kept in opened
        ],
        cards=[(len(run.cards), run.card_total) for run in runs],
    )


def kept_today(
    kept: Kept, include_images: bool, tell: Tell | None = None
) -> tuple[Kept, Benchmark | None]:
    """The run under the policy that holds today; and its cases, where pictures may be shown.

    What was written of a set that turned out to be credentialed becomes the user's alone.
    """
    record, opened = with_pictures(kept.bench, kept.record, include_images, tell)
    if record.policy == "credentialed" != kept.record.policy:
        make_private(kept.folder)
    measures = kept.measures
    if record.policy != kept.record.policy:  # groups may be named by words of the set
        again = kept.bench.measure(kept.tables)
        measures = msgspec.structs.replace(measures, measures=again)
    return msgspec.structs.replace(kept, record=record, measures=measures), opened


def shown_in_a_notebook(run: Run) -> str:
    """The matrix of a run: its models, and what it answers of each."""
    from overread.report import Reported, matrix_html

    return matrix_html([Reported(record=run.record, measures=run.records, headlines=run.headlines)])


# ---------------------------------------------------------------- where things go


def _check_page(page: Path, option: str = "--out") -> None:
    """Refuse a place that is not a page of ours, before anything is made."""
    called = f"{option} {page}"
    with writing_to(called):
        if page.is_dir():
            raise BadInput(f"{called}: a folder stands there. Give a file, as {_PAGE}.")
        if not page.parent.is_dir():
            raise BadInput(f"{called}: there is no folder {page.parent}. Make it first.")
        check_ours(called, page, lambda start: _MARK in start)


@contextmanager
def writing_to(called: str) -> Iterator[None]:
    """What the disk says of a file that is to be written, in one line."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # the second is a loop of links
        said = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{called}: {said}. Give a file that can be written.") from None


def check_ours(called: str, place: Path, ours: Callable[[bytes], bool]) -> None:
    """Refuse to replace what is not a file of ours, by how it begins."""
    if not place.exists():
        return
    # Only a file is opened: a pipe without another end would keep us for ever.
    if not place.is_file():
        raise BadInput(f"{called}: it is no file. Give another name.")
    with place.open("rb") as file:
        if not ours(file.read(_MARK_WITHIN)):
            raise BadInput(
                f"{called}: another file stands there. Move it away, or give another name."
            )


def _check_exports(exports: Mapping[str, Path], runs: Sequence[Path]) -> None:
    from overread.report.exports import is_ours

    taken: dict[Path, str] = {}
    for option, folder in exports.items():
        called, whole = f"--{option} {folder}", folder.resolve()
        if whole in {run.resolve() for run in runs}:
            raise BadInput(f"{called}: it is a run's folder. Give another.")
        check_folder(called, folder, is_ours)
        other = taken.setdefault(whole, option)
        if other != option:
            raise BadInput(f"--{other} and --{option} name the same folder. Give each its own.")


# ---------------------------------------------------------------- writing


_Writer: TypeAlias = Callable[[Path], "list[Exported]"]


def _write(
    pages: Mapping[Path, str],
    runs: Sequence[Reported],
    exports: Mapping[str, Path],
    policy: Policy,
    columns: Sequence[str],
    *,
    title: str,
    gated: Gated | None,
) -> dict[str, list[Path]]:
    """Everything is made beside its place, and moved there when all of it is there.

    `pages` are files by the option that named them.
    """
    from overread.report import exports as made_of
    from overread.report import write_board, write_report
    from overread.report.eval_records import write_eval_records

    writers: dict[str, _Writer] = {
        "csv": lambda place: made_of.write_csv_files(place, runs),
        "latex": lambda place: made_of.write_latex_files(place, runs, columns),
        "figures": lambda place: made_of.write_figure_files(place, runs),
        "eee": lambda place: write_eval_records(place, runs),
    }
    with ExitStack() as stack:
        for page, option in pages.items():
            made = stack.enter_context(file_being_written(f"{option} {page}", page))
            write = write_board if option == "--board" else write_report
            write(made, runs, title=title, gated=gated)
            if policy == "credentialed":
                made.chmod(0o600)
        return _write_exports(exports, writers, policy)


def _write_exports(
    exports: Mapping[str, Path], writers: Mapping[str, _Writer], policy: Policy
) -> dict[str, list[Path]]:
    """Folders of files for a paper, each with the list of its own; an earlier export's go."""
    from overread.report import exports as made_of

    files: dict[str, list[Path]] = {}
    stale: list[Path] = []
    with ExitStack() as stack:
        for option, folder in exports.items():
            old = made_of.earlier(folder)
            place = stack.enter_context(folder_being_written(folder, policy))
            written = writers[option](place)
            made_of.write_contents(place, written)
            names = {one.file for one in written}
            files[option] = [folder / name for name in (*sorted(names), made_of.CONTENTS)]
            stale.extend(path for path in old if path.name not in names)
    for path in stale:
        path.unlink(missing_ok=True)
    return files


def write_comparisons(
    found: Sequence[Comparison],
    *,
    csv: str | Path | None = None,
    latex: str | Path | None = None,
    columns: Sequence[str] = (),
) -> dict[str, list[Path]]:
    """Comparisons as files for a paper: `BENCHMARK-compare.csv` and `.tex`, by kind."""
    from overread.report.exports import check_columns, write_table

    if columns and latex is None:
        raise BadInput(_COLUMNS_ALONE)
    check_columns(columns, (one.table for one in found))
    wanted = {"csv": csv, "latex": latex}
    exports = {option: Path(place) for option, place in wanted.items() if place is not None}
    folders = [Path(run.folder) for one in found for run in one.runs]
    _check_exports(exports, folders)
    policies = {record.policy for _, record, _ in records_of(folders)} if exports else set()
    policy: Policy = "credentialed" if "credentialed" in policies else "open"

    def writer(suffix: str) -> _Writer:
        return lambda place: [
            write_table(place / f"{one.benchmark}-compare.{suffix}", one.table, columns)
            for one in found
        ]

    return _write_exports(exports, {"csv": writer("csv"), "latex": writer("tex")}, policy)


@contextmanager
def file_being_written(called: str, path: Path) -> Iterator[Path]:
    """A file that takes the place of `path` when all has gone well."""
    with ExitStack() as stack:
        with writing_to(called):
            made = stack.enter_context(scratch_folder(path.parent)) / path.name
        yield made
        with writing_to(called):
            os.replace(made, path)


# ---------------------------------------------------------------- a policy


def gate(
    folders: Sequence[str | Path],
    policy: str | Path,
    *,
    readers: Sequence[str] = (),
    junit_file: str | Path | None = None,
    baselines: Sequence[str | Path] = (),
) -> Gated:
    """Hold the measures of some runs against a policy file.

    `readers` are the only ones that "*" in the policy then stands for. `baselines` are runs over
    the same cases, one of a benchmark, that rules with a `margin` hold readers against. With
    `junit_file` the rulings are written there, too. Its `exit_code` is 0 if every rule is met, 1 if
    one is broken, and 4 if none is broken but the data cannot tell of one.
    """
    from overread.report import gate as rules_of
    from overread.report.gate import Gated, GatedRun
    from overread.runs._comparing import Paired

    rules = Path(policy)
    held = rules_of.policy_bytes(rules)  # once: what is hashed is what was judged by
    found = rules_of.read_policy(rules, held)
    runs = [
        GatedRun(folder=str(folder), record=record, measures=measures)
        for folder, record, measures in records_of([Path(folder) for folder in folders])
    ]
    if junit_file is not None:
        _check_junit(Path(junit_file), rules, runs)
    if baselines and all(rule.margin is None for rule in found.rule):
        raise BadInput(f"--baseline {baselines[0]}: no rule has a margin. Leave it out.")
    rulings = rules_of.judge(found, runs, readers, Paired(baselines))
    outcomes = [ruling.outcome for ruling in rulings]
    outcome = rules_of.worst(outcomes)
    gated = Gated(
        title=found.title,
        policy=str(policy),
        policy_sha256=sha256(held).hexdigest(),
        overread=__version__,
        outcome=outcome,
        exit_code=rules_of.EXIT_CODES[outcome],
        counts={name: outcomes.count(name) for name in rules_of.OUTCOMES},
        rulings=rulings,
        disclaimer=DISCLAIMER,
    )
    if junit_file is not None:
        called, data = f"--junit {junit_file}", rules_of.junit(gated)
        with file_being_written(called, Path(junit_file)) as made, writing_to(called):
            made.write_bytes(data)
    return gated


def _check_junit(place: Path, policy: Path, runs: Sequence[GatedRun]) -> None:
    """Refuse a place that is not a JUnit file of ours, before anything is judged."""
    called = f"--junit {place}"
    with writing_to(called):
        whole = place.resolve()
        folders = {Path(run.folder).resolve() for run in runs}
        of_a_run = whole.parent in folders or (whole.parent / "run.toml").exists()
        if whole == policy.resolve() or (of_a_run and whole.name in RUN_FILES):
            raise BadInput(f"{called}: it would replace what is judged. Give another file.")
        if place.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        check_ours(called, place, lambda start: start[:5] == b"<?xml" and b"<testsuites" in start)
