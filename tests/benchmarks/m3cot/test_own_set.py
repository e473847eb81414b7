"""A set of one's own: a csv or JSON lines; every fault is one line with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.m3cot.cases import Step
from overread.benchmarks.m3cot.edition import Options
from overread.benchmarks.m3cot.loading import load
from overread.case import BadInput
from support.datasets import write_csv
from support.m3_trees import write_image

ROW = {"question": "Which?\nA. x", "answer": "A", "image": "a.png", "task": "Cause"}
STEPS = ("modality", "feature", "key_conclusion", "additional_analysis")


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


def cases(path, **options):
    found, left = load(path, Options(**options))
    assert left == []
    return found


def refusal(path):
    with pytest.raises(BadInput) as caught:
        load(path, Options())
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
    assert 'line 2: the case "x" stands in line 1 already' in refusal(as_lines(home, *rows))


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
STEP = st.fixed_dictionaries({"type": st.sampled_from([*STEPS, "x"]), "text": st.text(max_size=5)})


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
