"""CheXpert Plus: its table, CheXbert's labels, and its reports for CheXpert's films."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overread.benchmarks.grounding.build import chexpert
from overread.benchmarks.grounding.build.chexpert import plus_films, with_reports
from overread.benchmarks.grounding.build.films import LABELS, FilmsRead, film_schema
from support.damage import DAMAGES, edit, refusal, repeat
from support.datasets import (
    CHEXPERT_ORDER,
    Chexpert,
    ChexpertPlus,
    read_rows,
    write_chexpert,
    write_chexpert_plus,
)

CODES = {1.0: 1, 0.0: 0, -1.0: 2, None: 3}


@pytest.fixture
def tree(tmp_path: Path) -> Chexpert:
    return write_chexpert(tmp_path / "v1")


@pytest.fixture
def plus(tmp_path: Path, tree: Chexpert) -> ChexpertPlus:
    return write_chexpert_plus(tmp_path / "plus", like=tree)


def films(plus: ChexpertPlus) -> FilmsRead:
    return plus_films(plus.table, plus.labels)


def test_films_are_what_the_table_and_the_labels_say(plus) -> None:
    read = films(plus)
    lines = map(json.loads, plus.labels.read_text().splitlines())
    labels = {line["path_to_image"]: line for line in lines}
    assert dict(read.films.schema) == dict(film_schema())
    rows = read_rows(plus.table)
    assert len(rows) == read.films.height
    for row, film in zip(rows, read.films.iter_rows(named=True), strict=True):
        path = row["path_to_image"]
        assert film["image_path"] == path
        assert film["report_path"] == row["report"]
        assert film["subject_id"] == row["deid_patient_id"]
        assert film["split"] == row["split"]
        frontal = row["frontal_lateral"] == "Frontal"
        assert film["view"] == ((row["ap_pa"] or "AP") if frontal else "LATERAL")
        assert film["age"] == (float(row["age"]) or None)
        for name in CHEXPERT_ORDER:
            assert film[name.lower().replace(" ", "_")] == CODES[labels[path][name]]
    assert any("impression_fixed.json" in line for line in read.provenance)


def test_images_as_distributed_are_png(tmp_path, tree) -> None:
    plus = write_chexpert_plus(tmp_path / "png", like=tree, images=True)
    read = plus_films(plus.table, plus.labels, plus.root, prefix="PNG/", suffix=".png")
    assert read.films["image_path"].str.ends_with(".png").all()
    refusal(lambda: plus_films(plus.table, plus.labels, plus.root), "not below")


def test_a_film_without_labels_is_kept_with_null_labels_and_said(plus) -> None:
    lines = plus.labels.read_text().splitlines()
    plus.labels.write_text("\n".join(lines[1:]) + "\n")
    read = films(plus)
    assert read.films.select(LABELS).row(0) == (None,) * len(LABELS)
    assert any(line.startswith("1 films have no line of labels") for line in read.provenance)


def test_reports_join_the_films_of_v1_whatever_their_folder(tmp_path, plus) -> None:
    for small in (False, True):
        tree = write_chexpert(tmp_path / str(small), small=small)
        read = with_reports(chexpert.films([tree.train, tree.valid]), plus.table)
        told = {row["path_to_image"]: row["report"] for row in read_rows(plus.table)}
        for path, text in read.films.select("image_path", "report_path").iter_rows():
            assert text == told[path.partition("/")[2]]
            assert "\n" in text
        assert f"{read.films.height} of {read.films.height} films" in read.provenance[-1]


# ---------------------------------------------------------------- what is wrong is refused


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_table_is_named(plus, kind) -> None:
    damage, words = DAMAGES[kind]
    damage(plus.table)
    refusal(lambda: films(plus), plus.table.name, words)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("path_to_image", "train/patient1.jpg", "a path ends in"),
        ("frontal_lateral", "", "every row needs one"),
        ("deid_patient_id", "", "every row needs one"),
        ("sex", "M", "Male, Female or Unknown"),
        ("age", "old", "an age is"),
        ("split", "dev", "train, valid or test"),
    ],
)
def test_a_bad_cell_is_named_by_the_line_its_row_starts_on(plus, column, value, words) -> None:
    edit(plus.table, 3, column, value)
    # The header is line 1, and the report of the first film takes four lines.
    refusal(lambda: films(plus), f'^{plus.table.name} row 6: {column} is "', words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "row 2: it is no JSON object"),
        ("[1]", "row 2: it is no JSON object"),
        ('{"Edema": 1.0}', "row 2: it has no path_to_image"),
        ('{"path_to_image": "train/patient1/study1/view1_frontal.jpg", "Edema": 2.0}',
         'row 2: Edema is "2.0"; a label is'),
        ('{"path_to_image": "train/patient1/study1/view1_frontal.jpg", "Edema": true}',
         'row 2: Edema is "True"; a label is'),
    ],
)  # fmt: skip
def test_a_bad_line_of_labels_is_named(plus, line, words) -> None:
    lines = plus.labels.read_text().splitlines()
    plus.labels.write_text("\n".join([lines[0], line, *lines[2:]]))
    refusal(lambda: films(plus), f"^impression_fixed.json {words}")


def test_labels_twice_none_or_of_other_images_are_refused(plus) -> None:
    lines = plus.labels.read_text().splitlines()
    plus.labels.write_text("\n".join([*lines, lines[0]]))
    refusal(lambda: films(plus), f"row {len(lines) + 1}: .* stands in row 1 already")
    plus.labels.write_text("\n")
    refusal(lambda: films(plus), "has no labels")
    plus.labels.write_text('{"path_to_image": "train/patient99999/study1/view1_frontal.jpg"}')
    refusal(lambda: films(plus), "names no image")
    plus.labels.write_bytes(b'{"path_to_image": "\xff"}')
    refusal(lambda: films(plus), "row 1")


def test_a_film_twice_is_refused(plus) -> None:
    repeat(plus.table, 2)
    refusal(lambda: films(plus), "row 6: path_to_image .* stands in row 2 already")
