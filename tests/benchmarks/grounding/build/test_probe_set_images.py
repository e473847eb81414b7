"""The finish: digests, matched boxes, and what becomes of images that are missing or damaged."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overread.benchmarks.grounding.build import probe_set
from overread.benchmarks.grounding.build.manifest import Built, Exclusion
from overread.benchmarks.grounding.build.probe_set import MATCHED, finish, images_of
from overread.benchmarks.grounding.cases import GroundingCase
from overread.case import BadInput, Box, Picture, Resize, Source
from overread.imaging import body_mask, overlap, pixels, render
from support.datasets import write_film

TARGET = Box(40, 60, 52, 54)


def case(name: str, image: str, **facts: Any) -> GroundingCase:
    given: dict[str, Any] = {"source": "own", "label": 1, "finding": "edema"}
    return GroundingCase(case_id=name, image_path=image, **{**given, **facts})


def built(*cases: GroundingCase) -> Built:
    earlier = [Exclusion("own", "view not PA or AP", 3)]
    return Built(name="own", policy="open", cases=list(cases), exclusions=earlier)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in "abcd":
        write_film(tmp_path / f"{name}.png", name, (300, 260))
    return tmp_path


@pytest.fixture
def some() -> Built:
    return built(
        case("c0", "a.png", swap_image_path="b.png", box=TARGET, opposite_image_path="d.png"),
        case("c1", "a.png", swap_image_path="c.png", box=Box(130, 60, 52, 54)),
        case("c2", "b.png", swap_image_path="a.png"),
        case("c3", "c.png"),
    )


def test_digests_are_those_of_the_files(root: Path, some: Built) -> None:
    done = finish(some, root, seed=1)
    digest = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in root.iterdir()}
    for each in done.cases:
        assert each.image_digest == digest[each.image_path]
        swap = each.swap_image_path
        assert each.swap_image_digest == (None if swap is None else digest[swap])
    assert done.exclusions == some.exclusions


def test_nothing_but_digests_and_boxes_is_changed(root: Path, some: Built) -> None:
    blank = {"image_digest": None, "swap_image_digest": None, "matched_boxes": ()}
    plain = [msgspec.structs.replace(each, **blank) for each in finish(some, root, seed=1).cases]
    assert plain == some.cases


def test_each_image_is_opened_once_and_one_at_a_time(
    root: Path, some: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Counter[str] = Counter()
    held = 0
    real = probe_set._opened

    def counted(source: Source, **how: bool) -> Any:
        nonlocal held
        assert held == 0
        held += 1
        opened[source.name] += 1
        film = real(source, **how)
        held -= 1
        return film

    monkeypatch.setattr(probe_set, "_opened", counted)
    finish(some, root, seed=1)
    assert opened == Counter(images_of(some.cases)) == Counter(["a.png", "b.png", "c.png", "d.png"])


def test_matched_boxes_lie_in_the_body_as_readers_see_it(root: Path, some: Built) -> None:
    done = finish(some, root, seed=1)
    shown = render(Picture(Source(str(root), "a.png"), (Resize(224, 224),)))
    body = body_mask(pixels(shown))
    targets = [each.box for each in some.cases if each.box is not None]
    for each in done.cases[:2]:
        assert len(each.matched_boxes) == MATCHED
        for box in each.matched_boxes:
            assert body[box.y : box.y + box.h, box.x : box.x + box.w].mean() >= 0.95
            # It keeps off the other target of the film too.
            assert not any(overlap(box, target) for target in targets)
    assert [each.matched_boxes for each in done.cases[2:]] == [(), ()]


def test_boxes_no_case_was_made_of_are_kept_off_too(root: Path, some: Built) -> None:
    marked = Box(100, 100, 60, 100)
    told = msgspec.structs.replace(some, boxes={"a.png": [marked]})
    done = finish(told, root, seed=1)
    free = finish(some, root, seed=1)
    assert any(overlap(box, marked) for each in free.cases for box in each.matched_boxes)
    assert not any(overlap(box, marked) for each in done.cases for box in each.matched_boxes)


def test_draws_hang_on_the_seed_and_the_case_alone(root: Path, some: Built) -> None:
    first = finish(some, root, seed=1).cases
    assert finish(some, root, seed=1).cases == first
    assert finish(some, root, seed=2).cases[0].matched_boxes != first[0].matched_boxes
    fewer = built(some.cases[0], some.cases[1])
    assert [each.matched_boxes for each in finish(fewer, root, seed=1).cases] == [
        each.matched_boxes for each in first[:2]
    ]


@pytest.mark.parametrize("count", [0, 1, 9])
def test_as_many_boxes_as_asked_for(root: Path, some: Built, count: int) -> None:
    done = finish(some, root, seed=1, matched=count)
    assert [len(each.matched_boxes) for each in done.cases] == [count, count, 0, 0]


def test_the_watcher_sees_every_image_and_how_many_there_are(root: Path, some: Built) -> None:
    seen: list[tuple[str, int]] = []

    def watch(paths: Iterable[str], total: int) -> Iterator[str]:
        for path in paths:
            seen.append((path, total))
            yield path

    finish(some, root, seed=1, watch=watch)
    assert seen == [(path, 4) for path in images_of(some.cases)]


# ---------------------------------------------------------------- missing and damaged


def test_missing_images_are_refused_by_the_first_and_their_number(root: Path, some: Built) -> None:
    (root / "b.png").unlink()
    (root / "d.png").unlink()
    with pytest.raises(BadInput) as refusal:
        finish(some, root, seed=1)
    said = str(refusal.value)
    assert "'b.png'" in said
    assert "2 of the set's 4 images" in said
    assert "--no-images" in said
    assert "\n" not in said


def test_a_name_that_leaves_the_root_is_refused(root: Path) -> None:
    with pytest.raises(BadInput, match="leaves its data root"):
        finish(built(case("c", "../a.png")), root, seed=1)


def test_a_root_that_is_no_folder_is_refused(root: Path, some: Built) -> None:
    with pytest.raises(BadInput, match="--images"):
        finish(some, root / "nowhere", seed=1)


def test_a_damaged_image_takes_its_cases_along(root: Path, some: Built) -> None:
    path = root / "a.png"
    path.write_bytes(path.read_bytes()[:500])
    done = finish(some, root, seed=1)
    assert [each.case_id for each in done.cases] == ["c3"]
    own, swapped = done.exclusions[1:]
    assert (own.source, own.count) == ("own", 2)
    assert own.reason.startswith("its image cannot be read: a.png: ")
    assert (swapped.source, swapped.count) == ("own", 1)
    assert swapped.reason.startswith("the image of its swap cannot be read: a.png: ")


def test_a_case_is_kept_without_its_damaged_opposite(root: Path, some: Built) -> None:
    (root / "d.png").write_bytes(b"not an image")
    done = finish(some, root, seed=1)
    assert len(done.cases) == len(some.cases)
    assert all(each.opposite_image_path is None for each in done.cases)
    assert done.exclusions == some.exclusions  # nothing is left out
    (said,) = [line for line in done.provenance if "opposite" in line]
    assert said.startswith("1 kept without")
    assert "d.png" in said


def test_when_no_image_opens_the_first_says_why(root: Path, some: Built) -> None:
    for path in root.iterdir():
        path.write_bytes(b"")
    with pytest.raises(BadInput, match=r"no case is left: 4 images .*a\.png: the file is empty"):
        finish(some, root, seed=1)
