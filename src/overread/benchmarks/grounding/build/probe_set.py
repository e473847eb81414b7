"""Probe sets on disk: drawn, looked at, written beside their place and moved there whole."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from overread import __version__
from overread.benchmarks.grounding.build.finish import MATCHED, Watch, finish
from overread.benchmarks.grounding.build.manifest import (
    Built,
    Exclusion,
    SetFacts,
    Stratum,
    composition_table,
    exclusions_table,
    set_facts,
    strata,
    write_composition,
    write_exclusions,
    write_manifest,
)
from overread.benchmarks.grounding.build.recipe import Recipe, draw
from overread.benchmarks.grounding.cases import Dataset
from overread.benchmarks.grounding.conditions import MOST_DRAWS
from overread.case import BadInput, Policy, Table
from overread.files import open_file
from overread.imaging import MINIMUM_SIDE
from overread.scratch import scratch_folder

__all__ = ["ProbeSet", "Recipe", "build"]

# Options of a recipe that its card repeats where they were given.
_ASKED: Final = (
    *("labels", "per_finding", "boxes_per_finding", "normals", "sentences", "minimum_side"),
    "finding",
)


class ProbeSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set that was written: where, what it is made of, and what to do with it."""

    folder: Path
    name: str
    policy: Policy
    edition: str
    seed: int
    facts: SetFacts
    strata: list[Stratum]
    exclusions: list[Exclusion]
    provenance: list[str]
    signature: str
    # The command that asks about it, and what stands in its way.
    next: str
    warnings: list[str] = []

    @property
    def tables(self) -> list[Table]:
        return [
            composition_table(self.strata, self.facts, self.signature, self.provenance),
            exclusions_table(self.exclusions),
        ]


def build(
    recipe: Recipe,
    out: str | Path,
    *,
    images: bool = True,
    matched: int | None = None,
    watch: Watch | None = None,
) -> ProbeSet:
    """Draw a probe set and write it to a new folder.

    Without `images` nothing but tables is read: no digests, no matched boxes. `matched` is how many
    matched boxes a case with a box gets, 5 unless it is given.

    Examples
    --------
    >>> from pathlib import Path
    >>> from overread.runs import Recipe, build
    >>> build(Recipe(nih=Path("NIH")), "nih-probe")  # doctest: +SKIP
    """
    place = Path(out)
    kind = recipe.kind
    _check(recipe, kind, images, matched)
    _check_out(place)
    most = MATCHED if matched is None else matched
    drawn = draw(recipe, images=images)
    built = drawn.built
    if images:
        built = finish(
            built, recipe.root, seed=recipe.seed, matched=most, boxes=drawn.boxes, watch=watch
        )
    rows, facts = strata(built.cases), set_facts(built.cases)
    with _moved_whole(place, private=built.policy == "credentialed") as scratch:
        write_manifest(scratch / "manifest.csv", built.cases)
        write_composition(scratch / "composition.csv", rows)
        write_exclusions(scratch / "exclusions.csv", built.exclusions)
        card = _card(recipe, kind, built, facts, drawn.files, most if images else 0)
        (scratch / "dataset.toml").write_text(card, encoding="utf-8")
        digest = Dataset.at(scratch).digest
    return ProbeSet(
        folder=place,
        name=built.name,
        policy=built.policy,
        edition=recipe.edition,
        seed=recipe.seed,
        facts=facts,
        strata=rows,
        exclusions=built.exclusions,
        provenance=built.provenance,
        signature=(
            f"grounding|edition:{recipe.edition}|cases:{facts.cases}@{digest}|seed:{recipe.seed}|"
            f"overread:{__version__}"
        ),
        next=_next(recipe, place, images),
        warnings=[*_few_boxes(built, facts, recipe), *_warnings(built.policy, recipe, images)],
    )


def _check(recipe: Recipe, kind: str, images: bool, matched: int | None) -> None:
    if matched is not None and not 0 <= matched <= MOST_DRAWS:
        raise BadInput(f"--matched {matched}: it is from 0 to {MOST_DRAWS}.")
    if images:
        return
    if kind == "folder":
        raise BadInput("--no-images does not go with --folder, whose images tell their sizes.")
    others = {
        "--matched": matched is not None,
        "--images": recipe.images is not None,
        "--skip-missing": recipe.skip_missing,
    }
    for option, given in others.items():
        if given:
            raise BadInput(f"{option} needs the images. Leave it or --no-images out.")


# ---------------------------------------------------------------- the folder


def _check_out(out: Path) -> None:
    """Before anything is read: whether the set may go there."""
    try:
        if out.is_dir():
            if any(out.iterdir()):
                raise BadInput(f"--out {out}: the folder is not empty. Give a new or empty one.")
        elif out.exists() or out.is_symlink():
            raise BadInput(f"--out {out}: a file stands there. Give a folder.")
        there = next(place for place in (out, *out.absolute().parents) if place.exists())
        with scratch_folder(there):
            pass
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror}. Give a writable place.") from None


@contextmanager
def _moved_whole(out: Path, *, private: bool) -> Iterator[Path]:
    """A folder beside `out` that takes its place when all has gone well.

    Those of a credentialed set are for their owner alone, like run folders.
    """
    place = out.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(place.parent) as beside:
        scratch = beside / "set"
        scratch.mkdir(mode=0o700 if private else 0o777)
        yield scratch
        for file in scratch.iterdir() if private else ():
            file.chmod(0o600)
        try:
            scratch.rename(place)  # over an empty folder too, never over one that is not
        except OSError as error:
            raise BadInput(f"--out {out}: {error.strerror}. Give a new folder.") from None


def _card(
    recipe: Recipe, kind: str, built: Built, facts: SetFacts, files: Iterable[Path], matched: int
) -> str:
    """`dataset.toml`: what a run reads (name, policy), and how the set was made."""
    import tomli_w

    asked = {
        field: getattr(recipe, field) for field in _ASKED if getattr(recipe, field) is not None
    }
    made: dict[str, Any] = {
        "overread": __version__,
        "benchmark": "grounding",
        "from": kind,
        "edition": recipe.edition,
        "seed": recipe.seed,
        "matched": matched,
        "skip_missing": recipe.skip_missing,
        "images_read": facts.digested,
        **asked,
        "columns": dict(recipe.columns or {}),
        "counts": {
            "cases": facts.cases,
            "films": facts.films,
            "patients": facts.patients,
            "boxed": facts.boxed,
            "boxed_with_several": facts.several,
            "overlapping_irrelevant_boxes": facts.overlapping,
            "fallback_swaps": facts.fallback_swaps,
        },
        "inputs": {path.name: _sha256(path) for path in files},
        "provenance": built.provenance,
    }
    card: dict[str, Any] = {"name": built.name, "policy": built.policy}
    if facts.digested:  # a run finds the images there
        card["root"] = str(recipe.root.absolute())
    return tomli_w.dumps({**card, "build": made})


def _sha256(path: Path) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---------------------------------------------------------------- what comes next


def _next(recipe: Recipe, out: Path, images: bool) -> str:
    words = ["overread", "run", "grounding", "--cases", str(out)]
    if not images:  # else the card knows
        words += ["--set", "root=IMAGES"]
    if recipe.edition != "corrected":
        words += ["--edition", recipe.edition]
        if recipe.kind in ("nih", "rsna", "folder"):  # sources the authors' code has no key for
            words += ["--set", "other_sources=label"]
    return shlex.join(words) + " --reader openai:MODEL@http://127.0.0.1:8000/v1"


# Fewer boxes than this give a reader no category (GROUNDING 9 [D21]).
_ENOUGH: Final = 100
_MINIMA: Final = (40, 30, 20, 10)


def _few_boxes(built: Built, facts: SetFacts, recipe: Recipe) -> Iterator[str]:
    """What another minimum side would give, where too few boxes are left to say anything."""
    if facts.boxed >= _ENOUGH or not built.sides:
        return
    minimum = recipe.minimum_side or MINIMUM_SIDE
    now = sum(side >= minimum for side in built.sides)
    others = [
        f"{side} keeps {count:,}"
        for side in _MINIMA
        if side < minimum and (count := sum(each >= side for each in built.sides)) > now
    ]
    told = f" Of {len(built.sides):,} that have one, --minimum-side {minimum} keeps {now:,}"
    more = f"; {', '.join(others)}." if others else ", and a smaller one keeps no more."
    yield (
        f"{facts.boxed} cases have a box to mask, and a category needs {_ENOUGH}.{told}{more} "
        "Small boxes hide little."
    )


def _warnings(policy: Policy, recipe: Recipe, images: bool) -> Iterator[str]:
    if not images:
        yield "the images were not looked at. Give their folder as root= when you run."
    elif policy != "credentialed" and not (recipe.root / "dataset.toml").exists():
        yield (
            f"{recipe.root} declares no policy, so a run counts it as credentialed. If its terms "
            f'allow, write policy = "{policy}" into {recipe.root / "dataset.toml"}.'
        )
