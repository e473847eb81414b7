"""Loading a manifest: what is read, and what is said of a bad one."""

from __future__ import annotations

import csv
import json
import os
import shlex
from pathlib import Path

import pytest

from overread.benchmarks.grounding.benchmark import Grounding
from overread.benchmarks.grounding.cases import (
    NEEDED,
    GroundingCase,
    boxed,
    dataset_at,
    load_cases,
    truth,
)
from overread.benchmarks.grounding.edition import AUTHORS, BOOK, CORRECTED
from overread.case import BadInput, Box

REXERR = {
    "source": "rexerr",
    "finding": "",
    "error_sentence": "No effusion.",
    "error_present": "1.0",
    "box_x": "",
    "box_y": "",
    "box_w": "",
    "box_h": "",
}


def complaint(path, rules=CORRECTED) -> str:
    with pytest.raises(BadInput) as error:
        list(load_cases(path, rules))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_row_becomes_a_case(manifest):
    (case,) = load_cases(manifest({"age": "", "label": "1.0"}))
    assert case == GroundingCase(
        case_id="c0",
        source="ms_cxr",
        image_path="a/b.jpg",
        subject_id="p0",
        view="PA",
        gender="F",
        finding="edema",
        label=1,
        box=Box(10, 20, 60, 70),
        irrelevant_box=Box(164, 154, 60, 70),
        swap_image_path="a/s.jpg",
    )


def test_the_golden_manifest(golden):
    path = golden / "mimic" / "manifest.csv"
    cases = list(load_cases(path))
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [case.case_id for case in cases] == [row["case_id"] for row in rows]
    assert sum(case.box is not None for case in cases) == 110
    assert all(
        (case.age is None) == (row["age"] == "") for case, row in zip(cases, rows, strict=True)
    )


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"box_w": "-3"}, 'box_w is "-3"; a box needs a width above 0. Fix the row.'),
        ({"box_w": "0"}, 'box_w is "0"; a box needs a width above 0.'),
        ({"irrelevant_box_h": "0"}, 'irrelevant_box_h is "0"; a box needs a height above 0.'),
        ({"box_y": "3.5"}, 'box_y is "3.5"; it is a whole number.'),
        ({"box_y": "nan"}, 'box_y is "nan"; it is a number.'),
        ({"box_x": "1e300"}, 'box_x is "1e300"; boxes are in pixels'),
        ({"box_h": ""}, 'box_h is ""; a box needs all of box_x, box_y, box_w, box_h, or none.'),
        ({"label": "2"}, 'label is "2"; it is 0 or 1.'),
        ({"label": ""}, 'label is ""; it is a number.'),
        ({"label": "maybe"}, 'label is "maybe"; it is a number.'),
        ({"age": "old"}, 'age is "old"; an age is 0 or more.'),
        ({"age": "-1"}, 'age is "-1"; an age is 0 or more.'),
        ({"finding": " "}, 'finding is ""; every case needs one.'),
        ({"source": ""}, 'source is ""; every case needs one.'),
        ({"image_path": ""}, 'image_path is ""; every case needs one.'),
        ({"case_id": ""}, 'case_id is ""; every case needs one.'),
        ({**REXERR, "error_present": ""}, 'error_present is ""; it is a number.'),
        ({**REXERR, "error_present": "2"}, 'error_present is "2"; it is 0 or 1.'),
        ({**REXERR, "error_sentence": ""}, 'error_sentence is ""; every case needs one.'),
        ({"label": "x" * 500}, f'label is "{"x" * 40}…"; it is a number.'),
    ],
)
def test_a_bad_row_is_named(manifest, row, says):
    message = complaint(manifest({}, {}, row))
    assert message.startswith(f"manifest.csv row 4: {says}")


def test_rows_are_counted_as_an_editor_counts_lines(manifest):
    path = manifest({"label_text": "two\r\nlines"}, {}, {"label": "7"})
    assert path.read_bytes().split(b"\n")[4].startswith(b"c2")
    assert complaint(path).startswith("manifest.csv row 5: ")


def test_a_missing_sentence_is_asked_as_nan_by_the_authors_only(manifest):
    path = manifest({**REXERR, "error_sentence": ""})
    (case,) = load_cases(path, AUTHORS)
    assert case.error_sentence is None
    assert "error_sentence" in complaint(path, CORRECTED)


def test_a_repeated_id_names_both_rows(manifest):
    message = complaint(manifest({"case_id": "a"}, {"case_id": "b"}, {"case_id": "a"}))
    assert 'row 4: the case "a" stands in manifest.csv row 2 already' in message


def test_missing_columns_are_all_named(manifest, conftest_columns):
    without = [c for c in conftest_columns if c not in ("label", "box_w")]
    assert "has no column label, box_w;" in complaint(manifest({}, columns=without))


def test_columns_nobody_needs_may_be_missing_and_others_are_ignored(manifest, conftest_columns):
    (case,) = load_cases(manifest({"mood": "good"}, columns=[*NEEDED, "mood"]))
    assert case.age is None
    assert case.view is None
    (same,) = load_cases(manifest({}, columns=conftest_columns))
    assert same.view == "PA"


@pytest.fixture
def conftest_columns(golden):
    header = (golden / "mimic" / "manifest.csv").read_text("utf-8").splitlines()[0]
    return header.split(",")


def test_byte_order_mark_and_line_ends_do_not_matter(manifest):
    path = manifest({}, {})
    wanted = list(load_cases(path))
    plain = path.read_bytes().replace(b"\r\n", b"\n")
    for data in (plain, b"\xef\xbb\xbf" + plain, plain.replace(b"\n", b"\r"), plain.rstrip()):
        path.write_bytes(data)
        assert list(load_cases(path)) == wanted
    path.write_bytes(plain.replace(b"\nc1", b"\n\n\nc1") + b"\n\n")
    assert list(load_cases(path)) == wanted


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "row 1: byte 0x89 is not UTF-8"),
        (b"PK\x03\x04\x00\x00", "row 1: it holds a NUL byte"),
        ("case_id,ä".encode("utf-16"), "is not UTF-8"),
        (b"case_id,case_id\n", "has more than one column"),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path, data, says):
    path = tmp_path / "manifest.csv"
    path.write_bytes(data)
    assert says in complaint(path)


def test_a_latin_1_file_names_the_row(manifest):
    path = manifest({}, {"label_text": "Gr\xf6\xdfe"})
    path.write_bytes(path.read_text("utf-8").encode("latin-1"))
    assert "manifest.csv row 3: byte 0xf6 is not UTF-8" in complaint(path)


def test_a_header_without_rows(manifest):
    assert "has a header but no cases" in complaint(manifest())


def test_a_column_twice(manifest, conftest_columns):
    path = manifest({})
    path.write_text(path.read_text("utf-8").replace("report_path", "label"), "utf-8")
    assert "more than one column label" in complaint(path)


def test_a_row_with_too_many_cells_and_an_open_quote(manifest):
    path = manifest({}, {})
    text = path.read_text("utf-8")
    path.write_text(text.replace("c1,", "c1,,"), "utf-8")
    assert "row 3: it has 27 cells and the header 26" in complaint(path)
    path.write_text(text.replace("c0,", 'c0,"'), "utf-8")
    assert "row 2: unexpected end of data" in complaint(path)
    path.write_text(text.replace("c0,", 'c0,"' + "x" * 200_000), "utf-8")
    assert "row 2: field larger than field limit" in complaint(path)


def test_a_folder_stands_for_the_manifest_in_it(manifest, tmp_path):
    path = manifest({})
    assert list(load_cases(tmp_path)) == list(load_cases(path))
    with pytest.raises(BadInput, match=r"a folder without manifest\.csv"):
        dataset_at(tmp_path.parent)
    with pytest.raises(BadInput, match="no such file"):
        dataset_at(tmp_path / "nowhere.csv")


# ---------------------------------------------------------------- the dataset's card


def test_without_a_card_a_set_is_credentialed(manifest, tmp_path):
    path = manifest({})
    name, digest = dataset_at(path)
    assert name == tmp_path.name
    assert Grounding.open(path).policy == "credentialed"
    other = path.rename(tmp_path / "cohort.csv")
    assert dataset_at(other) == ("cohort", digest)


def test_the_card_names_the_set_and_its_policy(manifest):
    path = manifest({}, name="mine", policy="open", licence="whatever")
    name, digest = dataset_at(path)
    opened = Grounding.open(path)
    assert (name, opened.policy, opened.dataset) == ("mine", "open", f"mine@{digest}")
    assert len(digest) == 8
    assert dataset_at(manifest({}, {}, name="mine"))[1] != digest


def test_a_bad_card_is_refused(manifest, tmp_path):
    path = manifest({}, policy="secret")
    with pytest.raises(BadInput, match="the policies are open, research, credentialed"):
        dataset_at(path)
    for bad in ("name = ", "name = 3", 'name = "a@b"', "policy = 3"):
        (tmp_path / "dataset.toml").write_text(bad, "utf-8")
        with pytest.raises(BadInput, match=r"dataset\.toml"):
            dataset_at(path)


# ---------------------------------------------------------------- the key


def test_truth_as_the_authors(golden):
    entries = json.loads((golden / "protocol_bits" / "ground_truth.json").read_text("utf-8"))
    for entry in entries:
        flag = entry["error_present"]
        case = GroundingCase(
            case_id="c",
            image_path="i",
            source=entry["source"],
            finding=entry["finding"],
            label=entry["label"],
            error_present=None if flag is None else int(flag),
        )
        assert truth(case, AUTHORS) == entry["ground_truth_authors"]


def test_the_key_of_a_normal_film_is_no(bench):
    """[D1] "Is any acute abnormality present?" on a film labelled normal."""
    film = bench.case("n", source="mimic_cxr", finding="no_finding", label=1, box=None)
    assert truth(film, AUTHORS) == 1
    assert truth(film, CORRECTED) == 0
    assert truth(film, BOOK.edition("corrected", {"normals": "yes"})) == 1
    ill = bench.case("i", source="mimic_cxr", finding="no_finding", label=0)
    assert truth(ill, CORRECTED) == 1


def test_other_sources_have_a_key_of_their_own(bench):
    case = bench.case("n", source="padchest", label=0)
    assert truth(case, CORRECTED) == 0
    assert truth(case, AUTHORS) == -1
    assert boxed(case, CORRECTED)
    assert not boxed(case, AUTHORS)
    for source in ("ms_cxr", "phantom"):
        assert boxed(bench.case("m", source=source), AUTHORS)
    assert not boxed(bench.case("m", box=None), CORRECTED)


# ---------------------------------------------------------------- other people's csv files


def test_semicolons_and_words_for_labels_are_read(manifest):
    path = manifest({"label": "present"}, {"case_id": "b", "label": "no"})
    commas = list(load_cases(path))
    assert [case.label for case in commas] == [1, 0]
    path.write_text(path.read_text("utf-8").replace(",", ";"), "utf-8")
    assert list(load_cases(path)) == commas
    assert "it is a number" in complaint(manifest({"label": "perhaps"}))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("image,finding,label", []),
        ("path;label", ["--column", "image=path", "--finding", "FINDING"]),
        ("image,finding,truth", ["--column", "label=COLUMN"]),
    ],
)
def test_a_list_of_films_names_the_command_that_makes_a_manifest_of_it(tmp_path, header, words):
    path = tmp_path / "my films.csv"
    mark = ";" if ";" in header else ","
    path.write_text(header + "\n" + mark.join("x" * len(header.split(mark))) + "\n", "utf-8")
    command = shlex.split(complaint(path).partition("of it: ")[2])
    assert command == [
        *("overread", "build", "grounding", "--folder", str(path), *words),
        *("--out", "my films-probe"),
    ]


def test_images_stand_where_the_card_says_unless_the_command_says_otherwise(manifest, tmp_path):
    path = manifest({})
    assert Grounding.open(path).root == str(path.parent)
    films = tmp_path / "films"
    films.mkdir()
    card = path.parent / "dataset.toml"
    for named in (str(films), os.path.relpath(films, path.parent)):
        card.write_text(f'root = "{named}"\n', "utf-8")
        assert Path(Grounding.open(path).root).samefile(films)
    given = Grounding.open(path, words={"root": str(tmp_path)})
    assert given.root == str(tmp_path)
    films.rmdir()
    with pytest.raises(BadInput, match=r"no such folder. Give --set root=FOLDER, or mend its root"):
        Grounding.open(path)
    card.write_text("root = 3\n", "utf-8")
    with pytest.raises(BadInput, match="root is a text, the folder"):
        Grounding.open(path)
