"""What lies at a path is recognised or refused in one line; a set of one's own, fault by fault."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.medcmr.edition import Options
from overread.case import BadInput
from support.datasets import write_csv
from support.medcmr_sets import (
    item,
    load,
    mcq,
    policy_at,
    root_of,
    write_images,
    write_json,
    write_lines,
    write_parquet,
    write_release,
    write_slake,
)

# ---------------------------------------------------------------- what lies at a path
# What lies at a path is recognised, refused in one line, and seen by those it may be seen by.

CARD = 'name = "x"\npolicy = "{}"\n'


def refusal(path):
    with pytest.raises(BadInput) as caught:
        load(path, Options())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_expected_is_said(tmp_path):
    for path in (tmp_path, tmp_path / "no", tmp_path / "a.txt"):
        if path.suffix:
            path.write_text("x")
        told = refusal(path)
        assert str(path) in told
        assert all(name in told for name in ("dataset.zip", "SLAKE", "MedXpertQA", "question"))


@pytest.mark.parametrize("zipped", [True, False])
def test_the_policy_stands_beside_the_set(tmp_path, zipped):
    path = write_release(tmp_path, [mcq(1)], [item(1)], zipped=zipped)
    assert policy_at(path, Options()) == "credentialed"
    (tmp_path / "dataset.toml").write_text(CARD.format("open"))
    assert policy_at(path, Options()) == policy_at(tmp_path, Options()) == "open"
    if not zipped:
        assert policy_at(path / "dataset", Options()) == "open"
        (tmp_path / "dataset" / "dataset.toml").write_text(CARD.format("research"))
        assert policy_at(path, Options()) == "research"


def test_images_kept_elsewhere_have_their_own_policy(tmp_path):
    path = write_slake(tmp_path / "set")
    (path / "dataset.toml").write_text(CARD.format("open"))
    (tmp_path / "far").mkdir()
    far = Options(root=str(tmp_path / "far"))
    assert policy_at(path, far) == "credentialed"
    assert root_of(path, far) == tmp_path / "far"
    (tmp_path / "far" / "dataset.toml").write_text(CARD.format("research"))
    assert policy_at(path, far) == "research"


def test_a_card_beside_the_folder_of_parquet(tmp_path):
    write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", [("Is it?", "yes")])
    (tmp_path / "dataset.toml").write_text(CARD.format("open"))
    assert policy_at(tmp_path, Options()) == "open"


def test_nothing_left_to_ask_is_one_line(tmp_path):
    write_lines(tmp_path / "c.jsonl", [{"question": "Q", "answer": "a", "image": "no.png"}] * 2)
    told = refusal(tmp_path)
    assert "no item can be asked about, 2 are left out; the first is 1: c.jsonl line 1:" in told


def test_a_caption_in_the_question_is_told_whatever_the_set(tmp_path):
    write_images(tmp_path, "a.png")
    row = {"image": "a.png", "caption": "A bright spot.", "answer": "a stone"}
    rows = [
        row | {"question": "What is it?"},
        row | {"question": "Look: a bright  spot. What is it?"},
        row | {"question": "Is it a very small stone?", "answer": "a very small stone"},
    ]
    found = load(write_json(tmp_path / "c.json", rows), Options())
    assert len(found.cases) == 3
    assert found.remarks == (
        "1 question holds its caption word for word: 2.",
        "1 question holds its answer word for word: 3.",
    )


# ---------------------------------------------------------------- a set of one's own
# A set of one's own: csv, JSON lines or a JSON list; every fault is one line with its place.

ROW = {"question": "What is it?", "image": "a.png", "answer": "a stone"}
CHOICE = ROW | {"options": ["stone", "cyst", "tumour"], "answer": "B"}


@pytest.fixture
def home(tmp_path):
    write_images(tmp_path, "a.png", "sub/b.png")
    return tmp_path


def as_csv(home, *rows, name="cases.csv"):
    header = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_cell(row.get(key, "")) for key in header] for row in rows]
    return write_csv(home / name, header, cells)


def _cell(value):
    return json.dumps(value) if isinstance(value, list | dict) else value


def as_lines(home, *rows):
    return write_lines(home / "cases.jsonl", rows)


def as_list(home, *rows):
    return write_json(home / "cases.json", list(rows))


FORMS = (as_csv, as_lines, as_list)


def cases(path, **options):
    found = load(path, Options(**options))
    assert found.left == []
    return found.cases


@pytest.mark.parametrize("form", FORMS)
def test_open_and_multiple_choice(home, form):
    first, second = cases(form(home, ROW, CHOICE))
    assert (first.kind, first.options, first.answer) == ("open", (), "a stone")
    assert (first.case_id, first.index, first.images) == ("1", 1, ("a.png",))
    assert (second.kind, second.answer, second.truth) == ("mcq", "B", "cyst")
    assert second.options == ("stone", "cyst", "tumour")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "given",
    [
        {"options": ["stone", "cyst"]},
        {"options": {"B": "cyst", "A": "stone"}},
        {"A": "stone", "B": "cyst", "C": ""},
    ],
)
@pytest.mark.parametrize("answer", ["B", "b", " B. ", "(B)", "Cyst", " cyst "])
def test_options_and_answers_as_people_write_them(home, form, given, answer):
    (case,) = cases(form(home, ROW | given | {"answer": answer}))
    assert (case.options, case.answer) == (("stone", "cyst"), "B")


def test_ten_options(home):
    (case,) = cases(
        as_lines(home, ROW | dict(zip("ABCDEFGHIJ", "qwertyuiop", strict=True)) | {"answer": "J"})
    )
    assert (len(case.options), case.truth) == (10, "p")


@pytest.mark.parametrize("answer", ["B", "cyst", "B. cyst"])
def test_options_with_their_letters(home, answer):
    told = ROW | {"options": ["A. stone", "B. cyst"], "answer": answer}
    (case,) = cases(as_lines(home, told))
    assert (case.options, case.answer) == (("stone", "cyst"), "B")


def test_an_option_called_after_a_letter(home):
    """The letter of one and the text of another is nobody's to decide; of the same one it is."""
    (case,) = cases(as_lines(home, ROW | {"options": ["A", "B", "O"], "answer": "B"}))
    assert case.answer == "B"
    mixed = as_lines(home, ROW | {"options": ["B", "A", "O"], "answer": "B"})
    assert "or the text of exactly one option" in refusal(mixed)


@pytest.mark.parametrize("form", FORMS)
def test_several_images(home, form):
    row = {key: value for key, value in ROW.items() if key != "image"}
    (case,) = cases(form(home, row | {"images": ["a.png", "sub/b.png"]}))
    assert case.images == ("a.png", "sub/b.png")


def test_images_by_semicolons_in_a_csv(home):
    (case,) = cases(as_csv(home, ROW | {"images": "a.png; sub/b.png"}))
    assert case.images == ("a.png", "sub/b.png")


@pytest.mark.parametrize("form", FORMS)
def test_what_else_may_be_known(home, form):
    facts = {
        "caption": "a bright spot",
        "dimension": "small object detection",
        "subtype": "nodules",
        "ability": "Diagnosis",
        "modality": "ct",
        "system": "Respiratory system",
        "language": "en",
        "patient": "p1",
        "case_id": "x",
        "kind": "open",
    }
    (case,) = cases(form(home, ROW | facts))
    assert (case.caption, case.dimension, case.subtype) == ("a bright spot", "SOD", "nodules")
    assert (case.ability, case.modality, case.system) == ("DX", "CT", "Respiratory")
    assert (case.language, case.patient, case.case_id) == ("en", "p1", "x")


def test_ones_own_labels_are_kept(home):
    (case,) = cases(as_lines(home, ROW | {"dimension": "triage", "modality": "thermography"}))
    assert (case.dimension, case.modality) == ("triage", "thermography")


def test_one_language_of_a_set_in_two(home):
    rows = [ROW | {"language": language} for language in ("en", "zh")] + [ROW]
    path = as_lines(home, *rows)
    assert [case.index for case in cases(path, language="zh")] == [2, 3]
    assert len(cases(path)) == 3


def test_images_stand_below_the_root(home, tmp_path_factory):
    path = as_lines(tmp_path_factory.mktemp("far"), ROW | {"image": "sub/b.png"})
    assert cases(path, root=str(home))[0].images == ("sub/b.png",)


def test_an_image_that_is_not_there_is_an_error_of_its_item(home):
    rows = [ROW | {"image": name} for name in ("a.png", "no.png", "../x.png")]
    found = load(as_lines(home, *rows), Options())
    assert [case.index for case in found.cases] == [1]
    assert [left.case for left in found.left] == ["2", "3"]
    assert found.left[0].reason.startswith("cases.jsonl line 2: ")
    assert "no.png" in found.left[0].reason
    assert "is no safe name" in found.left[1].reason


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"question": " "}, "question is empty"),
        ({"question": None}, "question is empty"),
        ({"question": ["x"]}, "it is a text"),
        ({"answer": ""}, 'answer is ""'),
        ({"image": ""}, "it names no image"),
        ({"images": [3]}, "it is a list of names"),
        ({"images": "[3"}, "it is no JSON"),
        ({"kind": "essay"}, 'kind is "essay"; it is mcq, open or empty'),
        ({"kind": "open"}, "an open item has no options"),
        ({"answer": "D"}, "it is a letter, A to C, or the text of exactly one option"),
        ({"answer": "nothing"}, "exactly one option"),
        ({"options": ["x", "x"], "answer": "x"}, "exactly one option"),
        ({"options": ["x"], "answer": "A"}, "an item of kind mcq has"),
        ({"options": ["x", ""], "answer": "A"}, "option B is empty"),
        ({"options": ["x", True], "answer": "A"}, "it is a list of 2 to 10 texts"),
        ({"options": {"A": "x", "C": "y"}, "answer": "A"}, "it is a list of 2 to 10 texts"),
        ({"options": "x or y", "answer": "A"}, "it is no JSON"),
        ({"options": 3, "answer": "A"}, "it is a list of 2 to 10 texts"),
        ({"options": list("abcdefghijk"), "answer": "A"}, "an item of kind mcq has"),
        ({"options": None, "kind": "mcq"}, "an item of kind mcq has"),
    ],
)
def test_faults_name_their_place(home, change, told):
    text = refusal(as_lines(home, CHOICE, CHOICE | change))
    assert text.startswith("cases.jsonl line 2: ")
    assert told in text
    assert refusal(as_list(home, CHOICE, CHOICE | change)).startswith("cases.json item 2: ")


def test_a_gap_among_the_columns_of_options(home):
    text = refusal(as_csv(home, ROW | {"A": "x", "B": "", "C": "y", "answer": "A"}))
    assert text == "cases.csv row 2: option B is empty. Fix the row."


def test_ids_are_each_ones_own(home):
    path = as_lines(home, *[ROW | {"case_id": "x"}] * 2)
    assert 'line 2: the case "x" stands in cases.jsonl line 1 already' in refusal(path)


def test_files_without_columns_rows_or_sense(home):
    assert "has no column question" in refusal(write_csv(home / "a.csv", ["answer", "image"], []))
    assert "has no items" in refusal(write_csv(home / "a.csv", list(ROW), []))
    assert "has no items" in refusal(write_json(home / "a.json", []))
    assert "a.json item 1 is no JSON object" in refusal(write_json(home / "a.json", [1]))
    for text in ("[1]", "{", "\xff", "nul", "[" * 9999):
        (home / "a.jsonl").write_bytes(b"\n" + text.encode("latin-1") + b"\n")
        assert "a.jsonl line 2 is no JSON object" in refusal(home / "a.jsonl")
        (home / "b.json").write_bytes(b"{" + text.encode("latin-1"))
        assert "b.json is no JSON list" in refusal(home / "b.json")


def test_a_folder_with_one_such_file_is_enough(home):
    as_csv(home, ROW)
    (home / "notes.csv").write_text("a,b\n1,2\n")
    (home / "broken.json").write_text("{")
    assert len(cases(home)) == 1
    as_lines(home, ROW)
    assert "cases.csv, cases.jsonl all have questions" in refusal(home)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OPTIONS = st.lists(st.text(max_size=4), max_size=11) | st.dictionaries(
    st.sampled_from("ABCD"), st.text(max_size=4)
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.fixed_dictionaries(
        {name: st.text(min_size=1, max_size=12) | JSON for name in ("question", "answer")},
        optional=dict.fromkeys(("kind", "patient", "case_id", "caption", "images", "A", "B"), JSON)
        | {"options": JSON | OPTIONS},
    )
)
def test_odd_items_make_a_case_or_one_line(tmp_path_factory, row):
    home = tmp_path_factory.mktemp("odd")
    write_images(home, "a.png")
    whole = row | {"image": "a.png"}
    cells = {key: json.dumps(value) for key, value in row.items()} | {"image": "a.png"}
    for path in (as_lines(home, whole), as_list(home, whole), as_csv(home, cells)):
        told, found = "", []
        try:
            found = load(path, Options()).cases
        except BadInput as error:
            told = str(error)
        assert bool(found) != bool(told)
        assert not told or (path.name in told and "\n" not in told)
        for case in found:
            assert case.question.strip()
            assert case.truth.strip()
            assert (case.kind == "mcq") == bool(case.options)
            assert all(text.strip() for text in case.options)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("abcxyz éß", min_size=1, max_size=6), min_size=2, max_size=10),
    st.data(),
)
def test_the_right_option_is_found_by_letter_and_by_text(tmp_path_factory, texts, data):
    home = tmp_path_factory.mktemp("right")
    write_images(home, "a.png")
    if len({" ".join(text.split()).casefold() for text in texts}) < len(texts):
        return
    if not all(text.strip() for text in texts):
        return
    right = data.draw(st.integers(0, len(texts) - 1))
    letter = "ABCDEFGHIJ"[right]
    for answer in (letter, letter.lower(), texts[right], f" {texts[right].upper()} "):
        try:
            (case,) = cases(as_lines(home, ROW | {"options": texts, "answer": answer}))
        except BadInput:
            # The letter of one option is the text of another.
            assert len(answer.strip()) == 1
            continue
        said_by_text = (
            " ".join(answer.split()).casefold() == " ".join(texts[right].split()).casefold()
        )
        assert case.answer == letter or not said_by_text
