"""Every benchmark on synthetic patients with its controls, and one page of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from overread.benchmarks.registry import with_phantoms
from overread.case import BadInput
from overread.records import check_out
from overread.runs._left_out import Tell
from overread.runs._measuring import Run
from overread.runs._opening import open_cases
from overread.runs._pages import OWN_CARDS
from overread.runs._running import Watch, run
from overread.runs._selfcheck import own_judges, standard_phantoms

_PAGE = "report.html"


def demo(out: Path, *, watch: Watch | None = None, tell: Tell | None = None) -> Iterator[Run]:
    """One run folder per benchmark below `out`, each yielded when it is done; last, the page."""
    from overread.runs._reporting import report

    benchmarks = list(with_phantoms(tell))
    _check(out, [one.name for one in benchmarks])
    done = []
    for one in benchmarks:
        name, cases = one.name, standard_phantoms(one)
        if tell is not None:
            tell(f"making phantoms for {name} (once) …")
        bench = open_cases(name, cases, "corrected", {})
        done.append(
            run(
                name,
                cases,
                [f"control:{control}" for control in bench.controls()],
                judges=own_judges(bench),
                out=out / name,
                watch=watch,
                tell=tell,
            )
        )
        yield done[-1]
    report([one.folder for one in done], out / _PAGE, cards=OWN_CARDS)


def _check(out: Path, names: Sequence[str]) -> None:
    """Refuse a place that cannot be written, or holds something other than an earlier demo."""
    try:
        folder, taken = out.is_dir(), out.exists() or out.is_symlink()
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror}. Give a writable place.") from None
    if folder:
        others = {path.name for path in out.iterdir()} - {*names, _PAGE}
        if others:
            raise BadInput(
                f"--out {out}: the folder holds other things. Give a new or empty folder."
            )
    elif taken:
        raise BadInput(f"--out {out}: a file stands there. Give a folder.")
    for name in names:
        check_out(out / name)
