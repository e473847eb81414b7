"""What a command prints of a run: the first table, and where the rest is."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.case import Figure, Table
from overread.cli.options import print_headline
from overread.records import RunRecord
from overread.runs import Run


def run_of(*exhibits: Table | Figure) -> Run:
    record = RunRecord(
        benchmark="grounding",
        edition="corrected",
        answers_edition="corrected",
        cases="c",
        dataset="d",
        policy="open",
        n_cases=1,
    )
    made = {exhibit.name: exhibit for exhibit in exhibits}
    return Run(folder=Path("here"), record=record, records=[], exhibits=made)


def table(name: str) -> Table:
    return Table(name=name, title=f"Title of {name}", columns=("reader",), rows=(("r",),))


def figure(name: str) -> Figure:
    return Figure(name=name, title=f"Title of {name}", spec={}, alt="nothing")


@pytest.mark.parametrize(
    ("exhibits", "last"),
    [
        ((), "here/report.html"),
        ((table("a"),), "here/report.html"),
        ((table("a"), figure("f")), "1 figure: here/report.html"),
        ((table("a"), table("b")), "1 more table: here/report.html"),
        (
            (figure("e"), table("a"), figure("f"), table("b"), table("c")),
            "2 more tables and 2 figures: here/report.html",
        ),
    ],
)
def test_the_first_table_and_where_the_rest_is(
    exhibits: tuple[Table | Figure, ...], last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_headline(run_of(*exhibits))
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == last
    assert [name for name in "abcef" if f"Title of {name}" in out] == ["a"][: len(exhibits)]


def test_no_name_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Labels, titles and notes are others' words: escape codes and turned writing are marked."""
    steers = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
    made = Table(
        name="a",
        title=f"title {steers}",
        columns=(f"reader {steers}",),
        rows=((f"label {steers}",),),
        notes=(f"note {steers}",),
        signature=f"signature {steers}",
    )
    print_headline(run_of(made))
    told = capsys.readouterr().out
    assert told.count("\ufffd]0;owned") == 5
    assert not set(told) & set(steers[:1] + "\x07\x9b\u202e")
