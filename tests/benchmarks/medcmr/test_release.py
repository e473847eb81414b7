"""Med-CMR as it is published: read in place or extracted; one bad item never stops the others."""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.medcmr import trials
from overread.benchmarks.medcmr.cases import DIMENSIONS
from overread.benchmarks.medcmr.edition import Options
from overread.case import BadInput, Source
from overread.imaging import check_there
from support.medcmr_sets import (
    MCQ,
    OPEN,
    item,
    load,
    mcq,
    release_files,
    root_of,
    write_release,
    write_zip,
)

MCQS = [mcq(n) for n in range(7)]
OPENS = [item(n) for n in range(3)]


def refusal(path):
    with pytest.raises(BadInput) as caught:
        load(path, Options())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def loaded(tmp_path, mcqs=MCQS, opens=OPENS, **more):
    return load(write_release(tmp_path, mcqs, opens, **more), Options())


def left_of(tmp_path, bad, kind="mcq"):
    """The reason why the second of three items is left out; the others must be there."""
    rows = [mcq(1) if kind == "mcq" else item(1), bad, mcq(3) if kind == "mcq" else item(3)]
    mcqs, opens = (rows, OPENS) if kind == "mcq" else (MCQS, rows)
    found = loaded(tmp_path, mcqs, opens)
    assert [case.index for case in found.cases if case.kind == kind] == [1, 3]
    (left,) = found.left
    name = MCQ if kind == "mcq" else OPEN
    assert left.reason.startswith(f"{name} item 2: ")
    assert "\n" not in left.reason
    return left


def test_every_field_of_both_files(tmp_path):
    cases, left, remarks = loaded(tmp_path)
    assert (left, remarks) == ([], ())
    assert [case.case_id for case in cases] == [f"mcq-{n}" for n in range(7)] + [
        f"open-{n}" for n in range(3)
    ]
    first = cases[1]
    assert (first.kind, first.index, first.answer) == ("mcq", 1, "B")
    assert first.options == tuple(f"option {letter} of 1" for letter in "abcde")
    assert first.truth == "option b of 1"
    assert first.question == MCQS[1]["question"]
    assert first.caption == MCQS[1]["visual_description"]
    assert first.images == ("dataset/imgs/1.png",)
    assert (first.ability, first.modality, first.system) == ("DX", "CT", "Digestive")
    assert first.subtype == "small lesions"
    assert [case.dimension for case in cases[:7]] == list(DIMENSIONS)
    last = cases[-1]
    assert (last.kind, last.options, last.answer) == ("open", (), "a cause 2")


def test_archive_and_folder_are_the_same_set(tmp_path):
    zipped = write_release(tmp_path / "zip", MCQS, OPENS)
    folder = write_release(tmp_path / "plain", MCQS, OPENS, zipped=False)
    places = (zipped, zipped.parent, folder, folder / "dataset", folder / "dataset" / OPEN)
    found = [load(place, Options()) for place in places]
    for one in found:
        assert list(one.cases) == list(found[0].cases)
        assert one[1:] == found[0][1:]
    for place in places:
        root = root_of(place, Options())
        for case in found[0].cases:
            check_there(Source(str(root), case.images[0]))
    assert root_of(zipped.parent, Options()) == zipped


def test_a_folder_of_another_name(tmp_path):
    folder = write_release(tmp_path, MCQS, OPENS, zipped=False)
    (folder / "dataset").rename(folder / "med-cmr")
    cases, left, _ = load(folder / "med-cmr", Options())
    assert (len(cases), left) == (10, [])
    assert cases[0].images == ("imgs/0.png",)


def test_images_may_be_kept_elsewhere(tmp_path):
    folder = write_release(tmp_path / "a", MCQS, OPENS, zipped=False)
    (tmp_path / "far").mkdir()
    shutil.move(folder / "dataset" / "imgs", tmp_path / "far" / "imgs")
    found = load(folder, Options(root=str(tmp_path / "far")))
    assert (len(found.cases), found.left) == (10, [])


def test_an_archive_without_the_folder(tmp_path):
    files = release_files(MCQS, OPENS)
    bare = {name.removeprefix("dataset/"): data for name, data in files.items()}
    cases, left, _ = load(write_zip(tmp_path / "x.zip", bare), Options())
    assert (len(cases), left) == (10, [])


def test_what_else_is_in_the_archive_is_ignored(tmp_path):
    files = release_files(MCQS, OPENS)
    assert any(name.endswith(".bak") for name in files)
    assert any(name.startswith("__MACOSX/") for name in files)
    del files[f"dataset/{MCQ}"]
    found = load(write_zip(tmp_path / "dataset.zip", files), Options())
    assert {case.kind for case in found.cases} == {"open"}
    assert found.remarks == (f"there is no {MCQ}: the set has no multiple-choice items.",)


@pytest.mark.parametrize("zipped", [True, False])
def test_images_that_are_missing_are_told_by_name_and_count(tmp_path, zipped):
    shared = [mcq(0), mcq(1), mcq(2, image_path="dataset/imgs/1.png"), mcq(3)]
    lost = ("dataset/imgs/1.png", "dataset/imgs/3.png")
    found = loaded(tmp_path, shared, [item(0)], zipped=zipped, without=lost)
    assert [case.case_id for case in found.cases] == ["mcq-0", "open-0"]
    assert [left.case for left in found.left] == ["mcq-1", "mcq-2", "mcq-3"]
    assert all("imgs/" in left.reason and MCQ in left.reason for left in found.left)
    (remark,) = found.remarks
    assert remark.startswith("2 images are not to be had, so that 3 items are left out: ")
    assert all(name in remark for name in lost)


def test_nobody_looks_for_images_that_nobody_is_to_see(tmp_path):
    lost = tuple(f"dataset/imgs/{n}.png" for n in range(7))
    path = write_release(tmp_path, MCQS, OPENS, without=lost)
    assert len(load(path, Options(), seen=False).cases) == 10
    assert "no item can be asked about, 10 are left out" in refusal(path)


@pytest.mark.parametrize(
    "path", ["../x.png", "/etc/passwd", "dataset/../../x.png", "a\\b.png", "C:/x.png", "a\0b"]
)
def test_unsafe_paths_are_refused(tmp_path, path):
    assert "is no safe name" in left_of(tmp_path, mcq(2, image_path=path)).reason


def without(row, name):
    return {key: value for key, value in row.items() if key != name}


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (mcq(2, question=" "), "question is empty"),
        (mcq(2, answer=""), "answer is empty"),
        (mcq(2, answer="F"), 'answer is "F"; it is a letter, A to E'),
        (mcq(2, answer="option a of 2"), "it is a letter, A to E"),
        (mcq(2, C="  "), "option C is empty"),
        (mcq(2, D="", E=None, answer="D"), "option D is empty"),
        (mcq(4, E=None), "option E is empty"),  # the answer is E
        (mcq(2, A="x", B="", C="", D="", E="", answer="A"), "option B is empty"),
        (without(mcq(2), "D"), "option D is empty"),
        (mcq(2, image_path=""), "it names no image"),
        (mcq(1), f"mcq-1 stands in {MCQ} item 1 already"),
        (mcq(2, question=None), "question"),
        (without(mcq(2), "question"), "question"),
        (mcq(2, index="two"), "index is no whole number"),
        (mcq(2, index=-1), "index is no whole number"),
        (mcq(2, index=2**70), "index"),
        ([1, 2], "array"),
        ("text", "str"),
        (None, "null"),
    ],
)
def test_a_damaged_item_is_left_out_alone(tmp_path, bad, told):
    assert told in left_of(tmp_path, bad).reason


@pytest.mark.parametrize(
    ("change", "n"), [({"E": None}, 4), ({"E": " "}, 4), ({"D": "", "E": None}, 3)]
)
def test_empty_options_at_the_end_are_not_shown(tmp_path, change, n):
    cases, left, remarks = loaded(tmp_path, [mcq(1), mcq(2, **change), mcq(3)], OPENS)
    assert left == []
    assert [len(case.options) for case in cases[:3]] == [5, n, 5]
    assert cases[1].truth == "option c of 2"
    assert trials.mcq_prompt(cases[1].question, cases[1].options).endswith(f"(A–{'ABCDE'[n - 1]}).")
    told = (
        "1 item has fewer than 5 options, the last being empty: mcq-2. Only the others are shown."
    )
    assert remarks == (told,)


def test_options_may_carry_their_letters(tmp_path):
    carried = {letter: f"{letter}) thing {letter}" for letter in "ABCDE"}
    cases, _, _ = loaded(tmp_path, [mcq(1, **carried), mcq(2, **(carried | {"D": "thing"}))], OPENS)
    assert cases[0].options == tuple(f"thing {letter}" for letter in "ABCDE")
    assert cases[1].options[0] == "A) thing A"


def test_a_damaged_open_item(tmp_path):
    assert "answer is empty" in left_of(tmp_path, item(2, answer=" "), "open").reason
    assert left_of(tmp_path, item(2, answer=" "), "open").case == "open-2"


def test_an_item_without_a_caption_has_none(tmp_path):
    found = loaded(tmp_path, MCQS, [item(0, visual_description=" "), item(1)])
    assert [case.caption is None for case in found.cases[-2:]] == [True, False]


@pytest.mark.parametrize("data", [b"", b"{}", b"[{]", b"[1,", b"[" * 9999, b"null"])
@pytest.mark.parametrize("zipped", [True, False])
def test_a_damaged_file_is_one_line(tmp_path, data, zipped):
    files = release_files(MCQS, OPENS) | {f"dataset/{OPEN}": data}
    if zipped:
        path = write_zip(tmp_path / "dataset.zip", files)
    else:
        path = write_release(tmp_path, MCQS, OPENS, zipped=False)
        (path / "dataset" / OPEN).write_bytes(data)
    assert OPEN in refusal(path)


def test_letters_that_are_none_spoil_their_item_alone(tmp_path):
    files = release_files(MCQS, OPENS)
    files[f"dataset/{OPEN}"] = files[f"dataset/{OPEN}"].replace(b"a cause 1", b"a \xff cause")
    found = load(write_zip(tmp_path / "dataset.zip", files), Options())
    assert (len(found.cases), [left.case for left in found.left]) == (9, ["open item 2"])


def test_empty_lists_and_archives_of_something_else(tmp_path):
    assert "lists of items are empty" in refusal(write_release(tmp_path, [], []))
    other = write_zip(tmp_path / "other.zip", {"a.txt": b"x"})
    assert f"holds neither {MCQ} nor {OPEN}" in refusal(other)
    files = release_files(MCQS, OPENS)
    twice = files | {f"old/{MCQ}": files[f"dataset/{MCQ}"]}
    del twice[f"dataset/{MCQ}"]
    assert "holds items in dataset/ and old/" in refusal(write_zip(tmp_path / "t.zip", twice))
    (tmp_path / "no.zip").write_bytes(b"PK no archive")
    assert "no.zip" in refusal(tmp_path / "no.zip")


def test_tasks_that_are_not_understood_are_named_and_counted(tmp_path):
    tasks = ["Quantum", "Quantum", "sod", None]
    rows = [mcq(n, task=task) for n, task in enumerate(tasks)]
    cases, left, remarks = loaded(tmp_path, rows, None)
    assert [case.dimension for case in cases] == [None, None, "SOD", None]
    assert left == []
    assert remarks[-1].startswith('task: "Quantum" (2 items), "" (1 item) are no dimension')


def test_other_labels_are_kept_as_given(tmp_path):
    odd = {"question type": " Guessing ", "modality": "X ray", "organ system": "Tail"}
    cases, _, remarks = loaded(tmp_path, [mcq(1, **odd)], None)
    assert (cases[0].ability, cases[0].modality, cases[0].system) == ("Guessing", "X ray", "Tail")
    for field, word in odd.items():
        assert any(line.startswith(f'{field}: "{word.strip()}" (1 item)') for line in remarks)


def test_options_of_the_same_text_are_told(tmp_path):
    rows = [mcq(1), mcq(2, A="Liver", B=" liver"), mcq(3)]
    cases, left, remarks = loaded(tmp_path, rows, OPENS)
    assert (len(cases), left) == (6, [])
    assert remarks == ("1 item has two options of the same text: mcq-2.",)


def test_one_open_item_more_than_the_paper_says_is_told_and_kept(tmp_path):
    same = "dataset/imgs/0.png"
    for n, told in ((3_999, True), (3_998, False)):
        opens = [item(index, image_path=same) for index in range(n)]
        found = loaded(tmp_path / str(n), MCQS, opens)
        assert sum(case.kind == "open" for case in found.cases) == n
        said = f"{OPEN} has 3,999 items and the paper says 3,998; none is taken away."
        assert (said in found.remarks) == told


def test_a_question_that_gives_its_caption_or_answer_away_is_told(tmp_path):
    told = item(1)["visual_description"]
    answer = "a very rare cause"
    rows = [item(0), item(1, question=f"Look: {told.upper()} Why?")]
    rows += [item(2, answer=answer, question="Is it A  very rare cause or not?")]
    remarks = loaded(tmp_path, MCQS, rows).remarks
    assert "1 question holds its caption word for word: open-1." in remarks
    assert "1 question holds its answer word for word: open-2." in remarks


VALUES = st.none() | st.integers() | st.text(max_size=6) | st.lists(st.integers(), max_size=2)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(mcq(0))), VALUES, max_size=4))
def test_whatever_an_item_holds_it_is_a_case_or_left_out(tmp_path_factory, change):
    home = tmp_path_factory.mktemp("odd")
    data = json.dumps([mcq(0), mcq(1) | change]).encode()
    path = write_zip(
        home / "d.zip", release_files([mcq(0), mcq(1)], None) | {f"dataset/{MCQ}": data}
    )
    found = load(path, Options())
    assert len(found.cases) + len(found.left) == 2
    for case in found.cases:
        assert 2 <= len(case.options) <= 5
        assert case.answer in "ABCDE"[: len(case.options)]
        assert case.question.strip()
