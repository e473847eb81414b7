"""People's rankings beside the judge's: sheets, win ratios and rho, by hand and the slow way."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from overread.benchmarks.medcmr.edition import CORRECTED, Options
from overread.benchmarks.medcmr.people_measures import (
    alignment_measures,
    checked_scores,
    doubled_ranks,
)
from overread.benchmarks.medcmr.people_sheets import (
    RANK_COLUMNS,
    code_of,
    read_ranks,
    write_rank_sheet,
)
from overread.benchmarks.medcmr.scores import SCORES
from overread.benchmarks.medcmr.study import Study
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS
from overread.case import BadInput
from overread.judging.checking import CheckedReply
from overread.measuring.specs import made_by
from overread.stats import prediction_powered
from support.med_scores import scored_by, verdicts_of
from support.med_tables import found, mcq, opened, tables_of, wrote

QUICK = msgspec.structs.replace(CORRECTED, boot=200)
READERS = ("r", "s", "t")


def written(path: Path, rows, columns=("case", "reader", *COMPONENTS)) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def measured(path: Path, tables, verdicts):
    study = Study(tables, verdicts_of(verdicts), QUICK)
    return alignment_measures(study, tables, Options(ranks=str(path)))


def run(items: int, readers=READERS, **other):
    cases = [opened(at, **other) for at in range(items)]
    return tables_of(cases, [wrote(who, at) for who in readers for at in range(items)])


def test_win_ratios_by_hand(tmp_path: Path) -> None:
    tables = run(2)
    path = written(
        tmp_path / "k.csv",
        [
            ("open-0", "r", 1, 1, 1, 1), ("open-0", "s", 2, 1, 1, 2), ("open-0", "t", 3, 3, 1, 3),
            ("open-1", "r", 1, 1, 1, 3), ("open-1", "s", 1, 2, 1, 2), ("open-1", "t", 3, 3, 1, 1),
        ],
    )  # fmt: skip
    verdicts = [
        scored_by("j", "r", 0, (1, 1, 4, 4)), scored_by("j", "s", 0, (1, 0.5, 4, 3)),
        scored_by("j", "t", 0, (0, 0, 4, 2)), scored_by("j", "r", 1, (1, 1, 4, 0)),
        scored_by("j", "s", 1, (0.5, 0.5, 4, 1)), scored_by("j", "t", 1, (0, 0, 4, 2)),
    ]  # fmt: skip
    records = measured(path, tables, verdicts)

    def ratio(reader, versus, rater, component="clarity"):
        by = {"component": component, "versus": versus, "rater": rater}
        return found(records, "win_ratio", reader, **by)

    # People: r wins, then a tie. The judge: a tie, then r wins.
    assert ratio("r", "s", "human").value == ratio("r", "s", "judge").value == 0.75
    assert ratio("r", "t", "human").value == ratio("s", "t", "judge").value == 1
    assert ratio("r", "s", "human", "coherence").value == 0.75
    assert ratio("r", "s", "judge", "coherence").value == 1
    assert ratio("s", "t", "human", "truth").value == 0.5
    assert ratio("r", "s", "human", "visual").value == 0.5, "ties throughout"
    overall = found(records, "win_ratio", "r", component="coherence", rater="human")
    assert overall.value == pytest.approx((0.75 + 1) / 2)
    gap = found(records, "win_ratio_gap", "", component="coherence")
    assert (gap.value, gap.n) == (0.25, 3)
    assert gap.note.startswith("largest of 3: r against s")
    assert found(records, "win_ratio_gap", "", component="coherence", of="reader").value == 0.125
    rho = found(records, "rho", "", component="truth", **{"with": "human"})
    assert (rho.value, rho.n) == (1, 2)
    alike = found(records, "rho", "", component="visual", **{"with": "human"})
    assert (alike.value, alike.note) == (None, "people or judges see no difference anywhere")


SCORE = st.tuples(
    st.sampled_from((0, 0.5, 1)), st.sampled_from((0, 0.5, 1)), st.integers(0, 4), st.integers(0, 4)
)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[st.tuples(*[st.integers(1, 3)] * 4)] * 3,
                          *[st.tuples(SCORE, st.none() | SCORE)] * 3), min_size=1, max_size=6))  # fmt: skip
def test_as_slow_loops_have_it(items) -> None:
    tables = run(len(items))
    rows, verdicts = [], []
    for at, cells in enumerate(items):
        for who, ranks, given_ in zip(READERS, cells[:3], cells[3:], strict=True):
            rows.append((f"open-{at}", who, *ranks))
            verdicts += [scored_by(f"j{j}", who, at, raw) for j, raw in enumerate(given_)]
    with TemporaryDirectory() as folder:
        records = measured(written(Path(folder) / "k.csv", rows), tables, verdicts)
    for which, component in enumerate(COMPONENTS):
        human = [[cells[k][which] for k in range(3)] for cells in items]
        # The second judge counts where it was read on all three replies.
        judge = [
            [
                mean([raw[which] for raw in (both if all(second) else both[:1])])
                for both in cells[3:]
            ]
            for cells in items
            for second in ([pair[1] for pair in cells[3:]],)
        ]
        gaps = []
        for one, two in combinations(range(3), 2):
            wins = [(1 + np.sign(row[two] - row[one])) / 2 for row in human]
            theirs = [(1 + np.sign(row[one] - row[two])) / 2 for row in judge]
            gaps.append(abs(mean(wins) - mean(theirs)))
            for rater, points in (("human", wins), ("judge", theirs)):
                by = {"component": component, "versus": READERS[two], "rater": rater}
                record = found(records, "win_ratio", READERS[one], **by)
                assert record.value == pytest.approx(mean(points))
                assert record.n == len(items)
        assert found(records, "win_ratio_gap", component=component).value == pytest.approx(
            max(gaps)
        )
        ranks = [
            np.concatenate([stats.rankdata([sign * x for x in row]) for row in side])
            for sign, side in ((-1, human), (1, judge))
        ]
        record = found(records, "rho", component=component, **{"with": "human"})
        if min(np.ptp(side) for side in ranks) == 0:
            assert record.value is None
        else:
            assert record.value == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-9)
            assert record.low is None or -1 <= record.low <= record.value <= record.high <= 1


@given(st.lists(st.lists(st.integers(0, 3) | st.none(), min_size=3, max_size=3), min_size=1))
def test_mid_ranks_as_scipy_has_them(rows) -> None:
    table = np.array([[np.nan if x is None else x for x in row] for row in rows])
    for row, ranks in zip(table, doubled_ranks(table), strict=True):
        there = ~np.isnan(row)
        assert ranks[there].tolist() == (2 * stats.rankdata(row[there])).tolist()
        assert np.isnan(ranks[~there]).all()


def test_only_what_both_sides_have_is_compared(tmp_path: Path) -> None:
    tables = run(3, ("r", "s"))
    path = written(
        tmp_path / "k.csv",
        [
            ("open-0", "r", 1, 1, 1, 1), ("open-0", "s", 2, 2, 2, 2),
            ("open-1", "r", 2, 2, 2, 2), ("open-1", "s", 1, 1, 1, 1),
            ("open-2", "r", 2, 2, 2, 2), ("open-2", "s", "", 1, 1, 1),
        ],
    )  # fmt: skip
    verdicts = [scored_by("j", who, at, (1, 1, 4, 4)) for who in ("r", "s") for at in (0, 2)]
    verdicts.append(scored_by("j", "r", 1, None))
    records = measured(path, tables, verdicts)
    record = found(records, "win_ratio", "r", component="truth", versus="s", rater="human")
    assert (record.value, record.n) == (0.5, 2)
    assert record.note == "2 ranked replies without a judge in common left out"
    record = found(records, "win_ratio", "r", component="clarity", versus="s", rater="human")
    assert (record.value, record.n) == (1, 1), "s was not ranked in clarity on the third item"


def test_an_items_replies_are_ranked_by_the_same_judges(tmp_path: Path) -> None:
    tables = run(3)
    rows = [(f"open-{at}", who, 1, 1, 1, 1 + k) for at in range(3) for k, who in enumerate("rst")]
    path = written(tmp_path / "k.csv", rows)
    kind, strict = (1, 1, 4, 4), (1, 1, 4, 0)
    # All replies are alike to either judge. On the first item the strict one could not be read on
    # t; on the second nobody could on t; on the third each was read on another reply.
    read = [
        {"kind": "rst", "strict": "rs"},
        {"kind": "rs", "strict": "rs"},
        {"kind": "rs", "strict": "st"},
    ]
    verdicts = [
        scored_by(judge, who, at, raw if who in read[at][judge] else None)
        for at in range(3)
        for judge, raw in (("kind", kind), ("strict", strict))
        for who in "rst"
    ]
    records = measured(path, tables, verdicts)
    for one, two, n in (("r", "s", 2), ("r", "t", 1), ("s", "t", 1)):
        by = {"component": "truth", "versus": two, "rater": "judge"}
        record = found(records, "win_ratio", one, **by)
        assert (record.value, record.n) == (0.5, n)
        assert record.note.startswith("4 ranked replies without a judge in common left out")
    rho = found(records, "rho", "", component="truth", **{"with": "human"})
    assert (rho.value, rho.note) == (None, "people or judges see no difference anywhere")


def test_people_alone_where_nobody_judged(tmp_path: Path) -> None:
    tables = run(1, ("r", "s"))
    rows = [("open-0", "r", 1, 1, 1, 1), ("open-0", "s", 2, 2, 2, 2)]
    records = measured(written(tmp_path / "k.csv", rows), tables, [])
    assert found(records, "win_ratio", component="truth", versus="s", rater="human").value == 1
    assert {r.by["rater"] for r in records if r.measure == "win_ratio"} == {"human"}
    assert {r.note for r in records if r.measure in ("rho", "win_ratio_gap")} == {"not judged"}
    assert alignment_measures(Study(tables, None, QUICK), tables, Options()) == []


def test_reformulated_items_may_be_ranked_too(tmp_path: Path) -> None:
    cases = [mcq(0, caption="seen"), mcq(1, caption="seen")]
    answers = [wrote(who, at, form="reformulated") for who in "rs" for at in (0, 1)]
    tables = tables_of(cases, answers)
    verdicts = [
        scored_by("j", who, at, (1, 1, 4, 4 if who == "r" else 0), form="reformulated")
        for who in "rs"
        for at in (0, 1)
    ]
    rows = [(f"mcq-{at}", who, 1, 1, 1, 1 + (who == "s")) for who in "rs" for at in (0, 1)]
    records = measured(written(tmp_path / "k.csv", rows), tables, verdicts)
    assert found(records, "rho", component="truth", **{"with": "human"}).value == 1


def test_what_is_neither_ranked_nor_judged_does_not_matter(tmp_path: Path) -> None:
    cases = [opened(0), opened(1), mcq(0)]
    answers = [wrote(who, at) for who in "rs" for at in (0, 1)]
    rows = [(f"open-{at}", who, 1, 1, 1, 1 + (who == "s")) for who in "rs" for at in (0, 1)]
    path = written(tmp_path / "k.csv", rows)
    verdicts = [
        scored_by("j", who, at, (1, 1, 4, 4 - at)) for who, at in (("r", 0), ("s", 1), ("r", 1))
    ]
    more = [wrote(who, 0, form="reformulated") for who in "rs"]
    alone, beside = (
        measured(path, tables_of(cases, some), verdicts) for some in (answers, answers + more)
    )
    assert alone == beside


def test_a_sheet_is_blinded_and_comes_back(tmp_path: Path) -> None:
    cases = [opened(at, question="=which?") for at in range(20)]
    answers = [wrote(who, at, f"reply {at}") for who in READERS for at in range(20)]
    tables = tables_of(
        cases, [row for row in answers if (row["reader"], row["case"]) != ("t", "open-7")]
    )
    path = tmp_path / "sheet.csv"
    assert write_rank_sheet(path, tables, READERS, 5, seed=1) == 5
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == RANK_COLUMNS
    assert len(rows) == 15
    assert not {"r", "s", "t"} & {cell for row in rows for cell in row.values()}
    assert rows[0]["question"] == "'=which?"
    assert [row["code"] for row in rows[:3]] == sorted(row["code"] for row in rows[:3])
    larger = tmp_path / "larger.csv"
    assert write_rank_sheet(larger, tables, READERS, 1000, seed=1) == 19, "one item lacks a reply"
    codes = {code_of(row["case"], who): who for row in rows for who in READERS}
    filled = [
        row | dict.fromkeys(COMPONENTS, str(1 + "rst".index(codes[row["code"]]))) for row in rows
    ]
    written(path, [row.values() for row in filled], RANK_COLUMNS)
    ranks = read_ranks([path], tables)
    assert len(ranks) == 15
    assert all(rank.doubled["truth"] == 2 + 2 * "rst".index(rank.reader) for rank in ranks)


def test_ranks_between_two_places_are_ranks(tmp_path: Path) -> None:
    rows = [("open-0", "r", "1.5", "1", "", "1.0"), ("open-0", "s", "1.5", "2", "", "2")]
    ranks = read_ranks([written(tmp_path / "k.csv", rows)], run(1, ("r", "s")))
    assert ranks[0].doubled == {"clarity": 3, "coherence": 2, "truth": 2}


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (("open-0", "s", 3, 1, 1, 1), 'k.csv row 3: clarity is "3"; expected a rank from 1 to 2'),
        (("open-0", "s", 1, 0, 1, 1), 'k.csv row 3: coherence is "0"; expected a rank'),
        (("open-0", "s", 1, 1, "first", 1), 'k.csv row 3: visual is "first"; expected a rank'),
        (("open-0", "s", 1, 1, 1, "1.25"), 'k.csv row 3: truth is "1.25"; expected a rank'),
        (("open-9", "s", 1, 1, 1, 1), 'k.csv row 3: case is "open-9", which is not in this run'),
        (("open-0", "q", 1, 1, 1, 1), 'k.csv row 3: reader is "q"; the readers of this run are r, s'),
        (("open-0", "r", 1, 1, 1, 1), "k.csv row 3: the same case and reader as k.csv row 2"),
        (("open-0", "", 1, 1, 1, 1), 'k.csv row 3: code is "", which is no reply to this case'),
    ],
)  # fmt: skip
def test_a_bad_row_is_named(tmp_path: Path, second, complaint: str) -> None:
    path = written(tmp_path / "k.csv", [("open-0", "r", 1, 1, 1, 1), second])
    with pytest.raises(BadInput) as caught:
        read_ranks([path], run(1, ("r", "s")))
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_file_without_ranks_or_columns_is_named(tmp_path: Path) -> None:
    tables = run(1, ("r", "s"))
    with pytest.raises(BadInput, match="no row has a rank"):
        read_ranks([written(tmp_path / "a.csv", [("open-0", "r", "", "", "", "")])], tables)
    with pytest.raises(BadInput, match="no column reader or code"):
        read_ranks(
            [written(tmp_path / "b.csv", [("open-0", 1, 1, 1, 1)], ("case", *COMPONENTS))], tables
        )
    with pytest.raises(BadInput, match="no column truth"):
        read_ranks([written(tmp_path / "c.csv", [], ("case", "reader", *COMPONENTS[:3]))], tables)
    with pytest.raises(BadInput, match="two different readers"):
        write_rank_sheet(tmp_path / "d.csv", tables, ["r"], 3)
    with pytest.raises(BadInput, match='reader is "q"'):
        write_rank_sheet(tmp_path / "d.csv", tables, ["r", "q"], 3)


# ---------------------------------------------------------------- scores that people gave too


def test_scores_are_put_right_by_those_that_people_gave() -> None:
    tables = run(30, readers=("r",))
    scores = [(1, 0.5, at % 5, min(at % 5 + 1, 4)) for at in range(30)]
    verdicts = [scored_by("j", "r", at, scores[at]) for at in range(30)]
    # People find the same but for what is true, where they are harsher by one; of 12 replies.
    given = [(*scores[at][:3], at % 5) for at in range(12)]
    people = {
        CheckedReply(name, "r", f"open-{at}", "said"): f"{given[at][place]:g}"
        for at in range(12)
        for place, name in enumerate(COMPONENTS)
        if at < 11 or name != "visual"
    }
    study = Study(tables, verdicts_of(verdicts), QUICK)
    judged = study.finish(
        one for spec in SCORES.values() for one in made_by(study, study.marks[0], spec)
    )
    records = checked_scores(study, judged, people)
    truth = found(records, "truth_checked", "r")
    by_judge, theirs = np.array([scores[at][3] / 4 for at in range(30)]), np.full(30, np.nan)
    theirs[:12] = [given[at][3] / 4 for at in range(12)]
    by_hand = prediction_powered(by_judge, theirs, range(30), (0.0, 1.0)).found
    assert (truth.value, truth.low, truth.high) == (by_hand.point, by_hand.low, by_hand.high)
    assert truth.beside == (found(judged, "truth", "r").value, np.nanmean(theirs))
    assert truth.how.checked == 12
    assert truth.value < truth.beside[0]
    visual = found(records, "visual_checked", "r")
    assert visual.value == pytest.approx(found(judged, "visual", "r").value)
    # S is known of replies of which all four are.
    score = found(records, "score_checked", "r")
    assert score.how.checked == visual.how.checked == 11
    assert score.beside[1] == pytest.approx(mean(sum(given[at]) / 10 for at in range(11)))
