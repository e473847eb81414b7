"""Tables that no run wrote: one line that names the file and the row."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overread.benchmarks.registry import class_of
from overread.case import BadInput
from overread.judging import VERDICT_COLUMNS
from overread.runs._asking import verdict_schema
from overread.runs._kept import check_tables

FILM = '{"follow":"","image":"original","mode":"cot","timed":false}'
OPEN = '{"form":"open","image":"original","order":0}'
STEP = '{"type":"feature","judgment":"Match","text":"a"}'
SOUND = {
    "m3cot": {
        "answer": '{"match":true,"final_answer":"x"}',
        "precision": f"[{STEP}]",
        "recall": "[true,false]",
        "order": '{"modality":1,"feature":2,"conclusion":null,"others":"x"}',
    },
    "medcmr": {
        "score": '{"clarity":1,"coherence":0.5,"visual":4,"truth":4}',
        "score_uncaptioned": '{"clarity":1,"coherence":0.5,"truth":4}',
    },
}


def verdicts(benchmark: str, **third: Any) -> pl.DataFrame:
    """A verdict on every question, and one that was not read; the third row has these cells."""
    asked = [*SOUND[benchmark].items(), ("score" if benchmark == "medcmr" else "answer", None)]
    rows: list[dict[str, Any]] = []
    for question, payload in [asked[0], *asked]:
        cells = {
            "judge": "j", "role": "answer", "question": question, "reader": "a", "case": "1",
            "about": OPEN if benchmark == "medcmr" else FILM, "check": False, "attempts": 1,
            "outcome": "judged", "how": "strict", "payload": payload, "text": "x", "reason": "",
            "prompt": "p",
        }  # fmt: skip
        rows.append(cells | third if len(rows) == 2 else cells)
    return pl.DataFrame(rows, schema=verdict_schema()).select(VERDICT_COLUMNS)


def checked(
    benchmark: str = "m3cot",
    cases: list[Any] | None = None,
    answers: list[Any] | None = None,
    judged: pl.DataFrame | None = None,
) -> None:
    check_tables(
        Path("run"),
        class_of(benchmark).of_run("set@0", "open").questions,
        pl.DataFrame({"case": ["1", "2"] if cases is None else cases}),
        pl.DataFrame({"case": ["1", "1", "2"] if answers is None else answers}),
        judged,
    )


@pytest.mark.parametrize("benchmark", SOUND)
def test_what_a_run_writes_is_taken(benchmark: str) -> None:
    checked(benchmark, judged=verdicts(benchmark))
    checked(benchmark)


@pytest.mark.parametrize(
    ("cases", "answers", "says"),
    [
        (["1", "2", "1"], None, 'run/cases.parquet row 3: case "1" is there twice'),
        (["1", None], None, "run/cases.parquet row 2: case is missing"),
        ([1, 2], None, "run/cases.parquet: case is Int64, not text"),
        (None, ["1", None], "run/answers.parquet row 2: case is missing"),
        (None, [1, 2], "run/answers.parquet: case is Int64, not text"),
        (["1"], None, 'run/answers.parquet row 3: case "2" is not in cases.parquet'),
        (None, ["1", "\x1b[31m"], 'run/answers.parquet row 2: case "\ufffd[31m" is not in'),
    ],
)
def test_cases_have_names_of_their_own_and_answers_are_about_them(
    cases: list[Any] | None, answers: list[Any] | None, says: str
) -> None:
    with pytest.raises(BadInput) as told:
        checked(cases=cases, answers=answers)
    assert str(told.value).startswith(says)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("benchmark", "cells", "says"),
    [
        ("m3cot", {"payload": "notjson"}, 'payload is "notjson" (JSON is malformed'),
        ("m3cot", {"payload": "3"}, 'payload is "3" (Expected'),
        ("m3cot", {"payload": "[" * 100_000}, 'payload is "[[['),
        ("m3cot", {"question": "answer", "payload": "[]"}, 'payload is "[]" (Expected'),
        ("m3cot", {"question": "answer", "payload": "{}"}, 'payload is "{}" (Object missing'),
        ("m3cot", {"question": "recall", "payload": "[1]"}, 'payload is "[1]" (Expected'),
        ("m3cot", {"question": "precision", "payload": '["x"]'}, "payload is "),
        ("m3cot", {"about": "[1"}, 'about is "[1" ('),
        ("m3cot", {"about": "[1]"}, 'about is "[1]" (Expected'),
        ("m3cot", {"about": '{"mode":3}'}, "about is "),
        ("m3cot", {"about": None}, "about is missing"),
        ("m3cot", {"check": None}, "check is missing"),
        ("m3cot", {"question": "style"}, 'question is "style"; expected one of answer, prec'),
        ("m3cot", {"question": "score"}, 'question is "score"; expected one of answer'),
        ("medcmr", {"question": "answer"}, 'question is "answer"; expected one of score'),
        ("medcmr", {"payload": '{"truth":"x"}'}, "payload is "),
        ("medcmr", {"about": '{"form":"open"}'}, "about is "),
    ],
)
def test_a_verdict_is_what_its_question_asks_for(
    benchmark: str, cells: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadInput) as told:
        checked(benchmark, judged=verdicts(benchmark, **cells))
    assert str(told.value).startswith(f"run/verdicts.parquet row 3: {says}")
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 300


def test_columns_are_of_their_kind() -> None:
    made = verdicts("m3cot").with_columns(check=pl.lit("no"))
    with pytest.raises(BadInput, match=r"verdicts\.parquet: check is String, not Boolean"):
        checked(judged=made)


def test_many_rows_are_checked_quickly() -> None:
    """Half a million verdicts, no two alike."""
    texts = [f'{{"match":true,"final_answer":"{n}"}}' for n in range(500_000)]
    row = verdicts("m3cot").head(1).drop("payload")
    many = row.join(pl.DataFrame({"payload": texts}), how="cross").select(VERDICT_COLUMNS)
    start = time.perf_counter()
    checked(judged=many)
    assert time.perf_counter() - start < 10
