"""One registry: a spec in, a reader out."""

from __future__ import annotations

import pytest

from overread.case import BadInput
from overread.readers import Guard, open_reader
from support.readers import Scripted

LOOKS = Scripted(name="control:looks")


def open_(spec: str):
    return open_reader(spec, guard=Guard(), environment={}, controls={"looks": LOOKS})


def test_a_control_is_the_benchmarks_own() -> None:
    assert open_("control:looks") is LOOKS


def test_a_control_may_have_another_name_and_stays_itself() -> None:
    renamed = open_("control:looks?label=again")
    assert renamed.name == "again"
    assert renamed.identity == LOOKS.identity
    assert renamed.traits == LOOKS.traits


@pytest.mark.parametrize("option", ["modality=text", "concurrency=3", "temperature=1"])
def test_a_control_takes_no_other_option(option: str) -> None:
    with pytest.raises(BadInput, match="no option but label"):
        open_(f"control:looks?{option}")


def test_an_unknown_control_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match="looks"):
        open_("control:nothing")
