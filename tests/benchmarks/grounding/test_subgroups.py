"""Injected report errors, by group and type, under the names people really write them with."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from overread.benchmarks.grounding.comparisons import read_ratings
from overread.case import BadInput, Traits
from overread.stats import wilson
from support.made_up import measured

NAME = "rexerr_sensitivity"


@pytest.fixture(scope="module")
def sentences(bench):
    """One sentence per row of (error type, error present, verdict, verdict on the swap)."""

    def make(*rows, traits=None):
        cases = [
            bench.case(
                f"c{i}",
                source="rexerr",
                label=present,
                box=None,
                irrelevant_box=None,
                error_sentence="x",
                error_type=kind,
                error_present=present,
            )
            for i, (kind, present, _, _) in enumerate(rows)
        ]
        answers = {
            "original": {f"c{i}": o for i, (_, _, o, _) in enumerate(rows)},
            "swap": {f"c{i}": s for i, (_, _, _, s) in enumerate(rows) if s is not None},
        }
        return bench.tables([*cases, bench.case("film")], {"r": answers}, traits)

    return make


# An error is found by answering No; a control is right with Yes.
RAW = (
    ("Change location", 1, 0, 1),
    ("Change location", 1, 0, 0),
    ("Change view", 1, 0, 1),
    ("False negation", 1, 0, -1),
    ("False negation", 1, 0, 1),
    ("False negation", 1, 1, 0),  # wrong on the original: not counted
    ("Add typo", 1, 0, 0),
    ("Add repetition", 1, 0, 1),
    ("No error", 0, 1, 1),
    ("No error", 0, 1, 0),
)
SNAKE = tuple(
    ("not_applicable" if kind == "No error" else kind.lower().replace(" ", "_"), *rest)
    for kind, *rest in RAW
)


def kn(record):
    return record.k, record.n


def test_groups_hold_all_their_types_whatever_the_spelling(sentences):
    """[D34]"""
    for rows in (RAW, SNAKE):
        found = measured(sentences(*rows))
        assert kn(found(NAME, "r", error_group="image_dependent")) == (3, 4)
        assert kn(found(NAME, "r", error_group="text_only")) == (1, 2)
        assert kn(found(NAME, "r", error_group="control")) == (1, 2)
        assert kn(found(NAME, "r", error_type="change_location")) == (1, 2)
        assert kn(found(NAME, "r", error_type="false_negation")) == (1, 1)
        assert kn(found(NAME, "r", error_type="change_view")) == (1, 1)
        assert "left out: 1 unparsed" in found(NAME, "r", error_type="false_negation").note
        group = found(NAME, "r", error_group="image_dependent")
        assert group.low < group.value < group.high


def test_the_builders_own_names_give_no_groups_as_published(sentences):
    """[D34] Type names differ between the published builder and the published metrics."""
    found = measured(sentences(*RAW), "authors")
    for group in ("image_dependent", "text_only", "control"):
        record = found(NAME, "r", error_group=group)
        assert (record.value, record.method) == (None, None)
        assert record.note == "no error type has one of the published names"
    assert found(NAME, "r", error_type="Change location").value == pytest.approx(1 / 2)


def test_as_published_a_group_is_the_mean_of_its_types(sentences):
    """Over all correct verdicts, swaps without an answer included; two types are not there."""
    found = measured(sentences(*SNAKE), "authors")
    assert kn(found(NAME, "r", error_type="false_negation")) == (1, 2)
    image = found(NAME, "r", error_group="image_dependent")
    assert image.value == pytest.approx((1 / 2 + 1 / 2) / 2)  # without change_view
    assert image.method == "mean of types"
    assert found(NAME, "r", error_group="text_only").value == 0  # without add_repetition
    assert found(NAME, "r", error_group="control").value == pytest.approx(1 / 2)


def test_a_swap_that_was_never_asked(sentences):
    rows = (("add_typo", 1, 0, None), ("add_typo", 1, 0, 1))
    assert kn(measured(sentences(*rows))(NAME, "r", error_type="add_typo")) == (1, 1)
    assert kn(measured(sentences(*rows), "authors")(NAME, "r", error_type="add_typo")) == (1, 2)


def test_a_type_nobody_got_right(sentences):
    rows = (("add_typo", 1, 1, 1), ("change_location", 1, 0, 1))
    ours, theirs = measured(sentences(*rows)), measured(sentences(*rows), "authors")
    assert ours(NAME, "r", error_type="add_typo").value is None
    assert theirs.get(NAME, "r", error_type="add_typo") is None
    assert theirs(NAME, "r", error_group="text_only").value is None


def test_films_are_not_sentences(sentences, bench):
    found = measured(
        bench.tables([bench.case("a")], {"r": {"original": {"a": 1}, "swap": {"a": 0}}})
    )
    for group in ("image_dependent", "text_only", "control"):
        assert kn(found(NAME, "r", error_group=group)) == (0, 0)


def test_a_reader_without_text_has_no_verdict_on_a_sentence(sentences):
    """[D23]"""
    tables = sentences(*RAW, traits={"r": Traits(modality="vision")})
    assert measured(tables)(NAME, "r", error_group="control").value is None
    assert measured(tables, "authors")(NAME, "r", error_type="No error").n == 2


# ---------------------------------------------------------------- groups of patients
# Does image use differ between groups of patients? Which tests are made, and what they say.


EDITIONS = pytest.mark.parametrize("edition", ["corrected", "authors"])


@pytest.fixture(scope="module")
def grouped(bench):
    """One boxed case per row of (facts, does the target mask flip it, does the swap leave it)."""

    def make(*rows):
        cases = [bench.case(f"c{i}", **facts) for i, (facts, _, _) in enumerate(rows)]
        answers = {
            "original": {f"c{i}": 1 for i in range(len(rows))},
            "target_mask": {f"c{i}": 1 - flips for i, (_, flips, _) in enumerate(rows)},
            "swap": {f"c{i}": stays for i, (_, _, stays) in enumerate(rows)},
        }
        return bench.tables(cases, {"r": answers})

    return make


def named_tests(found):
    return [(r.by["attribute"], r.measure) for r in found.measures if r.measure.startswith("gap_")]


def test_five_tests_as_published_and_six_to_be_complete(grouped):
    """[D35] UAR by view is the one the published family lacks."""
    tables = grouped(*[({"gender": "MF"[i % 2]}, i % 3 == 0, i % 2) for i in range(12)])
    theirs, ours = named_tests(measured(tables, "authors")), named_tests(measured(tables))
    assert len(theirs) == 5
    assert set(ours) - set(theirs) == {("view", "gap_uar")}
    assert len(ours) == 6
    assert len(named_tests(measured(tables, subgroup_tests="five"))) == 5


@EDITIONS
def test_a_gap_is_the_first_rate_less_the_second(grouped, edition):
    """Men flip 3 of 4, women 1 of 3; one case says neither."""
    rows = [({"gender": "M"}, f, 1) for f in (1, 1, 1, 0)]
    rows += [({"gender": "F"}, f, 1) for f in (1, 0, 0)]
    rows += [({"gender": None}, 1, 1)]
    record = measured(grouped(*rows), edition)("gap_cgr", "r", attribute="sex")
    assert (record.value, record.n) == (pytest.approx(3 / 4 - 1 / 3), 7)
    assert record.note == "M 0.750 (n=4), F 0.333 (n=3)"
    assert record.family == "subgroups|r"
    assert 0 < record.p <= 1
    if edition == "corrected":
        assert record.low < record.value < record.high
    else:
        assert record.low is None


@EDITIONS
def test_of_three_ages_the_largest_less_the_smallest(grouped, edition):
    """Rates 0, 1/2, 1; a bin of one case is not compared."""
    rows = [({"age": 30.0}, 0, 1), ({"age": 40.0}, 0, 1), ({"age": 50.0}, 0, 1)]
    rows += [({"age": 60.0}, 1, 1), ({"age": 70.0}, 1, 1), ({"age": 80.0}, 1, 1)]
    record = measured(grouped(*rows), edition)("gap_cgr", "r", attribute="age")
    assert (record.value, record.low, record.n) == (1, None, 6)
    lonely = measured(grouped(*rows[:5]), edition)("gap_cgr", "r", attribute="age")
    assert lonely.value == pytest.approx(0.5)


@EDITIONS
def test_what_cannot_be_tested_is_null_and_not_in_the_family(grouped, edition):
    """[D29] Not q = 1: one man is no group."""
    rows = [({"gender": "M", "view": "PA"}, 1, 1)]
    rows += [({"gender": "F", "view": "PA" if i % 2 else "AP"}, i % 2, 1) for i in range(9)]
    found = measured(grouped(*rows), edition)
    for measure in ("gap_cgr", "gap_uar"):
        record = found(measure, "r", attribute="sex")
        assert (record.value, record.p, record.q, record.method) == (None,) * 4
        assert record.note.endswith("; fewer than two groups of two")
        assert found(measure, "r", attribute="age").p is None  # nobody's age is known
    # BH counts only the tests there are: views by CGR, and under corrected by UAR.
    view = found("gap_cgr", "r", attribute="view")
    m = 2 if edition == "corrected" else 1
    others = [found("gap_uar", "r", attribute="view").p] if m == 2 else []
    ranked = sorted([view.p, *others])
    rank = ranked.index(view.p) + 1
    assert view.q == pytest.approx(min(p * m / r for r, p in enumerate(ranked, 1) if r >= rank))


def test_p_of_independent_patients_is_that_of_every_deal(grouped):
    """3 of 4 against 0 of 4: of all ways to deal out three flips, those as far apart."""
    rows = [({"view": "PA"}, f, 1) for f in (1, 1, 1, 0)] + [({"view": "AP"}, 0, 1)] * 4
    record = measured(grouped(*rows))("gap_cgr", "r", attribute="view")
    flips = [1, 1, 1, 0, 0, 0, 0, 0]
    deals = list(itertools.combinations(range(8), 4))
    far = sum(abs(2 * sum(flips[i] for i in some) - 3) >= 3 for some in deals)
    assert record.p == pytest.approx(far / math.comb(8, 4), abs=0.015)


def test_a_gap_and_its_interval_say_the_same_of_0(grouped):
    """3 of 4 against 0 of 4 is p = 0.14; Newcombe's interval alone leaves 0 out."""
    rows = [({"view": "PA"}, f, 1) for f in (1, 1, 1, 0)] + [({"view": "AP"}, 0, 1)] * 4
    record = measured(grouped(*rows))("gap_cgr", "r", attribute="view")
    assert record.p > 0.05
    assert record.low == 0 < record.value < record.high
    # Every patient has a film of either view, and only one of two flips: a test within patients.
    pairs = [
        ({"view": view, "subject_id": f"p{i}"}, int(i < 7 or (view == "PA" and i < 13)), 1)
        for i in range(20)
        for view in ("PA", "AP")
    ]
    found = measured(grouped(*pairs))("gap_cgr", "r", attribute="view")
    assert found.value == pytest.approx(0.3)
    assert found.p <= 0.05
    assert 0 < found.low < found.value < found.high


def test_films_of_one_patient_are_not_many_patients(grouped):
    """Ten films of two women and two men: the patients, not the films, are dealt out."""
    rows = [
        ({"gender": sex, "subject_id": f"{sex}{i % 2}"}, int(sex == "M"), 1)
        for sex in "MF"
        for i in range(10)
    ]
    ours = measured(grouped(*rows))("gap_cgr", "r", attribute="sex")
    theirs = measured(grouped(*rows), "authors")("gap_cgr", "r", attribute="sex")
    assert theirs.p < 0.01
    assert ours.p == pytest.approx(1 / 3, abs=0.04)  # two of the six deals
    assert ours.low < 0.5


def test_groups_that_agree_throughout(grouped):
    rows = [({"gender": "MF"[i % 2]}, 1, 1) for i in range(20)]
    record = measured(grouped(*rows))("gap_cgr", "r", attribute="sex")
    assert (record.value, record.p) == (0, 1)
    assert record.low < 0 < record.high


# ---------------------------------------------------------------- boxes that people rated
# Boxes rated by people: which sheets are read and how, and what CGR is on the rated cases.


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


def rated_kn(record):
    return record.k, record.n


def test_cgr_on_cases_whose_box_was_rated(rated):
    """Decided: c0 c1 c4 c6 c7 c8 c9 (c2 is wrong, c3 unparsed, c5 not asked)."""
    tables, path = rated
    found = measured(tables, ratings=path)
    assert rated_kn(found("cgr", "r", coverage="all")) == rated_kn(found("cgr", "r")) == (4, 7)
    assert rated_kn(found("cgr", "r", coverage="accurate")) == (1, 3)
    assert rated_kn(found("cgr", "r", coverage="accurate_or_partial")) == (2, 5)
    assert rated_kn(found("cgr", "r", coverage="accurate", finding="edema")) == (1, 2)
    assert rated_kn(found("cgr", "r", coverage="accurate", finding="pneumonia")) == (0, 1)
    assert found("cgr", "r", coverage="accurate").note == (
        "left out: 1 unparsed, 1 not asked; "
        "with the replies among them between 0.2500 and 0.5000; only 3 cases"
    )
    assert found("cgr", "r", coverage="accurate", finding="pneumonia").low is None


def test_the_authors_take_a_mask_answer_that_is_not_there_for_no_flip(rated):
    """[D4] Unparsed (c3) and missing (c5) are in the denominator."""
    tables, path = rated
    found = measured(tables, "authors", ratings=path)
    assert rated_kn(found("cgr", "r")) == (4, 7)
    assert rated_kn(found("cgr", "r", coverage="all")) == (4, 9)
    record = found("cgr", "r", coverage="accurate")
    assert rated_kn(record) == (1, 5)
    interval = wilson(1, 5)
    assert (record.low, record.high, record.se) == (interval.low, interval.high, interval.sd)
    assert record.method == "wilson"
    left = measured(tables, "authors", ratings=path, coverage_unparsed="leave_out")
    assert rated_kn(left("cgr", "r", coverage="accurate")) == (1, 3)


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
    assert (record.value, record.n, record.note) == (None, 0, "nothing to count")
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
