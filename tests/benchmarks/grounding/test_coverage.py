"""Boxes rated by people: which sheets are read and how, and what CGR is on the rated cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.benchmarks.grounding.subgroups import read_ratings
from overread.case import BadInput
from overread.stats import wilson
from support.made_up import measured


def sheet(path: Path, *rows: str, header: str = "case_id,rating") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join((header, *rows, "")), "utf-8")
    return path


def packet(folder: Path, ratings: dict[str, str], mapping: dict[str, str]) -> Path:
    rows = (f"{display},edema,{rating},seen" for display, rating in ratings.items())
    sheet(folder / "cases.csv", *rows, header="display_id,finding,rating,comment")
    ids = (f"{display},{case}" for display, case in mapping.items())
    sheet(folder / "case_mapping.csv", *ids, header="display_id,case_id")
    return folder


def complaint(paths: object) -> str:
    with pytest.raises(BadInput) as error:
        read_ratings(str(paths))
    assert "\n" not in str(error.value)
    return str(error.value)


# ---------------------------------------------------------------- sheets


def test_a_sheet_of_ratings(tmp_path):
    """A rating is known by how it begins, in any case (GROUNDING 14)."""
    words = (
        "Accurate",
        "acc.",
        "PARTIAL",
        "partly",
        "Inaccurate",
        "inacc",
        "Cannot tell",
        " can't ",
    )
    path = sheet(tmp_path / "a.csv", *(f" c{i} ,{word}" for i, word in enumerate(words)))
    assert list(read_ratings(str(path)).items()) == [
        ("c0", "accurate"),
        ("c1", "accurate"),
        ("c2", "partial"),
        ("c3", "partial"),
        ("c4", "inaccurate"),
        ("c5", "inaccurate"),
        ("c6", "cannot_tell"),
        ("c7", "cannot_tell"),
    ]


def test_a_packet_as_it_comes_back(tmp_path):
    ratings = {"A_001": "Accurate", "A_002": "", "A_003": "Partial"}
    mapping = {"A_003": "c3", "A_001": "c1", "A_002": "c2", "A_009": "c9"}
    found = read_ratings(str(packet(tmp_path / "packet", ratings, mapping)))
    assert found == {"c1": "accurate", "c3": "partial"}


def test_blank_ratings_are_none(tmp_path):
    path = sheet(tmp_path / "a.csv", "c0,", "c1,  ", "c2,accurate")
    assert read_ratings(str(path)) == {"c2": "accurate"}


def test_where_two_rated_a_case_the_first_path_decides(tmp_path):
    first = packet(tmp_path / "first", {"A_1": "partial", "A_2": ""}, {"A_1": "c1", "A_2": "c2"})
    second = sheet(tmp_path / "second.csv", "c1,accurate", "c2,inaccurate", "c3,accurate")
    assert read_ratings(f"{first}, {second}") == {
        "c1": "partial",
        "c2": "inaccurate",  # the first reader left it blank
        "c3": "accurate",
    }
    assert read_ratings(f"{second},{first}")["c1"] == "accurate"


@pytest.mark.parametrize("text", ["good", "in part", "x" * 80, "yes, accurate"])
def test_an_unknown_rating_is_named_with_its_row(tmp_path, text):
    path = sheet(tmp_path / "a.csv", "c0,accurate", f'c1,"{text}"')
    said = complaint(path)
    assert said.startswith(f'a.csv row 3: rating is "{text[:40]}"; it is accurate, partial,')
    assert len(said) < 150


def test_a_display_that_is_not_in_the_mapping(tmp_path):
    folder = packet(tmp_path / "p", {"A_1": "accurate", "A_2": "partial"}, {"A_1": "c1"})
    assert complaint(folder).endswith('cases.csv row 3: display_id "A_2" is not in the mapping.')
    # One that was left blank asks for nothing.
    assert read_ratings(str(packet(tmp_path / "q", {"A_1": "acc", "A_2": ""}, {"A_1": "c1"})))


def test_what_is_no_sheet(tmp_path):
    assert "there is no such file or folder" in complaint(tmp_path / "nowhere.csv")
    folder = tmp_path / "half"
    sheet(folder / "cases.csv", header="display_id,rating")
    assert "has no case_mapping.csv" in complaint(folder)
    (folder / "cases.csv").rename(folder / "case_mapping.csv")
    assert "has no cases.csv" in complaint(folder)
    assert "has no column rating" in complaint(sheet(tmp_path / "b.csv", header="case_id,remark"))
    assert "no case is rated there" in complaint(sheet(tmp_path / "c.csv", "c0,", "c1,"))


# ---------------------------------------------------------------- measures


@pytest.fixture
def rated(bench, tmp_path):
    """Ten boxed cases of two findings, their ratings, and a reader with every kind of mask answer."""
    ratings = ("accurate",) * 6 + ("partial", "partial", "inaccurate", "")
    cases = [bench.case(f"c{i}", finding="edema" if i < 4 else "pneumonia") for i in range(10)]
    masked = (0, 1, 0, -1, 1, None, 0, 1, 0, 0)
    answers = {
        "original": {f"c{i}": int(i != 2) for i in range(10)},
        "target_mask": {f"c{i}": mark for i, mark in enumerate(masked) if mark is not None},
    }
    path = sheet(tmp_path / "a.csv", *(f"c{i},{rating}" for i, rating in enumerate(ratings)))
    return bench.tables(cases, {"r": answers}), str(path)


def kn(record):
    return record.k, record.n


def test_cgr_on_cases_whose_box_was_rated(rated):
    """Decided: c0 c1 c4 c6 c7 c8 c9 (c2 is wrong, c3 unparsed, c5 not asked)."""
    tables, path = rated
    found = measured(tables, ratings=path)
    assert kn(found("cgr", "r", coverage="all")) == kn(found("cgr", "r")) == (4, 7)
    assert kn(found("cgr", "r", coverage="accurate")) == (1, 3)
    assert kn(found("cgr", "r", coverage="accurate_or_partial")) == (2, 5)
    assert kn(found("cgr", "r", coverage="accurate", finding="edema")) == (1, 2)
    assert kn(found("cgr", "r", coverage="accurate", finding="pneumonia")) == (0, 1)
    assert found("cgr", "r", coverage="accurate").note == (
        "only 3 cases; left out: 1 unparsed, 1 not asked; "
        "with the replies among them between 0.2500 and 0.5000"
    )
    assert found("cgr", "r", coverage="accurate", finding="pneumonia").low is None


def test_the_authors_take_a_mask_answer_that_is_not_there_for_no_flip(rated):
    """[D4] Unparsed (c3) and missing (c5) are in the denominator."""
    tables, path = rated
    found = measured(tables, "authors", ratings=path)
    assert kn(found("cgr", "r")) == (4, 7)
    assert kn(found("cgr", "r", coverage="all")) == (4, 9)
    record = found("cgr", "r", coverage="accurate")
    assert kn(record) == (1, 5)
    interval = wilson(1, 5)
    assert (record.low, record.high, record.se) == (interval.low, interval.high, interval.sd)
    assert record.method == "wilson"
    left = measured(tables, "authors", ratings=path, coverage_unparsed="leave_out")
    assert kn(left("cgr", "r", coverage="accurate")) == (1, 3)


def test_repeated_patients_count_once(bench, tmp_path):
    cases = [bench.case(f"c{i}", subject_id=f"p{i // 5}") for i in range(40)]
    names = [case.case_id for case in cases]
    answers = {
        "original": dict.fromkeys(names, 1),
        "target_mask": {name: i // 5 % 2 for i, name in enumerate(names)},
    }
    path = str(sheet(tmp_path / "a.csv", *(f"{name},accurate" for name in names)))
    found = measured(bench.tables(cases, {"r": answers}), ratings=path)
    record = found("cgr", "r", coverage="accurate")
    assert record.note is None  # 40 cases are not few
    alone = wilson(20, 40)
    assert record.high - record.low > 1.8 * (alone.high - alone.low)
    assert (record.low, record.high) == (found("cgr", "r").low, found("cgr", "r").high)


def test_a_rated_case_that_is_not_in_the_run(rated, tmp_path):
    tables, _ = rated
    path = sheet(tmp_path / "other.csv", "c0,accurate", "c99,partial", "c98,partial")
    with pytest.raises(BadInput) as error:
        measured(tables, ratings=str(path))
    assert str(error.value) == 'the ratings name case "c98", which is not among the cases.'


def test_ratings_leave_every_other_record_alone(rated):
    tables, path = rated
    for edition in ("corrected", "authors"):
        with_ratings = measured(tables, edition, ratings=path)
        for record in measured(tables, edition).measures:
            assert with_ratings(record.measure, record.reader, **record.by) == record


def test_where_nothing_is_rated_accurate(bench, tmp_path):
    tables = bench.tables(
        [bench.case("c0")], {"r": {"original": {"c0": 1}, "target_mask": {"c0": 0}}}
    )
    path = sheet(tmp_path / "a.csv", "c0,inaccurate")
    found = measured(tables, ratings=str(path))
    record = found("cgr", "r", coverage="accurate")
    assert (record.value, record.n, record.note) == (None, 0, "no case of this run counts here")
    assert found.get("cgr", "r", coverage="accurate", finding="edema") is None


@pytest.mark.parametrize(("n", "few"), [(9, True), (10, False)])
def test_fewer_than_ten_rated_cases_are_few(bench, tmp_path, n, few):
    names = [f"c{i}" for i in range(n)]
    answers = {image: dict.fromkeys(names, 1) for image in ("original", "target_mask")}
    tables = bench.tables([bench.case(name) for name in names], {"r": answers})
    path = sheet(tmp_path / "a.csv", *(f"{name},accurate" for name in names))
    record = measured(tables, ratings=str(path))("cgr", "r", coverage="accurate")
    assert (record.note == f"only {n} cases") == few


def test_a_case_is_rated_once_by_a_reader(tmp_path):
    sheet = tmp_path / "ratings.csv"
    sheet.write_text("case_id,rating\nc0,accurate\nc0,partial\n")
    with pytest.raises(BadInput, match='ratings.csv row 3: case "c0" is rated already'):
        read_ratings(str(sheet))
