"""Random Med-CMR runs with verdicts: silence, judges that fail or are absent, missing captions."""

from __future__ import annotations

from random import Random

import msgspec
import polars as pl

from support.med_runs import READERS, random_run
from support.med_scores import scored_by, verdicts_of
from support.med_tables import wrote

JUDGES = ("g", "h")


def odd_run(seed, n=15, *, judged=True):
    """A random run whose open replies are odd, and judged in part."""
    tables = random_run(seed, n)
    draw = Random(seed)
    answers, verdicts = [], []
    for reader in READERS:
        judges = JUDGES[: draw.randint(1, 2)]
        for index in range(4):
            for image in ("original", "blank"):
                text = draw.choice(("said", "said", "said", " ", None))
                row = wrote(reader, index, text, image=image)
                if text is not None:
                    row["outcome"] = draw.choice(("answered", "answered", "unparsed", "refused"))
                answers.append(row)
                if not (text or "").strip() or row["outcome"] == "refused":
                    continue
                for judge in judges:
                    scores = [draw.choice((0, 0.5, 1)) for _ in "cc"] + [
                        draw.randint(0, 4) for _ in "vt"
                    ]
                    kept = scores if draw.random() < 0.8 else None
                    verdicts.append(scored_by(judge, reader, index, kept, image=image))
        verdicts.append(scored_by("g", reader, 0, (1, 1, 4, 4), check=True))
    others = tables.answers.filter(pl.col("form") == "mcq")
    rows = pl.DataFrame(answers, schema=tables.answers.schema, orient="row")
    return msgspec.structs.replace(
        tables,
        answers=pl.concat([others, rows]),
        verdicts=verdicts_of(verdicts) if judged else None,
    )
