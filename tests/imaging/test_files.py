"""A source is an existing file below its root, whatever the manifest says."""

import hashlib
import os

import pytest

from overread.case import BadInput, Inline, Source
from overread.imaging import digest, locate


@pytest.fixture
def root(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"outside")
    data = tmp_path / "data"
    (data / "images").mkdir(parents=True)
    (data / "images" / "a.png").write_bytes(b"inside")
    return data


def test_a_file_below_the_root_is_found(root):
    assert locate(Source(str(root), "images/a.png")).read_bytes() == b"inside"


@pytest.mark.parametrize(
    "name",
    ["../secret.png", "images/../../secret.png", "images/../images/a.png", "..", "/etc/passwd"],
)
def test_a_name_that_leaves_the_root_is_refused(root, name):
    with pytest.raises(BadInput, match="leaves its data root") as refusal:
        locate(Source(str(root), name))
    assert name in str(refusal.value)


def test_the_absolute_name_of_a_file_below_the_root_is_refused_too(root):
    with pytest.raises(BadInput, match="leaves"):
        locate(Source(str(root), str(root / "images" / "a.png")))


def test_a_link_out_of_the_root_is_refused(root):
    (root / "images" / "link.png").symlink_to(root.parent / "secret.png")
    (root / "away").symlink_to(root.parent)
    for name in ("images/link.png", "away/secret.png"):
        with pytest.raises(BadInput, match="link that leaves"):
            locate(Source(str(root), name))


def test_a_root_whose_name_starts_like_another_does_not_open_it(root):
    sibling = root.parent / "data2"
    sibling.mkdir()
    (sibling / "a.png").write_bytes(b"outside")
    (root / "link.png").symlink_to(sibling / "a.png")
    with pytest.raises(BadInput, match="link that leaves"):
        locate(Source(str(root), "link.png"))


def test_a_link_within_the_root_is_followed(root):
    (root / "link.png").symlink_to(root / "images" / "a.png")
    assert locate(Source(str(root), "link.png")).read_bytes() == b"inside"


def test_a_root_may_be_a_link_or_relative(root, monkeypatch):
    (root.parent / "alias").symlink_to(root)
    assert locate(Source(str(root.parent / "alias"), "images/a.png")).read_bytes() == b"inside"
    monkeypatch.chdir(root.parent)
    assert locate(Source("data", "images/a.png")).read_bytes() == b"inside"


def test_dots_within_a_name_are_only_dots(root):
    (root / "scan..v2.png").write_bytes(b"dots")
    assert locate(Source(str(root), "scan..v2.png")).read_bytes() == b"dots"


@pytest.mark.parametrize("name", ["images/b.png", "images/a.png/c.png", "nowhere/a.png"])
def test_a_missing_file_is_named_with_a_remedy(root, name):
    with pytest.raises(BadInput, match="Fetch it, or name its folder") as refusal:
        locate(Source(str(root), name))
    assert name in str(refusal.value)
    assert str(root) in str(refusal.value)


@pytest.mark.parametrize("name", ["a\0.png", "a" * 5000, "\ud800.png", "", "images"])
def test_what_cannot_be_a_file_is_refused_in_one_line(root, name):
    with pytest.raises(BadInput) as refusal:
        locate(Source(str(root), name))
    assert "\n" not in str(refusal.value)


def test_a_pipe_is_refused_rather_than_waited_for(root):
    os.mkfifo(root / "pipe.png")
    with pytest.raises(BadInput, match="not a file"):
        locate(Source(str(root), "pipe.png"))


def test_a_link_that_points_at_itself_is_refused(root):
    (root / "loop.png").symlink_to(root / "loop.png")
    with pytest.raises(BadInput, match=r"loop\.png"):
        locate(Source(str(root), "loop.png"))


def test_the_digest_is_of_the_bytes_however_they_are_held(root):
    expected = hashlib.sha256(b"inside").digest()[:16]
    assert digest(Source(str(root), "images/a.png")) == expected
    assert digest(Inline(b"inside")) == expected
    assert digest(Inline(b"inside.")) != expected


def test_the_digest_obeys_the_root_too(root):
    with pytest.raises(BadInput, match="leaves"):
        digest(Source(str(root), "../secret.png"))
