"""Cases from whatever lies at a path: an official echo dataset, or clips with a csv."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from overread.benchmarks.files.card import Held, held_at, policy_of
from overread.benchmarks.heartbeat import camus, clip_folder, echonet, pediatric
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.edition import Edition, Options
from overread.case import BadInput, Policy

__all__ = ["load", "policy_at", "root_of"]

_EXPECTED = (
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
    place = Path(path)
    folder = place if place.is_dir() else place.parent
    tables = [place.name, "manifest.csv"]
    if place.is_dir():
        listed = (
            table for view in ("", *pediatric.VIEWS) for table in (place / view).glob("*.csv")
        )
        tables = [str(table.relative_to(place)) for table in listed]
    names = (name for case in cases for name in (case.clip, case.mask, case.volumes) if name)
    return policy_of(
        Held(folder, ("", *tables)),
        held_at(root_of(path, options), ("", *names)),
    )


def load(
    path: str | Path, edition: Edition, options: Options
) -> tuple[list[HeartbeatCase], list[Left]]:
    """The cases at a path and the clips left out, each with its reason."""
    cases, left = _load(Path(path), edition, options)
    cases, without = _masked(cases, options)
    left += without
    if not cases:
        first = f"; the first is {left[0].clip}: {left[0].reason}" if left else ""
        raise BadInput(f"{path}: no clip can be asked about, {len(left)} are left out{first}.")
    return cases, left


def _masked(cases: list[HeartbeatCase], options: Options) -> tuple[list[HeartbeatCase], list[Left]]:
    """The cases that some context can show; where all need masks, a clip without any is left out.

    Where one context needs none, such a clip is asked about in that one.
    """
    if "original" in options.contexts:
        return cases, []
    why = f"it has no masks, and {' and '.join(options.contexts)} need them"
    bare = [Left(case.case_id, f"{case.clip}: {why}") for case in cases if case.mask is None]
    return [case for case in cases if case.mask is not None], bare


def _load(path: Path, edition: Edition, options: Options) -> tuple[list[HeartbeatCase], list[Left]]:
    split, videos, seed = options.split, options.videos, edition.seed
    csv: Path | None = path
    if path.is_dir():
        if options.root is not None and clip_folder.find_csv(path) is None:
            raise BadInput(
                f"--set root={options.root}: {path} has its clips below itself. Leave root out."
            )
        if (path / echonet.FILE_LIST).is_file() and not pediatric.has_polygons(path):
            return echonet.load(path, edition, split=split, videos=videos, seed=seed)
        if (path / echonet.FILE_LIST).is_file() or any(
            (path / view / echonet.FILE_LIST).is_file() for view in pediatric.VIEWS
        ):
            return pediatric.load(path, edition, split=split, videos=videos, seed=seed)
        if (path / camus.DATABASE).is_dir() or camus.patients_of(path):
            return camus.load(path, edition, split=split, videos=videos, seed=seed)
        csv = clip_folder.find_csv(path)
    elif not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder. Expected {_EXPECTED}.")
    elif path.suffix.lower() != ".csv":
        raise BadInput(f"{path} is no csv. Expected a folder with {_EXPECTED}.")
    if csv is None:
        raise BadInput(f"{path} is no set of echo clips. Expected {_EXPECTED}.")
    root = root_of(path, options)
    return clip_folder.load(csv, edition, split=split, videos=videos, seed=seed, root=root)
