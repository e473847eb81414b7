"""Cases that stand in a file without a name, and are read one by one."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from overread.benchmarks.packed import ByName, Packed


class Case(msgspec.Struct, frozen=True):
    case_id: str
    texts: tuple[str, ...] = ()
    weight: float | None = None


CASES = [Case(f"c{number}", ("é" * number, ""), number / 7) for number in range(200)]


def test_what_is_read_is_what_was_added() -> None:
    packed = Packed(Case, CASES)
    assert len(packed) == len(CASES)
    assert list(packed) == CASES
    assert [packed[place] for place in (0, 199, -1, 64)] == [CASES[0], *CASES[-1:] * 2, CASES[64]]
    assert packed[3:7] == CASES[3:7]
    with pytest.raises(IndexError):
        packed[200]


def test_more_can_be_added_after_some_were_read() -> None:
    packed = Packed(Case)
    assert list(packed) == []
    assert not packed
    for number, case in enumerate(CASES[:5], start=1):
        packed.append(case)
        assert packed[number - 1] == case
        assert list(packed) == CASES[:number]


def test_two_can_be_read_at_once() -> None:
    packed = Packed(Case, CASES)
    assert all(one == other for one, other in zip(packed, packed, strict=True))


def test_another_process_can_be_given_them() -> None:
    named = pickle.loads(pickle.dumps(ByName(Packed(Case, CASES))))
    assert [named[case.case_id] for case in CASES] == CASES


def test_a_case_is_found_by_its_name_and_nothing_else() -> None:
    named = ByName(Packed(Case, CASES))
    assert named["c7"] == CASES[7]
    assert named.get("none") is None
    assert "c199" in named
    assert "c200" not in named
    assert list(named) == [case.case_id for case in CASES]
    assert list(ByName(CASES, ordered=True)) == sorted(named)
    assert ByName(CASES) == named
