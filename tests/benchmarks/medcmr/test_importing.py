"""Replies of somebody else's scripts become tables; what does not fit is counted, never fatal."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.medcmr.importing import NOT_KEPT, import_results
from overread.case import BadInput
from overread.judging import VERDICT_COLUMNS
from support.medcmr_sets import item, mcq, write_json, write_lines, write_release

OPEN_REPLY = "Reasoning: a spot is seen.\nAnswer: a cause"
SCORES = {"clarity": 1, "coherence": 0.5, "visual": 3, "truth": 4}


@pytest.fixture
def cases(tmp_path):
    """The images are not there: nobody is to see them."""
    lost = tuple(f"dataset/imgs/{n}.png" for n in range(5))
    mcqs, opens = [mcq(n) for n in range(5)], [item(n) for n in range(3)]
    return write_release(tmp_path / "set", mcqs, opens, without=lost)


def said(index, kind, text="C", **more):
    return {"index": index, "kind": kind, "text": text, **more}


def results(tmp_path, *rows, reader="m"):
    return write_lines(tmp_path / "replies" / f"{reader}.jsonl", rows).parent


def read_results(*args, **more):
    found = import_results(*args, **more)
    return found.tables, found.warnings


def refusal(*args, **more):
    with pytest.raises(BadInput) as caught:
        read_results(*args, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def passed_over(warnings: list[str]) -> list[str]:
    """All but the lines on how much of the set there is."""
    return [line for line in warnings if "of the set's" not in line and "others rep" not in line]


def test_replies_of_every_kind(tmp_path, cases):
    rows = [said(2, "mcq"), said("3", "mcq", "no idea"), said(4, "mcq", None)]
    rows += [said(1, "open", OPEN_REPLY), said(2, "reformulated", "just a cause")]
    tables, warnings = read_results(cases, results(tmp_path, *rows))
    assert passed_over(warnings) == []
    assert [reader.name for reader in tables.readers] == ["m"]
    assert tables.cases.height == 4
    assert tables.verdicts is None
    found = tables.answers.to_dicts()
    assert [(row["case"], row["form"], row["outcome"]) for row in found] == [
        ("mcq-2", "mcq", "answered"),
        ("mcq-3", "mcq", "unparsed"),
        ("mcq-4", "mcq", "unanswered"),
        ("open-1", "open", "answered"),
        ("mcq-2", "reformulated", "unparsed"),
    ]
    assert (found[0]["choice"], found[0]["shown"]) == ("C", "C")
    assert (found[3]["reasoning"], found[3]["answer"]) == ("a spot is seen.", "a cause")
    assert {(row["image"], row["order"]) for row in found} == {("original", 0)}


def test_what_was_shown(tmp_path, cases):
    rows = [said(1, "mcq", "A", image="blank"), said(1, "mcq", "A", order=2), said(1, "mcq", "A")]
    tables, _ = read_results(cases, results(tmp_path, *rows))
    found = {(row["image"], row["order"]): row for row in tables.answers.to_dicts()}
    assert found["blank", 0]["choice"] == found["original", 0]["choice"] == "A"
    assert found["original", 2]["shown"] == "A"
    assert found["original", 2]["choice"] != "A"  # another option stood first


def test_a_reader_for_each_file(tmp_path, cases):
    for reader in ("small", "large"):
        results(tmp_path, said(1, "mcq"), reader=reader)
    elsewhere = write_lines(tmp_path / "more" / "third.jsonl", [said(2, "mcq")])
    models = {"large": {"role": "text_only", "params_b": 70, "group": "g"}, "gone": {}}
    readers = write_json(tmp_path / "models.json", models)
    tables, warnings = read_results(cases, tmp_path / "replies", readers, also=(str(elsewhere),))
    assert [reader.name for reader in tables.readers] == ["large", "small", "third"]
    large = tables.readers[0]
    assert (large.traits.modality, large.params_b, large.group) == ("text", 70.0, "g")
    assert tables.readers[1].params_b is None
    assert passed_over(warnings) == ["gone of the readers file has no replies."]


@pytest.mark.parametrize(
    "model", [{"role": "x"}, {"params_b": "7B"}, {"params_b": -1}, {"params_b": True}, {"group": 3}]
)
def test_a_readers_file_that_makes_no_sense(tmp_path, cases, model):
    readers = write_json(tmp_path / "models.json", {"m": model})
    assert "models.json: m has" in refusal(cases, results(tmp_path, said(1, "mcq")), readers)


# ---------------------------------------------------------------- scores


def test_scores_become_verdicts(tmp_path, cases):
    rows = [
        said(0, "open", OPEN_REPLY, scores=SCORES, judge="deep"),
        said(1, "reformulated", OPEN_REPLY, scores=SCORES),
        said(0, "open", OPEN_REPLY, scores=SCORES | {"truth": 0}, judge="other"),
    ]
    tables, warnings = read_results(cases, results(tmp_path, *rows))
    assert passed_over(warnings) == []
    assert tables.answers.height == 2
    assert tuple(tables.verdicts.columns) == VERDICT_COLUMNS
    found = tables.verdicts.to_dicts()
    assert [row["judge"] for row in found] == ["deep", "theirs", "other"]
    assert {(row["role"], row["question"], row["outcome"]) for row in found} == {
        ("score", "score", "judged")
    }
    assert json.loads(found[0]["payload"]) == SCORES
    assert json.loads(found[1]["about"]) == {
        "form": "reformulated",
        "image": "original",
        "order": 0,
    }
    assert json.loads(found[2]["payload"])["truth"] == 0
    assert not any(row["check"] for row in found)


@pytest.mark.parametrize(
    "change",
    [{"clarity": 0.7}, {"truth": 5}, {"visual": None}, {"coherence": "good"}, {"truth": [1]}],
)
def test_scores_off_the_scale_are_invalid(tmp_path, cases, change):
    rows = [said(0, "open", OPEN_REPLY, scores=SCORES | change)]
    tables, warnings = read_results(cases, results(tmp_path, *rows))
    (row,) = tables.verdicts.to_dicts()
    assert (row["outcome"], row["payload"]) == ("invalid", None)
    assert row["reason"]
    assert passed_over(warnings) == [
        "1 line has scores off the scale or missing (the first is m.jsonl line 1)."
    ]


def test_a_score_that_is_missing(tmp_path, cases):
    less = {name: value for name, value in SCORES.items() if name != "visual"}
    tables, _ = read_results(cases, results(tmp_path, said(0, "open", OPEN_REPLY, scores=less)))
    assert tables.verdicts["outcome"].to_list() == ["invalid"]


def test_scores_without_words(tmp_path, cases):
    row = {"index": 0, "kind": "open", "scores": SCORES}
    tables, warnings = read_results(cases, results(tmp_path, row))
    assert tables.answers["text"].to_list() == [NOT_KEPT]
    assert tables.verdicts.height == 1
    assert "has scores and no text" in warnings[0]


def test_scores_of_letters_and_of_nothing_are_left_out(tmp_path, cases):
    rows = [said(0, "mcq", scores=SCORES), said(0, "open", None, scores=SCORES)]
    tables, warnings = read_results(cases, results(tmp_path, *rows))
    assert tables.answers.height == 2
    assert tables.verdicts is None
    assert warnings[0].startswith("2 lines have scores of a letter or of no reply")


# ---------------------------------------------------------------- what does not fit


def test_everything_odd_is_one_line_with_its_count(tmp_path, cases):
    good = said(1, "mcq")
    odd = [
        said(99, "mcq"),
        said(4, "open"),
        said(-1, "open"),
        said("x", "open"),
        good,
        said(1, "mcq", "D"),
        said(1, "essay"),
        said(1, "mcq", image="mirror"),
        said(1, "mcq", order=5),
        said(1, "open", order=1),
        {"index": 2, "kind": "mcq"},
        {"kind": "mcq", "text": "A"},
        [1],
        {"index": 2, "kind": "mcq", "text": 3},
    ]
    tables, warnings = read_results(cases, results(tmp_path, good, *odd))
    assert tables.answers.height == 1
    assert [line.partition(";")[0] for line in passed_over(warnings)] == [
        "4 lines have an index that the set has not",
        "2 lines are of a reply that stands in an earlier line already",
        "1 line has a kind that is none of mcq, open, reformulated",
        "1 line has an image that is none of original, blank, swap, text",
        "2 lines have an order that the item's options have not",
        "1 line has no text",
        "3 lines have no index, kind and text to be read",
    ]
    assert all(
        line.endswith(").") and "(the first is m.jsonl line " in line
        for line in passed_over(warnings)
    )


def test_nothing_usable_is_refused(tmp_path, cases):
    told = refusal(cases, results(tmp_path, said(99, "mcq")))
    assert "holds no reply to an item of" in told
    assert "1 line has an index that the set has not" in told
    assert "holds no .jsonl" in refusal(cases, cases.parent)
    assert "there is no such file" in refusal(cases, tmp_path / "no")
    assert "--cases is missing" in refusal(None, tmp_path / "replies")


def test_kinds_that_are_not_looked_at(tmp_path, cases):
    rows = [said(1, "mcq"), said(1, "open", OPEN_REPLY)]
    tables, warnings = read_results(cases, results(tmp_path, *rows), words={"kinds": "open"})
    assert tables.answers["case"].to_list() == ["open-1"]
    assert set(tables.cases["kind"]) == {"open"}
    assert "1 line has an index that the set has not" in warnings[0]


JSON = st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=4) | st.lists(st.none())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["index", "kind", "text", "image", "order", "scores", "judge"]), JSON
        )
        | st.dictionaries(st.text(max_size=3), JSON)
        | JSON,
        max_size=5,
    ),
    st.dictionaries(
        st.sampled_from(sorted(SCORES)), JSON | st.floats(allow_nan=False, allow_infinity=False)
    ),
)
def test_no_file_is_fatal(tmp_path_factory, rows, scores):
    home = tmp_path_factory.mktemp("odd")
    path = write_release(home, [mcq(1)], [item(1)])
    good = [said(1, "mcq"), said(1, "open", OPEN_REPLY, scores=scores)]
    tables, warnings = read_results(path, results(home, *good, *rows))
    assert tables.answers.height >= 2
    assert all("\n" not in line for line in passed_over(warnings))


def test_half_characters_can_be_kept(tmp_path, cases):
    (tmp_path / "replies").mkdir()
    line = b'{"index": 1, "kind": "open", "text": "Answer: \\ud800 x"}\n\xef\xbb\xbf\n'
    (tmp_path / "replies" / "m.jsonl").write_bytes(line + msgspec.json.encode(said(1, "mcq")))
    tables, _ = read_results(cases, tmp_path / "replies")
    tables.answers.write_parquet(tmp_path / "a.parquet")
    assert tables.answers.height >= 1


def test_a_run_of_it(tmp_path, cases):
    found = import_results(cases, results(tmp_path, said(1, "mcq", "B")), words={"boot": "100"})
    assert found.benchmark.name == "medcmr"
    assert found.benchmark.dataset.startswith("set@")
    assert found.settings == {"boot": "100"}


def test_items_that_nobody_replied_to_are_not_counted(tmp_path, cases):
    folder = tmp_path / "replies"
    folder.mkdir()
    whole = [{"index": index, "kind": "mcq", "text": "A"} for index in (1, 2)]
    (folder / "all.jsonl").write_text("\n".join(json.dumps(row) for row in whole))
    (folder / "part.jsonl").write_text(json.dumps(whole[0]))
    tables, warnings = read_results(cases, folder)
    assert sorted(tables.cases["case"]) == ["mcq-1", "mcq-2"]
    assert warnings == [
        "the replies are about 2 of the set's 8 items: the others are not counted.",
        "part has no reply to 1 item that others replied to: counted as wrong.",
    ]
