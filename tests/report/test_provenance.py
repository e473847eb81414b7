"""Provenance: everything the record says, and how every reader was asked."""

from __future__ import annotations

import msgspec

from overread.case import Decoding, Traits
from overread.records import JudgeEntry, Machine, ReaderEntry, RunRecord
from overread.report.document import provenance
from support.page import record_of, seen_in


def full_record() -> RunRecord:
    readers = (
        ReaderEntry(
            name="a<b>", spec="openai:m@http://x", identity="i", asked=10, unanswered=1,
            model="served-7", decoding=Decoding(max_tokens=77, seed=123),
            first_reply="2026-01-02 03:04:05 UTC", last_reply="2026-01-03 00:00:00 UTC",
            models=("served-6", "served-7"), fingerprints=("fp",), listed=("root /x",),
        ),
        ReaderEntry(name="t", spec="control:t", identity="t", traits=Traits(modality="text")),
    )  # fmt: skip
    return msgspec.structs.replace(
        record_of("word"),
        readers=readers,
        judges=(JudgeEntry(name="j", spec="control:j", identity="jj", roles=("steps", "order")),),
        settings={"px": "512"},
        measured={"boot": "5000"},
        machine=Machine(system="Linux", processor="cpu", cores=2, memory_gb=25.3),
        versions={"python": "3.11.9", "numpy": "2.1"},
        remarks=("one remark", "another"),
        left_out=4,
        limit=20,
    )


def test_it_says_how_every_reader_was_asked() -> None:
    page = provenance(full_record())
    assert "How they were asked" in page
    assert "<td>a&lt;b&gt;</td><td>openai:m@http://x</td><td>multimodal</td><td>images</td>" in page
    assert "<td>9 of 10</td>" in page
    assert ">2026-01-02 03:04:05 UTC to 2026-01-03 00:00:00 UTC</td>" in page
    assert "<td>served-6, served-7</td>" in page
    assert "<td>text</td><td>none</td>" in page


def test_every_entry_of_the_record_is_there() -> None:
    words = seen_in(provenance(full_record())).words
    for part in (
        "edition corrected", "settings.px 512", "measured.boot 5000", "machine.cores 2",
        "versions.numpy 2.1", "readers[1].model served-7", "readers[1].decoding.seed 123",
        "readers[1].decoding.max_tokens 77", "judges[1].roles steps; order", "limit 20",
        "remarks one remark; another", "4 left out: see left_out.csv", "measures.json",
    ):  # fmt: skip
        assert part in words, part


def test_nothing_of_the_record_is_passed_over() -> None:
    words = seen_in(provenance(full_record())).words

    def leaves(value: object) -> list[str]:
        if isinstance(value, dict):
            return [leaf for one in value.values() for leaf in leaves(one)]
        if isinstance(value, list | tuple):
            return [leaf for one in value for leaf in leaves(one)]
        return [] if value is None else [str(value)]

    assert all(leaf in words for leaf in leaves(msgspec.to_builtins(full_record())))


def test_a_run_without_readers_has_its_record_all_the_same() -> None:
    page = provenance(msgspec.structs.replace(full_record(), readers=()))
    assert "asked</summary>" not in page
    assert "The whole record" in page
