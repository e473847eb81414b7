"""A path is enough: what lies there is recognised, or one line says what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.benchmarks.heartbeat.edition import CORRECTED, Options
from overread.benchmarks.heartbeat.loading import load, root_of
from overread.case import BadInput
from support.echo_trees import (
    Heart,
    write_camus,
    write_clips,
    write_echonet,
    write_heart,
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
