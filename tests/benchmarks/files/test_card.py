"""Who may see a set is said by the strictest card of all the folders it really stands in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overread.benchmarks.files.card import Held, held_at, policy_of, read_card
from overread.case import BadInput


@pytest.fixture
def put(tmp_path: Path):
    """A file below the folder of the test, or with `policy` a card."""

    def made(name: str, policy: str | None = None) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" if policy is None else f'policy = "{policy}"\n')
        return path

    return made


def test_a_set_that_declares_nothing_is_credentialed(put, tmp_path):
    put("set/a.png")
    assert policy_of(Held(tmp_path / "set", ("a.png",))) == "credentialed"
    put("set/dataset.toml").write_text('name = "mine"\n')
    assert policy_of(Held(tmp_path / "set", ("a.png",))) == "credentialed"
    assert policy_of() == policy_of(Held(tmp_path, ("absent.png", "a\0b"))) == "credentialed"


def test_a_card_covers_the_folders_below_it(put, tmp_path):
    put("set/dataset.toml", "open")
    put("set/images/deep/a.png")
    assert policy_of(Held(tmp_path / "set", ("images/deep/a.png",))) == "open"


def test_a_card_in_a_folder_of_images_counts_if_an_image_stands_there(put, tmp_path):
    put("set/dataset.toml", "open")
    put("set/one/a.png")
    put("set/two/deep/b.png")
    put("set/two/dataset.toml", "credentialed")
    top = tmp_path / "set"
    assert policy_of(Held(top, ("one/a.png",))) == "open"
    assert policy_of(Held(top, ("one/a.png", "two/deep/b.png"))) == "credentialed"
    assert policy_of(Held(top, ("two/deep",))) == "credentialed", "masks may be a folder"


def test_a_card_above_what_was_named_makes_it_stricter_and_never_looser(put, tmp_path):
    put("all/set/a.png")
    put("all/dataset.toml", "open")
    held = Held(tmp_path / "all" / "set", ("a.png",))
    assert policy_of(held) == "credentialed"
    put("all/set/dataset.toml", "open")
    assert policy_of(held) == "open"
    put("all/dataset.toml", "credentialed")
    assert policy_of(held) == "credentialed"


@pytest.mark.parametrize("link", ["file", "folder", "two links"])
def test_a_link_out_of_an_open_folder_takes_nothing_along(put, tmp_path, link):
    put("open/dataset.toml", "open")
    target = put("mimic/files/a.zip")
    name = "a.zip"
    if link == "folder":
        os.symlink(target.parent, tmp_path / "open" / "files")
        name = "files/a.zip"
    elif link == "file":
        os.symlink(target, tmp_path / "open" / name)
    else:
        os.symlink(target, tmp_path / "open" / "b.zip")
        os.symlink("b.zip", tmp_path / "open" / name)
    held = Held(tmp_path / "open", (name,))
    assert policy_of(held) == "credentialed"
    put("mimic/files/dataset.toml", "research")
    assert policy_of(held) == "research"
    put("mimic/dataset.toml", "credentialed")
    assert policy_of(held) == "credentialed"


def test_a_link_into_an_open_folder_leaves_the_set_what_it_is(put, tmp_path):
    put("open/dataset.toml", "open")
    os.symlink(put("open/a.csv"), put("closed/other").parent / "a.csv")
    assert policy_of(Held(tmp_path / "closed", ("a.csv",))) == "credentialed"


def test_a_link_inside_a_set_has_both_folders_policies(put, tmp_path):
    put("set/dataset.toml", "open")
    put("set/closed/dataset.toml", "credentialed")
    (tmp_path / "set" / "shown").mkdir()
    os.symlink(put("set/closed/a.png"), tmp_path / "set" / "shown" / "a.png")
    assert policy_of(Held(tmp_path / "set", ("shown/a.png",))) == "credentialed"


def test_a_linked_folder_has_the_policy_of_the_folder_it_is_linked_in(put, tmp_path):
    put("set/dataset.toml", "open")
    put("set/far/deep/a.png")
    put("set/closed/dataset.toml", "credentialed")
    os.symlink(tmp_path / "set" / "far", tmp_path / "set" / "closed" / "link")
    for name in ("closed/link/a.png", "closed/link/deep/a.png", "closed/link/deep"):
        assert policy_of(Held(tmp_path / "set", (name,))) == "credentialed", name
    put("set/closed/dataset.toml", "open")
    assert policy_of(Held(tmp_path / "set", ("closed/link/deep/a.png",))) == "open"


def test_what_is_not_there_counts_as_the_folder_it_would_stand_in(put, tmp_path):
    put("set/dataset.toml", "open")
    put("set/closed/dataset.toml", "credentialed")
    top = tmp_path / "set"
    assert policy_of(Held(top, ("absent.csv", "absent/a.png"))) == "open"
    assert policy_of(Held(top, ("closed/absent/a.png",))) == "credentialed"
    assert policy_of(Held(top, ("dataset.toml", tmp_path / "nowhere" / "a.png"))) == "credentialed"


def test_a_folder_may_be_named_from_the_working_folder(put, tmp_path, monkeypatch):
    put("set/dataset.toml", "open")
    put("set/closed/dataset.toml", "credentialed")
    put("set/closed/a.png")
    monkeypatch.chdir(tmp_path)
    assert policy_of(Held(Path("set"), ("dataset.toml",))) == "open"
    assert policy_of(Held(Path("set"), ("closed/a.png",))) == "credentialed"
    assert policy_of(Held(tmp_path / "set", ("set/closed/a.png",))) == "open", "not from here"


def test_images_in_an_archive_have_the_policy_of_its_folder(put, tmp_path):
    root = put("far/images.zip")
    assert policy_of(held_at(root, ("", "inside/a.png"))) == "credentialed"
    put("far/dataset.toml", "open")
    assert policy_of(held_at(root, ("", "inside/a.png"))) == "open"


@pytest.mark.parametrize("kind", ["pipe", "folder", "dangling"])
def test_a_card_that_cannot_be_read_is_no_licence(put, tmp_path, kind):
    put("set/dataset.toml", "open")
    put("set/in/a.png")
    card = tmp_path / "set" / "in" / "dataset.toml"
    if kind == "pipe":
        os.mkfifo(card)
    elif kind == "folder":
        card.mkdir()
    else:
        card.symlink_to("nowhere")
    with pytest.raises(BadInput, match=r"in/dataset\.toml"):
        policy_of(Held(tmp_path / "set", ("in/a.png",)))


def test_a_card_may_name_the_folder_of_the_images(tmp_path):
    card = tmp_path / "dataset.toml"
    card.write_text('name = "n"\npolicy = "open"\nroot = "/data/films"\nlicence = "x"\n')
    assert read_card(card) == {"name": "n", "policy": "open", "root": "/data/films"}
    card.write_text("root = 3\n")
    with pytest.raises(BadInput, match=r"dataset\.toml: root is a text"):
        read_card(card)
    assert read_card(tmp_path / "absent.toml") == {}
