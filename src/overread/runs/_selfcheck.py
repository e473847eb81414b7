"""The instrument checked against readers whose behaviour is known by construction.

`demo` puts every benchmark on synthetic patients to its controls, and makes one page of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from overread.benchmarks.base import Benchmark, Phantoms
from overread.benchmarks.registry import class_of, with_phantoms
from overread.case import BadInput
from overread.records import check_out
from overread.runs._choosing import Tell
from overread.runs._measuring import Run
from overread.runs._opening import open_cases
from overread.runs._pages import OWN_CARDS
from overread.runs._running import Watch, run


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What one control is, what it was found to be, and what the authors' edition takes it for.

    `recovered` is whether each edition found what it must; `signature` is that of `found`.
    """

    benchmark: str
    control: str
    expected: str
    found: str
    authors: str
    note: str | None = None
    recovered: bool
    signature: str


def selfcheck(
    benchmark: str | None = None,
    *,
    seed: int = 0,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> Iterator[list[Checked]]:
    """Put every control to fresh phantoms with an empty store; one list for each benchmark.

    Both editions are asked, so that a control the published rules misplace is seen.
    """
    found = with_phantoms(tell) if benchmark is None else (class_of(benchmark),)
    for one in found:
        yield _checked(one.name, f"{standard_phantoms(one)}:{seed}", standard(one).settings, watch)


def standard(benchmark: type[Benchmark]) -> Phantoms:
    """The synthetic cases of a benchmark, which it must have."""
    if benchmark.phantoms is None:
        raise BadInput(f"{benchmark.name} has no phantoms. Give cases of your own.")
    return benchmark.phantoms


def standard_phantoms(benchmark: type[Benchmark]) -> str:
    """The set of `demo`, `selfcheck` and the tests with a real model: `phantom:480`."""
    return f"phantom:{standard(benchmark).size}"


def own_judges(bench: Benchmark) -> list[str]:
    """The judges that need no server, where a benchmark is judged."""
    return [f"control:{name}" for name in bench.judges()]


def _checked(
    name: str, cases: str, settings: Mapping[str, str], watch: Watch | None
) -> list[Checked]:
    found = {}
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        for edition in ("corrected", "authors"):
            bench = open_cases(name, cases, edition, settings)
            done = run(
                name,
                cases,
                [f"control:{control}" for control in bench.expected()],
                judges=own_judges(bench),
                edition=edition,
                settings=settings,
                out=place / edition,
                store=place / "store.sqlite",
                watch=watch,
            )
            found[edition] = (bench.recovered(done.records), done.record.signature)
    ours, signature = found["corrected"]
    theirs = {one.control: one for one in found["authors"][0]}
    return [
        Checked(
            benchmark=name,
            control=one.control,
            expected=one.expected,
            found=one.found,
            authors=theirs[one.control].found,
            note=one.note,
            recovered=one.ok and theirs[one.control].ok,
            signature=signature,
        )
        for one in ours
    ]


_PAGE = "report.html"


def demo(out: Path, *, watch: Watch | None = None, tell: Tell | None = None) -> Iterator[Run]:
    """One run folder per benchmark below `out`, each yielded when it is done; last, the page."""
    from overread.runs._reporting import report

    benchmarks = list(with_phantoms(tell))
    _check_out(out, [one.name for one in benchmarks])
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


def _check_out(out: Path, names: Sequence[str]) -> None:
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
