"""Tables, dot plots and radars made of columns."""

from __future__ import annotations

from overread.benchmarks.exhibits.cells import NOT_ASKED, judge_flags, printed, with_tests
from overread.benchmarks.exhibits.figures import Lane, Panel, dot_figure, lane_rows, radar_figure
from overread.benchmarks.exhibits.index import Column, Index, Wording, Words
from overread.benchmarks.exhibits.style import cast_of
from overread.benchmarks.exhibits.tables import (
    difference_rows,
    differences,
    group_sizes,
    groups_table,
    interval_notes,
    kept_columns,
    readers_table,
    remarks_on,
)
from overread.case import Measure, Method, Pooled
from overread.judging.fitness import NOT_CHECKED, UNFIT
from overread.measuring.units import FRAMES, INDEX, POINTS, RATIO, SHARE

NAMES = ("accuracy", "recall", "f1")
COLUMNS = tuple(Column(name.upper(), name) for name in NAMES)
WORDING = Wording(
    {
        "t": Words("Title?"),
        "lanes": Words("Title", says="By task: {said}.", notes=("Before.",)),
        "radar": Words("Around", says="A radar: {said}.", notes=("Without.",)),
    }
)


def records(*readers: str) -> list[Measure]:
    made = []
    for place, reader in enumerate(readers):
        for name in NAMES:
            value = 0.5 + place / 10
            rate = Measure(reader=reader, measure=name, value=value, low=0.4, high=0.7, n=20)
            made.append(rate)
            made += [
                Measure(reader=reader, measure=name, by={"task": task}, value=value, n=n)
                for task, n in (("easy", 15), ("hard", 5))
            ]
    return made


def test_numbers_are_printed_in_their_unit() -> None:
    assert [printed(0.3321, unit) for unit in (SHARE, POINTS, INDEX)] == ["33.2", "+33.2", "0.33"]
    assert printed(4.138, FRAMES) == "4.14"
    assert printed(23616.0, FRAMES) == "2.36e+04"
    assert [printed(value, RATIO) for value in (0.1544, 93.94, 2.0, 12345.0, 0.0)] == [
        "0.154", "93.9", "2.00", "1.2e+04", "0",
    ]  # fmt: skip
    assert printed(-0.0001, POINTS) == "0.0"
    assert printed(0.5, SHARE, digits=2) == "50.00"


def test_what_a_number_is_worth_stands_behind_it() -> None:
    tested = Measure(reader="a", measure="diff_f1", value=0.1, n=9, p=0.0001, q=0.2, label=UNFIT)
    assert with_tests(tested) == "+10.0 n=9 p<0.001 q=0.200 judge unfit"
    assert with_tests(None) == NOT_ASKED
    assert judge_flags(Measure(reader="a", measure="f1", label=f"{UNFIT}; {NOT_CHECKED}")) == {
        "unfit",
        "untried",
    }


def test_readers_down_and_measures_across() -> None:
    odd = Measure(reader="c", measure="other", value=1.0)
    index = Index([*records("a", "b"), odd], "sig", WORDING)
    made = readers_table(
        index, "t", COLUMNS[:2], "Note.", absent=NOT_ASKED, only_asked=True,
        more=[("chance", "20.0", NOT_ASKED)],
    )  # fmt: skip
    assert made is not None
    assert made.columns == ("reader", "ACCURACY", "RECALL")
    assert (made.title, made.notes, made.signature) == ("Title?", ("Note.",), "sig")
    assert [row[0] for row in made.rows] == ["a", "b", "chance"]
    assert made.rows[1][1] == "60.0 [40.0, 70.0] n=20"
    assert readers_table(Index([], "sig", WORDING), "t", COLUMNS) is None
    plain = readers_table(index, "t", COLUMNS, shows=lambda one: "x" if one else "n/a")
    assert plain is not None
    assert plain.rows[2] == ("c", "n/a", "n/a", "n/a")


def test_groups_down_and_readers_within() -> None:
    index = Index(records("a", "b"), "sig", WORDING)
    kept = kept_columns(index, [*COLUMNS, Column("S", "score")], task=("easy", "hard"))
    assert kept == list(COLUMNS)
    assert kept_columns(index, [*COLUMNS, Column("S", "score")]) == list(COLUMNS)
    sizes = group_sizes(index, "task", COLUMNS)
    assert sizes == {"easy": 15, "hard": 5}
    printed_as = {group: f"{group} *" if n < 10 else group for group, n in sizes.items()}
    made = groups_table(index, "t", "task", printed_as, COLUMNS[:1])
    assert made is not None
    assert made.columns == ("task", "reader", "ACCURACY")
    assert made.rows[-1] == ("hard *", "b", "60.0 n=5")


def test_a_pooled_number_stands_beside_the_raw_one_and_intervals_are_counted() -> None:
    def group(task: str, pooled: Pooled | None) -> Measure:
        return Measure(
            reader="a", measure="accuracy", by={"task": task}, value=0.6, n=5, low=0.2, high=0.9,
            pooled=pooled,
        )  # fmt: skip

    pooled = Pooled(value=0.5, low=0.3, high=0.7, weight=0.5, mean=0.4, groups=40)
    tasks = [str(number) for number in range(40)]
    index = Index([group(task, pooled) for task in tasks], "", WORDING)
    made = groups_table(index, "t", "task", tasks, COLUMNS[:1], "Note.")
    assert made is not None
    assert made.rows[0] == ("0", "a", "60.0 [20.0, 90.0] n=5 pooled 50.0 [30.0, 70.0]")
    assert made.notes[0] == "Note."
    assert made.notes[1].startswith("40 intervals stand here; by chance alone about 2 of them")
    few = groups_table(index, "t", "task", tasks[:12], COLUMNS[:1])
    assert few is not None
    assert few.notes[0].startswith("12 intervals stand here; by chance alone one or none of them")
    raw = Index([group(task, None) for task in tasks], "", WORDING)
    plain = groups_table(raw, "t", "task", tasks, COLUMNS[:1], "Note.")
    assert plain is not None
    assert plain.notes == ("Note.",)
    assert plain.rows[0] == ("0", "a", "60.0 [20.0, 90.0] n=5")


def test_differences_between_readers() -> None:
    found = [
        Measure(
            reader="a", measure="diff_f1", by={"versus": "b"}, value=0.1, n=9, p=0.01, q=0.02,
            beside=(0.662, 0.562),
        ),
        Measure(reader="a", measure="diff_f1", by={"versus": "b", "mode": "cot"}, value=0.2, n=9),
        Measure(reader="a", measure="diff_f1", by={"versus": "b", "mode": "odd"}, value=0.2, n=9),
    ]  # fmt: skip
    named = {"diff_f1": "F1"}
    index = Index(found)
    assert [said for _, said in differences(index, named)] == ["F1"]
    pairs = list(
        differences(
            index, named, "mode", lambda name, mode: f"{name} CoT" * (mode == "cot") or None
        )
    )
    assert [said for _, said in pairs] == ["F1", "F1 CoT"]
    assert difference_rows(pairs, beside=True, marked=True) == [
        ("a", "b", "F1", "+10.0 n=9", "66.2 against 56.2", "0.010", "0.020‡"),
        ("a", "b", "F1 CoT", "+20.0 n=9", "n/a", "n/a", "n/a"),
    ]


def test_what_stands_below_a_table() -> None:
    how = [
        Method(kind="wilson"), Method(kind="wilson", effect=1.2), Method(kind="alike", of="items"),
        Method(kind="bootstrap", of="items", boot=10, seed=0, floor=True),
    ]  # fmt: skip
    made = [
        Measure(reader=f"r{n}", measure="f1", value=0.5, low=0.1, high=0.9, how=one, note="3 left")
        for n, one in enumerate(how)
    ]
    (note,) = interval_notes(Index(made), "f1")
    assert note == (
        "[95 % interval]: Wilson's; Wilson's, widened where items share images; Wilson's where all "
        "items agree; bootstrap of items:10:0."
    )
    assert list(interval_notes(Index([]), "f1")) == []
    (told,) = remarks_on(Index(made), [Column("F1", "f1")])
    assert told.startswith("r0, F1: 3 left; r1, F1: 3 left")


def test_a_dot_plot_of_lanes_and_panels() -> None:
    index = Index(records("a", "b"), "sig", WORDING)
    cast = cast_of(index, COLUMNS)
    panels = [Panel(column.heading, column=column) for column in COLUMNS]
    lanes = [Lane(f"{task} tasks", {"task": task}, facts={"task": task}) for task in ("easy", "x")]
    rows = lane_rows(index, lanes, panels, cast)
    assert len(rows) == 6
    assert {row["lane"] for row in rows} == {"easy tasks"}
    turned = lane_rows(index, lanes, panels, cast, by_panel=True)
    assert sorted(map(str, turned)) == sorted(map(str, rows))
    keys = ("task", "measure")
    made = dot_figure(index, "lanes", rows, panels, cast, keys=keys, after=["After."])
    assert made is not None
    assert made.notes == ("Before.", "After.")
    assert made.alt.startswith("By task: a easy ACCURACY 50.0; b easy ACCURACY 60.0;")
    assert dot_figure(index, "lanes", [], panels, cast, keys=()) is None


def test_a_radar_has_whoever_has_every_number() -> None:
    index = Index([*records("a"), Measure(reader="b", measure="f1", value=0.1)], "s", WORDING)
    made = radar_figure(index, {"": COLUMNS}, after=lambda webs: [f"{len(webs)} webs."])
    assert made is not None
    assert made.alt == "A radar: a ACCURACY 50.0; a RECALL 50.0; a F1 50.0."
    assert made.notes == (
        "Without.",
        "1 models lack one of these and are in the tables only.",
        "1 webs.",
    )
    assert radar_figure(index, {"": COLUMNS[:2]}) is None
