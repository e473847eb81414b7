"""Sets found by their files and columns, read item by item; what cannot be asked is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overread.benchmarks.base import Left
from overread.benchmarks.files.layouts import (
    FoundSet,
    Item,
    SetReader,
    below,
    first_of,
    one_table,
    published,
    tables_at,
    unsafe_name,
)
from overread.case import BadInput


class Case(msgspec.Struct, frozen=True):
    case_id: str
    index: int
    image: str


def made(item: Item, options: Any) -> Case | Left | None:
    if item.lenient("lang") == options:
        return None
    if not item.images:
        return item.left("it names no image")
    return Case(item.case_id, item.index, item.images[0])


TOY = published(
    "Toy",
    (".json", ".jsonl"),
    ("img", "question"),
    made,
    images=lambda fields: (fields.lenient("img").strip(),),
    folders=("imgs", ""),
    named_by="qid",
)
READER = SetReader(
    layouts=(TOY,),
    case=Case,
    expected="a json with img and question",
    images=lambda case: (case.image,),
    name=lambda case: case.case_id,
    lack=lambda case: unsafe_name(case.image),
    remarks=lambda cases: (f"{len(cases)} cases.",),
)


def write(folder: Path, items: list[dict[str, Any]], images: tuple[str, ...] = ()) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "test.json").write_text(json.dumps(items))
    for name in images:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"x")
    return folder


def item(img: str, qid: str = "", **more: str) -> dict[str, Any]:
    return {"img": img, "question": "?", "qid": qid, **more}


def test_items_have_the_sets_names_and_their_images_folder(tmp_path: Path) -> None:
    items = [item("a.png", "q1"), item("b.png", "q2"), item("c.png", "q3", lang="zh")]
    folder = write(tmp_path / "toy", items, ("imgs/a.png", "imgs/b.png"))
    for path in (folder, folder / "test.json"):
        loaded = READER.load(path, "zh")
        assert list(loaded.cases) == [Case("q1", 1, "imgs/a.png"), Case("q2", 2, "imgs/b.png")]
        assert (loaded.left, loaded.remarks) == ([], ("2 cases.",))
        assert READER.root_of(path, None) == folder
        assert READER.root_of(path, "/elsewhere") == Path("/elsewhere")


def test_what_cannot_be_asked_is_left_out_with_its_place(tmp_path: Path) -> None:
    items = [item("a.png"), item(""), item("../b.png"), item("gone.png"), item("gone.png")]
    folder = write(tmp_path / "toy", items, ("a.png",))
    loaded = READER.load(folder, "zh")
    assert [case.case_id for case in loaded.cases] == ["1"]
    assert [left.case for left in loaded.left] == ["2", "3", "4", "5"]
    assert loaded.left[0].reason == "test.json item 2: it names no image"
    assert "no safe name" in loaded.left[1].reason
    told = "1 image is not to be had, so that 2 items are left out: gone.png."
    assert loaded.remarks == (told, "1 cases.")
    unseen = READER.load(folder, "zh", seen=False)
    assert [case.case_id for case in unseen.cases] == ["1", "4", "5"]


def test_a_set_of_which_nothing_can_be_asked_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "toy", [item("")])
    with pytest.raises(BadInput, match=r"no item can be asked about, 1 are left out; the first is"):
        READER.load(folder, "zh")


def test_what_is_no_such_set_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no set of questions. Expected a json with img"):
        READER.find(tmp_path)
    with pytest.raises(BadInput, match="there is no such file or folder. Expected a json"):
        READER.find(tmp_path / "gone")


def test_the_test_split_is_meant_where_there_are_several(tmp_path: Path) -> None:
    folder = write(tmp_path / "toy", [item("a.png")], ("a.png",))
    (folder / "train.json").write_text((folder / "test.json").read_text())
    found = tables_at(folder, (".json",), ("img",))
    assert one_table(found, folder) == (
        folder / "test.json",
        ("the items are those of test.json; not of train.json.",),
    )
    (folder / "test.json").rename(folder / "val.json")
    with pytest.raises(BadInput, match="holds several sets of questions: train.json, val.json"):
        one_table(tables_at(folder, (".json",), ("img",)), folder)


def test_cards_of_the_set_and_of_a_root_say_who_may_see_it(tmp_path: Path) -> None:
    folder = write(tmp_path / "toy", [item("a.png")], ("a.png",))
    assert READER.policy_at(folder, None, ["a.png"]) == "credentialed"
    (folder / "dataset.toml").write_text('policy = "open"\n')
    assert READER.policy_at(folder, None, ["a.png"]) == "open"
    (tmp_path / "root").mkdir()
    assert READER.policy_at(folder, str(tmp_path / "root")) == "credentialed"


def test_names_of_images_stay_below_their_root() -> None:
    assert below("imgs/", "a.png") == "imgs/a.png"
    for name in ("/a.png", "../a.png", "a/../b.png", "C:a.png", "a\\b.png", "a\nb.png", " "):
        assert unsafe_name(name)
        assert below("imgs/", name) == name


def test_a_few_names_and_how_many_more() -> None:
    assert first_of(["a", "b"]) == "a, b"
    assert first_of(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert FoundSet((), Path()).remarks == ()
