"""What a run says of itself while it goes on, and how tables look in a terminal."""

from __future__ import annotations

import time
from typing import Any

import pytest

from overread.benchmarks.grounding import exhibits as grounding
from overread.benchmarks.medcmr import exhibits as medcmr
from overread.case import Table
from overread.cli import show
from overread.engine import Tally
from overread.readers import parse_spec
from overread.typeset import Cell
from support import every_exhibit, medcmr_measures


def test_off_a_terminal_all_readers_share_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = [
        (name, Tally(answered=n, failed=1), 40, parse_spec(f"control:{name}"))
        for name, n in (("one", 4), ("two", 20))
    ]
    with show.watch(shown, every=0.05):
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    for line in lines:
        assert line.startswith("one: 5/40, ")
        assert "; two: 21/40, " in line
        assert line.count("1 failed") == 2


def test_no_label_steers_the_terminal_while_it_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    spec = parse_spec({"kind": "control", "model": "looks", "label": "control:looks red \x1b[31m"})
    with show.watch([(spec.name, Tally(), 3, spec)]):
        pass
    told = capsys.readouterr().err
    assert "red \ufffd[31m" in told
    assert "\x1b" not in told


# ---------------------------------------------------------------- tables


def wide_table(**more: object) -> Table:
    row = ("a-model", *(Cell("33.2", "[28.7, 38.1]", n=370 + at) for at in range(8)))
    columns = ("model", *(f"measure {at}" for at in range(8)))
    signature = "|".join(f"key{at}:value{at}" for at in range(20))
    facts = {"rows": (row,) * 3, "notes": ("A note. " * 30,), "signature": signature} | more
    return Table(name="t", title="Title", columns=columns, **facts)  # type: ignore[arg-type]


def printed(capsys: pytest.CaptureFixture[str], table: Table, *, wide: bool = False) -> list[str]:
    show.print_table(table, wide=wide)
    return capsys.readouterr().out.splitlines()


def test_a_table_fits_a_hundred_columns_and_says_what_it_leaves_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed(capsys, wide_table())
    assert max(map(len, lines)) <= 100
    assert "Not shown: measure 4, measure 5" in "\n".join(lines)
    head = lines[1:3]
    assert "n=370" in " ".join(head)
    assert "n=370" not in lines[3]


def test_wide_prints_every_column_every_n_and_an_unbroken_signature(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = wide_table()
    lines = printed(capsys, table, wide=True)
    assert lines[2].count("[28.7, 38.1] n=37") == 8
    assert lines[-1] == table.signature
    assert "Not shown" not in "\n".join(lines)


def test_intervals_stand_below_where_the_headline_needs_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    every = tuple(f"measure {at}" for at in range(6))
    lines = printed(capsys, wide_table(headline=every))
    assert lines[3].split() == ["a-model", *["33.2"] * 6]
    assert lines[4].split("[")[1:] == [*["28.7, 38.1]  "] * 5, "28.7, 38.1]"]


@pytest.mark.parametrize(
    ("exhibits", "measured"),
    [
        (grounding.exhibits, every_exhibit.measured),
        (medcmr.exhibits, medcmr_measures.everything_measured),
    ],
    ids=["grounding", "medcmr"],
)
def test_every_table_of_a_benchmark_fits(
    capsys: pytest.CaptureFixture[str], exhibits: Any, measured: Any
) -> None:
    readers = ("server:a-laboratory/a-long-name-7b", "control:always-yes", "short")
    tables = [one for one in exhibits(measured(readers), "s") if isinstance(one, Table)]
    assert len(tables) > 8
    for table in tables:
        assert max(map(len, printed(capsys, table))) <= 100, table.name


def test_a_verdict_has_a_colour_and_a_sign_only_where_somebody_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert show.verdict_word("FAIL").plain == "FAIL"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    word = show.verdict_word("FAIL")
    assert (word.plain, str(word.style)) == ("✗ FAIL", "red")
    assert show.verdict_word("no such word").plain == "no such word"
