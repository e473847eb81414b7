"""What a set is to be built from: one kind at a time, with the options that go with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overread.benchmarks.grounding.build.recipe import KINDS, Recipe, draw
from overread.benchmarks.grounding.cases import EXTRA_COLUMNS, GroundingCase, load_cases
from overread.benchmarks.grounding.edition import AUTHORS
from overread.case import BadInput, Box
from support import datasets

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


# ---------------------------------------------------------------- drawing by a recipe
# From a recipe to cases, for every kind of set.


BUILDER = Path(__file__).parents[3] / "golden" / "grounding" / "builder"


@pytest.fixture(scope="module")
def params() -> dict[str, Any]:
    return dict(json.loads((BUILDER / "expected_summary.json").read_text())["params"])


@pytest.fixture(scope="module")
def mimic(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    place = tmp_path_factory.mktemp("mimic")
    tree = datasets.write_mimic(place / "jpg", patients=40)
    return Recipe(
        mimic=tree.root,
        patients=tree.patients,
        ms_cxr=datasets.write_mscxr(place / "ms", tree).csv,
        rexerr=datasets.write_rexerr(place / "rexerr", tree),
        per_finding=6,
    )


def asked(recipe: Recipe, **changes: Any) -> Recipe:
    return msgspec.structs.replace(recipe, **changes)


def papers_columns(cases: list[GroundingCase]) -> list[GroundingCase]:
    """The cases without what we add to the paper's 26 columns."""
    empty = dict.fromkeys(EXTRA_COLUMNS, None) | {"matched_boxes": ()}
    return [msgspec.structs.replace(case, **empty) for case in cases]


# ---------------------------------------------------------------- as the authors' builder


def authors_cases(name: str) -> list[GroundingCase]:
    """Their manifest; pandas wrote ids as 1213.0 wherever a column has an empty cell."""
    return [
        msgspec.structs.replace(
            case,
            subject_id=case.subject_id and case.subject_id.removesuffix(".0"),
            study_id=case.study_id and case.study_id.removesuffix(".0"),
        )
        for case in load_cases(BUILDER / name, AUTHORS)
    ]


def test_the_authors_mimic_set_from_their_lists(params: dict[str, Any]) -> None:
    recipe = Recipe(
        master_list=BUILDER / "mimic_master.csv",
        ms_cxr=BUILDER / "mscxr.csv",
        rexerr=BUILDER / "rexerr.csv",
        edition="authors",
        seed=params["random_seed"],
        per_finding=params["mimic_per_finding"],
        boxes_per_finding=params["mscxr_per_finding_cap"],
        normals=params["mimic_normals"],
        sentences=params["rexerr_total"],
        minimum_side=params["min_box_pixels"],
    )
    drawn = draw(recipe)
    assert papers_columns(drawn.cases) == authors_cases("expected_manifest.csv")
    assert drawn.policy == "credentialed"
    assert drawn.files == [recipe.master_list, recipe.ms_cxr, recipe.rexerr]


def test_the_authors_chexpert_set_from_their_list(params: dict[str, Any]) -> None:
    recipe = Recipe(
        chexpert_master_list=BUILDER / "chexpert_master.csv",
        edition="authors",
        seed=params["random_seed"],
        per_finding=params["chexpert_per_finding"],
        normals=params["chexpert_normals"],
    )
    drawn = draw(recipe)
    assert papers_columns(drawn.cases) == authors_cases("expected_chexpert_manifest.csv")


# ---------------------------------------------------------------- MIMIC


@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_films_of_mimic_are_named_below_its_root(mimic: Recipe, edition: str) -> None:
    cases = draw(asked(mimic, edition=edition)).cases
    assert {case.source for case in cases} == {"ms_cxr", "mimic_cxr", "rexerr"}
    for case in cases:
        assert case.image_path.startswith("files/p")
        assert (case.swap_image_path or "files/p").startswith("files/p")


def test_mimic_without_boxes_and_sentences_says_so(mimic: Recipe) -> None:
    built = draw(asked(mimic, ms_cxr=None, rexerr=None))
    assert {case.source for case in built.cases} == {"mimic_cxr"}
    assert any("CGR and IS stay undefined" in line for line in built.provenance)


def test_patients_may_be_given_as_mimic_ivs_folder(mimic: Recipe) -> None:
    assert mimic.patients is not None
    by_file = draw(mimic)
    for folder in (mimic.patients.parent, mimic.patients.parent.parent):
        assert draw(asked(mimic, patients=folder)) == by_file


def test_mimic_without_patients_says_which_file_is_wanted(mimic: Recipe) -> None:
    with pytest.raises(BadInput, match=r"hosp/patients\.csv\.gz with --patients"):
        draw(asked(mimic, patients=None))


def test_another_labeler_gives_another_set(mimic: Recipe) -> None:
    built = draw(asked(mimic, labels="negbio"))
    assert built.cases != draw(mimic).cases
    assert any("negbio" in line for line in built.provenance)


def test_every_file_read_is_named(mimic: Recipe) -> None:
    names = {path.name for path in draw(mimic).files}
    assert {name.rpartition("-")[2].partition(".")[0] for name in names if "mimic" in name} == {
        "metadata",
        "split",
        "chexpert",
    }
    assert {"patients.csv.gz", "ReXErr-sentence-level_test.csv"} < names


def test_every_box_of_a_boxed_film_is_known_small_ones_too(mimic: Recipe) -> None:
    drawn = draw(asked(mimic, boxes_per_finding=1))
    boxed = [case for case in drawn.cases if case.box is not None]
    assert boxed
    rows = datasets.read_rows(mimic.ms_cxr or Path())
    for case in boxed:
        own = [row for row in rows if row["dicom_id"] == case.dicom_id]
        found = drawn.boxes[case.image_path]
        assert case.box in found
        assert found == [
            Box(
                *(
                    round(int(row[side]) * 224 / int(row[whole]))
                    for side, whole in zip("xywh", ("image_width", "image_height") * 2, strict=True)
                )
            )
            for row in own
        ]


def test_films_without_an_image_are_left_out_if_asked(mimic: Recipe, tmp_path: Path) -> None:
    for case in draw(asked(mimic, ms_cxr=None, rexerr=None)).cases:
        datasets.write_film(tmp_path / case.image_path, 0)
    built = draw(asked(mimic, images=tmp_path, skip_missing=True))
    assert all((tmp_path / case.image_path).is_file() for case in built.cases)
    assert any(each.reason == "the image is not there" for each in built.exclusions)


# ---------------------------------------------------------------- the other kinds


def test_chexpert_gets_a_test_split_by_patient(tmp_path: Path) -> None:
    tree = datasets.write_chexpert(tmp_path, patients=60, small=True)
    by_folder = draw(Recipe(chexpert=tree.train.parent))
    assert [path.name for path in by_folder.files] == ["train.csv", "valid.csv"]
    patients = {case.subject_id for case in by_folder.cases}
    assert len(patients) <= 12
    assert any("[D31]" in line for line in by_folder.provenance)
    by_file = draw(Recipe(chexpert=tree.train))
    assert by_file.files == [tree.train]


def test_chexpert_plus_brings_the_reports(tmp_path: Path) -> None:
    tree = datasets.write_chexpert(tmp_path, patients=60)
    plus = datasets.write_chexpert_plus(tmp_path / "plus", like=tree)
    bare = draw(Recipe(chexpert=tree.train.parent)).cases
    for place in (plus.root, plus.table):
        told = draw(Recipe(chexpert=tree.train.parent, chexpert_plus=place))
        assert all(case.report_path for case in told.cases)
        assert [msgspec.structs.replace(c, report_path=None) for c in told.cases] == bare
        assert told.files[-1] == plus.table


def test_nih_is_open_and_rsna_for_research(tmp_path: Path) -> None:
    nih = draw(Recipe(nih=datasets.write_nih(tmp_path / "nih")))
    assert nih.policy == "open"
    assert [path.name for path in nih.files] == ["Data_Entry_2017_v2020.csv", "BBox_List_2017.csv"]
    tree = datasets.write_rsna(tmp_path / "rsna")
    rsna = draw(Recipe(rsna=tree.root, nih_mapping=tree.mapping))
    assert rsna.policy == "research"
    assert len(rsna.files) == 3
    assert any(case.subject_id for case in rsna.cases)


def test_ones_own_films(tmp_path: Path) -> None:
    csv = datasets.write_folder(tmp_path)
    drawn = draw(Recipe(folder=csv, name="ward", policy="research", minimum_side=60))
    assert (drawn.name, drawn.policy) == ("ward", "research")
    assert all(case.case_id.startswith("ward_") for case in drawn.cases)
    boxes = [case.box for case in drawn.cases if case.box is not None]
    assert boxes
    assert all(min(box.w, box.h) >= 60 for box in boxes)
    assert draw(Recipe(folder=csv)).policy == "credentialed"


def test_half_of_a_findings_cases_are_without_it(tmp_path: Path) -> None:
    nih = datasets.write_nih(tmp_path, patients=200)
    built = draw(Recipe(nih=nih, per_finding=6, normals=4))
    for finding in {case.finding for case in built.cases} - {"no_finding"}:
        labels = [case.label for case in built.cases if case.finding == finding]
        assert len(labels) <= 6
        assert labels.count(0) <= 3
    assert sum(case.finding == "no_finding" for case in built.cases) == 4
