"""What a set is to be built from: one kind at a time, with the options that go with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from overread.benchmarks.grounding.build.recipe import KINDS, Recipe
from overread.case import BadInput

HERE = Path("somewhere") / "data"


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_is_enough(kind: str) -> None:
    assert Recipe(**{kind: HERE}).kind == kind


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nothing to build from"),
        ({"images": HERE}, "nothing to build from"),
        ({"mimic": HERE, "nih": HERE}, "--mimic and --nih are two sets"),
        ({"master_list": HERE, "chexpert_master_list": HERE}, "--chexpert-master-list"),
        ({"nih": HERE, "ms_cxr": HERE}, "--ms-cxr goes with --mimic or --master-list"),
        ({"nih": HERE, "patients": HERE}, "--patients goes with --mimic, not with --nih"),
        ({"master_list": HERE, "patients": HERE}, "--patients goes with --mimic"),
        ({"master_list": HERE, "labels": "negbio"}, "--labels goes with --mimic"),
        ({"mimic": HERE, "chexpert_plus": HERE}, "--chexpert-plus goes with --chexpert"),
        ({"nih": HERE, "nih_mapping": HERE}, "--nih-mapping goes with --rsna"),
        ({"nih": HERE, "columns": {"label": "x"}}, "--column goes with --folder"),
        ({"nih": HERE, "policy": "open"}, "--policy goes with --folder"),
        ({"nih": HERE, "name": "mine"}, "--name goes with --folder"),
        ({"rsna": HERE, "finding": "edema"}, "--finding goes with --folder"),
        ({"folder": HERE, "sentences": 3}, "--sentences goes with"),
        ({"mimic": HERE, "sentences": 3}, "--rexerr"),
        ({"mimic": HERE, "boxes_per_finding": 3}, "--ms-cxr"),
        ({"mimic": HERE, "labels": "chexbert"}, "--labels chexbert: it is chexpert or negbio"),
        ({"folder": HERE, "policy": "secret"}, "--policy secret: it is open, research"),
        ({"folder": HERE, "name": "a|b"}, "--name a|b"),
        ({"folder": HERE, "name": "rexerr"}, "--name rexerr"),
        ({"folder": HERE, "name": ""}, "--name"),
        ({"nih": HERE, "edition": "first"}, 'edition is "first"; the editions are corrected'),
        ({"nih": HERE, "seed": -1}, "--seed -1"),
        ({"nih": HERE, "per_finding": 1}, "--per-finding 1: it is from 2"),
        ({"nih": HERE, "normals": -1}, "--normals -1"),
        ({"nih": HERE, "minimum_side": 0}, "--minimum-side 0"),
        ({"nih": HERE, "minimum_side": 225}, "--minimum-side 225: it is from 1 to 224"),
    ],
)
def test_what_does_not_go_together_is_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as refusal:
        _ = Recipe(**given).kind
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("kind", ["mimic", "nih", "rsna"])
def test_images_are_sought_in_the_datasets_folder(kind: str) -> None:
    assert Recipe(**{kind: HERE}).root == HERE


def test_images_of_a_list_are_sought_beside_it() -> None:
    for kind in ("master_list", "folder", "chexpert_master_list"):
        assert Recipe(**{kind: HERE / "list.csv"}).root == HERE.absolute()


def test_paths_of_chexpert_begin_with_its_folders_name(tmp_path: Path) -> None:
    folder = tmp_path / "CheXpert-v1.0-small"
    folder.mkdir()
    assert Recipe(chexpert=folder).root == tmp_path
    assert Recipe(chexpert=folder / "train.csv").root == tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_another_folder_of_images_may_be_named(kind: str) -> None:
    assert Recipe(**{kind: HERE, "images": Path("there")}).root == Path("there")


@pytest.mark.parametrize(
    ("csv", "name"), [("films.csv", "films"), ("Mein Röntgen|1.csv", "Mein-R-ntgen-1")]
)
def test_a_set_of_ones_own_is_called_like_its_csv(csv: str, name: str) -> None:
    assert Recipe(folder=HERE / csv).own_name == name
    assert Recipe(folder=HERE / csv, name="mine").own_name == "mine"
