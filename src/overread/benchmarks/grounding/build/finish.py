"""What only the images can tell: their digests, whether they open, and where the body lies."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from overread.benchmarks.grounding.build.manifest import Built, Exclusion
from overread.benchmarks.grounding.cases import GroundingCase
from overread.case import BadInput, Box, Source
from overread.imaging import RESOLUTION

if TYPE_CHECKING:
    from overread.imaging import Mask

MATCHED: Final = 5
"""Matched boxes drawn for each case that has a box."""

# Shows how far the images are: gets their names and how many there are, and gives them on.
Watch = Callable[[Iterable[str], int], Iterable[str]]


def finish(
    built: Built,
    root: Path,
    *,
    seed: int,
    matched: int = MATCHED,
    boxes: Mapping[str, Sequence[Box]] | None = None,
    watch: Watch | None = None,
) -> Built:
    """The set with image digests and matched boxes, less the cases whose images are damaged.

    Each image is opened once and let go before the next. That all are there is looked at first:
    with thousands to open, a wrong folder is better known at once. `boxes` are all that are known
    of an image; a matched box keeps off them, for it must hide no finding at all.
    """
    paths = images_of(built.cases)
    _check_there(paths, root)
    boxed: dict[str, list[GroundingCase]] = {}
    for case in built.cases:
        if case.box is not None and matched:
            boxed.setdefault(case.image_path, []).append(case)
    digests: dict[str, str] = {}
    refusals: dict[str, str] = {}
    drawn: dict[str, tuple[Box, ...]] = {}
    for path in watch(paths, len(paths)) if watch else paths:
        try:
            film = _film(Source(str(root), path), with_body=path in boxed)
        except BadInput as refusal:
            refusals[path] = str(refusal)
            continue
        digests[path] = film.digest
        for case in boxed.get(path, ()):
            marked = [
                *(boxes or {}).get(path, ()),
                *(b for each in boxed[path] for b in each.targets),
            ]
            drawn[case.case_id] = _matched(case, film, marked, seed, matched)
    cases = [
        _finished(case, digests, drawn.get(case.case_id, ()))
        for case in built.cases
        if not {case.image_path, case.swap_image_path} & refusals.keys()
    ]
    if not cases:
        why = next(iter(refusals.values()))
        raise BadInput(f"no case is left: {len(refusals)} images cannot be read, first {why}")
    return msgspec.structs.replace(
        built,
        cases=cases,
        exclusions=[*built.exclusions, *_exclusions(built.cases, refusals)],
        provenance=[*built.provenance, *_without_opposite(cases, built.cases, refusals)],
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
    from overread.imaging import locate

    if not root.is_dir():
        raise BadInput(
            f"{root} is not a folder. Give the images' folder with --images, or --no-images."
        )
    first, missing = "", 0
    for path in paths:
        try:
            locate(Source(str(root), path))
        except BadInput as refusal:
            first = first or str(refusal).partition(". ")[0]
            missing += 1
    if missing:
        raise BadInput(
            f"{first}; {missing} of the set's {len(paths)} images are not to be had. Fetch them, "
            "point --images at their folder, or give --no-images."
        )


class _Film(NamedTuple):
    digest: str
    body: Mask | None


def _film(source: Source, *, with_body: bool) -> _Film:
    """One file opened, whether or not its pixels are needed: one that does not open is no case."""
    import numpy as np
    from PIL import Image

    from overread.imaging import body_mask, locate, open_image

    try:
        data = locate(source).read_bytes()
    except OSError as error:
        raise BadInput(f"{source.name}: it cannot be read ({error.strerror}).") from None
    image = open_image(data, source.name)
    body = None
    if with_body:
        # Stretched as every reader will see it (GROUNDING 3); boxes stand in this square.
        square = (RESOLUTION, RESOLUTION)
        grey = image.convert("L").resize(square, Image.Resampling.BILINEAR)
        body = body_mask(np.asarray(grey))
    return _Film(hashlib.sha256(data).hexdigest(), body)


def _matched(
    case: GroundingCase, film: _Film, marked: Sequence[Box], seed: int, most: int
) -> tuple[Box, ...]:
    """Drawn by a lot of the case's own: what else is in the set does not move it.

    Of several targets each gets a box of its own in every draw, none of them on another.
    """
    import numpy as np

    from overread.imaging import matched_boxes

    assert case.box is not None
    assert film.body is not None
    lot = hashlib.sha256(f"{seed}|{case.case_id}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(lot[:16], "big"))
    if not case.more_boxes:
        return matched_boxes(case.box, film.body, most, rng, marked)
    drawn: dict[tuple[Box, ...], None] = {}  # a draw that came before is no further one
    for _ in range(most):
        placed: list[Box] = []
        for target in case.targets:
            placed += matched_boxes(target, film.body, 1, rng, [*marked, *placed])
        if len(placed) == len(case.targets):
            drawn[tuple(placed)] = None
    return tuple(box for draw in drawn for box in draw)


def _finished(
    case: GroundingCase, digests: dict[str, str], boxes: tuple[Box, ...]
) -> GroundingCase:
    return msgspec.structs.replace(
        case,
        matched_boxes=boxes,
        image_digest=digests[case.image_path],
        swap_image_digest=digests.get(case.swap_image_path or ""),
        opposite_image_path=(
            case.opposite_image_path if case.opposite_image_path in digests else None
        ),
    )


def _without_opposite(
    kept: Iterable[GroundingCase], drawn: Iterable[GroundingCase], refusals: dict[str, str]
) -> Iterator[str]:
    """Cases that stay, though their opposite image does not open: nothing is left out."""
    ids = {case.case_id for case in kept}
    lost = Counter(c.opposite_image_path for c in drawn if c.case_id in ids)
    for path, count in lost.items():
        if path in refusals:
            yield f"{count} kept without an opposite image, which cannot be read: {refusals[path]}"


def _exclusions(cases: Iterable[GroundingCase], refusals: dict[str, str]) -> list[Exclusion]:
    """One line for every file that does not open, with the cases it takes along."""
    lost: Counter[tuple[str, str]] = Counter()
    for case in cases:
        if case.image_path in refusals:
            reason = f"its image cannot be read: {refusals[case.image_path]}"
        elif case.swap_image_path in refusals:
            reason = f"the image of its swap cannot be read: {refusals[case.swap_image_path]}"
        else:
            continue
        lost[case.source, reason] += 1
    return [Exclusion(source, reason, count) for (source, reason), count in lost.items()]
