"""Run folders become one page, and files for a paper. Nobody is asked, nothing measured again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Measure, Policy
from overread.records import folder_being_written, make_private
from overread.runs._choosing import Tell
from overread.runs._kept import Kept, kept_runs
from overread.runs._measuring import with_pictures
from overread.runs._pages import CARDS, reported
from overread.scratch import scratch_folder

if TYPE_CHECKING:
    from overread.report import Reported
    from overread.report.exports import Exported

_PAGE: Final = "report.html"
_MOST_CARDS: Final = 2_000
_LARGEST_SEED: Final = 2**32 - 1
# What every page of ours has near its beginning.
_MARK: Final = b"<title>Overread: "
_MARK_WITHIN: Final = 4096

Writer = Callable[[Path, Sequence["Reported"]], list["Exported"]]


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


class Reporting(msgspec.Struct, frozen=True, kw_only=True):
    """What was written, and of what: the page, and by kind the files for a paper."""

    page: Path
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
    cards: int = CARDS,
    seed: int = 0,
    tell: Tell | None = None,
) -> Reporting:
    """Write the page of some runs, and what is asked for beside it.

    Without `out` the page of one run goes into its folder, that of several into the working folder.
    A file is replaced only if it is such a page, a folder only if it holds an earlier export.
    Pictures of a set that is not open, and texts of a credentialed one, are shown only with
    `include_images`. `cards` cases are chosen by `seed` for the page to embed.
    `tell` gets a line for a run whose set's card has become stricter.

    Examples
    --------
    >>> from overread.runs import report
    >>> report(["runs/a", "runs/b"], "both.html", latex="tables")  # doctest: +SKIP
    """
    if not 0 <= cards <= _MOST_CARDS:
        raise BadInput(f"--cases {cards}: it must be from 0 to {_MOST_CARDS}.")
    if not 0 <= seed <= _LARGEST_SEED:
        raise BadInput(f"--seed {seed}: it must be from 0 to {_LARGEST_SEED}.")
    places = [Path(folder) for folder in folders]
    page = Path(out) if out is not None else (places[0] if len(places) == 1 else Path()) / _PAGE
    exports = _exports(csv, latex, figures)
    if out is not None or len(places) != 1:
        _check_page(page)
    for option, (folder, _) in exports.items():
        _check_export(option, folder, places)
    opened = kept_runs(places)
    if out is None and len(places) == 1:  # after the folder is known to be a run
        _check_page(page)
    pictured = [kept_today(kept, include_images, tell) for kept in opened]
    opened = [kept for kept, _ in pictured]
    runs = [
        reported(kept, found, include_images=include_images, cards=cards, seed=seed)
        for kept, found in pictured
    ]
    policy: Policy = (
        "credentialed" if any(k.record.policy == "credentialed" for k in opened) else "open"
    )
    return Reporting(
        page=page,
        files=_write(page, runs, exports, policy),
        runs=[
            ReportedRun(
                folder=str(kept.folder),
                benchmark=kept.record.benchmark,
                edition=kept.record.edition,
                dataset=kept.record.dataset,
                policy=kept.record.policy,
                n_cases=kept.record.n_cases,
                signature=kept.record.signature,
                measures=kept.measures.measures,
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


# ---------------------------------------------------------------- where things go


def _exports(
    csv: str | Path | None, latex: str | Path | None, figures: str | Path | None
) -> dict[str, tuple[Path, Writer]]:
    from overread.report.exports import write_csv_files, write_figure_files, write_latex_files

    wanted: dict[str, tuple[str | Path | None, Writer]] = {
        "csv": (csv, write_csv_files),
        "latex": (latex, write_latex_files),
        "figures": (figures, write_figure_files),
    }
    found: dict[str, tuple[Path, Writer]] = {}
    for option, (place, writer) in wanted.items():
        if place is None:
            continue
        folder = Path(place)
        for other, (taken, _) in found.items():
            if taken.resolve() == folder.resolve():
                raise BadInput(f"--{other} and --{option} name the same folder. Give each its own.")
        found[option] = folder, writer
    return found


def _check_page(page: Path) -> None:
    """Refuse a place that is not a page of ours, before anything is made."""
    called = f"--out {page}"
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


def _check_export(option: str, folder: Path, runs: Sequence[Path]) -> None:
    from overread.report.exports import is_ours

    try:
        if folder.resolve() in {run.resolve() for run in runs}:
            raise BadInput(f"--{option} {folder}: it is a run's folder. Give another.")
        if folder.is_dir():
            if any(folder.iterdir()) and not is_ours(folder):
                raise BadInput(
                    f"--{option} {folder}: the folder holds other things. Give a new or empty one."
                )
        elif folder.exists() or folder.is_symlink():
            raise BadInput(f"--{option} {folder}: a file stands there. Give a folder.")
    except OSError as error:
        raise BadInput(f"--{option} {folder}: {error.strerror}. Give a writable place.") from None


# ---------------------------------------------------------------- writing


def _write(
    page: Path,
    runs: Sequence[Reported],
    exports: Mapping[str, tuple[Path, Writer]],
    policy: Policy,
) -> dict[str, list[Path]]:
    """Everything is made beside its place, and moved there when all of it is there."""
    from overread.report import write_report
    from overread.report.exports import CONTENTS, earlier, write_contents

    files: dict[str, list[Path]] = {}
    stale: list[Path] = []
    with ExitStack() as stack:
        made = stack.enter_context(file_being_written(f"--out {page}", page))
        write_report(made, runs)
        if policy == "credentialed":
            made.chmod(0o600)
        for option, (folder, writer) in exports.items():
            old = earlier(folder)
            place = stack.enter_context(folder_being_written(folder, policy))
            written = writer(place, runs)
            write_contents(place, written)
            names = {one.file for one in written}
            files[option] = [folder / name for name in (*sorted(names), CONTENTS)]
            stale.extend(path for path in old if path.name not in names)
    for path in stale:
        path.unlink(missing_ok=True)
    return files


@contextmanager
def file_being_written(called: str, path: Path) -> Iterator[Path]:
    """A file that takes the place of `path` when all has gone well."""
    with ExitStack() as stack:
        with writing_to(called):
            made = stack.enter_context(scratch_folder(path.parent)) / path.name
        yield made
        with writing_to(called):
            os.replace(made, path)
