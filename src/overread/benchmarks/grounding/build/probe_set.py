"""Probe sets on disk: drawn, looked at, written beside their place and moved there whole."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import tomli_w
from PIL import Image

from overread import __version__, imaging
from overread.benchmarks.grounding.build import manifest
from overread.benchmarks.grounding.build.manifest import Built, Exclusion, SetFacts, Stratum
from overread.benchmarks.grounding.build.recipe import Recipe, draw, file_digest
from overread.benchmarks.grounding.cases import GroundingCase, dataset_at
from overread.benchmarks.grounding.conditions import MOST_DRAWS
from overread.case import BadInput, Box, Policy, Source, Table
from overread.scratch import scratch_folder

if TYPE_CHECKING:
    from overread.imaging import Mask

__all__ = ["ProbeSet", "Recipe", "build"]

MATCHED: Final = 5
"""Matched boxes drawn for each case that has a box."""

# Shows how far the images are: gets their names and how many there are, and gives them on.
Watch = Callable[[Iterable[str], int], Iterable[str]]

# Options of a recipe that its card repeats where they were given.
_ASKED: Final = (
    *("labels", "per_finding", "boxes_per_finding", "normals", "sentences", "minimum_side"),
    "finding",
)
# What the card counts, and the fact it stands for.
_COUNTED: Final = {
    **{name: name for name in ("cases", "films", "patients", "boxed")},
    "boxed_with_several": "several",
    "overlapping_irrelevant_boxes": "overlapping",
    "fallback_swaps": "fallback_swaps",
}


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
            manifest.composition_table(self.strata, self.facts, self.signature, self.provenance),
            manifest.exclusions_table(self.exclusions),
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
    _check(recipe, images, matched)
    _check_out(place)
    most = MATCHED if matched is None else matched
    built = draw(recipe, images=images)
    if images:
        built = finish(built, recipe.root, seed=recipe.seed, matched=most, watch=watch)
    rows, facts = manifest.strata(built.cases), manifest.set_facts(built.cases)
    with _moved_whole(place, private=built.policy == "credentialed") as scratch:
        manifest.write_manifest(scratch / "manifest.csv", built.cases)
        manifest.write_composition(scratch / "composition.csv", rows)
        manifest.write_exclusions(scratch / "exclusions.csv", built.exclusions)
        card = _card(recipe, built, facts, most if images else 0)
        (scratch / "dataset.toml").write_text(card, encoding="utf-8")
        _, digest = dataset_at(scratch)
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


def _check(recipe: Recipe, images: bool, matched: int | None) -> None:
    kind = recipe.kind
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


# ---------------------------------------------------------------- the images
# What only the images can tell: their digests, whether they open, and where the body lies.


def finish(
    built: Built, root: Path, *, seed: int, matched: int = MATCHED, watch: Watch | None = None
) -> Built:
    """The set with image digests and matched boxes, less the cases whose images are damaged.

    Each image is opened once and let go before the next. That all are there is looked at first:
    with thousands to open, a wrong folder is better known at once. A matched box keeps off all
    boxes that are known of an image, for it must hide no finding at all.
    """
    paths = images_of(built.cases)
    _check_there(paths, root)
    boxed: dict[str, list[GroundingCase]] = {}
    for case in built.cases:
        if case.box is not None and matched:
            boxed.setdefault(case.image_path, []).append(case)
    digests: dict[str, str] = {}
    refusals: dict[str | None, str] = {}
    drawn: dict[str, tuple[Box, ...]] = {}
    for path in watch(paths, len(paths)) if watch else paths:
        try:
            digests[path], body = _opened(Source(str(root), path), with_body=path in boxed)
        except BadInput as refusal:
            refusals[path] = str(refusal)
            continue
        own = boxed.get(path, ())
        marked = [*built.boxes.get(path, ()), *(box for case in own for box in case.targets)]
        for case in own:
            assert body is not None
            drawn[case.case_id] = _matched(case, body, marked, seed, matched)
    cases: list[GroundingCase] = []
    # One line for every file that does not open, with the cases it takes along.
    lost: Counter[tuple[str, str]] = Counter()
    # Cases that stay, though their opposite image does not open: nothing is left out.
    unopposed: Counter[str] = Counter()
    for case in built.cases:
        swap, opposite = case.swap_image_path, case.opposite_image_path
        if case.image_path in refusals:
            lost[case.source, f"its image cannot be read: {refusals[case.image_path]}"] += 1
        elif swap in refusals:
            lost[case.source, f"the image of its swap cannot be read: {refusals[swap]}"] += 1
        else:
            if opposite in refusals:
                unopposed[refusals[opposite]] += 1
            finished = msgspec.structs.replace(
                case,
                matched_boxes=drawn.get(case.case_id, ()),
                image_digest=digests[case.image_path],
                swap_image_digest=digests.get(swap or ""),
                opposite_image_path=None if opposite in refusals else opposite,
            )
            cases.append(finished)
    if not cases:
        why = next(iter(refusals.values()))
        raise BadInput(f"no case is left: {len(refusals)} images cannot be read, first {why}")
    kept = (
        f"{count} kept without an opposite image, which cannot be read: {why}"
        for why, count in unopposed.items()
    )
    gone = (Exclusion(source, reason, count) for (source, reason), count in lost.items())
    return msgspec.structs.replace(
        built,
        cases=cases,
        exclusions=[*built.exclusions, *gone],
        provenance=[*built.provenance, *kept],
    )


def images_of(cases: Iterable[GroundingCase]) -> list[str]:
    """Every image a set needs, each once, in the order of first use."""
    needed = (
        path
        for case in cases
        for path in (case.image_path, case.swap_image_path, case.opposite_image_path)
    )
    return [path for path in dict.fromkeys(needed) if path is not None]


def _check_there(paths: Sequence[str], root: Path) -> None:
    if not root.is_dir():
        raise BadInput(
            f"{root} is not a folder. Give the images' folder with --images, or --no-images."
        )
    first, missing = "", 0
    for path in paths:
        try:
            imaging.locate(Source(str(root), path))
        except BadInput as refusal:
            first = first or str(refusal).partition(". ")[0]
            missing += 1
    if missing:
        raise BadInput(
            f"{first}; {missing} of the set's {len(paths)} images are not to be had. Fetch them, "
            "point --images at their folder, or give --no-images."
        )


def _opened(source: Source, *, with_body: bool) -> tuple[str, Mask | None]:
    """One file's digest, and where the body lies.

    It is opened whether or not its pixels are needed: one that does not open is no case.
    """
    try:
        data = imaging.locate(source).read_bytes()
    except OSError as error:
        raise BadInput(f"{source.name}: it cannot be read ({error.strerror}).") from None
    image = imaging.open_image(data, source.name)
    body = None
    if with_body:
        # Stretched as every reader will see it (GROUNDING 3); boxes stand in this square.
        square = (imaging.RESOLUTION, imaging.RESOLUTION)
        grey = image.convert("L").resize(square, Image.Resampling.BILINEAR)
        body = imaging.body_mask(np.asarray(grey))
    return hashlib.sha256(data).hexdigest(), body


def _matched(
    case: GroundingCase, body: Mask, marked: Sequence[Box], seed: int, most: int
) -> tuple[Box, ...]:
    """Drawn by a lot of the case's own: what else is in the set does not move it.

    Of several targets each gets a box of its own in every draw, none of them on another.
    """
    lot = hashlib.sha256(f"{seed}|{case.case_id}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(lot[:16], "big"))
    if len(case.targets) == 1:
        return imaging.matched_boxes(case.targets[0], body, most, rng, marked)
    drawn: dict[tuple[Box, ...], None] = {}  # a draw that came before is no further one
    for _ in range(most):
        placed: list[Box] = []
        for target in case.targets:
            placed += imaging.matched_boxes(target, body, 1, rng, [*marked, *placed])
        if len(placed) == len(case.targets):
            drawn[tuple(placed)] = None
    return tuple(box for draw in drawn for box in draw)


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


def _card(recipe: Recipe, built: Built, facts: SetFacts, matched: int) -> str:
    """`dataset.toml`: what a run reads (name, policy), and how the set was made."""
    asked = {field: getattr(recipe, field) for field in _ASKED}
    made: dict[str, Any] = {
        "overread": __version__,
        "benchmark": "grounding",
        "from": recipe.kind,
        "edition": recipe.edition,
        "seed": recipe.seed,
        "matched": matched,
        "skip_missing": recipe.skip_missing,
        "images_read": facts.digested,
        **{field: value for field, value in asked.items() if value is not None},
        "columns": dict(recipe.columns or {}),
        "counts": {word: getattr(facts, field) for word, field in _COUNTED.items()},
        "inputs": {path.name: file_digest(path) for path in built.files},
        "provenance": built.provenance,
    }
    card: dict[str, Any] = {"name": built.name, "policy": built.policy}
    if facts.digested:  # a run finds the images there
        card["root"] = str(recipe.root.absolute())
    return tomli_w.dumps({**card, "build": made})


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
    minimum = recipe.minimum_side or imaging.MINIMUM_SIDE
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
