"""CheXpert v1.0's official files as films, and a test split where there is none."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build import chexpert
from overread.benchmarks.grounding.build.films import FilmsRead, film_frame, film_schema
from support.damage import DAMAGES, edit, refusal, rename, repeat
from support.datasets import CHEXPERT_ORDER, Chexpert, read_rows, write_chexpert

CODES = {"1.0": 1, "0.0": 0, "-1.0": 2, "": 3}


@pytest.fixture
def tree(tmp_path: Path) -> Chexpert:
    return write_chexpert(tmp_path)


def films(tree: Chexpert) -> FilmsRead:
    return chexpert.chexpert_films([tree.train, tree.valid])


def obvious(*files: Path) -> list[dict[str, object]]:
    found = []
    for row in (row for file in files for row in read_rows(file)):
        part, patient, study, name = row["Path"].split("/")[1:]
        frontal = row["Frontal/Lateral"] == "Frontal"
        found.append(
            {
                "image_path": row["Path"],
                "report_path": None,
                "dicom_id": name.removesuffix(".jpg"),
                "subject_id": patient,
                "study_id": f"{patient}/{study}",
                "view": (row["AP/PA"] or "AP") if frontal else "LATERAL",
                "gender": {"Male": "M", "Female": "F", "Unknown": None}[row["Sex"]],
                "split": part,
                "age": float(row["Age"]) or None,
                **{name.lower().replace(" ", "_"): CODES[row[name]] for name in CHEXPERT_ORDER},
            }
        )
    return found


@pytest.mark.parametrize("small", [False, True])
def test_films_are_what_the_rows_say_in_their_order(tmp_path, small: bool) -> None:
    tree = write_chexpert(tmp_path, small=small, seed=3)
    read = films(tree)
    assert dict(read.films.schema) == dict(film_schema())
    assert read.films.to_dicts() == obvious(tree.train, tree.valid)
    assert (read.name, read.policy) == ("chexpert", "credentialed")
    assert any("train.csv" in line and "valid.csv" in line for line in read.provenance)


def test_unknown_sex_and_age_zero_are_null_and_an_empty_label_is_not_mentioned(tree) -> None:
    read = films(tree).films
    first = read.filter(pl.col("subject_id") == "patient00001")
    assert first["gender"].null_count() == first["age"].null_count() == first.height
    assert set(read.filter(pl.col("split") == "train")["edema"]) == {0, 1, 2, 3}
    assert set(read.filter(pl.col("split") == "valid")["edema"]) <= {0, 1}


def test_a_frontal_of_another_projection_keeps_its_word(tree) -> None:
    edit(tree.train, 2, "AP/PA", "LL")  # there are sixteen in the real file
    assert films(tree).films["view"][0] == "LL"


def test_images_are_looked_for_where_a_root_is_given(tmp_path) -> None:
    tree = write_chexpert(tmp_path, images=True, patients=6)
    both = [tree.train, tree.valid]
    assert chexpert.chexpert_films(both, tree.root).films.equals(films(tree).films)
    gone = films(tree).films["image_path"][0]
    (tree.root / gone).unlink()
    refusal(lambda: chexpert.chexpert_films(both, tree.root), gone, "not below")
    assert chexpert.chexpert_films(both, tree.root, "exclude").exclusions[0].count == 1
    refusal(lambda: chexpert.chexpert_films(both, tree.train.parent), "folder above")


# ---------------------------------------------------------------- what is wrong is refused


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_named(tree, kind) -> None:
    damage, words = DAMAGES[kind]
    damage(tree.valid)
    refusal(lambda: films(tree), "valid.csv", words)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("Path", "", "every row needs one"),
        ("Path", "CheXpert-v1.0/train/study1/view1_frontal.jpg", "a path ends in"),
        ("Path", "CheXpert-v1.0/else/patient1/study1/view1_frontal.jpg", "a path ends in"),
        ("Sex", "male", "Male, Female or Unknown"),
        ("Age", "ten", "an age is"),
        ("Age", "-3", "an age is"),
        ("Frontal/Lateral", "", "every row needs one"),
        ("Frontal/Lateral", "Front", "Frontal or Lateral"),
        ("AP/PA", "up", "AP, PA, LL, RL or empty"),
        ("Edema", "3", "a label is"),
        ("No Finding", "1.5", "a label is"),
    ],
)
def test_a_bad_cell_is_named_with_its_row(tree, column, value, words) -> None:
    edit(tree.train, 4, column, value)
    refusal(lambda: films(tree), f'^train.csv row 4: {column} is "', words)


def test_a_missing_column_a_film_twice_and_no_file_are_refused(tree) -> None:
    repeat(tree.train, 2)
    refusal(lambda: films(tree), "train.csv row 3: Path .* stands in row 2 already")
    rename(tree.valid, "Sex", "Gender")
    refusal(lambda: chexpert.chexpert_films([tree.valid]), "valid.csv has no column Sex")
    refusal(lambda: chexpert.chexpert_films([]), "no csv file was given")


def test_a_file_given_twice_is_refused(tree) -> None:
    refusal(
        lambda: chexpert.chexpert_films([tree.train, tree.train]), "stands in two of the csv files"
    )


# ---------------------------------------------------------------- the split


def of_patients(patients: list[str]) -> FilmsRead:
    frame = film_frame(
        {
            "image_path": pl.Series([f"{n}.jpg" for n in range(len(patients))], dtype=pl.String),
            "subject_id": pl.Series(patients, dtype=pl.String),
            "split": pl.Series(["train"] * len(patients), dtype=pl.String),
        }
    )
    return FilmsRead(name="chexpert", policy="credentialed", films=frame)


def held_out(read: FilmsRead) -> set[str]:
    return set(read.films.filter(pl.col("split") == "test")["subject_id"])


def test_a_fifth_of_the_patients_is_drawn_with_all_their_films_and_said(tree) -> None:
    read = films(tree)
    drawn = chexpert.split_by_patient(read, 0.2, 5)
    patients = read.films["subject_id"].n_unique()
    assert len(held_out(drawn)) == round(0.2 * patients)
    kept = drawn.films.filter(pl.col("split") != "test")
    assert not held_out(drawn) & set(kept["subject_id"])
    assert drawn.films.drop("split").equals(read.films.drop("split"))
    assert "[D31]" in drawn.provenance[-1]
    assert "seed 5" in drawn.provenance[-1]


@given(st.permutations([f"patient{n:05d}" for n in range(30)]), st.integers(0, 99))
def test_who_is_drawn_depends_on_the_ids_and_the_seed_alone(patients, seed) -> None:
    again = chexpert.split_by_patient(of_patients(sorted(patients) * 2), 0.3, seed)
    assert held_out(chexpert.split_by_patient(of_patients(patients), 0.3, seed)) == held_out(again)


def test_another_seed_draws_others() -> None:
    read = of_patients([f"patient{n:05d}" for n in range(200)])
    draws = {frozenset(held_out(chexpert.split_by_patient(read, 0.2, seed))) for seed in range(9)}
    assert len(draws) == 9


def test_a_split_is_not_drawn_over_another_nor_of_nothing() -> None:
    read = chexpert.split_by_patient(of_patients(["a", "b", "c"]), 0.5)
    refusal(lambda: chexpert.split_by_patient(read), "test split already")
    for share in (0, 1, -0.2, float("nan")):
        refusal(lambda share=share: chexpert.split_by_patient(of_patients(["a"]), share), "share")
