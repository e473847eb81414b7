"""Every benchmark on synthetic patients with its controls, and one page of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from overread.benchmarks.registry import BENCHMARKS
from overread.case import BadInput
from overread.records import check_out
from overread.runs._left_out import Tell
from overread.runs._measuring import Run
from overread.runs._opening import open_cases
from overread.runs._pages import OWN_CARDS
from overread.runs._running import Watch, run
from overread.runs._selfcheck import STANDARD_PHANTOMS, own_judges

__all__ = ["demo"]

_PAGE = "report.html"


def demo(out: Path, *, watch: Watch | None = None, tell: Tell | None = None) -> Iterator[Run]:
    """One run folder per benchmark below `out`, each yielded when it is done; last, the page."""
    from overread.runs._reporting import report

    _check(out)
    done = []
    for name in BENCHMARKS:
        if tell is not None:
            tell(f"making phantoms for {name} (once) …")
        bench = open_cases(name, STANDARD_PHANTOMS[name], "corrected", {})
        done.append(
            run(
                name,
                STANDARD_PHANTOMS[name],
                [f"control:{control}" for control in bench.controls()],
                judges=own_judges(bench),
                out=out / name,
                watch=watch,
                tell=tell,
            )
        )
        yield done[-1]
    report([one.folder for one in done], out / _PAGE, cards=OWN_CARDS)


def _check(out: Path) -> None:
    """Refuse a place that cannot be written, or holds something other than an earlier demo."""
    try:
        folder, taken = out.is_dir(), out.exists() or out.is_symlink()
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror}. Give a writable place.") from None
    if folder:
        others = {path.name for path in out.iterdir()} - {*BENCHMARKS, _PAGE}
        if others:
            raise BadInput(
                f"--out {out}: the folder holds other things. Give a new or empty folder."
            )
    elif taken:
        raise BadInput(f"--out {out}: a file stands there. Give a folder.")
    for name in BENCHMARKS:
        check_out(out / name)
