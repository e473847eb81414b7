"""CheXpert v1.0's official files as films, and a test split where there is none."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.films import FILM_SCHEMA, FilmsRead, film_frame
from overread.benchmarks.grounding.build.paper_files import (
    chexpert_films,
    split_by_patient,
    with_reports,
)
from support.damage import DAMAGES, edit, refusal, rename, repeat
from support.datasets import (
    CHEXPERT_ORDER,
    Chexpert,
    ChexpertPlus,
    read_rows,
    write_chexpert,
    write_chexpert_plus,
)

CODES = {"1.0": 1, "0.0": 0, "-1.0": 2, "": 3}


@pytest.fixture
def tree(tmp_path: Path) -> Chexpert:
    return write_chexpert(tmp_path)


def films(tree: Chexpert) -> FilmsRead:
    return chexpert_films(tree.train.parent)


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
    assert dict(read.films.schema) == FILM_SCHEMA
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
    refusal(lambda: chexpert_films(tree.valid), "valid.csv has no column Sex")
    tree.train.unlink()
    tree.valid.unlink()
    refusal(lambda: films(tree), "has no train.csv")


def test_a_file_given_twice_is_refused(tree) -> None:
    tree.valid.write_bytes(tree.train.read_bytes())
    refusal(lambda: films(tree), "stands in two of the csv files")


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
    drawn = split_by_patient(read, 5)
    patients = read.films["subject_id"].n_unique()
    assert len(held_out(drawn)) == round(0.2 * patients)
    kept = drawn.films.filter(pl.col("split") != "test")
    assert not held_out(drawn) & set(kept["subject_id"])
    assert drawn.films.drop("split").equals(read.films.drop("split"))
    assert "[D31]" in drawn.provenance[-1]
    assert "seed 5" in drawn.provenance[-1]


@given(st.permutations([f"patient{n:05d}" for n in range(30)]), st.integers(0, 99))
def test_who_is_drawn_depends_on_the_ids_and_the_seed_alone(patients, seed) -> None:
    again = split_by_patient(of_patients(sorted(patients) * 2), seed)
    assert held_out(split_by_patient(of_patients(patients), seed)) == held_out(again)


def test_another_seed_draws_others() -> None:
    read = of_patients([f"patient{n:05d}" for n in range(200)])
    draws = {frozenset(held_out(split_by_patient(read, seed))) for seed in range(9)}
    assert len(draws) == 9


def test_a_split_is_not_drawn_over_another() -> None:
    read = split_by_patient(of_patients(["a", "b", "c"]), 42)
    assert split_by_patient(read, 7) is read


# ---------------------------------------------------------------- CheXpert Plus
# CheXpert Plus: its reports for CheXpert's films.


@pytest.fixture
def original_tree(tmp_path: Path) -> Chexpert:
    return write_chexpert(tmp_path / "v1")


@pytest.fixture
def plus(tmp_path: Path, original_tree: Chexpert) -> ChexpertPlus:
    return write_chexpert_plus(tmp_path / "plus", like=original_tree)


def test_reports_join_the_films_of_v1_whatever_their_folder(tmp_path, plus) -> None:
    for small in (False, True):
        original_tree = write_chexpert(tmp_path / str(small), small=small)
        read = with_reports(films(original_tree), plus.table)
        told = {row["path_to_image"]: row["report"] for row in read_rows(plus.table)}
        for path, text in read.films.select("image_path", "report_path").iter_rows():
            assert text == told[path.partition("/")[2]]
            assert "\n" in text
        assert f"{read.films.height} of {read.films.height} films" in read.provenance[-1]


# ---------------------------------------------------------------- what is wrong is refused


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_table_is_named(tree, plus, kind) -> None:
    damage, words = DAMAGES[kind]
    damage(plus.table)
    refusal(lambda: with_reports(films(tree), plus.table), plus.table.name, words)


def test_a_bad_cell_is_named_by_the_line_its_row_starts_on(tree, plus) -> None:
    edit(plus.table, 3, "path_to_image", "")
    # The header is line 1, and the report of the first film takes four lines.
    said = f"^{plus.table.name} row 6: path_to_image is "
    refusal(lambda: with_reports(films(tree), plus.table), said, "every row needs one")


def test_a_film_twice_is_refused(tree, plus) -> None:
    repeat(plus.table, 2)
    said = "row 6: path_to_image .* stands in row 2 already"
    refusal(lambda: with_reports(films(tree), plus.table), said)
