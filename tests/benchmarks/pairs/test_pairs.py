"""One question, two pictures, two right answers: from every layout to numbers that can be trusted."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import overread as ov
from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.pairs import Pairs
from overread.benchmarks.pairs.benchmark import Answer
from overread.benchmarks.pairs.cases import PairCase
from overread.benchmarks.tables import answers_frame, frame_of
from overread.case import BadInput, Reply, Traits
from overread.stats import clustered_share


def picture(path: Path, grey: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (24, 16), grey).save(path)


def table(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Twelve pairs of one's own, two of them of one patient."""
    rows = []
    for at in range(12):
        for side in (1, 2):
            picture(tmp_path / f"{at}_{side}.png", 20 * at % 200 + 10 * side)
        rows.append(
            {
                "pair": f"p{at:02}", "question": f"Which side is it in number {at}?",
                "option_A": "left", "option_B": "right",
                "image_1": f"{at}_1.png", "image_2": f"{at}_2.png",
                "answer_1": ("A", "right")[at % 2], "answer_2": ("right", "A")[at % 2],
                "group": ("arm", "leg")[at % 2], "patient_1": "x" if at < 2 else "",
            }
        )  # fmt: skip
    return table(tmp_path / "pairs.csv", rows)


def test_a_table_of_ones_own_is_read_with_letters_or_words_as_answers(own):
    bench = Pairs.open(own)
    cases = list(bench.cases())
    assert len(cases) == 12
    assert cases[0] == PairCase(
        case_id="p00", question="Which side is it in number 0?", options=("left", "right"),
        images=("0_1.png", "0_2.png"), answers=(0, 1), group="arm", patients=("x",),
    )  # fmt: skip
    assert cases[1].answers == (1, 0)
    assert bench.policy == "credentialed", "a set that declares no policy is nobody else's"


def test_mediconfusions_own_layout(tmp_path):
    for name in ("20192", "20053"):
        picture(tmp_path / "images" / f"{name}.jpg", 90)
    row = {
        "": 0, "id": "10001", "im_1": "a/b.jpg", "im_2": "c/d.jpg", "im_1_local": 20192,
        "im_2_local": 20053, "category_1": "['Cerebral', 'Vascular']",
        "category_2": "['Cerebral']", "question": "What is seen?", "option_A": "a clot",
        "option_B": "no clot", "im_1_correct": "B", "im_2_correct": "A",
    }  # fmt: skip
    (case,) = Pairs.open(table(tmp_path / "dataset.csv", [row])).cases()
    assert case.case_id == "10001"
    assert case.images == ("images/20192.jpg", "images/20053.jpg")
    assert (case.answers, case.group) == ((1, 0), "Cerebral")


def test_films_with_one_of_the_opposite_label_are_pairs(tmp_path):
    for name in ("a", "b"):
        picture(tmp_path / f"{name}.png", 50)
    rows = [
        {"case_id": "c1", "image_path": "a.png", "opposite_image_path": "b.png", "label": 1,
         "finding": "pleural_effusion", "subject_id": "s1"},
        {"case_id": "c2", "image_path": "a.png", "opposite_image_path": "", "label": 1,
         "finding": "edema", "subject_id": "s1"},
        {"case_id": "c3", "image_path": "b.png", "opposite_image_path": "a.png", "label": 0,
         "finding": "pleural_effusion", "subject_id": "s2"},
    ]  # fmt: skip
    first, second = Pairs.open(table(tmp_path / "manifest.csv", rows)).cases()
    assert first.question == "Does this chest radiograph show pleural effusion?"
    assert (first.answers, second.answers) == ((0, 1), (1, 0))
    assert first.group == "pleural_effusion"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"answer_2": "A"}, "two different pictures with two different answers"),
        ({"answer_1": "up"}, '"up" is none of its options'),
        ({"option_B": ""}, "2 to 10 different options"),
        ({"image_2": "none.png"}, "none.png"),
        ({"image_2": "../x.png"}, "leaves its data root"),
    ],
)
def test_a_pair_that_cannot_be_asked_about_is_left_out_by_name(own, change, why):
    with own.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows[2] |= change
    bench = Pairs.open(table(own, rows))
    ((name, reason),) = bench.left_out
    assert name == "p02"
    assert why in reason
    assert "row" in reason or "pairs.csv" in reason


def test_no_set_at_all_is_one_line(tmp_path):
    with pytest.raises(BadInput, match="expected|Expected") as refused:
        Pairs.open(table(tmp_path / "a.csv", [{"x": 1}]))
    assert "\n" not in str(refused.value)


def test_both_pictures_are_asked_about_alike_and_in_an_order_that_is_drawn(own):
    orders = set()
    bench = Pairs.open(own)
    for case in bench.cases():
        one, two = bench.trials(case, Traits())
        assert one.condition["order"] == two.condition["order"]
        assert [m.parts[1] for m in one.request.messages] == [
            m.parts[1] for m in two.request.messages
        ]
        orders.add(one.condition["order"])
        assert case.options[case.answers[0]] in one.request.messages[0].parts[1]
    assert orders == {"AB", "BA"}
    printed = Pairs.open(own, "authors")
    assert {t.condition["order"] for c in printed.cases() for t in printed.trials(c, Traits())} == {
        "AB"
    }


def test_an_answer_is_kept_in_the_order_of_the_set(own):
    bench = Pairs.open(own)
    for case in bench.cases():
        trial = next(bench.trials(case, Traits()))
        columns = list(bench.answer_schema)
        for letter in "AB":
            row = dict(zip(columns, bench.answer(trial, Reply(letter), Traits()), strict=True))
            shown = "AB".index(letter)
            assert row["choice"] == "AB".index(str(trial.condition["order"])[shown])
        said = dict(zip(columns, bench.answer(trial, Reply("both"), Traits()), strict=True))
        assert (said["outcome"], said["choice"]) == ("unparsed", None)
        refused = bench.answer(trial, Reply("", refusal="no"), Traits())
        assert dict(zip(columns, refused, strict=True))["outcome"] == "refused"
        none = dict(zip(columns, bench.answer(trial, None, Traits(), "died"), strict=True))
        assert (none["outcome"], none["reason"]) == ("unanswered", "died")


# ---------------------------------------------------------------- numbers


def measured(
    said: dict[str, list[tuple[int | None, int | None]]], groups: int = 1, boot: int = 200
):
    """Numbers of readers that chose these options for the pictures of pairs whose truth is 0, 1."""
    n = len(next(iter(said.values())))
    cases = [
        PairCase(case_id=f"c{at:02}", question="?", options=("l", "r"), images=(f"{at}a", f"{at}b"),
                 answers=(0, 1), group=f"g{at % groups}")
        for at in range(n)
    ]  # fmt: skip
    rows = [
        (reader, Answer(case=f"c{at:02}", picture=number + 1, order="AB", choice=choice,
                        outcome="unparsed" if choice is None else "answered"))
        for reader, pairs in said.items()
        for at, pair in enumerate(pairs)
        for number, choice in enumerate(pair)
    ]  # fmt: skip
    tables = Tables(
        cases=frame_of(PairCase, cases),
        answers=answers_frame(Answer, rows),
        readers=tuple(ReaderRecord(name=name) for name in said),
    )
    bench = Pairs.of_run("made@0", "open", "corrected", {"boot": str(boot)})
    return bench, tables, bench.measure(tables)


def value(records, measure, reader="a", **by):
    return next(m for m in records if (m.reader, m.measure, m.by) == (reader, measure, by))


def test_the_measures_are_what_their_names_say():
    pairs = [(0, 1), (0, 1), (0, 0), (1, 1), (1, 0), (None, 1), (None, None), (0, None)]
    _, _, found = measured({"a": pairs})
    whole = value(found, "set_accuracy")
    assert (whole.k, whole.n) == (2, 8)
    expected, _ = clustered_share([1] * 2 + [0] * 6, range(8))
    assert (whole.low, whole.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert whole.as_wrong == {"unparsed": 3}
    single = value(found, "accuracy")
    assert (single.k, single.n) == (8, 16)
    same = value(found, "confusion")
    assert (same.k, same.n, same.left_out) == (2, 5, {"unparsed": 3})
    assert value(found, "answered").k == 12
    low, high = (value(found, "set_accuracy", bound=bound) for bound in ("low", "high"))
    assert (low.k, low.n) == (2, 8)
    assert (high.k, high.n) == (5, 8)


def test_groups_add_up_and_readers_are_compared_pair_by_pair():
    chance = np.random.default_rng(0)
    said = {
        name: [(int(x), int(y)) for x, y in chance.integers(0, 2, (30, 2))] for name in ("a", "b")
    }
    _, _, found = measured(said, groups=3)
    groups = [
        m for m in found if m.reader == "a" and m.measure == "set_accuracy" and "group" in m.by
    ]
    assert sum(m.n for m in groups) == 30
    assert sum(m.k for m in groups) == value(found, "set_accuracy").k
    diff = value(found, "diff_set_accuracy", versus="b")
    both = {name: [pair == (0, 1) for pair in pairs] for name, pairs in said.items()}
    assert diff.value == pytest.approx(np.mean(both["a"]) - np.mean(both["b"]))
    assert diff.p is not None
    assert diff.low < diff.value < diff.high


def test_who_never_looks_gets_no_pair_and_who_guesses_a_quarter():
    _, _, found = measured({"a": [(1, 1)] * 40})
    assert (value(found, "set_accuracy").value, value(found, "confusion").value) == (0, 1)
    chance = np.random.default_rng(1)
    guesses = [(int(x), int(y)) for x, y in chance.integers(0, 2, (4000, 2))]
    _, _, found = measured({"a": guesses}, boot=100)
    assert value(found, "set_accuracy").value == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("pairs", "answer"),
    [
        ([(0, 1)] * 40, "yes"),
        ([(0, 1)] * 18 + [(1, 1)] * 22, "in part"),
        ([(1, 1)] * 40, "no"),
        ([(0, 1)] * 2 + [(1, 1)] * 4, "cannot tell"),
    ],
)
def test_the_headline_holds_the_whole_interval_against_chance(pairs, answer):
    bench, _, found = measured({"a": pairs})
    (line,) = bench.headlines(found)
    assert line.answer == answer
    assert "set accuracy" in line.sentence


# ---------------------------------------------------------------- a whole run


@pytest.mark.slow
def test_the_controls_are_found_for_what_they_are_and_everything_follows(own, tmp_path):
    from overread.runs import compare, gate, report

    run = ov.run(
        "pairs", own, ["control:looks", "control:prior", "control:first-option"],
        out=tmp_path / "run", store=tmp_path / "s.sqlite",
    )  # fmt: skip
    by_reader = {
        row["reader"]: row["value"]
        for row in run.measures.filter(measure="set_accuracy", by="{}").iter_rows(named=True)
    }
    assert by_reader == {"control:looks": 1.0, "control:prior": 0.0, "control:first-option": 0.0}
    (found,) = compare([tmp_path / "run"])
    assert {d.measure for d in found.differences} >= {"diff_set_accuracy", "diff_confusion"}
    assert any("gets both pictures right" in line for line in found.lines)
    page = report([tmp_path / "run"], tmp_path / "page.html", include_images=True)
    text = page.page.read_text(encoding="utf-8")
    assert "Does it tell pictures apart?" in text
    assert "p00" in text
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'title = "looking"\n[[rule]]\nname = "looks"\nbenchmark = "pairs"\nwhy = "it must look"\nmeasure = "set_accuracy"\nat_least = 0.5\nminimum_n = 5\nreaders = ["control:looks"]\n',
        encoding="utf-8",
    )
    outcome = gate([tmp_path / "run"], policy)
    assert outcome.exit_code == 0, outcome


@pytest.mark.slow
def test_measuring_again_needs_no_cases(own, tmp_path):
    from overread.runs import measure

    ov.run("pairs", own, ["control:first-option"], out=tmp_path / "run", store=tmp_path / "s", settings={"boot": "200"})  # fmt: skip
    before = (tmp_path / "run" / "measures.json").read_bytes()
    own.unlink()
    measure(tmp_path / "run")
    assert (tmp_path / "run" / "measures.json").read_bytes() == before
    assert pl.read_parquet(tmp_path / "run" / "answers.parquet").height == 24
