"""The scripts of docs/clusters.md as they stand there, with a stand-in for vLLM and no Slurm."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from overread.runs import phantom_cases
from support.served import ROOT
from support.store_server import free_port

_SCRIPTS = re.findall(
    r"^```bash\n(.*?)^```", (ROOT / "docs/clusters.md").read_text("utf-8"), re.M | re.S
)
ASKING, RECIPE, MERGING = _SCRIPTS
VLLM = f"""#!/bin/sh
# vllm serve MODEL --host HOST --port PORT ...
exec {sys.executable} {ROOT}/bench/server.py --mode instant --control looks --port "$6"
"""


def test_bash_understands_them() -> None:
    for script in _SCRIPTS:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@pytest.mark.slow
def test_an_array_of_tasks_and_the_job_after_it_make_a_run(tmp_path: Path) -> None:
    parts = 2
    files = {
        "asking.sbatch": ASKING.replace("PARTS=4 ", f"PARTS={parts} ").replace(
            "8000", str(free_port() - 1)
        ),
        "recipe.sh": RECIPE,
        "merging.sbatch": MERGING.replace("of-4", f"of-{parts}"),
        "bin/vllm": VLLM,
    }
    (tmp_path / "bin").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bin" / "vllm").chmod(0o755)
    (tmp_path / "cases").symlink_to(phantom_cases("grounding", "phantom:16").parent)
    paths = [str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    common = {"PATH": os.pathsep.join(paths), "PYTHONPATH": str(ROOT / "tests")}

    def sent(script: str, **variables: str) -> str:
        done = subprocess.run(
            ["bash", script],
            cwd=tmp_path,
            env=os.environ | common | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    for task in range(1, parts + 1):
        said = sent("asking.sbatch", SLURM_ARRAY_TASK_ID=str(task))
        assert f"Part {task}/{parts} of grounding" in said
        assert not (tmp_path / "audit").exists()
    assert "Did it look at the image?" in sent("merging.sbatch")  # and no server is there any more
    assert (tmp_path / "audit" / "measures.json").exists()
