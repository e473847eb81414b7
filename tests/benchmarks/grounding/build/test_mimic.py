"""MIMIC-CXR-JPG's official files as films."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.benchmarks.grounding.build import mimic
from overread.benchmarks.grounding.build.films import LABELS, FilmsRead, film_schema, with_images
from support.damage import DAMAGES, edit, refusal, rename, repeat
from support.datasets import MIMIC_ORDER, Mimic, read_rows, write_mimic

CODES = {"1.0": 1, "0.0": 0, "-1.0": 2, "": 3}


@pytest.fixture
def tree(tmp_path: Path) -> Mimic:
    return write_mimic(tmp_path / "jpg")


def file_of(tree: Mimic, kind: str) -> Path:
    (path,) = tree.root.glob(f"mimic-cxr-*-{kind}.csv*")
    return path


def obvious(tree: Mimic, labeler: str) -> list[dict[str, object]]:
    """Film by film with dictionaries."""
    splits = {row["dicom_id"]: row["split"] for row in read_rows(file_of(tree, "split"))}
    labels = {row["study_id"]: row for row in read_rows(file_of(tree, labeler))}
    people = {row["subject_id"]: row for row in read_rows(tree.patients)}
    films = []
    for row in read_rows(file_of(tree, "metadata")):
        subject, study, dicom = row["subject_id"], row["study_id"], row["dicom_id"]
        person, codes = people.get(subject), labels.get(study)
        age = None
        if person:
            years = int(row["StudyDate"][:4]) - int(person["anchor_year"])
            age = float(int(person["anchor_age"]) + years)
        folder = f"p{subject[:2]}/p{subject}/s{study}"
        films.append(
            {
                "image_path": f"files/{folder}/{dicom}.jpg",
                "report_path": f"files/{folder}.txt",
                "dicom_id": dicom,
                "subject_id": subject,
                "study_id": study,
                "view": row["ViewPosition"] or None,
                "gender": person["gender"] if person else None,
                "split": {"validate": "valid"}.get(splits[dicom], splits[dicom]),
                "age": age,
                **{
                    name.lower().replace(" ", "_"): CODES[codes[name]] if codes else None
                    for name in MIMIC_ORDER
                },
            }
        )
    return films


@pytest.mark.parametrize("labeler", ["chexpert", "negbio"])
@pytest.mark.parametrize("version", ["2.0.0", "2.1.0"])
@pytest.mark.parametrize("gz", [True, False])
def test_films_are_what_a_slow_join_gives(tmp_path, labeler, version, gz) -> None:
    tree = write_mimic(tmp_path / "jpg", version=version, gz=gz, seed=7)
    read = mimic.mimic_films(tree.root, tree.patients, labeler)
    assert dict(read.films.schema) == dict(film_schema())
    assert read.films.to_dicts() == obvious(tree, labeler)
    assert read.exclusions == []
    assert (read.name, read.policy) == ("mimic_cxr", "credentialed")
    assert any(labeler in line and "sha256" in line for line in read.provenance)


def test_a_patient_not_in_mimic_iv_has_no_age_and_no_sex(tree) -> None:
    films = mimic.mimic_films(tree.root, tree.patients).films
    last = tree.films[-1][1]
    lost = films.filter(films["subject_id"] == last)
    assert lost.height
    assert lost["age"].null_count() == lost["gender"].null_count() == lost.height
    assert films["age"].null_count() == lost.height


def test_a_study_without_labels_is_kept_with_null_labels_and_said(tree) -> None:
    read = mimic.mimic_films(tree.root, tree.patients)
    last = read.films.filter(read.films["study_id"] == tree.films[-1][2])
    assert last.select(LABELS).null_count().row(0) == (last.height,) * len(LABELS)
    assert any("1 studies have no row of labels" in line for line in read.provenance)


def test_labels_belong_to_a_patient_and_a_study_together(tree) -> None:
    edit(file_of(tree, "chexpert"), 2, "subject_id", "19999999")
    read = mimic.mimic_films(tree.root)
    first = read.films.filter(read.films["study_id"] == tree.films[0][2])
    assert first["edema"].null_count() == first.height
    assert any("2 studies have no row of labels" in line for line in read.provenance)


def test_without_patients_every_age_and_sex_is_null_and_said(tree) -> None:
    read = mimic.mimic_films(tree.root)
    assert read.films["age"].null_count() == read.films["gender"].null_count() == read.films.height
    assert any("patients.csv was not given" in line for line in read.provenance)


def test_patients_may_be_given_as_mimic_ivs_folder(tree) -> None:
    by_file = mimic.mimic_films(tree.root, tree.patients).films
    for folder in (tree.patients.parent, tree.patients.parent.parent):
        assert mimic.mimic_films(tree.root, folder).films.equals(by_file)
    refusal(lambda: mimic.mimic_films(tree.root, tree.root), "patients.csv")


def test_the_prefix_is_where_the_images_stand(tree) -> None:
    paths = mimic.mimic_films(tree.root, prefix="mimic-cxr-jpg/files/").films["image_path"]
    assert paths.str.starts_with("mimic-cxr-jpg/files/p10/p1").any()
    assert not paths.str.contains("//", literal=True).any()


def test_a_film_dated_before_birth_has_no_age(tree) -> None:
    edit(file_of(tree, "metadata"), 2, "StudyDate", "18000506")
    read = mimic.mimic_films(tree.root, tree.patients)
    assert read.films["age"][0] is None
    assert any("before their patient's birth" in line for line in read.provenance)


def test_a_film_without_a_split_is_left_out_and_counted(tree) -> None:
    path = file_of(tree, "split")
    lines = read_rows(path)
    edit(path, len(lines) + 1, "dicom_id", "of-no-film")
    read = mimic.mimic_films(tree.root)
    assert read.films.height == len(lines) - 1
    assert [(x.reason, x.count) for x in read.exclusions] == [("no row in the split file", 1)]


# ---------------------------------------------------------------- images


def test_images_are_looked_for_where_asked(tmp_path) -> None:
    tree = write_mimic(tmp_path / "jpg", images=True, patients=4)
    read = mimic.mimic_films(tree.root)
    assert with_images(read, tree.root).films.equals(read.films)
    gone = read.films["image_path"][1]
    (tree.root / gone).unlink()
    refusal(lambda: with_images(read, tree.root), gone, "1 of ", "Fetch")
    left = with_images(read, tree.root, "exclude")
    assert left.films.height == read.films.height - 1
    assert [(x.source, x.count) for x in left.exclusions] == [("mimic_cxr", 1)]


def test_a_root_one_folder_too_deep_is_told_apart_from_missing_images(tmp_path) -> None:
    tree = write_mimic(tmp_path / "jpg", images=True, patients=4)
    read = mimic.mimic_films(tree.root)
    refusal(lambda: with_images(read, tree.root / "files"), "Give the folder above")
    refusal(lambda: with_images(read, tmp_path / "no"), "not a folder")


# ---------------------------------------------------------------- what is wrong is refused


def films(tree: Mimic) -> FilmsRead:
    return mimic.mimic_films(tree.root, tree.patients)


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("file", ["metadata", "split", "chexpert", "patients"])
def test_a_damaged_file_is_named(tree, file, kind) -> None:
    damage, words = DAMAGES[kind]
    path = tree.patients if file == "patients" else file_of(tree, file)
    damage(path)
    refusal(lambda: films(tree), path.name, words)


@pytest.mark.parametrize("file", ["metadata", "split", "chexpert"])
def test_a_missing_file_and_a_missing_column_are_named(tree, file) -> None:
    path = file_of(tree, file)
    rename(path, "study_id", "study")
    refusal(lambda: films(tree), path.name, "no column study_id")
    path.unlink()
    refusal(lambda: films(tree), f"mimic-cxr-.*-{file}.csv")


@pytest.mark.parametrize(
    ("file", "column", "value", "words"),
    [
        ("metadata", "dicom_id", "", "every row needs one"),
        ("metadata", "subject_id", "p1000", "8 digits"),
        ("metadata", "study_id", "", "every row needs one"),
        ("metadata", "StudyDate", "2180-05-06", "YYYYMMDD"),
        ("split", "split", "valid", "train, validate or test"),
        ("split", "split", "", "every row needs one"),
        ("split", "subject_id", "19999999", "another one"),
        ("split", "study_id", "59999999", "another one"),
        ("chexpert", "Edema", "2.0", "a label is"),
        ("chexpert", "No Finding", "yes", "a label is"),
        ("chexpert", "study_id", "", "every row needs one"),
        ("patients", "gender", "X", "it is M or F"),
        ("patients", "anchor_age", "old", "a whole number"),
        ("patients", "anchor_age", "-1", "a whole number"),
        ("patients", "anchor_year", "2180?", "a whole number"),
        ("patients", "subject_id", "", "every row needs one"),
    ],
)
def test_a_bad_cell_is_named_with_its_file_row_and_column(tree, file, column, value, words) -> None:
    path = tree.patients if file == "patients" else file_of(tree, file)
    edit(path, 3, column, value)
    refusal(lambda: films(tree), f'^{path.name} row 3: {column} is "', words)


@pytest.mark.parametrize("file", ["metadata", "split", "chexpert", "patients"])
def test_a_row_that_stands_twice_is_refused(tree, file) -> None:
    path = tree.patients if file == "patients" else file_of(tree, file)
    repeat(path, 4)
    refusal(lambda: films(tree), f"{path.name} row 5: .* stands in row 4 already")


def test_files_of_two_versions_are_refused(tree) -> None:
    path = file_of(tree, "chexpert")
    path.with_name("mimic-cxr-2.1.0-chexpert.csv.gz").write_bytes(path.read_bytes())
    refusal(lambda: films(tree), "2.0.0-chexpert", "2.1.0-chexpert", "Keep one")


def test_a_folder_that_is_not_there_is_refused(tmp_path) -> None:
    refusal(lambda: mimic.mimic_films(tmp_path / "no"), "not a folder")
