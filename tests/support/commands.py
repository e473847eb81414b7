"""Commands run as a user would, in this process for speed, and the places they are run in."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from overread import report
from overread.cli.app import main
from support.drawn_once import draw_once

WRITE_REPORT = report.write_report

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "grounding"
with (GOLDEN / "mimic" / "manifest.csv").open(encoding="utf-8") as _manifest:
    COLUMNS = _manifest.readline().strip().split(",")


class Done(NamedTuple):
    """What a command left: its exit code, and its lines."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line of a refusal; anything else on either stream is a failure."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("overread: ")
        return line


class Overread:
    """`overread(*words)`: the command in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *words: object) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["overread", *map(str, words)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return Done(left.value.code, *self._capsys.readouterr())  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def phantom_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache of phantoms for all tests, and for all workers of one session."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERREAD_CACHE", str(shared / "phantoms"))
        draw_once(patch)
        yield shared / "phantoms"


@pytest.fixture(scope="module")
def no_pages() -> Iterator[None]:
    """Runs have an empty page: where no test looks at it, it would be half of their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "write_report", lambda path, *_, **__: path.touch())
        yield


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages after all, for a test among others."""
    monkeypatch.setattr(report, "write_report", WRITE_REPORT)


@pytest.fixture
def workspace(tmp_path: Path, phantom_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder of a user without configuration and without keys."""
    place = tmp_path / "workspace"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    for variable in ("OVERREAD_CONFIG", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    return place


@pytest.fixture
def overread(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Overread:
    return Overread(monkeypatch, capsys)


GOOD_ROW = {
    "case_id": "c1",
    "source": "ms_cxr",
    "image_path": "film.png",
    "subject_id": "p1",
    "finding": "edema",
    "label": "1",
    "box_x": "10",
    "box_y": "20",
    "box_w": "60",
    "box_h": "70",
    "swap_image_path": "film.png",
    "irrelevant_box_x": "160",
    "irrelevant_box_y": "150",
    "irrelevant_box_w": "60",
    "irrelevant_box_h": "70",
}


def write_manifest(folder: Path, *rows: Mapping[str, str]) -> Path:
    """A manifest of good rows, each with some cells changed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "manifest.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, COLUMNS, restval="")
        sheet.writeheader()
        for number, row in enumerate(rows):
            own = {"case_id": f"c{number}", "subject_id": f"p{number}"}
            sheet.writerow({**GOOD_ROW, **own, **row})
    return path


def tree(*folders: Path) -> set[tuple[str, int, int]]:
    """Everything below the folders, with size and time: equal before and after, nothing was done."""
    found = set()
    for folder in folders:
        for path in folder.rglob("*"):
            try:
                stat = path.lstat()
            except FileNotFoundError:  # SQLite takes its own files away when it closes
                continue
            found.add((str(path), stat.st_mtime_ns, stat.st_size if path.is_file() else 0))
    return found
