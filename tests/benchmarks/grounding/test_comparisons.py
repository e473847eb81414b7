"""Readers against each other, and against those that never see a picture."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest
import scipy.stats
from hypothesis import given, settings

from overread.benchmarks.base import Tables
from overread.benchmarks.grounding.category import FEW_PARSED
from overread.benchmarks.grounding.edition import CORRECTED, Options
from overread.benchmarks.grounding.measures import per_case
from overread.case import Measure, Traits
from overread.measuring.contrasts import paired, ranks
from support.made_up import made_up, measured

TEXT, VISION = Traits(modality="text"), Traits(modality="vision")
EDITIONS = pytest.mark.parametrize("edition", ["corrected", "authors"])


@pytest.fixture(scope="module")
def readers(bench):
    """Boxed cases of as many patients; each reader is a word of what it says to the originals."""

    def make(traits=None, swaps=None, patients=None, **said):
        n = len(next(iter(said.values())))
        cases = [bench.case(f"c{i:02}", subject_id=f"p{i % (patients or n)}") for i in range(n)]
        answers = {
            name: {
                "original": {c.case_id: int(m) for c, m in zip(cases, word, strict=True)},
                "swap": {
                    c.case_id: int(m)
                    for c, m in zip(cases, (swaps or {}).get(name, word), strict=True)
                },
            }
            for name, word in said.items()
        }
        return bench.tables(cases, answers, traits)

    return make


def rows(found, measure, kind=None):
    return [
        (r.reader, r.by["versus"], r.value)
        for r in found.measures
        if r.measure == measure and kind in (None, r.by["comparison"])
    ]


# ---------------------------------------------------------------- what is compared with what


FOUR = {"a": "1" * 12, "b": "1" * 12, "t": "1" * 12, "u": "1" * 12}
MODALITIES = {"b": VISION, "t": TEXT, "u": TEXT}


def test_one_family_for_each_baseline_without_itself(readers):
    """[D5, D24] A reader without text is compared on UAR like any other."""
    found = measured(readers(MODALITIES, **FOUR))
    for measure in ("diff_accuracy", "diff_uar"):
        pairs = {(a, b) for a, b, _ in rows(found, measure, "text_baseline")}
        assert pairs == {(a, b) for b in "tu" for a in "abtu" if a != b}
        assert {r.family for r in found.measures if r.measure == measure} == {
            f"text_baseline|{measure[5:]}|t",
            f"text_baseline|{measure[5:]}|u",
            f"pairwise|{measure[5:]}",
        }
    assert len(rows(found, "diff_accuracy", "pairwise")) == 6
    assert len(rows(found, "diff_uar", "pairwise")) == 6


def test_as_published_baselines_are_pooled_with_themselves(readers):
    """[D5, D24]"""
    found = measured(readers(MODALITIES, **FOUR), "authors")
    accuracy = {(a, b) for a, b, _ in rows(found, "diff_accuracy", "text_baseline")}
    assert accuracy == {(a, b) for b in "tu" for a in "abtu"}
    uar = {(a, b) for a, b, _ in rows(found, "diff_uar", "text_baseline")}
    assert uar == {(a, b) for b in "tu" for a in "atu"}  # the reader without text is skipped
    families = {r.family for r in found.measures if r.measure.startswith("diff_")}
    assert families == {"text_baseline|accuracy", "text_baseline|uar", "pairwise|accuracy"}
    assert rows(found, "diff_uar", "pairwise") == []
    assert found("diff_accuracy", "t", versus="t", comparison="text_baseline").p == 1


def test_without_a_baseline_the_published_table_is_empty(readers):
    tables = readers(a="1" * 12, b="1" * 6 + "0" * 6)
    assert rows(measured(tables, "authors"), "diff_accuracy") == []
    assert rows(measured(tables), "diff_accuracy") == [("a", "b", 0.5)]


@EDITIONS
def test_fewer_than_ten_shared_cases_make_no_comparison(readers, edition):
    nine = readers({"t": TEXT}, a="1" * 9, t="1" * 9)
    ten = readers({"t": TEXT}, a="1" * 10, t="1" * 10)
    assert rows(measured(nine, edition), "diff_accuracy") == []
    assert rows(measured(ten, edition), "diff_accuracy")


# ---------------------------------------------------------------- what a difference is


@EDITIONS
def test_a_difference_on_the_cases_both_decided(bench, edition):
    cases = [bench.case(f"c{i:02}") for i in range(14)]
    names = [case.case_id for case in cases]
    a = {**dict.fromkeys(names, 1), "c00": -1, "c01": 0}
    t = {**dict.fromkeys(names, 0), "c02": -2, "c01": 1, "c03": 1}
    tables = bench.tables(cases, {"a": {"original": a}, "t": {"original": t}}, {"t": TEXT})
    record = measured(tables, edition)("diff_accuracy", "a", versus="t", comparison="text_baseline")
    # Shared: all but c00 and c02. a is wrong once, t right twice.
    assert (record.n, record.value) == (12, pytest.approx((11 - 2) / 12))
    assert record.note == "0.9167 against 0.1667"
    assert record.low < record.value < record.high


def test_uar_is_compared_where_both_were_right(readers):
    tables = readers(
        a="1" * 12 + "0" * 3,
        b="1" * 11 + "0" * 4,
        swaps={"a": "0" * 4 + "1" * 11, "b": "1" * 2 + "0" * 13},
    )
    record = measured(tables)("diff_uar", "a", versus="b", comparison="pairwise")
    assert (record.n, record.value) == (11, pytest.approx((7 - 2) / 11))


@pytest.mark.slow
@settings(max_examples=20)
@given(made=made_up(readers=2, fewest=12, most=32))
def test_a_difference_is_the_mean_of_paired_outcomes(bench, made):
    found = measured(made.tables(bench))
    a, b = (made.answers[name]["original"] for name in ("r0", "r1"))
    keys = {c: _key(facts) for c, facts in made.facts.items()}
    shared = [c for c in keys if a.get(c, -1) >= 0 and b.get(c, -1) >= 0]
    record = found.get("diff_accuracy", "r0", versus="r1", comparison="pairwise")
    assert (record is not None) == (len(shared) >= 10)
    if record:
        change = sum((a[c] == keys[c]) - (b[c] == keys[c]) for c in shared)
        assert (record.n, record.value) == (len(shared), pytest.approx(change / len(shared)))
        patients = {made.facts[c]["subject_id"] for c in shared}
        assert record.p == (1 if len(patients) > 1 else None) or change


def _key(facts):
    if facts["source"] == "rexerr":
        return 1 - facts["error_present"]
    label = facts.get("label", 1)
    return 1 - label if facts["finding"] == "no_finding" else label


def test_either_order_of_two_readers_says_the_same(readers):
    word = ("110111101101", "100101001100")
    one = measured(readers({"t": TEXT}, a=word[0], t=word[1]))
    other = measured(readers({"a": TEXT}, a=word[0], t=word[1]))
    here = one("diff_accuracy", "a", versus="t", comparison="text_baseline")
    there = other("diff_accuracy", "t", versus="a", comparison="text_baseline")
    assert there.value == pytest.approx(-here.value)
    assert (there.low, there.high) == pytest.approx((-here.high, -here.low))
    assert here.p == pytest.approx(there.p)


def test_readers_that_never_differ(readers):
    record = measured(readers(a="1" * 20, b="1" * 20))(
        "diff_accuracy", "a", versus="b", comparison="pairwise"
    )
    assert (record.value, record.p) == (0, 1)
    assert record.low < 0 < record.high
    assert record.method == "newcombe10"


@pytest.mark.parametrize("patients", [1, 2, 4])
def test_a_few_patients_cannot_prove_a_difference(readers, patients):
    """All of them agree, but so would the flips of as many coins: p = 2 / 2^K, and 0 may be."""
    record = measured(readers(patients=patients, a="1" * 12, b="0" * 12))(
        "diff_accuracy", "a", versus="b", comparison="pairwise"
    )
    assert record.value == 1
    # Of one patient nothing is tested, and there is no spread.
    assert record.p == (None if patients == 1 else pytest.approx(2 ** (1 - patients)))
    assert (record.low is None) == (patients == 1)
    assert patients == 1 or record.low <= 0 < record.high


@pytest.mark.parametrize(("worse", "better"), [(2, 0), (6, 0), (9, 2), (3, 3)])
def test_the_p_of_a_difference_is_mcnemars(readers, worse, better):
    rest = 30 - worse - better
    a = "1" * worse + "0" * better + "1" * rest
    b = "0" * worse + "1" * better + "1" * rest
    record = measured(readers(a=a, b=b))("diff_accuracy", "a", versus="b", comparison="pairwise")
    assert record.p == pytest.approx(
        scipy.stats.binomtest(worse, worse + better).pvalue if worse != better else 1
    )
    assert (record.low <= 0 <= record.high) == (record.p > 0.05)


def test_two_readers_alike_of_whom_one_is_read_less_do_not_differ(bench):
    """What only one of them decided says nothing about the difference."""
    cases = [bench.case(f"c{i}") for i in range(40)]
    a = {f"c{i}": int(i % 4 > 0) for i in range(40)}
    t = {c: -1 if i >= 20 and i % 4 else x for i, (c, x) in enumerate(a.items())}
    tables = bench.tables(cases, {"a": {"original": a}, "t": {"original": t}}, {"t": TEXT})
    found = measured(tables)
    for record in (
        found("diff_accuracy", "a", versus="t", comparison="text_baseline"),
        found("text_gap", "a"),
    ):
        assert (record.value, record.p, record.n) == (0, 1, 25)
        assert record.low < 0 < record.high
        assert record.beside == (0.6, 0.6)


def test_a_run_and_the_comparison_of_runs_give_the_same_p(readers):
    """One function for both (`contrasts.paired`), over the values that `compare` is given."""
    tables = readers(patients=9, a="110111101101" * 3, b="100101001100" * 3)
    record = measured(tables)("diff_accuracy", "a", versus="b", comparison="pairwise")
    frame = per_case(tables, CORRECTED, Options())["accuracy"].sort("case")
    one, two = (frame.filter(pl.col("reader") == name) for name in "ab")
    again = paired(
        Measure(reader="a", measure="x"),
        one["value"].to_numpy(),
        two["value"].to_numpy(),
        one["cluster"].rank("dense").to_numpy().astype(int),
    )
    assert (again.p, again.low, again.high) == (record.p, record.low, record.high)


def test_q_is_adjusted_within_a_family(readers):
    words = {"a": "1" * 40, "b": "1" * 30 + "0" * 10, "t": "1" * 26 + "0" * 14}
    found = measured(readers({"t": TEXT}, **words), boot="1000")
    family = [r for r in found.measures if r.family == "text_baseline|accuracy|t"]
    p = sorted(r.p for r in family)
    assert len(family) == 2
    assert sorted(r.q for r in family) == pytest.approx([min(2 * p[0], p[1]), p[1]])


# ---------------------------------------------------------------- the text-only gap


@EDITIONS
def test_the_gap_to_the_best_text_only_reader(readers, edition):
    words = {"a": "1" * 18 + "00", "t": "1" * 10 + "0" * 10, "u": "1" * 12 + "0" * 8, "v": "1" * 20}
    found = measured(readers({"t": TEXT, "u": TEXT, "v": VISION}, **words), edition)
    record = found("text_gap", "a")
    assert record.value == pytest.approx(0.9 - 0.6)
    of_two = "; the best of 2 text-only models, by the same answers"
    assert record.note == "u: 0.6000" + of_two * (edition == "corrected")
    assert (record.p is None) == (record.low is None)
    assert (record.low is None) == (edition == "authors")
    assert found.get("text_gap", "t") is None
    assert found.get("text_gap", "v") is None


@EDITIONS
def test_without_a_text_only_reader_the_gap_is_null(readers, edition):
    record = measured(readers(a="1" * 12, b="0" * 12), edition)("text_gap", "a")
    assert (record.value, record.note) == (None, "no text-only model in this run")


def test_a_text_only_reader_that_never_answered_is_no_baseline(bench):
    cases = [bench.case(f"c{i}") for i in range(12)]
    answers = {
        "a": {"original": {f"c{i}": 1 for i in range(12)}},
        "t": {"original": {f"c{i}": -1 for i in range(12)}},
    }
    found = measured(bench.tables(cases, answers, {"t": TEXT}))
    assert found("text_gap", "a").note == "no text-only model in this run"
    unread = measured(bench.tables(cases, {"t": answers["a"], "a": answers["t"]}, {"t": TEXT}))
    assert unread("text_gap", "a").note == "no parsed answer with a key"


def test_a_gap_on_which_all_cases_agree_still_has_width(readers):
    record = measured(readers({"t": TEXT}, a="1" * 12, t="0" * 12))("text_gap", "a")
    assert (record.value, record.p) == (1, pytest.approx(2 / 2**12))
    assert 0 < record.low < record.high == 1


def test_one_case_gives_a_gap_without_an_interval(bench):
    """The gap is of the one case that both decided: t is wrong there."""
    cases = [bench.case(f"c{i}") for i in range(12)]
    answers = {
        "a": {"original": {"c0": 1}},
        "t": {"original": {f"c{i}": i % 2 for i in range(12)}},
    }
    record = measured(bench.tables(cases, answers, {"t": TEXT}))("text_gap", "a")
    assert (record.value, record.n, record.low, record.p) == (1, 1, None, None)


@EDITIONS
def test_the_alphabet_and_not_the_run_says_who_of_a_pair_comes_first(readers, edition):
    words = {"c": "1" * 12, "a": "1" * 12, "b": "1" * 12}
    found = measured(readers({"b": TEXT}, **words), edition)
    pairs = [(a, b) for a, b, _ in rows(found, "diff_accuracy", "pairwise")]
    assert sorted(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]


# ---------------------------------------------------------------- resolutions and wordings
# Other resolutions and phrasings: the same cases, compared one by one, beside the headline.


MASKS = ("original", "target_mask")


def elsewhere(tables: Tables, **where: object) -> pl.DataFrame:
    """The same answers, as if given at another resolution or to another phrasing."""
    return tables.answers.with_columns(**{key: pl.lit(value) for key, value in where.items()})


def joined(*tables: Tables | pl.DataFrame) -> Tables:
    first, *others = tables
    frames = [first.answers, *others]
    schema = first.answers.schema
    return msgspec.structs.replace(
        first, answers=pl.concat([frame.cast(dict(schema)) for frame in frames])
    )


@pytest.fixture(scope="module")
def cases(bench):
    return [bench.case(f"c{i:02}") for i in range(20)]


@pytest.fixture(scope="module")
def said(bench, cases):
    """Readers that say Yes, but for so many flips under the target mask; of some cases only."""

    def make(first=0, last=20, wrong=0, **flips):
        names = [case.case_id for case in cases][first:last]
        answers = {
            reader: {
                "original": {c: int(i >= wrong) for i, c in enumerate(names)},
                "target_mask": {c: int(i >= n) for i, c in enumerate(names)},
            }
            for reader, n in flips.items()
        }
        return bench.tables(cases, answers)

    return make


# ---------------------------------------------------------------- resolution


def test_a_further_size_is_compared_on_its_own_cases(said):
    """[D15] 20 cases at 224; c00 to c09 also at 512, where two flips fewer are seen."""
    tables = joined(said(a=4), elsewhere(said(last=10, a=2), px=512))
    found = measured(tables, px="224,512")
    here, there = (found("cgr", "a", px=px) for px in ("224", "512"))
    assert (here.k, here.n) == (4, 10)
    assert (there.k, there.n) == (2, 10)
    change = found("diff_cgr", "a", px="512", versus="px=224")
    assert (change.value, change.n) == (pytest.approx(-0.2), 10)
    assert change.low < -0.2 < change.high
    assert found("cgr", "a").n == 20


def test_as_published_the_headlines_size_keeps_all_its_cases(said):
    """[D15] And no paired change: theirs pairs cases that are not the same."""
    tables = joined(said(a=4), elsewhere(said(last=10, a=2), px=512))
    found = measured(tables, "authors", px="224,512")
    assert (found("cgr", "a", px="224").k, found("cgr", "a", px="224").n) == (4, 20)
    assert (found("cgr", "a", px="512").k, found("cgr", "a", px="512").n) == (2, 10)
    assert found.get("diff_cgr", "a", px="512", versus="px=224") is None
    assert found.get("rho", "", px="224,512", of="accuracy") is None


def test_a_case_missing_at_one_size_is_not_paired(said):
    """At 512 the reader lacks c00..c04 and has c05..c09; another reader makes the sub-sample."""
    further = [elsewhere(said(last=10, b=1), px=512), elsewhere(said(5, 10, a=1), px=512)]
    found = measured(joined(said(a=6, b=2), *further), px="224,512")
    assert found("cgr", "a", px="224").n == 10
    assert found("cgr", "a", px="512").n == 5
    change = found("diff_cgr", "a", px="512", versus="px=224")
    # c05 flips at both sizes; no other of c05..c09 at either.
    assert (change.value, change.n) == (0, 5)
    assert change.low < 0 < change.high


def test_a_case_missing_at_the_headlines_size(said):
    tables = joined(said(5, 20, a=1), elsewhere(said(last=10, a=1), px=512))
    found = measured(tables, px="224,512")
    assert found("diff_cgr", "a", px="512", versus="px=224").n == 5
    assert found("cgr", "a", px="512").n == 10


def test_nothing_in_common_is_null_with_a_reason(said):
    tables = joined(said(10, 20, a=1), elsewhere(said(last=5, a=1), px=512))
    record = measured(tables, px="224,512")("diff_cgr", "a", px="512", versus="px=224")
    assert (record.value, record.low, record.n) == (None, None, 0)
    assert record.note == "no case in common"


def test_two_further_sizes_share_their_baseline(said):
    further = [elsewhere(said(last=10, a=n), px=px) for px, n in ((512, 1), (1024, 2))]
    found = measured(
        joined(said(a=4), *further), px="224,512,1024"
    )  # no record says the same twice
    assert found("cgr", "a", px="224").k == 4
    for px, k in (("512", 1), ("1024", 2)):
        assert found("cgr", "a", px=px).k == k
        assert found("diff_cgr", "a", px=px, versus="px=224").value == pytest.approx((k - 4) / 10)


def test_a_size_nobody_was_asked_at_gives_no_records(said):
    found = measured(said(a=4), px="224,512")
    assert not [r for r in found.measures if "px" in r.by]
    partly = measured(joined(said(a=4, b=4), elsewhere(said(a=3), px=512)), px="224,512")
    assert {r.reader for r in partly.measures if "px" in r.by} == {"a", ""}


@EDITIONS
def test_further_sizes_and_phrasings_leave_the_headline_alone(said, edition):
    plain = said(a=4, b=2, c=7)
    further = [
        elsewhere(said(last=10, a=9, b=0, c=5), px=512),
        elsewhere(said(last=10, wrong=5, a=1, b=1, c=1), phrasing="brief"),
    ]
    before = measured(plain, edition)
    after = measured(joined(plain, *further), edition, px="224,512", phrasing="default,brief")
    for record in before.measures:
        assert after(record.measure, record.reader, **record.by) == record


def test_ranks_over_the_readers(said):
    """a > c > b at both sizes, but for a tie: mid-ranks (3, 1.5, 1.5) against (3, 1, 2)."""
    tables = joined(said(a=9, b=2, c=2), elsewhere(said(last=10, a=9, b=1, c=3), px=512))
    ours, theirs = measured(tables, px="224,512"), measured(tables, "authors", px="224,512")
    for found in (ours, theirs):
        record = found("rho", "", px="224,512", of="cgr")
        assert (record.value, record.n) == (pytest.approx(0.8660254), 3)
    assert ours("rho", "", px="224,512", of="cgr").p > 0.3  # of six orders, at least two
    assert theirs("rho", "", px="224,512", of="cgr").method == "asymptotic t"


def test_two_readers_have_no_rank_correlation(said):
    tables = joined(said(a=9, b=2), elsewhere(said(last=10, a=9, b=1), px=512))
    record = measured(tables, px="224,512")("rho", "", px="224,512", of="cgr")
    assert (record.value, record.p, record.n) == (None, None, 2)
    assert record.note == "fewer than three models, or all alike"


def test_ranks_of_values():
    """Ties share an average rank, cut to a whole number (GROUNDING 12)."""
    assert ranks([0.2, 0.5, None, 0.2, 0.9]) == [3, 2, None, 3, 1]
    assert ranks([0.1, 0.1, 0.1]) == [2, 2, 2]
    assert ranks([]) == []


# ---------------------------------------------------------------- phrasing


@pytest.fixture(scope="module")
def phrased(bench):
    """`n` cases asked by default; the first of them also briefly, some replies not to be parsed."""

    def make(n, asked, unparsed, images=("original",)):
        cases = [bench.case(f"c{i:03}") for i in range(n)]
        names = [case.case_id for case in cases]
        default = {image: {c: int(i % 2) for i, c in enumerate(names)} for image in images}
        brief = {
            image: {c: -1 if i < unparsed else 1 for i, c in enumerate(names[:asked])}
            for image in images
        }
        return joined(
            bench.tables(cases, {"r": default}),
            elsewhere(bench.tables(cases, {"r": brief}), phrasing="brief"),
        )

    return make


@EDITIONS
def test_a_phrasing_beside_the_default_on_the_same_cases(phrased, edition):
    found = measured(phrased(80, 60, 6), edition, phrasing="default,brief")
    assert (
        found("accuracy", "r", phrasing="default").k,
        found("accuracy", "r", phrasing="default").n,
    ) == (30, 60)
    brief = found("accuracy", "r", phrasing="brief")
    assert (brief.k, brief.n) == (54, 54)
    parsed = found("parse_rate", "r", phrasing="brief")
    assert (parsed.k, parsed.n) == (54, 60)
    assert found("parse_rate", "r", phrasing="default").n == 60
    assert found("accuracy", "r").n == 80


def test_the_parse_rate_comes_first(phrased):
    found = measured(phrased(80, 60, 6), phrasing="default,brief")
    order = [r.measure for r in found.measures if r.by == {"phrasing": "brief"}]
    assert order == ["parse_rate", "accuracy"]


@EDITIONS
@pytest.mark.parametrize(("unparsed", "said"), [(10, False), (11, True), (60, False)])
def test_fewer_than_fifty_parsed_answers_say_nothing(phrased, edition, unparsed, said):
    """[D14] 60 asked: 50 parsed are enough; none parsed is null, and no crash."""
    record = measured(phrased(80, 60, unparsed), edition, phrasing="default,brief")(
        "accuracy", "r", phrasing="brief"
    )
    assert (FEW_PARSED in record.flags) == said
    note = f"uninterpretable: only {60 - unparsed} answers could be parsed"
    assert (note in (record.note or "")) == said
    if unparsed == 60:
        assert (record.value, record.n) == (None, 0)
        assert record.note


def test_uar_per_phrasing_where_the_swap_was_asked(phrased):
    """[D14]"""
    tables = phrased(80, 60, 6, images=("original", "swap"))
    record = measured(tables, phrasing="default,brief")("uar", "r", phrasing="brief")
    assert (record.k, record.n) == (54, 54)
    assert (
        measured(tables, "authors", phrasing="default,brief").get("uar", "r", phrasing="brief")
        is None
    )


def test_a_reader_nobody_asked_in_that_phrasing(bench, phrased):
    tables = phrased(80, 60, 6)
    other = tables.answers.filter(phrasing="default").with_columns(reader=pl.lit("s"))
    from overread.benchmarks.base import ReaderRecord

    both = msgspec.structs.replace(
        joined(tables, other), readers=(*tables.readers, ReaderRecord(name="s"))
    )
    found = measured(both, phrasing="default,brief")
    assert found.get("accuracy", "s", phrasing="brief") is None
    assert found("accuracy", "s", phrasing="default").n == 60


def test_stability_at_a_size_follows_the_setting(bench, cases):
    """[D3]"""
    names = [case.case_id for case in cases]
    answers = {
        "original": {c: int(i < 12) for i, c in enumerate(names)},
        "irrelevant_mask": dict.fromkeys(names, 1),
    }
    here = bench.tables(cases, {"a": answers})
    tables = joined(here, elsewhere(here, px=512))
    for stability, n in (("correct", 12), ("all", 20)):
        found = measured(tables, px="224,512", stability=stability)
        assert [found("is", "a", px=px).n for px in ("224", "512")] == [n, n]
        assert found("diff_is", "a", px="512", versus="px=224").n == n


def test_sizes_asked_of_different_cases_share_a_baseline_over_all_of_them(said):
    """Each change is paired on its own cases; the one record at 224 stands on both sub-samples."""
    tables = joined(
        said(a=8),
        elsewhere(said(0, 6, a=3), px=512),
        elsewhere(said(4, 12, a=2), px=1024),
    )
    found = measured(tables, px="224,512,1024")
    assert found("cgr", "a", px="224").n == 12
    assert [found("cgr", "a", px=px).n for px in ("512", "1024")] == [6, 8]
    assert found("diff_cgr", "a", px="512", versus="px=224").n == 6
    assert found("diff_cgr", "a", px="1024", versus="px=224").n == 8
