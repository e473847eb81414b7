"""What the drawings of several benchmarks share: lanes, webs, and who judged."""

from __future__ import annotations

import pytest

from overread.benchmarks.exhibits import cells
from overread.benchmarks.exhibits.cells import cut
from overread.benchmarks.exhibits.figures import Panel, Web, dots, radar, vertices
from overread.benchmarks.exhibits.index import Column, Index
from overread.benchmarks.exhibits.judges import Part, notes_on_judges
from overread.benchmarks.exhibits.style import LOOKS, Cast, cast_of, point_row
from overread.case import Figure, Measure


def record(reader="r", measure="m", value=0.5, **more):
    return Measure(reader=reader, measure=measure, value=value, **more)


def drawn(spec):
    return Figure(name="x", title="x", spec=spec, alt="x").svg()


@pytest.mark.slow
@pytest.mark.parametrize(("panels", "rows"), [(1, 1), (4, 1), (5, 2)])
def test_panels_stand_beside_each_other_while_there_is_room(panels, rows):
    names = [Panel(f"p{at}", line=20) for at in range(panels)]
    points = [
        point_row("r", "r", "m", record(low=0.4, high=0.6), lane="all", panel=one.name)
        for one in names
    ]
    spec = dots(points, ["all"], names, Cast({"r": "r"}, 0))
    assert len(spec.get("vconcat", [spec])) == rows
    labelled = [
        one["layer"][-1]["encoding"]["y"]["axis"]["labels"]
        for beside in spec.get("vconcat", [spec])
        for one in beside["hconcat"]
    ]
    assert labelled == [at % 4 == 0 for at in range(panels)]
    assert "<svg" in drawn(spec)


def test_six_readers_are_drawn_and_the_others_counted():
    index = Index([record(f"r{at}") for at in range(9)] + [record("none", value=None)])
    cast = cast_of(index, [Column("m", "m")])
    assert list(cast.names) == [f"r{at}" for at in range(len(LOOKS))]
    assert cast.left_out == 9 - len(LOOKS)


@pytest.mark.slow
def test_a_web_closes_and_two_stand_side_by_side():
    webs = [Web("a", ["x", "y", "z"]), Web("b", ["u", "v", "w", "t"])]
    rows = [
        row
        for web in webs
        for row in vertices("r", "r", web, [record(value=0.2 * at) for at in range(1, len(web.headings) + 1)])
    ]  # fmt: skip
    for web in webs:
        own = [row for row in rows if row["web"] == web.title]
        assert len(own) == len(web.headings) + 1
        assert (own[0]["x"], own[0]["y"]) == (own[-1]["x"], own[-1]["y"])
    spec = radar(rows, webs, Cast({"r": "r"}, 0))
    assert len(spec["hconcat"]) == 2
    assert "<svg" in drawn(spec)
    assert "hconcat" not in radar(rows[:4], [Web("", webs[0].headings)], Cast({"r": "r"}, 0))


def test_judges_are_named_by_what_they_judged():
    parts = [Part("form", "form", {"part": "form"}), Part("truth", "truth", {"part": "truth"})]
    assert "Nobody judged" in " ".join(notes_on_judges(Index([]), parts))
    found = [
        record(measure="form", by={"judge": "g"}),
        record(measure="truth", by={"judge": "h"}, label="judge unfit"),
        record("", "judge_sensitivity", 0.5, by={"judge": "h", "part": "truth"}),
    ]
    said = " ".join(notes_on_judges(Index(found), parts))
    assert "Judged: form by g; truth by h." in said
    assert "g not tried; h truth 50 % / n/a" in said
    assert "the number is no finding" in said


def test_every_record_of_a_measure_whoever_it_is_about():
    found = [record(), record("", by={"a": "b"}), record("x", "other")]
    assert Index(found).every("m") == found[:2]
    assert Index(found).every("none") == []


def test_numbers_that_are_no_shares():
    assert cells.coefficient(record(value=-0.001, low=-0.5, high=0.5)) == "0.00 [-0.50, 0.50]"
    assert cells.coefficient(None) == "n/a"
    assert cells.with_tests(
        record(measure="diff_m", value=0.1, p=0.0001, q=0.02, label="judge unfit")
    ) == ("+10.0 p<0.001 q=0.020 judge unfit")


def test_words_of_others_are_cut_and_do_not_act():
    assert cut("a\u202eb\n  c") == "a\ufffdb c"
    assert cut("abcdef", 4) == "abcd…"
