"""Probe sets on disk: whole or not at all, the same every time, and with a card that says how."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shlex
import shutil
import stat
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overread import __version__
from overread.benchmarks.grounding.benchmark import Grounding
from overread.benchmarks.grounding.build.probe_set import ProbeSet, Recipe, build
from overread.benchmarks.grounding.cases import dataset_at, load_cases
from overread.case import BadInput
from support import datasets

FILES = {"manifest.csv", "dataset.toml", "composition.csv", "exclusions.csv"}


@pytest.fixture(scope="module")
def nih(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return datasets.write_nih(tmp_path_factory.mktemp("nih"), images=True)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return datasets.write_folder(tmp_path_factory.mktemp("own"))


@pytest.fixture
def made(nih: Path, tmp_path: Path) -> ProbeSet:
    return build(Recipe(nih=nih, per_finding=8, normals=5), tmp_path / "set")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ---------------------------------------------------------------- what is written


def test_four_files_that_agree(made: ProbeSet) -> None:
    assert {path.name for path in made.folder.iterdir()} == FILES
    cases = list(load_cases(made.folder))
    assert len(cases) == made.facts.cases == sum(row.total for row in made.strata)
    with (made.folder / "composition.csv").open(encoding="utf-8") as file:
        assert sum(int(row["total"]) for row in csv.DictReader(file)) == len(cases)
    with (made.folder / "exclusions.csv").open(encoding="utf-8") as file:
        assert sum(1 for _ in csv.DictReader(file)) == len(made.exclusions)
    assert all(case.image_digest and case.swap_image_digest for case in cases)
    assert any(case.matched_boxes for case in cases)


def test_the_card_says_what_it_is_and_how_it_was_made(made: ProbeSet, nih: Path) -> None:
    card = tomllib.loads((made.folder / "dataset.toml").read_text("utf-8"))
    assert (card["name"], card["policy"]) == ("nih", "open")
    how = card["build"]
    assert (how["from"], how["edition"], how["seed"]) == ("nih", "corrected", 42)
    assert (how["per_finding"], how["normals"], how["matched"]) == (8, 5, 5)
    assert how["overread"] == __version__
    assert how["images_read"] is True
    assert how["counts"]["cases"] == made.facts.cases
    for name, digest in how["inputs"].items():
        assert hashlib.sha256((nih / name).read_bytes()).hexdigest() == digest
    assert how["inputs"]
    assert how["provenance"] == made.provenance
    # Where the lab keeps its data stands in one place, for runs; nowhere else.
    assert card.pop("root") == str(nih.absolute())
    assert str(nih) not in str(card)
    assert str(nih) not in (made.folder / "manifest.csv").read_text("utf-8")


def test_the_signature_names_the_cases_as_a_run_does(made: ProbeSet) -> None:
    _, digest = dataset_at(made.folder)
    assert f"|cases:{made.facts.cases}@{digest}|" in made.signature


def test_the_same_recipe_gives_the_same_bytes(made: ProbeSet, nih: Path, tmp_path: Path) -> None:
    again = build(Recipe(nih=nih, per_finding=8, normals=5), tmp_path / "again")
    for name in FILES:
        assert (again.folder / name).read_bytes() == (made.folder / name).read_bytes()
    other = build(Recipe(nih=nih, per_finding=8, normals=5, seed=1), tmp_path / "other")
    manifest = "manifest.csv"
    assert (other.folder / manifest).read_bytes() != (made.folder / manifest).read_bytes()


def test_sets_under_agreement_are_for_their_owner_alone(
    own: Path, nih: Path, tmp_path: Path
) -> None:
    old = os.umask(0o022)
    try:
        private = build(Recipe(folder=own), tmp_path / "private").folder
        public = build(Recipe(folder=own, policy="open"), tmp_path / "public").folder
    finally:
        os.umask(old)
    assert mode(private) == 0o700
    assert {mode(path) for path in private.iterdir()} == {0o600}
    assert mode(public) == 0o755
    assert {mode(path) for path in public.iterdir()} == {0o644}


def test_an_open_set_heeds_the_umask(own: Path, tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        made = build(Recipe(folder=own, policy="open"), tmp_path / "set")
    finally:
        os.umask(old)
    assert mode(made.folder) == 0o700
    assert {mode(path) for path in made.folder.iterdir()} == {0o600}


def test_it_can_be_told_as_json(made: ProbeSet) -> None:
    told = json.loads(msgspec.json.encode(made, enc_hook=str))
    assert told["facts"]["cases"] == made.facts.cases
    assert told["folder"] == str(made.folder)


# ---------------------------------------------------------------- images


def test_part_of_the_images_does_not_stop_a_set_of_tables_alone(nih: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    shutil.copytree(nih, part)
    next((part / "images").iterdir()).unlink()
    with pytest.raises(BadInput, match="--skip-missing"):
        build(Recipe(nih=part), tmp_path / "refused")
    made = build(Recipe(nih=part), tmp_path / "set", images=False)
    whole = build(Recipe(nih=nih), tmp_path / "whole", images=False)
    assert made.signature == whole.signature


def test_without_images_only_tables_are_read(nih: Path, tmp_path: Path) -> None:
    made = build(Recipe(nih=nih), tmp_path / "set", images=False)
    cases = list(load_cases(made.folder))
    assert not any(case.image_digest or case.matched_boxes for case in cases)
    assert "not read" in " ".join(made.tables[0].notes)
    assert "root=IMAGES" in made.next
    assert made.warnings
    card = tomllib.loads((made.folder / "dataset.toml").read_text("utf-8"))
    assert card["build"]["images_read"] is False
    assert card["build"]["matched"] == 0


def test_images_may_change_nothing_but_what_they_tell(nih: Path, tmp_path: Path) -> None:
    blank = {"image_digest": None, "swap_image_digest": None, "matched_boxes": ()}
    seen = load_cases(build(Recipe(nih=nih), tmp_path / "seen").folder)
    unseen = load_cases(build(Recipe(nih=nih), tmp_path / "unseen", images=False).folder)
    assert [msgspec.structs.replace(case, **blank) for case in seen] == list(unseen)


@pytest.mark.parametrize(
    ("recipe", "how", "said"),
    [
        ({}, {"matched": -1}, "--matched -1"),
        ({}, {"matched": 21}, "--matched 21: it is from 0 to 20"),
        ({}, {"matched": 3, "images": False}, "--matched needs the images"),
        ({"images": Path("there")}, {"images": False}, "--images needs the images"),
        ({"skip_missing": True}, {"images": False}, "--skip-missing needs the images"),
    ],
)
def test_what_does_not_go_together(
    nih: Path, tmp_path: Path, recipe: dict[str, Any], how: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        build(Recipe(nih=nih, **recipe), tmp_path / "set", **how)


def test_ones_own_films_need_their_images(own: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--no-images does not go with --folder"):
        build(Recipe(folder=own), tmp_path / "set", images=False)


# ---------------------------------------------------------------- the place


def test_a_folder_that_holds_something_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(BadInput, match="not empty"):
        build(Recipe(nih=tmp_path / "nowhere"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_file_in_the_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "set").touch()
    with pytest.raises(BadInput, match="a file stands there"):
        build(Recipe(nih=tmp_path / "nowhere"), tmp_path / "set")


def test_an_empty_folder_or_a_link_to_one_is_filled(own: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for name in ("empty", "link"):
        build(Recipe(folder=own), tmp_path / name)
    assert {path.name for path in (tmp_path / "empty").iterdir()} == FILES
    assert {path.name for path in (tmp_path / "real").iterdir()} == FILES
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "real", "link"}


def test_what_fails_leaves_nothing_behind(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from overread.benchmarks.grounding.build import manifest

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(manifest, "write_exclusions", full)
    with pytest.raises(OSError, match="No space"):
        build(Recipe(folder=own), tmp_path / "sets" / "set")
    assert list((tmp_path / "sets").iterdir()) == []


def test_a_damaged_image_is_told_and_its_case_is_gone(
    made: ProbeSet, nih: Path, tmp_path: Path
) -> None:
    victim = next(iter(load_cases(made.folder))).image_path
    kept = (nih / victim).read_bytes()
    (nih / victim).write_bytes(kept[: len(kept) // 2])
    try:
        told = build(Recipe(nih=nih, per_finding=8, normals=5), tmp_path / "hurt")
    finally:
        (nih / victim).write_bytes(kept)
    assert told.facts.cases < made.facts.cases
    assert any(victim in each.reason for each in told.exclusions)
    for case in load_cases(told.folder):
        assert victim not in (case.image_path, case.swap_image_path, case.opposite_image_path)


# ---------------------------------------------------------------- what comes next


def test_the_next_command_can_be_typed(own: Path, tmp_path: Path) -> None:
    made = build(Recipe(folder=own, edition="authors"), tmp_path / "a set")
    words = shlex.split(made.next)
    assert words[:5] == ["overread", "run", "grounding", "--cases", str(made.folder)]
    assert not any(word.startswith("root=") for word in words)
    assert Grounding.open(made.folder).root == str(own.parent.absolute())
    assert words[words.index("--edition") + 1] == "authors"
    # The authors' code has no key for a source of one's own: without one all would be undefined.
    assert "other_sources=label" in words
    (few,) = made.warnings
    assert few.startswith(f"{made.facts.boxed} cases have a box to mask, and a category needs 100.")


def test_images_that_declare_no_policy_are_pointed_out(
    made: ProbeSet, nih: Path, tmp_path: Path
) -> None:
    few, warning = made.warnings
    assert "--minimum-side 50 keeps" in few
    assert 'policy = "open"' in warning
    card = nih / "dataset.toml"
    card.write_text('policy = "open"\n', "utf-8")
    try:
        (only,) = build(Recipe(nih=nih), tmp_path / "second").warnings
        assert "--minimum-side" in only
    finally:
        card.unlink()
