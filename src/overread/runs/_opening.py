"""Cases and readers, opened from what a user wrote."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Reader, Traits
from overread.engine import Enrolment, private_folder
from overread.judging import Role
from overread.judging.panel import panel_of, with_rubric
from overread.readers import Guard, open_reader, parse_spec
from overread.runs._asking import Seat, seat_of
from overread.runs._environment import WORKSPACE, Config, cache_folder, environment

# A film takes some 200 kB: a slip of the finger must not fill the disk.
_MOST_PHANTOMS = 100_000
_LARGEST_SEED = 2**32 - 1
_MOST_CALLS = 10_000
# Kinds of reader behind which no weights are.
_OFFLINE = ("control", "recorded")


def open_cases(
    benchmark: str, cases: str | Path, edition: str, settings: Mapping[str, str]
) -> Benchmark:
    """Open a benchmark over a case file, or over `phantom:N[:SEED]`, made once and kept."""
    from overread.benchmarks.registry import class_of

    return class_of(benchmark).open(case_file(benchmark, cases), edition, settings)


def case_file(benchmark: str, cases: str | Path) -> Path:
    """Where the cases stand; phantoms are made if they are not there."""
    text = str(cases)
    return phantom_cases(benchmark, text) if text.startswith("phantom:") else Path(text)


def may_draw(cases: str, known: int) -> bool:
    """Whether phantoms may be drawn again for a page: as many as a run had, or those still there.

    A record is a file that anybody may have changed; a page is not worth an hour of drawing.
    """
    kind, _, spec = cases.partition(":")
    if kind != "phantom":
        return True
    n, _, seed = spec.partition(":")
    if len(spec) > 40 or not n.isdecimal() or (seed and not seed.isdecimal()):
        return False
    return int(n) <= known or any(cache_folder().glob(f"phantom-*-{int(n)}-{int(seed or 0)}-r*"))


def recorded_cases(cases: str | Path) -> str:
    """What a record calls its cases: found again from whatever folder the run is looked at."""
    text = str(cases)
    return text if text.startswith("phantom:") else os.path.abspath(text)


def phantom_cases(benchmark: str, spec: str) -> Path:
    """The case file of `phantom:N[:SEED]` for a benchmark, made in the cache if it is not there."""
    from overread.benchmarks.registry import class_of, with_phantoms
    from overread.plugins import at

    parts = spec.split(":")[1:]
    if not 1 <= len(parts) <= 2 or not all(part.isdecimal() and part.isascii() for part in parts):
        raise BadInput(
            f'--cases {spec}: expected phantom:N or phantom:N:SEED, as in "phantom:480".'
        )
    for word, most in zip(parts, (_MOST_PHANTOMS, _LARGEST_SEED), strict=False):
        if len(word) > len(str(most)) or int(word) > most:
            raise BadInput(f"--cases {spec}: {word[:20]} is too large; give at most {most}.")
    declared = class_of(benchmark).phantoms
    if declared is None:
        *others, last = (one.name for one in with_phantoms())
        raise BadInput(
            f'benchmark "{benchmark}" has no phantoms; {", ".join(others)} and {last} have.'
        )
    n, seed = int(parts[0]), int(parts[1]) if len(parts) == 2 else 0
    cache = cache_folder()
    try:
        made = Path(at(declared.maker)(cache, n, seed))
        if cache.parent.name == WORKSPACE:
            private_folder(cache.parent)
        return made
    except OSError as error:
        raise BadInput(
            f"{cache}: phantoms cannot be kept there ({error.strerror}). "
            "Name a writable folder with the variable OVERREAD_CACHE."
        ) from None


def open_readers(
    bench: Benchmark,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    config: Config,
    concurrency: int | None = None,
    controls: Mapping[str, Reader] | None = None,
) -> list[Seat]:
    """Open every reader behind the guard of this data set; two may not share a name.

    `control:NAME` is one of the benchmark's controls, or of those given.
    """
    if not readers:
        raise BadInput("no reader was given. Give at least one with --reader, as control:looks.")
    if concurrency is not None and not 1 <= concurrency <= _MOST_CALLS:
        raise BadInput(f"--concurrency {concurrency}: it must be from 1 to {_MOST_CALLS}.")
    guard = Guard(bench.policy, config.share_with)
    seats: list[Seat] = []
    for reader in readers:
        if not isinstance(reader, str | Mapping):
            seats.append(seat_of(reader))
            continue
        spec = parse_spec(reader)
        if concurrency and spec.concurrency is None and spec.kind not in _OFFLINE:
            spec = msgspec.structs.replace(spec, concurrency=concurrency)
        if controls is None:  # made of all cases, where any is asked for
            controls = bench.controls() if spec.kind == "control" else None
        opened = open_reader(spec, guard=guard, environment=environment(), controls=controls or {})
        seats.append(Seat(opened, spec))
    names = [seat.reader.name for seat in seats]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BadInput(f'two readers are called "{min(twice)}". Give one of them a label= option.')
    return seats


def open_judges(
    bench: Benchmark,
    judges: Sequence[str | Mapping[str, Any] | Reader],
    config: Config,
    concurrency: int | None = None,
) -> list[Seat]:
    """Open every judge behind the guard of this data set, with what each judges.

    A judge is `[ROLE=]SPEC`, a reader's table that may name its `role`, or a reader for every role.
    Spec and table may name a `rubric`.
    """
    if not judges:
        return []
    if not bench.roles:
        raise BadInput(f"--judge: {bench.name} asks no judge. Leave the option out.")
    words = [judge for judge in judges if isinstance(judge, str)]
    panel = panel_of(words, bench.roles, bench.name)
    seats: list[tuple[tuple[Role, ...], str, str | dict[str, Any] | Reader]] = []
    for text, roles in panel.items():
        spec, rubric = with_rubric(text)
        seats.append((roles, rubric, spec))
    for judge in judges:
        if isinstance(judge, Mapping):
            table = dict(judge)
            rubric = str(table.pop("rubric", ""))
            seats.append((_roles_of(table, bench.roles, bench.name), rubric, table))
        elif not isinstance(judge, str):
            seats.append((bench.roles, "", judge))
    others = bench.other_rubrics
    for roles, rubric, _ in seats:
        # A rubric other than the usual one must be there for every role of its judge.
        if rubric and not all(rubric in others.get(role, ()) for role in roles):
            there = [f"{name} (role {role})" for role, names in others.items() for name in names]
            raise BadInput(
                f"a judge has rubric={rubric[:60]}; there is "
                f"{', '.join(there) or 'none but the usual one'} here. "
                "Write ROLE=SPEC?rubric=NAME, or leave it out."
            )
    opened = open_readers(
        bench, [spec for *_, spec in seats], config, concurrency, controls=bench.judges()
    )
    return [
        msgspec.structs.replace(seat, roles=roles, rubric=rubric)
        for (roles, rubric, _), seat in zip(seats, opened, strict=True)
    ]


def enrolments(seats: Sequence[Seat]) -> list[Enrolment]:
    """Everybody who is about to be asked, as the store writes them down."""
    found: list[Enrolment] = []
    for seat in seats:
        one = Enrolment(
            identity=seat.reader.identity,
            label=seat.reader.name,
            judges=seat.judges,
            use=_use(seat),
            weights=seat.spec.kind not in _OFFLINE,
        )
        for other in found:
            if one.weights and (other.identity, other.use) == (one.identity, one.use):
                raise BadInput(
                    f'readers "{other.label}" and "{one.label}" are the same model at the same '
                    "address, so one's replies would be the other's. Give one of them "
                    "revision=NAME, or leave it out."
                )
        found.append(one)
    return found


def _use(seat: Seat) -> str:
    """What tells two readers of one identity apart: their role, and every trait that is set."""
    told = msgspec.structs.asdict(seat.reader.traits)
    usual = msgspec.structs.asdict(Traits())
    words = [f"judge of {' '.join(seat.roles)}"] if seat.judges else []
    words += [f"{name}={told[name]}" for name in sorted(told) if told[name] != usual[name]]
    return " ".join(words)


def _roles_of(table: dict[str, Any], known: tuple[Role, ...], benchmark: str) -> tuple[Role, ...]:
    """What a judge's table says it judges, taken out of it; every role where it names none."""
    word = table.pop("role", None)
    if word is None:
        return known
    roles = tuple(role for role in known if role == word)
    if not roles:
        raise BadInput(f'a judge has the role "{word}"; {benchmark} has {", ".join(known)}.')
    return roles
