"""Scratch folders: a living writer's is left alone, a dead one's is gone with the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from overread.scratch import scratch_folder

WRITES = """
import sys
from contextlib import suppress
from pathlib import Path
from overread.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as scratch:
    (scratch / "deep").mkdir()
    (scratch / "deep" / "file").touch()
    print(scratch, flush=True)
    sys.stdin.read()
"""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def writer(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_there_and_then_it_is_not(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as scratch:
        assert scratch.parent == tmp_path
        assert scratch.stat().st_mode & 0o077 == 0
    assert names(tmp_path) == set()
    with suppress(RuntimeError), scratch_folder(tmp_path) as scratch:
        (scratch / "file").touch()
        raise RuntimeError
    assert names(tmp_path) == set()
    with pytest.raises(FileNotFoundError), scratch_folder(tmp_path / "nowhere"):
        pass


def test_a_killed_writers_is_removed_by_the_next_and_a_living_ones_is_not(tmp_path: Path) -> None:
    dead, left = writer(tmp_path)
    living, kept = writer(tmp_path)
    try:
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        assert (left / "deep" / "file").exists()
        with scratch_folder(tmp_path):
            assert not left.exists()
            assert (kept / "deep" / "file").exists()
    finally:
        for process in (dead, living):
            process.communicate("")
    assert names(tmp_path) == set()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.docx").touch()
    for name in (".unfinished.mark", ".unfinished.a symphony", ".unfinished.Schubert", "film.part"):
        (tmp_path / name).mkdir()
    (tmp_path / ".unfinished.linked__").symlink_to(elsewhere)
    before = names(tmp_path)
    (tmp_path / ".unfinished.0abcde_9").mkdir()
    os.mkfifo(tmp_path / ".unfinished.pipe0000")
    (tmp_path / ".unfinished.file0000").write_text("a page, as earlier versions left it")
    with scratch_folder(tmp_path):
        pass
    assert names(tmp_path) == before | {".unfinished.pipe0000"}
    assert names(elsewhere) == {"thesis.docx"}


def test_writers_that_begin_together_do_not_take_each_others_away(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from overread.scratch import scratch_folder\n"
        "sys.stdin.readline()\n"
        "for n in range(200):\n"
        "    with scratch_folder(Path(sys.argv[1])) as s:\n"
        "        (s / 'file').write_text('x'); assert (s / 'file').read_text() == 'x'\n"
    )
    pair = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in pair:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in pair:
        process.communicate(timeout=120)
    assert [process.returncode for process in pair] == [0, 0, 0]
    assert names(tmp_path) == set()
