"""Sets of others as they lie on a disk: known by their files and columns, read without loss."""

from __future__ import annotations

import polars as pl
import pytest

from overread.benchmarks.medcmr.edition import Options
from overread.case import BadInput, Source
from overread.imaging import check_there
from support.datasets import write_csv
from support.medcmr_sets import (
    load,
    root_of,
    write_images,
    write_json,
    write_lines,
    write_medxpert,
    write_omnimed,
    write_parquet,
    write_pmc_vqa,
    write_slake,
    write_vqa_rad,
)


def loaded(path, **options):
    """What a path holds, its images all where they are said to be."""
    found = load(path, Options(**options))
    root = str(root_of(path, Options(**options)))
    for case in found.cases:
        for name in case.images:
            check_there(Source(root, name))
    return found


def cases(path, **options):
    found = loaded(path, **options)
    assert found.left == []
    return list(found.cases)


def refusal(path):
    with pytest.raises(BadInput) as caught:
        load(path, Options())
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------- VQA-RAD


def test_vqa_rad_as_its_authors_published_it(tmp_path):
    changes = [
        {},
        {"answer": "no"},
        {"answer": "Left", "question": "Left or right?"},
        {"answer": "the spleen", "answer_type": "OPEN", "question_type": "ORGAN"},
        {"answer": "yes", "answer_type": "OPEN"},
        {"answer": 3, "answer_type": "OPEN"},
    ]
    found = cases(write_vqa_rad(tmp_path, changes))
    assert [case.kind for case in found] == ["mcq", "mcq", "open", "open", "open", "open"]
    assert found[0].options == ("yes", "no")
    assert [case.answer for case in found] == ["A", "B", "Left", "the spleen", "yes", "3"]
    assert found[0].images == ("VQA_RAD Image Folder/synpic1.jpg",)
    assert (found[3].subtype, found[3].system) == ("ORGAN", "HEAD")
    assert [case.case_id for case in found] == list("123456")


def test_vqa_rad_by_its_file(tmp_path):
    write_vqa_rad(tmp_path)
    assert len(cases(tmp_path / "VQA_RAD Dataset Public.json")) == 1


def test_ids_that_stand_twice_give_way_to_places(tmp_path):
    found = cases(write_vqa_rad(tmp_path, [{"qid": 9}, {"qid": 9}]))
    assert [case.case_id for case in found] == ["1", "2"]


ROWS = [("Is it?", "yes"), ("Is it now?", "No."), ("What is it?", "a cell")]


def test_parquet_with_the_pictures_inside(tmp_path):
    path = write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", ROWS)
    for place in (tmp_path, path):
        found = cases(place)
        assert root_of(place, Options()) == path
        assert [case.kind for case in found] == ["mcq", "mcq", "open"]
        assert [case.answer for case in found] == ["A", "B", "a cell"]
        assert [case.images for case in found] == [("0",), ("1",), ("2",)]
        assert {case.modality for case in found} == {None}


def test_the_test_split_is_taken_and_told(tmp_path):
    write_parquet(tmp_path / "data" / "train-00000-of-00001.parquet", ROWS * 2)
    write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", ROWS)
    found = loaded(tmp_path)
    assert len(found.cases) == 3
    assert "not of train-00000-of-00001.parquet" in found.remarks[0]


def test_several_parts_of_a_split_are_not_guessed_among(tmp_path):
    for part in range(2):
        write_parquet(tmp_path / "data" / f"test-0000{part}-of-00002.parquet", ROWS)
    assert "test-00000-of-00002.parquet, test-00001-of-00002.parquet" in refusal(tmp_path)


def test_damaged_parquet_is_one_line(tmp_path):
    path = tmp_path / "test.parquet"
    path.write_bytes(b"PAR1 nothing of the kind")
    assert "is no set of questions" in refusal(path)


@pytest.mark.parametrize("other", [{"options": [["x", "y"]]}, {"image": ["a.png"]}])
def test_parquet_of_another_kind_is_not_taken_for_it(tmp_path, other):
    """With options it must not be asked as an open question; without pictures it cannot be."""
    path = write_parquet(tmp_path / "test.parquet", ROWS[:1])
    pl.read_parquet(path).with_columns(**{k: pl.Series(v) for k, v in other.items()}).write_parquet(
        path
    )
    assert "is no set of questions" in refusal(path)


# ---------------------------------------------------------------- PathVQA


def test_path_vqa_is_pathology(tmp_path):
    write_parquet(tmp_path / "path-vqa" / "data" / "test-00000-of-00001.parquet", ROWS)
    found = cases(tmp_path / "path-vqa")
    assert {case.modality for case in found} == {"Pathology / Microscopy"}
    assert [case.kind for case in found] == ["mcq", "mcq", "open"]


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl"])
def test_path_vqa_with_image_files(tmp_path, suffix):
    home = tmp_path / "PathVQA"
    write_images(home / "images", "test_0001.jpg", "test_0002.jpg")
    rows = [
        {"image": name, "question": question, "answer": answer}
        for name, (question, answer) in zip(
            ("test_0001", "test_0002.jpg", "test_0001"), ROWS, strict=True
        )
    ]
    if suffix == "csv":
        write_csv(home / "test.csv", list(rows[0]), [list(row.values()) for row in rows])
    else:
        (write_json if suffix == "json" else write_lines)(home / f"test.{suffix}", rows)
    found = cases(home)
    assert [case.kind for case in found] == ["mcq", "mcq", "open"]
    assert found[0].images == ("images/test_0001.jpg",)


# ---------------------------------------------------------------- SLAKE


def test_slake_in_both_languages_or_one(tmp_path):
    changes = [
        {},
        {"answer": "Heart", "answer_type": "OPEN"},
        {"answer": "Left", "content_type": "Position"},
        {"q_lang": "zh", "question": "是肺吗?", "answer": "不是"},
        {"q_lang": "zh", "question": "哪个器官?", "answer": "心脏", "answer_type": "OPEN"},
    ]
    home = write_slake(tmp_path, changes)
    found = loaded(home)
    assert "the items are those of test.json; not of train.json." in found.remarks
    assert [case.kind for case in found.cases] == ["mcq", "open", "open", "mcq", "open"]
    assert [case.language for case in found.cases] == ["en"] * 3 + ["zh"] * 2
    assert found.cases[3].truth == "否"
    first = found.cases[0]
    assert first.images == ("imgs/xmlab1/source.jpg",)
    assert (first.modality, first.system, first.subtype) == (
        "X-ray & Fluoroscopy",
        "Abdomen",
        "Organ",
    )
    for language, n in (("en", 3), ("zh", 2)):
        assert len(cases(home / "test.json", language=language)) == n
    # An item keeps its name whatever the others are.
    assert [case.case_id for case in cases(home, language="zh")] == ["3", "4"]


# ---------------------------------------------------------------- PMC-VQA


def test_pmc_vqa_of_both_editions(tmp_path):
    second = cases(write_pmc_vqa(tmp_path / "2", [{}, {"Answer": "D"}]))
    assert [case.answer for case in second] == ["A", "D"]
    assert second[0].options == ("Liver", "Spleen", "Lung", "Heart")
    assert second[0].question == "What organ holds the mass?"
    assert second[0].caption == "Axial CT with a mass in the liver."
    assert second[0].images == ("figures/PMC1_fig1.jpg",)
    first = {"Answer": " Spleen", "Answer_label": "B", "Caption": ""}
    texts = {"Answer": "Lung", "Answer_label": ""}
    found = cases(write_pmc_vqa(tmp_path / "1", [first, texts]))
    assert [case.answer for case in found] == ["B", "C"]
    assert found[0].caption is None


def test_pmc_vqa_keeps_choices_that_only_look_like_letters(tmp_path):
    plain = {f"Choice {letter}": text for letter, text in zip("ABCD", "wxyz", strict=True)}
    (case,) = cases(write_pmc_vqa(tmp_path, [plain | {"Choice A": "A: w"}]))
    assert case.options == ("A: w", "x", "y", "z")


def test_pmc_vqa_without_a_right_choice_is_left_out(tmp_path):
    found = loaded(write_pmc_vqa(tmp_path, [{}, {"Answer": "Kidney"}, {"Answer": ""}]))
    assert [left.case for left in found.left] == ["2", "3"]
    assert 'test_2.csv row 3: answer is "Kidney"' in found.left[0].reason


# ---------------------------------------------------------------- OmniMedVQA


def test_omnimed_answers_are_texts(tmp_path):
    changes = [
        {},
        {"gt_answer": " normal "},
        {"option_C": None, "option_D": None},
        {"option_A": "B", "option_B": "A", "gt_answer": "A"},
        {"modality_type": None, "modality": "CT(Computed Tomography)"},
    ]
    home = write_omnimed(tmp_path, changes)
    found = cases(home)
    assert [case.answer for case in found] == ["B", "A", "B", "B", "B"]
    assert len(found[2].options) == 2
    assert (found[0].modality, found[4].modality) == ("MRI", "CT")
    assert found[0].subtype == "Disease Diagnosis"
    tables = home / "QA_information" / "Open-access"
    assert (
        cases(tables) == cases(tables / "Made Up.json") == cases(home / "QA_information") == found
    )
    assert root_of(tables, Options()) == home


def test_omnimed_items_without_one_right_option_are_left_out(tmp_path):
    changes = [
        {},
        {"option_C": "tumour"},
        {"gt_answer": "Gout"},
        {"option_A": "", "gt_answer": "Cyst"},
        {"image_path": "../a.png"},
        {"question": ""},
    ]
    found = loaded(write_omnimed(tmp_path, changes))
    assert [case.case_id for case in found.cases] == ["Made Up_0"]
    told = [left.reason.partition(": ")[2] for left in found.left]
    assert told[0] == "two of its options are the same text"
    assert told[1] == 'gt_answer is "Gout", none of its options'
    assert told[2] == "option A is empty"
    assert "no safe name" in told[3]
    assert told[4] == "question is empty"


# ---------------------------------------------------------------- MedXpertQA and MedFrameQA


def test_medxpert_with_several_images(tmp_path):
    home = write_medxpert(tmp_path, [{}, {"medical_task": "Treatment", "images": ["MM-1-a.jpeg"]}])
    for place in (home, home / "MM", home / "MM" / "test.jsonl"):
        first, second = cases(place)
        assert first.images == ("images/MM-1-a.jpeg", "images/MM-1-b.jpeg")
        assert (first.case_id, first.answer, first.truth) == ("MM-1", "C", "c thing")
        assert (first.ability, first.system, first.subtype) == ("DX", "Nervous", "Reasoning")
        assert second.ability == "Treatment"


def test_medxpert_questions_do_not_carry_their_options(tmp_path):
    other = "Which?\nAnswer Choices: as in the last question"
    first, second = cases(write_medxpert(tmp_path, [{}, {"question": other}]))
    assert first.question == "What comes next?"
    assert second.question == other  # no list of these options


def test_medxpert_as_parquet(tmp_path):
    home = write_medxpert(tmp_path)
    frame = pl.read_ndjson(home / "MM" / "test.jsonl")
    (home / "MM" / "test.jsonl").unlink()
    frame.write_parquet(home / "MM" / "test-00000-of-00001.parquet")
    (case,) = cases(home)
    assert (case.answer, len(case.options), len(case.images)) == ("C", 5, 2)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"options": {"A": "x", "C": "y"}}, "options are texts by their letters"),
        ({"options": ["x", "y"]}, "options are texts by their letters"),
        ({"label": "F"}, 'answer is "F"'),
        ({"label": "c thing"}, 'answer is "c thing"'),
        ({"images": []}, "it names no image"),
        ({"images": ["gone.png"]}, "gone.png"),
    ],
)
def test_medxpert_items_that_cannot_be_asked(tmp_path, change, told):
    found = loaded(write_medxpert(tmp_path, [{}, change]))
    (left,) = found.left
    assert left.case == "MM-2"
    assert left.reason.startswith("test.jsonl line 2: ")
    assert told in left.reason


def test_medframe(tmp_path):
    write_images(tmp_path / "images", "1.png", "2.png")
    row = {
        "question": "What changes?",
        "options": ["this", "that"],
        "correct_answer": "B",
        "image_1": "1.png",
        "image_2": "2.png",
        "image_3": None,
    }
    write_lines(tmp_path / "test.jsonl", [row, row | {"correct_answer": "this"}])
    first, second = cases(tmp_path)
    assert first.images == ("images/1.png", "images/2.png")
    assert (first.answer, second.answer) == ("B", "A")


# ---------------------------------------------------------------- letters that options carry


@pytest.mark.parametrize(
    "form", ["{}. {}", "{}) {}", "({}) {}", "{}: {}", "{} - {}", "{}、{}", " {}.{} "]
)
def test_letters_that_every_option_carries_are_taken_off(tmp_path, form):
    write_images(tmp_path / "images", "1.png")
    texts = ["this", "that", "B-cell"]
    carried = [form.format(letter, text) for letter, text in zip("ABC", texts, strict=True)]
    row = {"question": "What?", "options": carried, "correct_answer": "B", "image_1": "1.png"}
    answers = ("B", "that", carried[1])
    write_lines(tmp_path / "test.jsonl", [row | {"correct_answer": one} for one in answers])
    for case in cases(tmp_path):
        assert (case.options, case.answer) == (tuple(texts), "B")


def test_letters_that_some_options_carry_are_theirs(tmp_path):
    write_images(tmp_path / "images", "1.png")
    row = {"question": "What?", "correct_answer": "B", "image_1": "1.png"}
    lists = [
        ["A. x", "y"],
        ["B. x", "A. y"],
        ["A. x", "B."],
        ["A-x", "B-y"],
        ["E. coli", "S. aureus"],
    ]
    write_lines(tmp_path / "test.jsonl", [row | {"options": one} for one in lists])
    assert [list(case.options) for case in cases(tmp_path)] == lists


def test_an_answer_with_its_letter_before_it(tmp_path):
    write_images(tmp_path / "images", "1.png")
    row = {"question": "What?", "options": ["x", "y"], "image_1": "1.png"}
    told = ["B. y", "(A) x", "A. y", "B. z"]
    write_lines(tmp_path / "test.jsonl", [row | {"correct_answer": one} for one in told])
    found = loaded(tmp_path)
    assert [case.answer for case in found.cases] == ["B", "A"]
    assert [left.case for left in found.left] == ["3", "4"]


def test_omnimed_and_medxpert_options_with_their_letters(tmp_path):
    carried = {f"option_{letter}": f"{letter}. thing {letter}" for letter in "ABCD"}
    changes = [carried | {"gt_answer": one} for one in ("B. thing B", "thing B")]
    for case in cases(write_omnimed(tmp_path / "o", changes)):
        assert (case.options[1], case.answer) == ("thing B", "B")
    options = {letter: f"{letter}. thing {letter}" for letter in "ABCDE"}
    (case,) = cases(write_medxpert(tmp_path / "m", [{"options": options}]))
    assert (case.options[0], case.answer) == ("thing A", "C")


# ---------------------------------------------------------------- all of them

WRITERS = [write_vqa_rad, write_slake, write_pmc_vqa, write_omnimed, write_medxpert]


@pytest.mark.parametrize("write", WRITERS)
def test_the_folders_name_does_not_matter(tmp_path, write):
    assert len(cases(write(tmp_path / "whatever you like"))) == 1


@pytest.mark.parametrize("write", WRITERS)
def test_no_answer_and_no_caption_gets_into_a_question(tmp_path, write):
    for case in cases(write(tmp_path)):
        assert case.truth.casefold() not in case.question.casefold()
        assert case.caption is None or case.caption not in case.question
