"""`python -m bench probe`: a head on 200,000 vectors of 768 numbers, its time and its memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FILMS, WIDTH, PATIENTS = 200_000, 768, 60_000
# Of each of two cores: what the clock says on a busy machine says little.
MOST_SECONDS, CORES, MOST_MEMORY = 60.0, 2, 2e9

_FIT = """
import json, resource, sys, time
from pathlib import Path
import numpy as np
from overread.readers.probe import heads
from overread.readers.probe.features import Features
from bench.probe import FILMS, PATIENTS
kept = Features(Path(sys.argv[1]), "synthetic")
present = np.load(Path(sys.argv[1]) / "present.npy")
one = heads.Labelled("finding", np.arange(FILMS), present, np.arange(FILMS) % PATIENTS)
clock, work = time.monotonic(), time.process_time()
_, (head,), _ = heads.fit(kept.rows, FILMS, [one], edition="corrected", seed=0)
print(json.dumps({
    "seconds": time.monotonic() - clock,
    "processor_seconds": time.process_time() - work,
    "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "c": head.c, "auroc": head.auroc, "converged": head.converged,
}))
"""


def of_a_head() -> dict[str, Any]:
    """One finding in `corrected`, in a process of its own: C by folds, then a head on all films."""
    import numpy as np

    from overread.readers.probe.features import NAME_BYTES, Features

    draw = np.random.default_rng(0)
    truth = draw.standard_normal(WIDTH) * 1.5 / WIDTH**0.5
    with tempfile.TemporaryDirectory() as folder:
        kept = Features(Path(folder), "synthetic")
        present = []
        for at in range(0, FILMS, 20_000):
            x = draw.standard_normal((20_000, WIDTH), dtype=np.float32)
            chance = 1 / (1 + np.exp(2 - x @ truth))
            present.append(draw.random(len(x)) < chance)
            names = [(at + n).to_bytes(NAME_BYTES, "big") for n in range(len(x))]
            kept.add(names, x)
        np.save(Path(folder) / "present.npy", np.concatenate(present).astype(np.int8))
        done = subprocess.run(
            [sys.executable, "-c", _FIT, folder], capture_output=True, text=True, check=True
        )
    found = json.loads(done.stdout)
    quick = found["processor_seconds"] < CORES * MOST_SECONDS
    held = quick and found["bytes"] < MOST_MEMORY
    return {**found, "films": FILMS, "width": WIDTH, "ok": held and found["converged"]}
