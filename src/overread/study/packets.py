"""From a study file to what readers see, and apart from it the key to what that is.

A study folder holds `study.toml` (the design as it was resolved), `displays.jsonl` and `pictures/`
(what readers may see: random names, no metadata), `schedule.jsonl` (who sees what when),
`answers.sqlite`, and `key/`, which only analysts open: what each display shows, the readers' links,
and a log of whoever opened it.
"""

from __future__ import annotations

import getpass
import os
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from math import ceil, sqrt
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import tomli_w

import overread.case as oc
from overread import __version__
from overread.benchmarks.draws import even_shares, lot
from overread.benchmarks.people import Ask, ForPeople
from overread.case import BadInput, Policy
from overread.files import MOST_TABLE, open_file, read_bytes
from overread.scratch import scratch_folder
from overread.study.design import ORGANISER, USUAL_WASHOUT, Design, Task

_MOST_DISPLAYS = 1_000_000
# So often sessions are drawn for a case before there is one more of them.
_MOST_TRIES = 200
TRAINING = 0
"""The session before the first: answers given there are kept and not analysed."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A picture of a display, or a sheet of a clip's frames: its file, size, boxes over it."""

    file: str
    width: int
    height: int
    frames: int = 1
    boxes: tuple[tuple[int, int, int, int], ...] = ()


class Display(msgspec.Struct, frozen=True, kw_only=True):
    """What one screen shows. Nothing here says which case, condition or model it is."""

    id: str
    task: int
    pictures: tuple[Seen, ...]
    texts: tuple[tuple[str, str], ...] = ()
    asks: tuple[Ask, ...]


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What a display shows: for analysts alone.

    `iteration` is 1 where the display shows once more what another did. `request` names the request
    that a model is asked in the same place, and `said` how an answer reads as a reply to it.
    """

    display: str
    task: int
    kind: str
    case: str
    unit: str = ""
    audits: int = 0
    patient: str
    condition: str = ""
    iteration: int = 0
    training: bool = False
    truth: str = ""
    facts: dict[str, str] = {}
    request: str = ""
    said: dict[str, str] = {}


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One display in one reader's order."""

    reader: str
    session: int
    place: int
    display: str


class Dealt(NamedTuple):
    """Screens of one task that are in the study, and of the other cases one each."""

    screens: Sequence[ForPeople]
    spare: Sequence[ForPeople]

    @property
    def published(self) -> bool:
        """Whether sessions and order are a paper's: nothing is shown once more, or practised on."""
        return any(one.session for one in self.screens)


# ---------------------------------------------------------------- sampling


def sampled(screens: Iterable[ForPeople], task: Task, number: int, seed: int) -> Dealt:
    """The cases of a task: as many of each stratum as there can be, by lot.

    Only conditions that were asked for; all conditions of a chosen case. What was drawn already
    stays as it is.
    """
    screens = [*screens]
    if any(one.session for one in screens):
        return Dealt(screens, ())
    by_case: dict[str, list[ForPeople]] = defaultdict(list)
    known: dict[str, None] = {}
    for one in screens:
        known[one.condition] = None
        if not task.conditions or one.condition in task.conditions:
            if any(other.condition == one.condition for other in by_case[one.unit or one.case]):
                under = f" under {one.condition}" if one.condition else ""
                raise BadInput(
                    f"task {number}: case {one.case} is there twice{under}. Give each a name or a "
                    "condition of its own."
                )
            by_case[one.unit or one.case].append(one)
    strange = [name for name in task.conditions if name not in known]
    if strange and known:
        raise BadInput(
            f"task {number}: no case can be shown under {strange[0]}; what is shown is "
            f"{', '.join(known) or 'none'}. Name one of them, or ask for more with set = {{ … }}."
        )
    if not by_case:
        raise BadInput(
            f"task {number}: no case can be shown. Change the task, or the cases; one about "
            "models' answers needs run = the folder of a run that has some."
        )
    strata: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for case, some in by_case.items():
        strata[some[0].stratum].append(case)
    wanted = min(task.cases or len(by_case), len(by_case))
    chosen: list[str] = []
    spare: list[str] = []
    # Of cases that share a film one is enough, where there are others: each takes its sessions.
    apart = any(len(some) > 1 for some in by_case.values())
    films = {case: _films_of(some) if apart else frozenset() for case, some in by_case.items()}
    shown: set[oc.Source | oc.Inline] = set()
    for stratum, n in _shares(wanted, {key: len(cases) for key, cases in strata.items()}).items():
        drawn = sorted(strata[stratum], key=lambda case: lot(f"study {number}", seed, case))
        drawn = _new_films_first(drawn, films, shown, n)
        chosen += drawn[:n]
        spare += drawn[n:]
    chosen.sort(key=lambda case: lot(f"order {number}", seed, case))
    spare.sort(key=lambda case: lot(f"practice {number}", seed, case))
    return Dealt(
        [one for case in chosen for one in by_case[case]],
        [by_case[case][0] for case in spare],
    )


def _films_of(screens: Iterable[ForPeople]) -> frozenset[oc.Source | oc.Inline]:
    return frozenset(slide.picture.source for one in screens for slide in one.slides)


def _new_films_first(
    drawn: Sequence[str],
    films: Mapping[str, frozenset[oc.Source | oc.Inline]],
    shown: set[oc.Source | oc.Inline],
    n: int,
) -> list[str]:
    """The first `n` with as many films that were not `shown` as there are; they are from now on."""
    fresh: list[str] = []
    for case in drawn:
        if len(fresh) < n and shown.isdisjoint(films[case]):
            fresh.append(case)
            shown |= films[case]
    first = set(fresh)
    return fresh + [case for case in drawn if case not in first]


def practised(dealt: Sequence[Dealt], tasks: Sequence[Task]) -> list[Sequence[ForPeople]]:
    """What each task is practised on: cases that no task asks about.

    One task may show what is the answer in another, and practice has no wash-out after it. So no
    film of a task is practised on either, and cases of patients that are in no task come first.
    """
    films = _films_of(one for some in dealt for one in some.screens)
    cases = {one.case for some in dealt for one in some.screens}
    patients = {one.patient for some in dealt for one in some.screens}
    found: list[Sequence[ForPeople]] = []
    for task, some in zip(tasks, dealt, strict=True):
        free = [
            one
            for one in some.spare
            if one.case not in cases and films.isdisjoint(_films_of([one]))
        ]
        free.sort(key=lambda one: one.patient in patients)
        found.append(free[: task.training])
    return found


def _shares(n: int, sizes: Mapping[tuple[str, ...], int]) -> dict[tuple[str, ...], int]:
    """As even as sizes allow, first over the first part of a stratum, then within it.

    So that findings are even before their labels and views are.
    """
    if not any(sizes):  # nothing is left to tell them apart by
        return {(): min(n, sizes.get((), 0))}
    groups: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    for key, size in sizes.items():
        groups[key[0]][key[1:]] = size
    found: dict[tuple[str, ...], int] = {}
    whole = even_shares(n, {first: sum(rest.values()) for first, rest in groups.items()})
    for first, share in whole.items():
        for rest, k in _shares(share, groups[first]).items():
            found[(first, *rest)] = k
    return found


# ---------------------------------------------------------------- sessions


def dealt_out(
    displays: Sequence[Key],
    readers: Sequence[str],
    task: Task,
    cap: int,
    seed: int,
    after: int = 0,
    films: Mapping[str, frozenset[bytes]] = MappingProxyType({}),
) -> list[Turn]:
    """Who sees which display of a task in which session; `place` is set when sessions are shuffled.

    Sessions are those `after` the last of the task before: what one task shows of a case must not
    be remembered in another.

    A case is in a session once, and so is a film that several cases have (`films` of each display):
    under two names it would be two conditions of one film all the same. There are as many sessions
    as that takes. Where a reader has a cap, the first `anchor` cases go to everybody and each of
    the others to `each` readers in turn, while they have room.

    Where cases are shown once more there is a session more, and all are spread over all of them: a
    session of repeats alone would be known for one. The second time comes after the first.
    """
    by_case: dict[str, list[Key]] = defaultdict(list)
    for key in displays:
        by_case[key.unit or key.case].append(key)
    cases = list(by_case.values())
    shared = Counter(film for key in displays for film in films.get(key.display, ()))
    most = max([*map(len, cases), *shared.values()])
    while True:
        sessions = range(after + 1, after + most + 1)
        found = _in_sessions(cases, readers, task, cap, seed, sessions, films)
        if found is not None:
            return found
        most += 1


def _in_sessions(
    cases: Sequence[Sequence[Key]],
    readers: Sequence[str],
    task: Task,
    cap: int,
    seed: int,
    sessions: range,
    films: Mapping[str, frozenset[bytes]],
) -> list[Turn] | None:
    """`dealt_out` over so many sessions; None where a film would meet itself in one."""
    room = dict.fromkeys(readers, cap or _MOST_DISPLAYS)
    who = {reader: Random(lot("session", seed, f"{task.kind}|{reader}")) for reader in readers}
    shown: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    found: list[Turn] = []
    turn = 0
    for at, some in enumerate(cases):
        if cap and at >= task.anchor:
            those = [readers[(turn + k) % len(readers)] for k in range(task.each)]
            turn += task.each
        else:
            those = list(readers)
        for reader in those:
            if room[reader] < len(some):
                continue
            room[reader] -= len(some)
            for _ in range(_MOST_TRIES):
                when = _drawn(some, sessions, who[reader])
                if all(
                    shown[reader, session].isdisjoint(films.get(key.display, ()))
                    for key, session in zip(some, when, strict=True)
                ):
                    break
            else:
                return None
            for key, session in zip(some, when, strict=True):
                shown[reader, session].update(films.get(key.display, ()))
                found.append(Turn(reader=reader, session=session, place=0, display=key.display))
    return found


def _drawn(some: Sequence[Key], sessions: range, draw: Random) -> list[int]:
    """A session for each display of a case."""
    when = draw.sample(sessions, len(some))
    at_first = {key.condition: at for at, key in enumerate(some) if not key.iteration}
    for again, key in enumerate(some):
        if key.iteration:
            first = at_first[key.condition]
            when[first], when[again] = sorted((when[first], when[again]))
    return when


def as_published(
    keys: Sequence[Key], screens: Sequence[ForPeople], readers: Sequence[str], after: int = 0
) -> Iterator[Turn]:
    """The same for every reader: displays in the sessions and the order in which they come."""
    for reader in readers:
        places: Counter[int] = Counter()
        for key, one in zip(keys, screens, strict=True):
            session = after + one.session
            yield Turn(reader=reader, session=session, place=places[session], display=key.display)
            places[session] += 1


def ordered(turns: Iterable[Turn], keys: Iterable[Key], seed: int) -> list[Turn]:
    """Each reader's sessions, each in an order of its own, by what displays show: names are no
    draw of the seed's."""
    shows = {
        one.display: f"{one.task}|{one.unit or one.case}|{one.condition}|{one.iteration}"
        for one in keys
    }
    grouped: dict[tuple[str, int], list[Turn]] = defaultdict(list)
    for turn in turns:
        grouped[turn.reader, turn.session].append(turn)
    found: list[Turn] = []
    for (reader, session), some in sorted(grouped.items()):
        some.sort(key=lambda turn: lot("place", seed, f"{reader}|{session}|{shows[turn.display]}"))
        found += [msgspec.structs.replace(turn, place=at) for at, turn in enumerate(some)]
    return found


# ---------------------------------------------------------------- writing


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A study that was made: where, how much of it, and what should be said of it."""

    folder: Path
    displays: int
    readers: int
    sessions: int
    remarks: tuple[str, ...]


def make_study(
    out: Path,
    design: Design,
    screens: Sequence[Iterable[ForPeople]],
    policy: Policy,
    render: Callable[[oc.Picture | oc.Clip], tuple[oc.Shown, int]],
    request_of: Callable[[ForPeople], str],
) -> Made:
    """Write a study folder: `screens` are those of each task, in the order of the design.

    Everything is drawn by the design's seed but the names of displays, which must not be guessed.
    """
    from overread.imaging import digest

    digest_of = cache(digest)
    remarks = []
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"--out {out}: something is there, and a study is made once. Name another.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(out.parent) as scratch:
        folder = scratch / "study"
        folder.mkdir(mode=0o700)
        (folder / "pictures").mkdir()
        (folder / "key").mkdir()
        displays: list[Display] = []
        keys: list[Key] = []
        turns: list[Turn] = []
        settled: list[Turn] = []
        kept: dict[oc.Picture | oc.Clip, Seen] = {}
        drawn = [
            sampled(some, task, number, design.seed)
            for number, (task, some) in enumerate(zip(design.task, screens, strict=True), 1)
        ]
        practice = practised(drawn, design.task)
        for number, (task, dealt) in enumerate(zip(design.task, drawn, strict=True), 1):
            if len(practice[number - 1]) < task.training and not dealt.published:
                remarks.append(
                    f"task {number} is practised on {len(practice[number - 1])} cases where "
                    f"{task.training} were wanted: the others are all in the study."
                )
            firsts: dict[str, str] = {}
            for one in dealt.screens:
                firsts.setdefault(one.unit or one.case, one.condition)
            if len(firsts) < task.cases and not dealt.published:
                remarks.append(
                    f"task {number} asks for {task.cases} cases, and {len(firsts)} can be shown."
                )
            repeated = sorted(firsts, key=lambda case: lot(f"again {number}", design.seed, case))
            share = 0 if dealt.published else task.repeat
            again = frozenset(repeated[: round(share * len(firsts))])
            own: list[Key] = []
            # Where cases are shown under conditions, no film may be under two in a session.
            shown_as = {(one.unit or one.case, one.condition) for one in dealt.screens}
            apart = len(shown_as) > len(firsts) and not dealt.published
            films: dict[str, frozenset[bytes]] = {}
            sizes: dict[str, set[tuple[tuple[int, int, int], ...]]] = defaultdict(set)
            for one, training in [
                *((one, False) for one in dealt.screens),
                *((one, True) for one in practice[number - 1]),
            ]:
                unit = one.unit or one.case
                shown_again = unit in again and one.condition == firsts[unit]
                for iteration in (0, 1) if shown_again else (0,):
                    name = secrets.token_hex(8)
                    pictures = tuple(_seen(slide, folder, kept, render) for slide in one.slides)
                    displays.append(_display(name, number, one, task, pictures))
                    sizes[unit].add(tuple((p.width, p.height, p.frames) for p in pictures))
                    own.append(_key(name, number, one, task.kind, iteration, training, request_of))
                    if apart and not training:
                        films[name] = frozenset(map(digest_of, _films_of([one])))
            keys += own
            uneven = sum(len(some) > 1 for some in sizes.values()) if apart else 0
            if uneven:
                remarks.append(
                    f"task {number}: {uneven} of {len(firsts)} cases have pictures of another size "
                    "under one condition than under another, and readers can tell them apart by "
                    "it. Bring them to one size."
                )
            real = [key for key in own if not key.training]
            after = max((turn.session for turn in (*turns, *settled)), default=0)
            if dealt.published:
                settled += as_published(real, dealt.screens, design.readers, after)
            else:
                some = dealt_out(real, design.readers, task, design.cap, design.seed, after, films)
                read = {turn.display for turn in some}
                left = {key.unit or key.case for key in real if key.display not in read}
                if not some:
                    raise BadInput(
                        f"task {number}: cap is {design.cap}, and no case has so few displays. "
                        "Raise it, or take fewer conditions."
                    )
                if left:
                    remarks.append(
                        f"task {number}: {len(left)} of {len(firsts)} cases go to nobody, for cap "
                        f"is {design.cap}."
                    )
                sessions = max(turn.session for turn in some) - after
                usual = max(Counter(key.unit or key.case for key in real).values())
                if sessions > usual:
                    remarks.append(
                        f"task {number} has {sessions} sessions in place of {usual}: cases share "
                        "films, and none is twice in a session. Fewer cases make fewer sessions."
                    )
                turns += some
            turns += [
                Turn(reader=reader, session=TRAINING, place=0, display=key.display)
                for reader in design.readers
                for key in own
                if key.training
            ]
        schedule = [*ordered(turns, keys, design.seed), *settled]
        schedule.sort(key=lambda turn: (turn.reader, turn.session, turn.place))
        displays.sort(key=lambda display: display.id)  # their order must tell nothing
        keys.sort(key=lambda key: key.display)
        _write_lines(folder / "displays.jsonl", displays)
        _write_lines(folder / "schedule.jsonl", schedule)
        _write_lines(folder / "key" / "mapping.jsonl", keys)
        links = {reader: secrets.token_urlsafe(24) for reader in [*design.readers, ORGANISER]}
        secret = {"cookies": secrets.token_hex(32), "links": links}
        (folder / "key" / "links.json").write_bytes(msgspec.json.encode(secret))
        record = {
            "overread": __version__,
            "made": datetime.now(UTC).replace(microsecond=0).isoformat(),
            "policy": policy,
            "design": _plain(msgspec.to_builtins(design)),
        }
        (folder / "study.toml").write_bytes(tomli_w.dumps(record).encode())
        for path in folder.rglob("*"):  # films and readings are their owner's alone
            path.chmod(0o700 if path.is_dir() else 0o600)
        with suppress(FileNotFoundError):
            out.rmdir()
        folder.rename(out)
    sessions = max((turn.session for turn in schedule), default=0)
    if sessions > 1 and design.washout_days < USUAL_WASHOUT:
        remarks.append(
            f"sessions are {design.washout_days:g} days apart, where {USUAL_WASHOUT} are usual: "
            "readers may remember a case."
        )
    return Made(
        folder=out,
        displays=len(displays),
        readers=len(design.readers),
        sessions=sessions,
        remarks=tuple(remarks),
    )


def _display(
    name: str, number: int, one: ForPeople, task: Task, pictures: tuple[Seen, ...]
) -> Display:
    said = (("", task.text),) if task.text else ()
    return Display(
        id=name, task=number, pictures=pictures, texts=(*said, *one.texts), asks=one.asks
    )


def _key(
    name: str,
    number: int,
    one: ForPeople,
    kind: str,
    iteration: int,
    training: bool,
    request_of: Callable[[ForPeople], str],
) -> Key:
    return Key(
        display=name,
        task=number,
        kind=kind,
        case=one.case,
        unit=one.unit,
        audits=one.audits,
        patient=one.patient,
        condition=one.condition,
        iteration=iteration,
        training=training,
        truth=one.truth,
        facts=one.facts,
        request=request_of(one) if one.trial is not None else "",
        said=one.said,
    )


def _seen(
    slide: oc.Slide,
    folder: Path,
    kept: dict[oc.Picture | oc.Clip, Seen],
    render: Callable[[oc.Picture | oc.Clip], tuple[oc.Shown, int]],
) -> Seen:
    """A slide's files, under names that no other display has.

    A film that two displays share is rendered once and stands under two names: by none of them
    could a reader tell that he has seen it before. All are written by one encoder: a film that
    nothing was done to would else stand as in its file, and one with a part hidden as we write it.
    """
    from overread.imaging import by_pixels

    place = folder / "pictures"
    if slide.picture in kept:
        first = kept[slide.picture]
        seen = msgspec.structs.replace(first, file=f"{secrets.token_hex(8)}{first.file[16:]}")
        os.link(place / first.file, place / seen.file)
    else:
        shown, frames = render(slide.picture)
        shown, (width, height) = by_pixels(shown)
        across = ceil(sqrt(frames))
        seen = Seen(
            file=f"{secrets.token_hex(8)}.png",
            width=width // across,
            height=height // -(-frames // across),
            frames=frames,
        )
        (place / seen.file).write_bytes(shown.data)
        kept[slide.picture] = seen
    boxes = tuple((box.x, box.y, box.w, box.h) for _, box in slide.boxes)
    return msgspec.structs.replace(seen, boxes=boxes)


def _write_lines(path: Path, rows: Iterable[msgspec.Struct]) -> None:
    with path.open("xb") as out:
        for row in rows:
            out.write(msgspec.json.encode(row) + b"\n")


def _plain(value: Any) -> Any:
    """What TOML can hold: it has no word for nothing."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


# ---------------------------------------------------------------- reading


class Opened(NamedTuple):
    """A study folder, without its key."""

    folder: Path
    design: Design
    policy: Policy
    displays: Mapping[str, Display]
    schedule: Sequence[Turn]

    @property
    def practice(self) -> frozenset[str]:
        """Displays of the session before the first."""
        return frozenset(turn.display for turn in self.schedule if turn.session == TRAINING)


def open_study(folder: Path) -> Opened:
    """A study folder, checked; `BadInput` where it is none."""
    from overread.files import read_toml

    place = folder / "study.toml"
    if not place.is_file():
        raise BadInput(f"{folder} is no study: it has no study.toml. Make one: overread study new.")
    record = read_toml(place)
    try:
        design = msgspec.convert(record.get("design"), Design)
        policy = msgspec.convert(record.get("policy"), Policy)
        displays = list(_read_lines(folder / "displays.jsonl", Display))
        schedule = list(_read_lines(folder / "schedule.jsonl", Turn))
    except msgspec.ValidationError as error:
        raise _damaged(folder, str(error)) from None
    known = {one.id: one for one in displays}
    for turn in schedule:
        if turn.display not in known or turn.reader not in design.readers:
            raise _damaged(folder, f"schedule.jsonl: {turn.reader}, {turn.display}: no such one")
    return Opened(folder, design, policy, known, schedule)


def check_pictures(study: Opened) -> None:
    """Refuse a study that lacks a film: a reader would answer without having seen it."""
    for display in study.displays.values():
        for picture in display.pictures:
            if not (study.folder / "pictures" / picture.file).is_file():
                raise _damaged(study.folder, f"pictures/{picture.file} is not there")


def _damaged(folder: Path, why: str) -> BadInput:
    return BadInput(f"{folder} is damaged ({why}). Take it from a copy, or make it anew.")


def open_key(folder: Path, why: str) -> dict[str, Key]:
    """What each display shows. Whoever opens it is written down first, with the reason."""
    study = open_study(folder)
    line = {
        "at": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "by": _who(),
        "for": why,
    }
    # Neither a pipe that nobody reads nor a link to somebody else's file.
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(folder / "key" / "opened.jsonl", how, 0o600), "ab") as log:
        log.write(msgspec.json.encode(line) + b"\n")
        log.flush()
        os.fsync(log.fileno())
    found = {one.display: one for one in _read_lines(folder / "key" / "mapping.jsonl", Key)}
    missing = study.displays.keys() - found.keys()
    if missing:
        raise _damaged(folder, f"the key does not have display {min(missing)}")
    return found


class _Links(msgspec.Struct, frozen=True):
    cookies: str
    links: dict[str, str]


def links_of(folder: Path) -> tuple[str, dict[str, str]]:
    """The secret that cookies are made with, and each reader's token."""
    path = folder / "key" / "links.json"
    try:
        links = msgspec.json.decode(read_bytes(path), type=_Links)
        bytes.fromhex(links.cookies)
    except (msgspec.DecodeError, ValueError) as error:
        raise _damaged(folder, f"{path.name}: {error}") from None
    if ORGANISER not in links.links or not all(len(one) >= 20 for one in links.links.values()):
        raise _damaged(folder, f"{path.name}: a link is missing")
    return links.cookies, links.links


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _read_lines(path: Path, kind: type[Any]) -> Iterator[Any]:
    decode = msgspec.json.Decoder(kind).decode
    with open_file(path, at_most=MOST_TABLE) as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield decode(line)
            except msgspec.DecodeError as error:
                raise BadInput(f"{path} line {number}: {error}. Make the study anew.") from None
