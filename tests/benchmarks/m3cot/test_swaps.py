"""Whose image is lent to whom, and which items are timed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.m3cot.cases import M3Case, Step
from overread.benchmarks.m3cot.swaps import swap_remarks, swaps, timed_items


def item(number, task="Diagnosis", image=None, patient=None):
    return M3Case(
        case_id=str(number),
        index=number,
        question="What?",
        answer="A",
        kind="short",
        task=task,
        image=image or f"images/{number}.png",
        steps=(Step("modality", "CT"),),
        patient=patient,
    )


UNIQUE = st.lists(st.sampled_from(["Cause", "Grading", "Symptom"]), max_size=30).map(
    lambda tasks: [item(n, task) for n, task in enumerate(tasks, start=1)]
)
SHARED = st.lists(
    st.tuples(
        st.sampled_from(["Cause", "Grading"]),
        st.integers(0, 5),
        st.sampled_from([None, None, "p", "q", "r"]),
    ),
    max_size=25,
).map(lambda rows: [item(n, t, f"images/{i}.png", p) for n, (t, i, p) in enumerate(rows, start=1)])
SEEDS = st.integers(0, 2**32 - 1)


@given(UNIQUE, SEEDS)
def test_where_images_are_unique_each_is_lent_once_within_its_task(cases, seed):
    lent = swaps(cases, seed)
    sizes = Counter(case.task for case in cases)
    assert set(lent) == {case.case_id for case in cases if sizes[case.task] > 1}
    for case in cases:
        if case.case_id in lent:
            assert lent[case.case_id].task == case.task
            assert lent[case.case_id].image != case.image
    assert len({lender.case_id for lender in lent.values()}) == len(lent)


def kin(case, cases):
    """All items of the task that are linked to one by images and patients."""
    found = [case]
    while True:
        more = [
            other
            for other in cases
            if other.task == case.task
            and other not in found
            and any(
                other.image == one.image
                or (one.patient is not None and other.patient == one.patient)
                for one in found
            )
        ]
        if not more:
            return found
        found += more


@given(SHARED, SEEDS)
def test_another_image_and_another_patient_wherever_the_task_has_one(cases, seed):
    lent = swaps(cases, seed)
    for case in cases:
        own = kin(case, cases)
        strangers = [other for other in cases if other.task == case.task and other not in own]
        lender = lent.get(case.case_id)
        assert lender in strangers if strangers else lender is None
    for task in {case.task for case in cases}:
        items = [case for case in cases if case.task == task]
        if all(2 * len(kin(case, cases)) <= len(items) for case in items):
            assert len({lent[case.case_id].case_id for case in items}) == len(items)


@given(SHARED, SEEDS, st.randoms())
def test_the_draw_knows_no_order(cases, seed, random):
    shuffled = random.sample(cases, len(cases))
    assert swaps(shuffled, seed) == swaps(cases, seed)


def test_the_seed_matters():
    cases = [item(n) for n in range(1, 40)]
    assert swaps(cases, 0) == swaps(cases, 0) != swaps(cases, 1)


def test_items_alone_in_their_task_are_told():
    cases = [item(1, "Cause"), item(2, "Cause"), item(3, "Symptom"), item(4, "Grading")]
    (line,) = swap_remarks(cases, swaps(cases, 0))
    assert "2 items have no other image in the same task (Symptom, Grading)" in line
    assert swap_remarks(cases[:2], swaps(cases[:2], 0)) == ()
    (line,) = swap_remarks(cases[:3], swaps(cases[:3], 0))
    assert line.startswith("1 item has")


@given(UNIQUE, st.integers(0, 40), SEEDS, st.randoms())
def test_timed_items_are_a_sample_in_the_cases_order(cases, n, seed, random):
    found = timed_items(cases, n, seed)
    assert len(found) == min(n, len(cases))
    assert list(found) == [case for case in cases if case in found]
    assert set(timed_items(cases, n + 3, seed)) >= set(found)
    assert set(timed_items(random.sample(cases, len(cases)), n, seed)) == set(found)
