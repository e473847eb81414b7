"""A reporting checklist filled from run folders. Nothing is measured again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from overread.case import BadInput
from overread.records import RunRecord
from overread.runs._kept import Kept, kept_runs
from overread.runs._opening import Tell
from overread.runs._reporting import answers_of, check_ours, file_being_written, kept_today

if TYPE_CHECKING:
    from overread.report import Reported, StudyRead

# How our own files of each kind begin.
_OURS = {
    ".html": b"<title>Overread: ",
    ".md": b"# Overread: ",
    ".csv": b"checklist,run,section,number,",
}


def checklist(
    folders: Sequence[str | Path],
    name: str,
    out: str | Path | None = None,
    *,
    tell: Tell | None = None,
) -> Path:
    """Write what some runs can say for each item of a checklist, all else left to the authors.

    Without `out` the page of one run goes into its folder, that of several into the working folder.
    The suffix of `out` says what is written: .html, .md or .csv. `tell` gets a line for a run whose
    set's card has become stricter.

    Examples
    --------
    >>> from overread.runs import checklist
    >>> checklist(["runs/a"], "mi-clear-llm", "list.md")  # doctest: +SKIP
    """
    from overread.report.checklists import SUFFIXES, named_checklist, write_checklist

    wanted = named_checklist(name)
    places = [Path(folder) for folder in folders]
    own = (places[0] if len(places) == 1 else Path()) / f"checklist-{name}.html"
    path = own if out is None else Path(out)
    called = f"--out {path}"
    if path.suffix.lower() not in SUFFIXES:
        raise BadInput(f"{called}: its name ends in none of {', '.join(SUFFIXES)}. Name it so.")
    opened = [kept_today(kept, False, tell)[0] for kept in kept_runs(places)]
    if not path.parent.is_dir():
        raise BadInput(f"{called}: there is no folder {path.parent}. Make it first.")
    check_ours(called, path, lambda start: _OURS[path.suffix.lower()] in start)
    runs = [_what_it_says(kept) for kept in opened]
    with file_being_written(called, path) as made:
        write_checklist(made, wanted, runs)
        if any(kept.record.policy == "credentialed" for kept in opened):
            made.chmod(0o600)
    return path


def _what_it_says(kept: Kept) -> Reported:
    """Of a run what facts are taken from: no case, no picture and no reply."""
    from msgspec.structs import replace

    bench, measures, under = kept.bench, kept.measures.measures, kept.tables.asked_under
    since = None if under == bench.edition else under
    return replace(
        answers_of(kept),
        measures=measures,
        methods=bench.methods(since),
        asked=bench.asked(since),
        limitations=bench.limitations(measures),
        share_right=bench.share_right,
        diagnostic=bench.diagnostic,
        steady=bench.steady,
        studies=_studies(kept.record),
    )


def _studies(record: RunRecord) -> dict[str, StudyRead]:
    """The studies that people read in, as far as their folders are where the run names them."""
    from overread.readers.spec import parse_spec
    from overread.report import StudyRead
    from overread.study import open_study

    found = {}
    for reader in record.readers:
        if not reader.spec.startswith("human:"):
            continue
        folder = Path(parse_spec(reader.spec).model).parent
        if (folder / "study.toml").is_file():
            study = open_study(folder)
            own = parse_spec(reader.spec).model.rpartition("/")[2]
            found[reader.name] = StudyRead(
                name=study.design.name,
                readers=len(study.design.readers),
                sessions=max((turn.session for turn in study.schedule), default=0),
                washout_days=study.design.washout_days,
                seed=study.design.seed,
                person="".join(one.in_words for one in study.design.reader if one.name == own),
            )
    return found
