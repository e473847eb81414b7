"""Drawing by lot: even over views, paired, one film per patient, whatever the order of the rows."""

from __future__ import annotations

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.build.open_sets import by_lot, paired, shares

rooms = st.dictionaries(st.sampled_from(["", "AP", "PA", "LL"]), st.integers(0, 12), max_size=4)
rows = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from(["PA", "AP", None]),
        st.integers(0, 1),
        st.booleans(),
    ),
    max_size=30,
)


def films(drawn: list[tuple[str, str | None, int, bool]]) -> pl.DataFrame:
    """Films numbered in order; only a film with the finding has a box."""
    return pl.DataFrame(
        {
            "image_path": [f"{n}.png" for n in range(len(drawn))],
            "patient": [row[0] for row in drawn],
            "view": [row[1] for row in drawn],
            "label": [row[2] for row in drawn],
            "boxed": [row[3] and row[2] == 1 for row in drawn],
        },
        schema_overrides={"patient": pl.String, "view": pl.String, "boxed": pl.Boolean},
    )


@given(st.integers(0, 40), rooms)
def test_shares_fill_what_there_is_and_differ_by_one_at_most_where_there_is_room(total, room):
    given_out = shares(total, room)
    assert sum(given_out.values()) == min(total, sum(room.values()))
    assert all(0 <= given_out[name] <= room[name] for name in room)
    with_room = [given_out[name] for name in room if given_out[name] < room[name]]
    if with_room:
        assert max(given_out.values()) - min(with_room) <= 1


@given(rows, st.integers(0, 9), st.randoms(use_true_random=False))
def test_a_patient_gives_one_film_a_boxed_one_if_there_is_one(drawn, seed, chance):
    frame = films(drawn)
    lots = by_lot(frame, seed, "edema")
    assert sorted(lots["patient"]) == sorted(set(frame["patient"]))
    boxed = set(frame.filter(pl.col("boxed"))["patient"])
    assert set(lots.filter(pl.col("boxed"))["patient"]) == boxed
    order = list(range(frame.height))
    chance.shuffle(order)
    assert by_lot(frame[order], seed, "edema").equals(lots)


def test_lots_depend_on_the_seed_and_on_what_is_drawn_for():
    frame = films([(str(n), "PA", 1, False) for n in range(40)])
    orders = {
        tuple(by_lot(frame, seed, about)["image_path"])
        for seed in range(5)
        for about in ("edema", "fracture")
    }
    assert len(orders) == 10


@given(rows, st.integers(0, 12))
def test_pairs_are_as_many_with_as_without_in_every_view_and_boxed_ones_come_on_top(drawn, most):
    frame = films(drawn)
    pairs = paired(frame, most)
    view = dict(frame.select("image_path", "view").iter_rows())
    facts = {row["image_path"]: row for row in frame.iter_rows(named=True)}
    assert len(pairs.present) <= most
    assert len(set(pairs.present)) == len(pairs.present)
    assert all(facts[image]["label"] == 1 for image in pairs.present)
    assert all(facts[image]["label"] == 0 for image in pairs.absent)
    assert len(pairs.present) - pairs.unpaired == len(pairs.absent)
    # The absent ones of a view never outnumber the present ones, and what is over is boxed.
    extra = Counter(view[i] for i in pairs.present) - Counter(view[i] for i in pairs.absent)
    assert not Counter(view[i] for i in pairs.absent) - Counter(view[i] for i in pairs.present)
    assert extra.total() == pairs.unpaired
    # Nothing is left that could still be paired, or come on top.
    room = Counter(view[i] for i, f in facts.items() if f["label"] == 1 and i not in pairs.present)
    others = Counter(view[i] for i, f in facts.items() if f["label"] == 0 and i not in pairs.absent)
    if len(pairs.present) < most:
        assert not room & others
        assert not any(f["boxed"] and i not in pairs.present for i, f in facts.items())


def test_within_a_view_boxed_films_come_first():
    drawn = [("a", "PA", 1, True), ("b", "PA", 1, False), ("c", "PA", 0, False)]
    assert paired(films(drawn), 5).present == ["0.png"]
