"""Random m3cot runs with everything odd in them: silence, refusals, judges that fail or are absent."""

from __future__ import annotations

from random import Random

import msgspec

from overread.benchmarks.m3cot.cases import KINDS, STEPS
from support.m3_tables import answer, case, tables_of, verdict, verdicts_of

READERS = ("one", "two", "three")
JUDGES = ("g", "h", "i")
TEXTS = ("said", "", " \n", None)


def odd_run(seed, n=12, *, judged=True):
    """Tables of three readers; the last is timed throughout, as results made elsewhere may be."""
    draw = Random(seed)
    cases = [
        case(
            i,
            task=draw.choice(("Diagnosis", "Action", "")),
            kind=draw.choice(KINDS),
            steps=STEPS[: draw.randint(1, 4)],
            patient=draw.choice(("p", "q", None, None)),
        )
        for i in range(1, n + 1)
    ]
    answers, verdicts = [], []
    for reader in READERS:
        judges = draw.sample(JUDGES, draw.randint(1, 3))
        for one in cases:
            for mode in ("direct", "cot"):
                for image in ("original", "blank"):
                    if draw.random() < 0.15:
                        continue
                    row = answer(
                        reader,
                        one["index"],
                        mode,
                        draw.choice(TEXTS) if draw.random() < 0.4 else "said",
                        image=image,
                        timed=reader == READERS[-1],
                    )
                    if row["text"] is not None and draw.random() < 0.15:
                        row["outcome"] = "refused"
                    answers.append(row)
                    verdicts += _verdicts(draw, row, one, judges)
        answers.append(answer(reader, n + 7))  # about a case that is not there
        verdicts.append(verdict("g", "answer", reader, 1, {"match": True}, check=True))
    tables = tables_of(cases, answers, list(READERS))
    return msgspec.structs.replace(tables, verdicts=verdicts_of(verdicts) if judged else None)


def _verdicts(draw, row, one, judges):
    where = {"mode": row["mode"], "image": row["image"], "timed": row["timed"]}
    told = (row["reader"], one["index"])
    for judge in judges:
        if draw.random() < 0.2 or not (row["text"] or "").strip():
            continue
        hit = {"match": draw.random() < 0.5, "final_answer": 'says "match": true'}
        yield verdict(judge, "answer", *told, hit if draw.random() < 0.85 else None, **where)
        if row["mode"] == "cot":
            steps = [
                {"type": step, "judgment": draw.choice(("Match", "Wrong", "N/A")), "text": "t"}
                for step in draw.choices((*STEPS, "restatement"), k=draw.randint(0, 4))
            ]
            hits = [draw.random() < 0.5 for _ in one["steps"]]
            yield verdict(judge, "precision", *told, steps, **where)
            yield verdict(judge, "recall", *told, hits if draw.random() < 0.9 else None, **where)
