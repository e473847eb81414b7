"""The published set and a set of one's own: every fault is one line with its place."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.files.sheets import MOST_BYTES, sheet_of
from overread.benchmarks.m3cot.cases import READER, STEPS, TASKS, Step
from overread.benchmarks.m3cot.edition import Options
from overread.case import BadInput
from support.datasets import write_csv
from support.m3_trees import HEADER, LABELS, Item, write_image, write_m3cot, write_sheet

ITEMS = "M3CoTBench.xlsx"
ALL = [Item(n, label=label) for n, label in enumerate(LABELS, start=1)]


def load(path, options, *, seen=True):
    loaded = READER.load(path, options, options.root, seen=seen)
    return list(loaded.cases), loaded.left


def policy_at(path, options, images=()):
    return READER.policy_at(path, options.root, images)


def cases(path, **options):
    found, left = load(path, Options(**options))
    assert left == []
    return found


def refusal(path, **options):
    with pytest.raises(BadInput) as caught:
        load(path, Options(**options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("folder", ["", "dataset", "datasets"])
def test_every_layout_is_found(tmp_path, folder):
    root = write_m3cot(tmp_path, ALL, folder)
    found = cases(root)
    assert [case.index for case in found] == [item.index for item in ALL]
    assert all((READER.root_of(root, None) / case.image).is_file() for case in found)
    assert cases(root / folder / ITEMS)[0].image == "images/1.png"


def test_an_item_is_read_whole(tmp_path):
    rows = [Item(1, additional_analysis=" none needed ", feature=None, label="Treatment")]
    (case,) = cases(write_m3cot(tmp_path, rows))
    assert (case.case_id, case.index, case.kind, case.task) == ("1", 1, "single", "Action")
    assert case.question == rows[0].question
    assert (case.answer, case.image) == ("A", "images/1.png")
    assert case.steps == (
        Step("modality", "CT"),
        Step("conclusion", "it is the liver"),
        Step("analysis", "none needed"),
    )


def test_the_thirteen_tasks_have_the_papers_names(tmp_path):
    found = cases(write_m3cot(tmp_path, ALL))
    assert [case.task for case in found] == [TASKS[item.label] for item in ALL]
    assert {case.task for case in found} == set(TASKS.values())


def test_rows_go_by_their_index_and_not_by_their_place(tmp_path):
    rows = [Item(n, answer=f"answer {n}", label=LABELS[n % 13]) for n in range(1, 30)]
    shuffled = random.Random(0).sample(rows, len(rows))
    assert cases(write_m3cot(tmp_path / "a", shuffled)) == cases(write_m3cot(tmp_path / "b", rows))


def test_images_are_taken_in_the_order_of_the_authors_suffixes(tmp_path):
    rows = [Item(n, suffix=None) for n in (1, 2, 3, 4)]
    root = write_m3cot(tmp_path, rows)
    there = {1: [".png", ".jpg"], 2: [".jpeg", ".png"], 3: [".webp", ".jpeg"], 4: [".webp"]}
    for number, suffixes in there.items():
        for suffix in suffixes:
            write_image(root / "images" / f"{number}{suffix}")
    names = [case.image for case in cases(root)]
    assert names == ["images/1.jpg", "images/2.png", "images/3.jpeg", "images/4.webp"]


def test_a_missing_image_is_an_error_of_its_item_alone(tmp_path):
    root = write_m3cot(tmp_path, [Item(1), Item(2, suffix=None), Item(3, suffix=".gif")])
    (root / "images" / "2.png").mkdir()
    write_image(root / "images" / "03.png")
    found, left = load(root, Options())
    assert [case.index for case in found] == [1]
    assert [item.case for item in left] == ["2", "3"]
    assert left[0].reason.startswith(f"{ITEMS} row 3: there is no image images/2 (.jpg .png")


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (Item(2, question=None), "question is empty"),
        (Item(2, question=" \n"), "question is empty"),
        (Item(2, answer=None), "answer is empty"),
        (Item(2, answer="#N/A"), "answer is empty"),
        (Item(2, answer=float("nan")), "answer is empty"),
        (Item(2, modality=None, feature=" ", key_conclusion="nan"), "no gold step"),
        (Item(2, modality="N/A", feature="", key_conclusion="None"), "no gold step"),
        (Item(2, label=None), "type.xlsx names no task"),
    ],
)
def test_an_item_that_lacks_something_is_left_out_by_its_row(tmp_path, item, told):
    found, left = load(write_m3cot(tmp_path, [Item(1), item]), Options())
    assert [case.index for case in found] == [1]
    ((name, reason),) = left
    assert name == "2"
    assert reason.startswith(f"{ITEMS} row 3: {told}")


def test_where_nothing_is_left_the_first_reason_is_told(tmp_path):
    root = write_m3cot(tmp_path, [Item(1, suffix=None), Item(2, suffix=None)])
    assert f"no item can be asked about, 2 are left out; the first is 1: {ITEMS} row 2" in refusal(
        root
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([Item(1), Item(2), Item(1)], "row 4: index 1 stands in row 2 already"),
        ([Item(1), Item(3)], "there is no row of index 2"),
        ([Item(2), Item(3)], "there is no row of index 1"),
        ([Item(1), Item(None)], 'row 3: index is ""'),
        ([Item(1), Item("two")], 'row 3: index is "two"'),
        ([Item(1), Item(0)], 'row 3: index is "0"'),
        ([Item(1), Item(-1)], 'row 3: index is "-1"'),
        ([Item(1), Item(1.5)], 'row 3: index is "1.5"'),
        ([Item(1), Item(True)], 'row 3: index is "True"'),
        ([], "a header and no rows"),
    ],
)
def test_an_index_that_cannot_be_is_refused(tmp_path, rows, told):
    write_m3cot(tmp_path, [Item(1)])
    write_sheet(tmp_path / ITEMS, HEADER, [item.cells for item in rows])
    assert told in refusal(tmp_path)


def test_numbers_and_truth_values_are_texts_and_an_index_may_be_one(tmp_path):
    rows = [Item("1", answer=3), Item(2.0, answer=True), Item(3, answer=0.5), Item(4, answer=2.0)]
    write_m3cot(tmp_path, [Item(n) for n in (1, 2, 3, 4)])
    write_sheet(tmp_path / ITEMS, HEADER, [item.cells for item in rows])
    assert [case.answer for case in cases(tmp_path)] == ["3", "True", "0.5", "2"]


def test_missing_columns_are_named(tmp_path):
    root = write_m3cot(tmp_path, [Item(1)], header=("index", "question", "Answer", *HEADER[3:]))
    assert "has no column answer; its columns are index, question, Answer" in refusal(root)


def test_further_columns_and_blank_rows_do_not_matter(tmp_path):
    write_m3cot(tmp_path, [Item(1), Item(2)])
    header = ("note", *HEADER, None)
    rows = [("x", *Item(1).cells), (None,) * 9, (" ", *Item(2).cells), ("",)]
    write_sheet(tmp_path / ITEMS, header, rows)
    found = cases(tmp_path)
    assert [case.index for case in found] == [1, 2]


def test_a_column_twice_is_refused(tmp_path):
    root = write_m3cot(
        tmp_path, [Item(1)], header=("index", "question", "question", *HEADER[3:], "answer")
    )
    assert "more than one column question" in refusal(root)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([(1, "Guess")], 'type.xlsx row 2: analysis_type is "Guess"; it is one of Diagnosis'),
        ([(1, "Cause"), (1, "Cause")], "type.xlsx row 3: index 1 stands in row 2 already"),
        ([("x", "Cause")], 'type.xlsx row 2: index is "x"'),
    ],
)
def test_faults_of_type_xlsx_name_its_row(tmp_path, rows, told):
    write_m3cot(tmp_path, [Item(1)])
    write_sheet(tmp_path / "type.xlsx", ("index", "analysis_type"), rows)
    assert told in refusal(tmp_path)


def test_type_xlsx_may_stand_one_folder_off_or_be_a_column(tmp_path):
    root = write_m3cot(tmp_path / "a", [Item(1)], "dataset")
    (root / "datasets").mkdir()
    (root / "dataset" / "type.xlsx").rename(root / "datasets" / "type.xlsx")
    assert cases(root)[0].task == "Diagnosis"
    root = write_m3cot(tmp_path / "b", [Item(1)])
    (root / "type.xlsx").unlink()
    assert "there is no type.xlsx" in refusal(root)
    write_sheet(root / ITEMS, (*HEADER, "analysis_type"), [(*Item(1).cells, "Symptom")])
    assert cases(root)[0].task == "Symptom"


def test_images_may_stand_elsewhere(tmp_path):
    root = write_m3cot(tmp_path / "a", [Item(1, suffix=None)])
    write_image(tmp_path / "far" / "datasets" / "images" / "1.jpg")
    assert cases(root, root=str(tmp_path / "far"))[0].image == "datasets/images/1.jpg"


def test_the_real_labels_give_thirteen_tasks(shared):
    rows = sheet_of(shared / "data" / "m3cot" / "type.xlsx", ("index", "analysis_type"))
    assert {cells["analysis_type"] for _, cells in rows} == set(TASKS)
    assert sorted(int(cells["index"]) for _, cells in rows) == list(range(1, len(rows) + 1))


# ---------------------------------------------------------------- damaged and hostile files


@pytest.mark.parametrize("data", [b"", b"hello", b"PK\x03\x04", b"<html>404</html>"])
def test_what_is_no_xlsx_is_one_line(tmp_path, data):
    (tmp_path / ITEMS).write_bytes(data)
    assert "is no xlsx file" in refusal(tmp_path)


def test_a_zip_that_is_no_workbook_is_one_line(tmp_path):
    with zipfile.ZipFile(tmp_path / ITEMS, "w") as parts:
        parts.writestr("a.txt", "hello")
    assert "is a damaged xlsx file" in refusal(tmp_path)


PLACES = st.floats(0, 1, exclude_max=True)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(PLACES | st.none(), st.lists(st.tuples(PLACES, st.integers(1, 255)), min_size=1, max_size=5))
def test_damage_anywhere_is_one_line_or_no_matter(tmp_path_factory, cut, flips):
    folder = tmp_path_factory.mktemp("damaged")
    whole = write_m3cot(folder, [Item(1)]) / ITEMS
    spoilt = bytearray(whole.read_bytes())
    if cut is not None:
        del spoilt[int(cut * len(spoilt)) :]
    else:
        for place, bits in flips:
            spoilt[int(place * len(spoilt))] ^= bits
    whole.write_bytes(bytes(spoilt))
    told = ""
    try:
        load(folder, Options())
    except BadInput as error:
        told = str(error)
    assert "\n" not in told


def test_a_bomb_is_not_unpacked(tmp_path):
    zeros = bytes(1 << 20)
    with (
        zipfile.ZipFile(tmp_path / ITEMS, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as parts,
        parts.open("xl/sharedStrings.xml", "w") as part,
    ):
        for _ in range((MOST_BYTES >> 20) + 1):
            part.write(zeros)
    assert "would unpack to" in refusal(tmp_path)


def rewritten(path, change):
    """The first sheet's XML changed."""
    with zipfile.ZipFile(path) as parts:
        kept = {name: parts.read(name) for name in parts.namelist()}
    with zipfile.ZipFile(path, "w") as parts:
        for name, data in kept.items():
            first = name == "xl/worksheets/sheet1.xml"
            parts.writestr(name, change(data.decode()).encode() if first else data)


@pytest.mark.slow
def test_a_sheet_that_claims_to_be_huge_is_read_as_it_is(tmp_path):
    root = write_m3cot(tmp_path, [Item(1)])

    def claims(text):
        assert 'ref="A1:G2"' in text
        return text.replace('ref="A1:G2"', 'ref="A1:XFD1048576"')

    def places(row, cell):
        far = f'<row r="{row}"><c r="{cell}{row}"><v>1</v></c></row></sheetData>'
        return lambda text: text.replace("</sheetData>", far)

    rewritten(root / ITEMS, claims)
    assert len(cases(root)) == 1
    rewritten(root / ITEMS, places(900_000_000, "A"))
    assert len(cases(root)) == 1
    root = write_m3cot(tmp_path / "wide", [Item(1)])
    rewritten(root / ITEMS, places(3, "XFD"))
    assert "row 3: it has 16384 cells" in refusal(root)


# ---------------------------------------------------------------- odd cells

CELLS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(-1e9, 1e9)
    | st.datetimes()
    | st.sampled_from(["", " ", "nan", "N/A", "#REF!", "_x000D_\n", "A. x\nB. y", "=1+1", "É 肝"])
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=30)
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[CELLS] * (len(HEADER) - 1)), min_size=1, max_size=4))
def test_odd_cells_make_a_case_or_a_reason(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("odd")
    items = [Item(n, *cells) for n, cells in enumerate(rows, start=1)]
    write_m3cot(folder, [Item(0), *items])
    write_sheet(
        folder / ITEMS, HEADER, [item.cells for item in items] + [Item(len(items) + 1).cells]
    )
    write_image(folder / "images" / f"{len(items) + 1}.png")
    labels = [(n, "Cause") for n in range(1, len(items) + 2)]
    write_sheet(folder / "type.xlsx", ("index", "analysis_type"), labels)
    found, left = load(folder, Options())
    assert sorted([c.case_id for c in found] + [item.case for item in left], key=int) == [
        str(n) for n, _ in labels
    ]
    for case in found:
        assert case.question.strip()
        assert case.answer == case.answer.strip() != ""
        assert 1 <= len(case.steps) <= len(STEPS)
        assert all(step.text == step.text.strip() != "" for step in case.steps)
        kinds = [STEPS.index(step.type) for step in case.steps]
        assert kinds == sorted(set(kinds))
        assert "_x000D_" not in case.question


# ---------------------------------------------------------------- policy and paths


def test_the_card_says_who_may_see_the_set(tmp_path):
    root = write_m3cot(tmp_path / "a", [Item(1)], "dataset")
    assert policy_at(root, Options()) == "credentialed"
    (root / "dataset" / "dataset.toml").write_text('policy = "research"\n')
    assert policy_at(root, Options()) == "research"
    (root / "dataset.toml").write_text('policy = "open"\n')
    assert policy_at(root, Options()) == "research", "the nearer card is the stricter"
    assert policy_at(root / "dataset" / ITEMS, Options()) == "research"
    (root / "dataset" / "dataset.toml").unlink()
    assert policy_at(root, Options()) == "open"
    assert policy_at(root, Options(root=str(tmp_path))) == "credentialed"


@pytest.mark.parametrize("kind", ["nothing", "empty folder", "text file", "other csv"])
def test_what_is_no_set_says_what_was_expected(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "there"
    if kind == "empty folder":
        path.mkdir()
    elif kind == "text file":
        path = tmp_path / "there.txt"
        path.write_text("hello")
    elif kind == "other csv":
        path.mkdir()
        (path / "a.csv").write_text("clip,ed,es\nx,1,2\n")
    assert f"{ITEMS} with type.xlsx and images/, or a csv or jsonl" in refusal(path)


ROW = {"question": "Which?\nA. x", "answer": "A", "image": "a.png", "task": "Cause"}
STEP_FIELDS = ("modality", "feature", "key_conclusion", "additional_analysis")


@pytest.fixture
def home(tmp_path):
    write_image(tmp_path / "a.png")
    write_image(tmp_path / "sub" / "b.jpg")
    return tmp_path


def as_csv(home, *rows, name="cases.csv"):
    header = list(dict.fromkeys(key for row in rows for key in row))
    return write_csv(home / name, header, [[row.get(key, "") for key in header] for row in rows])


def as_lines(home, *rows, name="cases.jsonl"):
    path = home / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_csv_with_columns_of_steps(home):
    facts = {"modality": " CT ", "key_conclusion": "a stroke", "feature": "N/A"}
    (case,) = cases(as_csv(home, ROW | facts))
    assert (case.case_id, case.index, case.kind, case.task) == ("1", 1, "short", "Cause")
    assert (case.question, case.answer, case.image) == ("Which?\nA. x", "A", "a.png")
    assert case.steps == (Step("modality", "CT"), Step("conclusion", "a stroke"))
    assert (case.modality, case.patient) == (None, None)


STATED = [
    (["CT", None, "a stroke"], (Step("modality", "CT"), Step("conclusion", "a stroke"))),
    (["CT", "", "", "rest"], (Step("modality", "CT"), Step("analysis", "rest"))),
    (
        [
            {"type": "key_conclusion", "text": " a stroke "},
            {"type": "feature", "text": "dark"},
            {"type": "feature", "text": "large"},
        ],
        (Step("conclusion", "a stroke"), Step("feature", "dark"), Step("feature", "large")),
    ),
]


@pytest.mark.parametrize(("stated", "steps"), STATED)
def test_steps_as_a_list(home, stated, steps):
    assert cases(as_lines(home, ROW | {"steps": stated}))[0].steps == steps
    assert cases(as_csv(home, ROW | {"steps": json.dumps(stated)}))[0].steps == steps


def test_json_lines_may_have_the_four_columns_of_steps(home):
    (case,) = cases(as_lines(home, ROW | {"modality": "CT", "key_conclusion": "a stroke"}))
    assert case.steps == (Step("modality", "CT"), Step("conclusion", "a stroke"))


def test_twenty_steps_are_taken(home):
    steps = [{"type": "feature", "text": f"{n}"} for n in range(20)]
    assert len(cases(as_lines(home, ROW | {"steps": steps}))[0].steps) == 20


def test_what_else_may_be_known(home):
    facts = {"kind": "bool", "patient": "p1", "case_id": "x", "examination": "CT", "steps": ["CT"]}
    (case,) = cases(as_lines(home, ROW | facts))
    assert (case.kind, case.patient, case.case_id, case.modality) == ("bool", "p1", "x", "CT")


def test_answers_may_be_numbers_and_truth_values_in_json(home):
    rows = [ROW | {"answer": value, "steps": ["CT"]} for value in (3, True, 0.5)]
    assert [case.answer for case in cases(as_lines(home, *rows))] == ["3", "True", "0.5"]


def test_tasks_are_the_users_own_or_the_papers(home):
    rows = [ROW | {"task": task, "steps": ["CT"]} for task in ("Treatment", "Triage")]
    assert [case.task for case in cases(as_lines(home, *rows))] == ["Action", "Triage"]


def test_a_folder_with_one_such_file_is_enough(home):
    as_csv(home, ROW | {"modality": "CT"})
    (home / "notes.csv").write_text("a,b\n1,2\n")
    assert len(cases(home)) == 1
    as_lines(home, ROW | {"steps": ["CT"]})
    assert "cases.csv, cases.jsonl all have questions" in refusal(home)


def test_images_stand_below_the_root(home, tmp_path_factory):
    path = as_lines(tmp_path_factory.mktemp("far"), ROW | {"image": "sub/b.jpg", "steps": ["CT"]})
    assert cases(path, root=str(home))[0].image == "sub/b.jpg"


def test_an_image_that_is_not_there_is_an_error_of_its_item(home):
    rows = [ROW | {"image": name, "steps": ["CT"]} for name in ("a.png", "no.png", "../x.png")]
    found, left = load(as_lines(home, *rows), Options())
    assert [case.index for case in found] == [1]
    assert [item.case for item in left] == ["2", "3"]
    assert left[0].reason.startswith("cases.jsonl line 2: ")
    assert "no.png" in left[0].reason
    assert not any(item.reason.endswith(".") for item in left)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"question": " "}, 'question is " "'),
        ({"question": None}, 'question is ""'),
        ({"answer": ""}, 'answer is ""; every row needs one'),
        ({"image": ""}, 'image is ""'),
        ({"task": ""}, 'task is ""'),
        ({"answer": ["A"]}, "it is a text"),
        ({"kind": "open"}, 'kind is "open"; it is single, multiple, bool, short, or empty'),
        ({"steps": []}, "one gold step at least"),
        ({"steps": None}, "one gold step at least"),
        ({"steps": [None, " "]}, "one gold step at least"),
        ({"steps": "CT"}, "a JSON list"),
        ({"steps": {"type": "modality"}}, "a JSON list"),
        ({"steps": ["a"] * 5}, "a JSON list of up to 4 texts"),
        ({"steps": [3]}, "a JSON list"),
        (
            {"steps": [{"type": "feature", "text": "x"}] * 21},
            "it has 21 steps and may have 20. Fix it.",
        ),
        ({"steps": [{"type": "guess", "text": "x"}]}, "a step has a text and a type"),
        ({"steps": [{"type": "modality", "text": " "}]}, "a step has a text and a type"),
        ({"steps": [{"type": "modality"}]}, "a step has a text and a type"),
    ],
)
def test_faults_name_their_line(home, change, told):
    path = as_lines(home, ROW | {"steps": ["CT"]}, ROW | {"steps": ["CT"]} | change)
    text = refusal(path)
    assert text.startswith("cases.jsonl line 2: ")
    assert told.replace('" "', '""') in text


def test_ids_are_each_ones_own(home):
    rows = [ROW | {"case_id": "x", "steps": ["CT"]}] * 2
    assert 'line 2: the case "x" stands in cases.jsonl line 1 already' in refusal(
        as_lines(home, *rows)
    )


def test_csv_without_its_columns_or_rows(home):
    assert "has no column task" in refusal(write_csv(home / "a.csv", list(ROW)[:3], []))
    assert "has no rows" in refusal(write_csv(home / "a.csv", list(ROW), []))


def test_lines_that_are_no_objects(home):
    for text in ("[1]", "{", '{"question": "\\ud800"}', "\xff", "nul", "[" * 9999):
        path = home / "a.jsonl"
        path.write_bytes(b"\n" + text.encode("latin-1") + b"\n")
        assert "a.jsonl line 2 is no JSON object" in refusal(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
STEP = st.fixed_dictionaries(
    {"type": st.sampled_from([*STEP_FIELDS, "x"]), "text": st.text(max_size=5)}
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        {name: st.text(min_size=1, max_size=12) | JSON for name in ("question", "answer", "task")},
        optional=dict.fromkeys(("kind", "patient", "case_id", "examination"), JSON)
        | {"steps": JSON | st.lists(STEP | st.text(max_size=5), max_size=6)},
    )
)
def test_odd_lines_make_a_case_or_one_line(tmp_path_factory, row):
    home = tmp_path_factory.mktemp("odd")
    write_image(home / "a.png")
    for path in (
        as_lines(home, row | {"image": "a.png"}),
        as_csv(home, {k: json.dumps(v) for k, v in row.items()} | {"image": "a.png"}),
    ):
        told = ""
        found = []
        try:
            found = cases(path)
        except BadInput as error:
            told = str(error)
        assert bool(found) != bool(told)
        assert not told or (
            told.startswith((f"{path.name} line ", f"{path.name} row ")) and "\n" not in told
        )
        for case in found:
            assert case.steps
            assert case.question.strip()
            assert case.answer
