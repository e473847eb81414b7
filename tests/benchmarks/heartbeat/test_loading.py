"""A path is enough: what lies there is recognised, or one line says what was expected."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from overread.benchmarks.heartbeat.edition import CORRECTED, Options
from overread.benchmarks.heartbeat.loading import load, root_of
from overread.case import BadInput
from support.datasets import write_csv
from support.echo_trees import (
    SIDE,
    Heart,
    write_camus,
    write_clips,
    write_echonet,
    write_heart,
    write_masks,
    write_pediatric,
)


def clips(path: Path, **options: object) -> list[str]:
    cases, left = load(path, CORRECTED, Options(**options))  # type: ignore[arg-type]
    assert left == []
    root = root_of(path, Options(**options))  # type: ignore[arg-type]
    assert all((root / case.clip).is_file() for case in cases)
    return [case.clip for case in cases]


def test_every_layout_is_recognised(tmp_path: Path) -> None:
    assert clips(write_echonet(tmp_path / "e", [Heart("a")])) == ["Videos/a.avi"]
    assert clips(write_pediatric(tmp_path / "p", [Heart("a")])) == ["A4C/Videos/a.avi"]
    assert clips(tmp_path / "p" / "A4C") == ["Videos/a.avi"]
    path = write_clips(tmp_path / "c", [Heart("a")])
    assert clips(path) == clips(tmp_path / "c") == ["clips/a.avi"]


def test_camus_is_recognised(tmp_path: Path) -> None:
    pytest.importorskip("nibabel", reason="needs nibabel: overread[nifti] is not installed")
    name = "patient0001/patient0001_4CH_half_sequence.nii.gz"
    root = write_camus(tmp_path, [Heart("patient0001")])
    assert clips(root) == [f"database_nifti/{name}"]
    assert clips(root / "database_nifti") == [name]


def test_the_root_may_be_elsewhere(tmp_path: Path) -> None:
    path = write_clips(tmp_path / "c", [Heart("a", video=None)])
    write_heart(tmp_path / "far" / "clips" / "a.avi", Heart("a"))
    assert clips(path, root=str(tmp_path / "far")) == ["clips/a.avi"]


@pytest.mark.parametrize("kind", ["nothing", "empty folder", "text file", "other csv"])
def test_what_is_not_recognised_says_what_was_expected(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "there"
    if kind == "empty folder":
        path.mkdir()
    elif kind == "text file":
        path = tmp_path / "there.txt"
        path.write_text("clip,ed,es\n")
    elif kind == "other csv":
        path = tmp_path / "there.csv"
        path.write_text("image,label\na.png,1\n")
    with pytest.raises(BadInput) as caught:
        load(path, CORRECTED, Options())
    assert str(path) in str(caught.value)
    assert "clip, ed and es" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_set_of_which_nothing_can_be_asked_is_refused(tmp_path: Path) -> None:
    path = write_clips(tmp_path, [Heart("a", video=None), Heart("b", video=None)])
    with pytest.raises(BadInput) as caught:
        load(path, CORRECTED, Options())
    assert str(caught.value).endswith(
        "no clip can be asked about, 2 are left out; the first is clips/a: clips/a.avi: the file "
        "is not there."
    )


def test_where_every_context_needs_masks_a_clip_without_any_is_left_out(tmp_path: Path) -> None:
    write_clips(tmp_path, [Heart("a"), Heart("b")])
    write_masks(tmp_path / "a.npz", np.ones((60, SIDE, SIDE), bool))
    rows = [("clips/a.avi", 10, 26, "a.npz"), ("clips/b.avi", 10, 26, "")]
    path = write_csv(tmp_path / "cases.csv", ("clip", "ed", "es", "mask"), rows)
    assert len(clips(path, contexts=("original", "segmented"))) == 2
    cases, (left,) = load(path, CORRECTED, Options(contexts=("segmented", "non_medical")))
    assert [case.case_id for case in cases] == ["clips/a"]
    assert left.reason == "clips/b.avi: it has no masks, and segmented and non_medical need them"


def test_the_editions_seed_draws_the_clips(tmp_path: Path) -> None:
    path = write_clips(tmp_path, [Heart(f"h{number}", frames=30) for number in range(5)])
    rules = [msgspec.structs.replace(CORRECTED, seed=seed) for seed in range(8)]
    samples = {load(path, each, Options(videos=1))[0][0].case_id for each in rules}
    assert len(samples) > 1


def test_a_root_beside_a_set_with_its_own_clips_is_refused(tmp_path: Path) -> None:
    path = write_echonet(tmp_path / "e", [Heart("a")])
    with pytest.raises(BadInput, match="has its clips below itself. Leave root out"):
        load(path, CORRECTED, Options(root=str(tmp_path)))
