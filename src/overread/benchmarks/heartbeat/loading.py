"""Cases from whatever lies at a path: an official echo dataset, or any clips with a csv.

The columns of such a csv: `clip`, `ed`, `es` (frames from 0); also, where known, `case_id`, `beat`,
`patient`, `view`, `sex`, `age`, `split`, `ef`, `fps`, `frames`, `ed_volume`, `es_volume`, `mask`,
`volumes`. A row is a case, so a clip with several beats has several rows. What the csv does not say
of a clip is looked up in a `manifest.csv` beside it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files.card import Held, held_at, policy_of
from overread.benchmarks.files.fields import Fields
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.files.tables import columns_of
from overread.benchmarks.heartbeat.cases import Drawn, HeartbeatCase, case_of, probe_clip, sampled
from overread.benchmarks.heartbeat.edition import Edition, Options
from overread.case import BadInput, Policy
from overread.imaging import Footage, Unplayable

# ---------------------------------- rows of a csv of clips; every complaint names its file and line

CLIP_COLUMNS: Final = ("clip", "ed", "es")
MANIFEST: Final = "manifest.csv"
# Other names a column may have, in order of preference.
_OTHER_NAMES: Final = {
    "clip": ("file", "video"),
    "ed": ("ed_frame",),
    "es": ("es_frame",),
    "fps": ("playback_fps",),
    "frames": ("n_frames",),
}
TEXT_COLUMNS: Final = ("patient", "view", "sex", "split", "mask", "volumes")
NUMBER_COLUMNS: Final = ("age", "ef", "fps", "ed_volume", "es_volume")
_VOLUME_COLUMNS: Final = ("ed_volume", "es_volume")
_FARTHEST_FRAME: Final = 1_000_000


class ClipRow(msgspec.Struct, kw_only=True):
    """A beat of a clip as a row has it, under our names."""

    line: int
    fields: Fields
    clip: str
    ed: int
    es: int
    frames: int | None
    case_id: str = ""
    # The row in which the same beat stands, if it was there before.
    again: int = 0


def _number(row: Fields, name: str) -> float | None:
    """A number from 0 (EF may be any); "nan" is how tables say that nothing is known.

    Of a volume it is kept: such a clip is left out.
    """
    text = row.fact(name)
    if text is not None and text.lower() in ("nan", "+nan", "-nan"):
        return math.nan if name in _VOLUME_COLUMNS else None
    low = 0 if name in NUMBER_COLUMNS and name != "ef" else -math.inf
    need = "it is a number from 0, or empty"
    return row.if_given(name, lambda name: row.number(name, need, low=low))


def _frame(row: Fields, name: str) -> int:
    """A whole number; one below 0 is for its own case to answer for."""
    value = _number(row, name)
    if value is None or value != int(value) or not abs(value) < _FARTHEST_FRAME:
        row.wrong(name, "a frame is a whole number from 0")
    return int(value)


def _our_columns(path: Path) -> dict[str, str]:
    """By our names the columns that a file has; one may go by another name."""
    known = (*CLIP_COLUMNS, "case_id", "beat", "frames", *TEXT_COLUMNS, *NUMBER_COLUMNS)
    header = columns_of(path)
    found = {
        name: next((word for word in (name, *_OTHER_NAMES.get(name, ())) if word in header), "")
        for name in known
    }
    return {name: column for name, column in found.items() if column}


def _rows_under_our_names(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[int, Fields]]:
    for line, cells in rows_of(path, ()):
        ours = {name: cells[column].strip() for name, column in columns.items()}
        yield line, Fields(f"{path.name} row {line}", ours)


def read_rows(csv: Path) -> list[ClipRow]:
    """The rows of a csv, each with what the manifest beside says of its clip."""
    columns = _our_columns(csv)
    missing = [name for name in CLIP_COLUMNS if name not in columns]
    if missing:
        raise BadInput(
            f"{csv} has no column {', '.join(missing)}; a csv of clips has clip, ed and es, with "
            "frames counted from 0."
        )
    manifest = csv.with_name(MANIFEST)
    theirs = _our_columns(manifest) if manifest != csv and manifest.is_file() else {}
    also: dict[str, Fields] = {}
    if "clip" in theirs:
        also = {row.cells["clip"]: row for _, row in _rows_under_our_names(manifest, theirs)}
        also.pop("", None)
    rows: list[ClipRow] = []
    beats: dict[tuple[str, int, int], int] = {}
    for line, row in _rows_under_our_names(csv, columns):
        clip = row.cells.get("clip") or row.wrong("clip", "every row names a clip")
        row = msgspec.structs.replace(row, beside=also.get(clip))
        ed, es = _frame(row, "ed"), _frame(row, "es")
        frames = _frame(row, "frames") if _number(row, "frames") is not None else None
        for name in NUMBER_COLUMNS:
            _number(row, name)
        first = beats.setdefault((clip, ed, es), line)
        again = first if first != line else 0
        rows.append(
            ClipRow(line=line, fields=row, clip=clip, ed=ed, es=es, frames=frames, again=again)
        )
    if not rows:
        raise BadInput(f"{csv} has a header but no rows. Give a csv with a row for each beat.")
    _name_cases(csv, rows)
    return rows


def _name_cases(csv: Path, rows: Sequence[ClipRow]) -> None:
    """Ids: the csv's own, else the clip's name, with the beat where a clip has several rows."""
    often = Counter(row.clip for row in rows if not row.again)
    seen: Counter[str] = Counter()
    taken: dict[str, int] = {}
    for row in rows:
        stem = str(Path(row.clip).with_suffix(""))
        beat = row.fields.cells.get("beat") or str(seen[row.clip])
        seen[row.clip] += not row.again
        row.case_id = row.fields.cells.get("case_id") or (
            stem if often[row.clip] <= 1 else f"{stem}#{beat}"
        )
        if row.again:  # it is left out, under a name of its own
            row.case_id += f" (row {row.line})"
        first = taken.setdefault(row.case_id, row.line)
        if first != row.line:
            raise BadInput(
                f'{csv.name} row {row.line}: the case "{row.case_id}" stands in row {first} '
                "already. Give each case its own case_id, or each beat its number."
            )


# ---------------------------- clips, videos or DICOM, with a csv that says where the two phases are


def find_csv(folder: Path) -> Path | None:
    """The one csv of a folder that has the phases; None where there is none."""

    def has_phases(path: Path) -> bool:
        try:
            return _our_columns(path).keys() >= set(CLIP_COLUMNS)
        except BadInput:
            return False

    found = [path for path in sorted(folder.glob("*.csv")) if has_phases(path)]
    if len(found) > 1:
        listed = ", ".join(path.name for path in found)
        raise BadInput(f"{folder}: {listed} all have columns clip, ed and es. Give one of them.")
    return found[0] if found else None


def load_csv(csv: Path, edition: Edition, options: Options) -> Drawn:
    """Cases of a csv, and the clips left out.

    Clips, masks and volumes stand below `root`, or below the csv's folder. A split is only looked
    for where the csv has such a column.
    """
    home, split = root_of(csv, options), options.split
    rows = read_rows(csv)
    if split is not None and any(row.fields.fact("split") for row in rows):
        chosen = [row for row in rows if row.fields.fact("split") == split]
        if not chosen:
            known = ", ".join(sorted({row.fields.fact("split") or "none" for row in rows}))
            raise BadInput(f'{csv} has no row of the split "{split}"; its splits are {known}.')
        rows = chosen
    by_id = {row.case_id: row for row in rows}
    opened: dict[str, Footage | str] = {}

    def read(case_id: str) -> HeartbeatCase | Left:
        row = by_id[case_id]
        if row.again:
            return Left(
                case_id,
                f"{row.clip}: the beat of frames {row.ed} and {row.es} stands in row {row.again} "
                "already",
            )
        # A clip of many beats is opened once.
        if row.clip not in opened:
            try:
                opened[row.clip] = probe_clip(home, row.clip, row.frames)
            except Unplayable as why:
                opened[row.clip] = str(why)
        found = opened[row.clip]
        if isinstance(found, str):
            return Left(case_id, f"{row.clip}: {found}")
        return _case_of_row(home, row, found)

    return sampled(list(by_id), read, edition, options)


def _case_of_row(home: Path, row: ClipRow, footage: Footage) -> HeartbeatCase | Left:
    facts: dict[str, Any] = {name: row.fields.fact(name) for name in TEXT_COLUMNS}
    facts |= {name: _number(row.fields, name) for name in NUMBER_COLUMNS}
    large, small = facts["ed_volume"], facts["es_volume"]
    for phase, volume in (("diastole", large), ("systole", small)):
        if volume is not None and math.isnan(volume):
            return Left(row.case_id, f"{row.clip}: the volume at end-{phase} is not a number")
    if large is not None and small is not None and large <= small:
        which = "equal to" if large == small else "below"
        return Left(
            row.case_id,
            f"{row.clip}: the volume at end-diastole, {large:g}, is {which} the one at "
            f"end-systole, {small:g}",
        )
    return case_of(
        home, row.clip, case_id=row.case_id, ed=row.ed, es=row.es, footage=footage, **facts
    )


# ---------------------------------------------------------------- whatever lies at a path

_EXPECTED_LAYOUTS = (
    "FileList.csv (EchoNet-Dynamic), A4C/ (EchoNet-Pediatric), database_nifti/ (CAMUS), or a csv "
    "with the columns clip, ed and es"
)


def root_of(path: str | Path, options: Options) -> Path:
    """The folder that clips, masks and volumes stand below."""
    if options.root is not None:
        return Path(options.root)
    found = Path(path)
    return found if found.is_dir() else found.parent


def policy_at(path: str | Path, options: Options, cases: Iterable[HeartbeatCase] = ()) -> Policy:
    """Who may see the set: the strictest card where its tables, clips and masks stand.

    That of the folder named by `root=` counts too, whatever stands there.
    """
    from overread.benchmarks.heartbeat import official_sets

    place = Path(path)
    folder = place if place.is_dir() else place.parent
    tables = [place.name, "manifest.csv"]
    if place.is_dir():
        views = ("", *official_sets.PEDIATRIC_VIEWS)
        listed = (table for view in views for table in (place / view).glob("*.csv"))
        tables = [str(table.relative_to(place)) for table in listed]
    names = (name for case in cases for name in (case.clip, case.mask, case.volumes) if name)
    return policy_of(Held(folder, ("", *tables)), held_at(root_of(path, options), ("", *names)))


def load(path: str | Path, edition: Edition, options: Options) -> Drawn:
    """The cases at a path and the clips left out, each with its reason."""
    cases, left = _load_layout(Path(path), edition, options)
    if "original" not in options.contexts:
        # Where one context needs no masks, a clip without is asked about in that one.
        why = f"it has no masks, and {' and '.join(options.contexts)} need them"
        left += [Left(case.case_id, f"{case.clip}: {why}") for case in cases if case.mask is None]
        cases = [case for case in cases if case.mask is not None]
    if not cases:
        first = f"; the first is {left[0].case}: {left[0].reason}" if left else ""
        raise BadInput(f"{path}: no clip can be asked about, {len(left)} are left out{first}.")
    return cases, left


def _load_layout(path: Path, edition: Edition, options: Options) -> Drawn:
    from overread.benchmarks.heartbeat import official_sets as sets

    csv: Path | None = path
    if path.is_dir():
        if options.root is not None and find_csv(path) is None:
            raise BadInput(
                f"--set root={options.root}: {path} has its clips below itself. Leave root out."
            )
        listed, *of_views = (
            (path / view / sets.FILE_LIST).is_file() for view in ("", *sets.PEDIATRIC_VIEWS)
        )
        if listed and not sets.has_polygons(path):
            return sets.load_dynamic(path, edition, options)
        if listed or any(of_views):
            return sets.load_pediatric(path, edition, options)
        if (path / sets.CAMUS_DATABASE).is_dir() or sets.camus_patients(path):
            return sets.load_camus(path, edition, options)
        csv = find_csv(path)
    elif not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder. Expected {_EXPECTED_LAYOUTS}.")
    elif path.suffix.lower() != ".csv":
        raise BadInput(f"{path} is no csv. Expected a folder with {_EXPECTED_LAYOUTS}.")
    if csv is None:
        raise BadInput(f"{path} is no set of echo clips. Expected {_EXPECTED_LAYOUTS}.")
    return load_csv(csv, edition, options)
