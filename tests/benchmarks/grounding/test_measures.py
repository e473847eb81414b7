"""What each measure counts, on answers small enough to count by hand."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.base import Tables
from overread.benchmarks.grounding import Grounding
from overread.benchmarks.grounding.cases import boxed, load_cases, truth
from overread.benchmarks.grounding.edition import AUTHORS, BOOK, CORRECTED, Options
from overread.benchmarks.grounding.marks import Study
from overread.case import BadInput, Measure, Traits
from overread.measuring.contrasts import with_q


def measured(tables, by_name, name="corrected", **words):
    return by_name(Grounding.of_run("x@0", "open", name, words).measure(tables))


def test_counts_by_hand(bench, by_name):
    """Five boxed cases: o, t, i, s chosen so that every exclusion occurs once."""
    cases = [bench.case(f"c{i}") for i in range(5)]
    marks = {
        "original": (1, 1, 1, 0, -1),
        "target_mask": (0, 1, -1, 1, 0),
        "irrelevant_mask": (1, 0, 1, 0, 0),
        "swap": (1, 0, -3, 0, 1),
    }
    answers = {c: {f"c{i}": m for i, m in enumerate(row)} for c, row in marks.items()}
    for name in ("corrected", "authors"):
        found = measured(bench.tables(cases, {"r": answers}), by_name, name)
        kn = {m: (r.k, r.n) for (_, m), r in found.items() if r.k is not None}
        assert kn["accuracy"] == (3, 4)
        assert kn["sensitivity"] == (3, 4)
        assert kn["specificity"] == (0, 0)
        assert kn["cgr"] == (1, 2)  # c2 unparsed under the mask
        assert kn["uar"] == (1, 2)  # c2 unanswered
        assert kn["is"] == (2, 3)
        assert kn["is_all"] == (3, 4)  # c3 is wrong, and stable
        assert kn["image_contingent"] == (1, 2)
        assert kn["parse_rate"] == (4, 5)
        assert kn["parse_rate@target_mask"] == (4, 5)
        # The server failed once: corrected leaves it out, the authors call it unparsed [D28].
        assert kn["parse_rate@swap"] == ((4, 4) if name == "corrected" else (4, 5))
        gsp = found["r", "gsp"].value
        assert gsp == pytest.approx(0 if name == "corrected" else 1 / 2 - 1 / 3)


def test_notes_say_what_was_left_out_and_what_it_could_have_changed(bench, by_name):
    """[D4]"""
    cases = [bench.case(f"c{i}") for i in range(6)]
    answers = {
        "original": {f"c{i}": 1 for i in range(6)},
        "target_mask": {"c0": 0, "c1": 1, "c2": -1, "c3": -2, "c4": -3},
        "irrelevant_mask": {f"c{i}": 1 for i in range(6)},
    }
    record = measured(bench.tables(cases, {"r": answers}), by_name)["r", "cgr"]
    assert (record.k, record.n) == (1, 2)
    assert record.note == (
        "left out: 1 unparsed, 1 refused, 1 unanswered, 1 not asked; "
        "with the replies among them between 0.2500 and 0.7500"
    )


def test_cgr_needs_a_correct_yes(bench, by_name):
    """A correct No on a boxed case is not grounded in the box (GROUNDING 18.3)."""
    cases = [bench.case("a"), bench.case("b", label=0)]
    answers = {"original": {"a": 1, "b": 0}, "target_mask": {"a": 0, "b": 1}}
    record = measured(bench.tables(cases, {"r": answers}), by_name)["r", "cgr"]
    assert (record.k, record.n) == (1, 1)


def test_gsp_is_paired(bench, by_name):
    """The same cases under both masks; the authors subtract rates over different cases."""
    cases = [bench.case(f"c{i}") for i in range(40)]
    every = [f"c{i}" for i in range(40)]
    answers = {
        "original": dict.fromkeys(every, 1),
        "target_mask": {c: int(i >= 20) for i, c in enumerate(every)},
        "irrelevant_mask": {c: int(i < 35) for i, c in enumerate(every)},
    }
    record = measured(bench.tables(cases, {"r": answers}), by_name)["r", "gsp"]
    assert (record.value, record.n) == (pytest.approx((20 - 5) / 40), 40)
    assert record.method == "newcombe10"
    assert record.low < 0.375 < record.high
    del answers["irrelevant_mask"]["c0"]
    lost = measured(bench.tables(cases, {"r": answers}), by_name)["r", "gsp"]
    assert (lost.n, lost.note) == (39, "left out: 1 without an answer under both masks")
    theirs = measured(bench.tables(cases, {"r": answers}), by_name, "authors")["r", "gsp"]
    assert theirs.value == pytest.approx(20 / 40 - 5 / 39)
    assert theirs.low is None


def test_repeated_patients_widen_the_interval(bench, by_name):
    """[D16] MS-CXR holds several boxes of one patient; they are not independent."""
    answers = {"original": {f"c{i}": int(i % 40 < 20) for i in range(80)}}
    alone = [bench.case(f"c{i}") for i in range(80)]
    pairs = [bench.case(f"c{i}", subject_id=f"p{i % 40}") for i in range(80)]
    wide, narrow = (
        measured(bench.tables(cases, {"r": answers}), by_name)["r", "accuracy"]
        for cases in (pairs, alone)
    )
    assert narrow.method == "wilson"
    assert wide.method == "wilson, design effect 2.01"  # 40/39 · 2, drawn towards 1.5
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)
    assert wide.se > 1.4 * narrow.se
    nameless = [bench.case(f"c{i}", subject_id=None) for i in range(80)]
    same = measured(bench.tables(nameless, {"r": answers}), by_name)["r", "accuracy"]
    assert same == narrow


def test_a_reader_without_text_is_not_scored_on_sentences(bench, by_name):
    """[D23]"""
    facts = {"source": "rexerr", "error_sentence": "x", "error_present": 0, "box": None}
    cases = [bench.case("a"), bench.case("b"), bench.case("r", **facts)]
    answers = {c: {"a": 1, "b": 0, "r": 1} for c in ("original", "swap")}
    tables = bench.tables(cases, {"probe": answers}, {"probe": Traits(modality="vision")})
    assert measured(tables, by_name)["probe", "accuracy"].n == 2
    assert measured(tables, by_name)["probe", "parse_rate"].n == 2
    assert measured(tables, by_name)["probe", "uar"].n == 1
    assert measured(tables, by_name, "authors")["probe", "accuracy"].n == 3
    assert measured(tables, by_name, vision_on_sentences="yes")["probe", "accuracy"].n == 3


def test_stability_can_be_taken_over_all_answers(bench, by_name):
    """[D3]"""
    answers = {"original": {"a": 1, "b": 0}, "irrelevant_mask": {"a": 1, "b": 1}}
    tables = bench.tables([bench.case("a"), bench.case("b")], {"r": answers})
    assert measured(tables, by_name)["r", "is"].n == 1
    assert measured(tables, by_name, stability="all")["r", "is"].n == 2


@pytest.mark.parametrize(
    "rules", [AUTHORS, CORRECTED, BOOK.edition("corrected", {"normals": "yes"})]
)
def test_the_key_in_bulk_is_the_key_case_by_case(rules, study, golden):
    tables = study("authors").tables
    wanted = [truth(case, rules) for case in load_cases(golden / "mimic" / "manifest.csv", AUTHORS)]
    marks = Study(tables, rules, Options()).marks[0]
    assert marks.truth.tolist() == wanted


def test_an_answer_given_twice_is_refused(bench):
    tables = bench.tables([bench.case("c")], {"r": {"original": {"c": 1}}})
    doubled = Tables(
        cases=tables.cases,
        answers=pl.concat([tables.answers, tables.answers]),
        readers=tables.readers,
    )
    with pytest.raises(BadInput, match='reader r answers case "c" more than once under original'):
        Grounding.of_run("x@0", "open").measure(doubled)


def test_an_answer_to_an_unknown_case_is_refused(bench):
    tables = bench.tables([bench.case("c")], {"r": {"original": {"c": 1, "d": 1}}})
    with pytest.raises(BadInput, match='case "d", which is not among the cases'):
        Grounding.of_run("x@0", "open").measure(tables)


def test_answers_to_another_question_are_refused_not_mixed(bench):
    tables = bench.tables([bench.case("c")], {"r": {"original": {"c": 1}}})
    with pytest.raises(BadInput, match="phrasing=brief at px=224"):
        Grounding.of_run("x@0", "open", "corrected", {"phrasing": "brief"}).measure(tables)


def test_our_own_answers_have_no_order(bench, by_name):
    """Replies come in as servers give them; only a recorded file has an order to keep."""
    answers = {"original": {f"c{i}": int(i % 7 > 2) for i in range(50)}}
    cases = [bench.case(f"c{i}") for i in range(50)]
    backwards = {"original": dict(reversed(answers["original"].items()))}
    one, other = (
        measured(bench.tables(cases, {"r": given}), by_name, "authors", boot="300")
        for given in (answers, backwards)
    )
    assert one["r", "accuracy"] == other["r", "accuracy"]


def test_q_is_adjusted_within_each_family_and_nulls_do_not_count():
    """GROUNDING 10.7: q = min over r >= k of p m / r; a null p is no test [D29]."""

    def tested(family, p):
        return Measure(reader="r", measure="m", p=p, family=family)

    given = [
        *(tested("one", p) for p in (0.04, None, 0.01, 0.03)),
        *(tested("two", p) for p in (0.04, 0.9)),
        tested(None, 0.02),
        tested("none", None),
    ]
    found = with_q(given)
    assert [r.q for r in found] == [
        *(pytest.approx(0.04), None, pytest.approx(0.03), pytest.approx(0.04)),
        *(pytest.approx(0.08), pytest.approx(0.9)),
        None,
        None,
    ]
    assert [r.p for r in found] == [r.p for r in given]


def test_records_come_in_the_order_of_the_readers(bench, by_name):
    cases = [bench.case(f"c{i}") for i in range(3)]
    answers = {r: {"original": {f"c{i}": 1 for i in range(3)}} for r in ("z", "a")}
    records = Grounding.of_run("x@0", "open", "corrected", {"boot": "100"}).measure(
        bench.tables(cases, answers)
    )
    assert list(dict.fromkeys(r.reader for r in records)) == ["z", "a"]


def test_the_second_asking_is_never_the_answer(bench, by_name):
    """Only the first reply decides; the second only says how much changes by chance."""
    cases = [bench.case(f"c{i}") for i in range(4)]
    first = {"original": {f"c{i}": 1 for i in range(4)}}
    again = {**first, "repeat": {f"c{i}": 0 for i in range(4)}}
    one, other = (
        measured(bench.tables(cases, {"r": given}), by_name, boot="100") for given in (first, again)
    )
    assert one["r", "accuracy"] == other["r", "accuracy"]
    assert (other["r", "retest"].k, other["r", "retest"].n) == (0, 4)


@pytest.mark.parametrize("name", ["corrected", "authors"])
def test_a_reader_may_have_any_name(bench, name):
    """Names that look like parts of a family, a key or markup change no number."""
    cases = [bench.case(f"c{i:02}", gender="MF"[i % 2]) for i in range(24)]
    every = [case.case_id for case in cases]

    def told(*names):
        answers = {
            reader: {
                image: {c: int((i + at) % (3 + at) > 0) for i, c in enumerate(every)}
                for image in ("original", "swap", "target_mask", "irrelevant_mask")
            }
            for at, reader in enumerate(names)
        }
        traits = {names[1]: Traits(modality="text")}
        tables = bench.tables(cases, answers, traits)
        records = Grounding.of_run("x@0", "open", name, {"boot": "100"}).measure(tables)
        assert len({(r.reader, r.measure, *sorted(r.by.items())) for r in records}) == len(records)
        return [(r.measure, r.value, r.low, r.high, r.p, r.q) for r in records]

    plain = told("m", "n")
    for odd in (("a|b", "text_baseline|uar"), ("", " "), ("px=224", "pärs/é\n[x]"), ("1", "None")):
        assert told(*odd) == plain


def test_each_parse_rate_stands_on_its_own_rows(bench, by_name):
    """A swap that was asked where the original was not is still a reply."""
    cases = [bench.case(f"c{i}") for i in range(4)]
    answers = {"original": {"c0": 1, "c1": -1}, "swap": {"c0": 1, "c2": -1, "c3": 1}}
    tables = bench.tables(cases, {"r": answers})
    for name in ("corrected", "authors"):
        found = measured(tables, by_name, name, boot="100")
        assert (found["r", "parse_rate"].k, found["r", "parse_rate"].n) == (1, 2)
        assert (found["r", "parse_rate@swap"].k, found["r", "parse_rate@swap"].n) == (2, 3)


def test_a_swap_that_should_have_been_asked_is_missed(bench, by_name):
    """A case without a swap image is not in UAR's population; one with, and no answer, is."""
    cases = [bench.case("a"), bench.case("b"), bench.case("c", swap_image_path=None)]
    answers = {"original": {"a": 1, "b": 1, "c": 1}, "swap": {"a": 1}}
    record = measured(bench.tables(cases, {"r": answers}), by_name)["r", "uar"]
    assert (record.n, record.note) == (1, "left out: 1 not asked; one item has no interval")


def test_draws_without_an_answer_are_counted(bench, by_name):
    cases = [bench.case(f"c{i}") for i in range(3)]
    every = {f"c{i}": 1 for i in range(3)}
    answers = {
        "original": every,
        "target_mask": {**every, "c2": -1},
        "matched_1": every,
        "matched_2": {"c0": 0},
    }
    record = measured(bench.tables(cases, {"r": answers}), by_name)["r", "gsp@matched"]
    # Of c0 both draws count, of c1 one; c2 has no answer under the target.
    assert (record.n, record.left_out) == (2, {"without an answer under both masks": 1})
    assert record.value == pytest.approx((0 - 0.5 + 0 - 0) / 2)
    theirs = measured(bench.tables(cases, {"r": answers}), by_name, "authors")["r", "gsp@matched"]
    assert (theirs.n, theirs.note) == (3, "left out: 3 without an answer under both masks")


def test_a_category_stands_on_the_fewest_of_its_cases(bench, by_name):
    cases = [bench.case(f"c{i}") for i in range(6)]
    answers = {
        image: {f"c{i}": 1 for i in range(n)}
        for image, n in (("original", 6), ("swap", 5), ("target_mask", 4), ("irrelevant_mask", 3))
    }
    assert measured(bench.tables(cases, {"r": answers}), by_name)["r", "category"].n == 3


# ---------------------------------------------------------------- case by case
# The headline rates case by case: their means are the rates.


COLUMNS = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}
RATES = {"accuracy", "cgr", "uar", "is"}
IMAGES = ("original", "swap", "target_mask", "irrelevant_mask")


def slowly(cases, answers, rules):
    """The definitions read aloud, one case at a time."""
    found = {name: {} for name in RATES}
    for reader, conditions in answers.items():
        for case in cases:
            name, key = case.case_id, truth(case, rules)
            o, s, t, i = (conditions.get(image, {}).get(name, -4) for image in IMAGES)
            if key >= 0 and o >= 0:
                found["accuracy"][reader, name] = float(o == key)
            right = o >= 0 and o == key
            matched = case.swap_match != "any" or rules.fallback_swaps == "count"
            if right and s >= 0 and matched:
                found["uar"][reader, name] = float(s == o)
            if right and boxed(case, rules) and i >= 0:
                found["is"][reader, name] = float(i == o)
            if right and boxed(case, rules) and o == 1 and t >= 0:
                found["cgr"][reader, name] = float(t != o)
    return found


MARKS = st.sampled_from([1, 0, 1, 0, -1, -2, -3])
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "label": st.integers(0, 1),
        "subject_id": st.sampled_from(["p", "q", None]),
        "box": st.none(),
        "swap_match": st.sampled_from(["any", "label"]),
        "finding": st.sampled_from(["edema", "no_finding"]),
        "source": st.sampled_from(["ms_cxr", "chexpert", "mine"]),
    },
)


@pytest.mark.parametrize("edition", ["corrected", "authors"])
@given(data=st.data())
@settings(max_examples=40)
def test_as_the_definitions_read(bench, edition, data):
    facts = data.draw(st.lists(FACTS, max_size=6))
    cases = [bench.case(f"c{at}", **fact) for at, fact in enumerate(facts)]
    names = [case.case_id for case in cases]
    answers = {
        reader: {
            image: data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, MARKS)))
            for image in IMAGES
        }
        for reader in ("a", "b")
    }
    made = Grounding.of_run("set@0", "open", edition)
    found = made.per_case(bench.tables(cases, answers))
    want = slowly(cases, answers, made.rules)
    assert set(found) == RATES
    for name, frame in found.items():
        assert dict(frame.schema) == COLUMNS
        rows = {(reader, case): value for reader, case, _, value in frame.iter_rows()}
        assert len(rows) == frame.height
        assert rows == want[name]


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_means_of_the_golden_study_are_its_rates(study, edition):
    made = study(edition, boot="100")
    measures = made.benchmark.measure(made.tables)
    rates = {(m.reader, m.measure): m for m in measures if not m.by and m.measure in RATES}
    assert made.benchmark.compared
    seen = 0
    for name, frame in made.benchmark.per_case(made.tables).items():
        for reader, n, mean in (
            frame.group_by("reader").agg(pl.len(), pl.col("value").mean()).iter_rows()
        ):
            record = rates[reader, name]
            assert n == record.n
            assert mean == pytest.approx(record.value)
            seen += 1
    assert seen == sum(bool(record.n) for record in rates.values())


def test_of_uar_it_is_not_said_whether_more_is_better():
    """The swapped image has the same finding and label: who looks keeps its answer too."""
    better = Grounding.of_run("set@0", "open").higher_is_better
    assert better == dict.fromkeys(RATES - {"uar"}, True)


def test_a_cluster_is_the_patient_or_the_image(bench):
    cases = [
        bench.case("a", subject_id="7"),
        bench.case("b", subject_id="7"),
        bench.case("c", subject_id=None, image_path="x.jpg"),
        bench.case("d", subject_id=None, image_path="7"),
    ]
    tables = bench.tables(cases, {"r": {"original": dict.fromkeys("abcd", 1)}})
    frame = Grounding.of_run("set@0", "open").per_case(tables)["accuracy"]
    a, b, c, d = frame["cluster"]
    assert a == b
    assert len({a, c, d}) == 3


def test_a_reader_without_text_has_no_sentences(bench):
    cases = [bench.case("a"), bench.case("s", source="rexerr", error_present=0, box=None)]
    tables = bench.tables(
        cases, {"r": {"original": {"a": 1, "s": 1}}}, {"r": Traits(modality="vision")}
    )
    found = Grounding.of_run("set@0", "open").per_case(tables)["accuracy"]
    assert found["case"].to_list() == ["a"]
