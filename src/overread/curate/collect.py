"""`collect`: pictures with what is known of them, of which items may be made.

Licences are judged before a picture is opened. What looks like another picture, shows hardly
anything or lies far out is flagged for a person (`review --of collect`), whose word is read when
the step is run again; nothing is dropped for its looks unseen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from overread.benchmarks.curated import Candidate, Number
from overread.case import BadInput, Inline, Picture, Resize
from overread.curate import folder as kept
from overread.curate import likeness
from overread.curate.licences import refused
from overread.curate.likeness import Look
from overread.curate.records import Record, Verdict, record
from overread.curate.sources import Lost
from overread.curate.wanted import People, Wanted
from overread.readers.probe.encoders import open_encoder
from overread.readers.probe.features import Vectors, picture_name

if TYPE_CHECKING:
    from overread.readers.probe.encoders import Pixels

_PX: Final = 224
_LOOKS: Final = "looks.json"
_AT_ONCE: Final = 64

WAITS: Final = "waits_for_a_person"
OUTERMOST: Final = "outermost"
BLANK: Final = "blank"
NEAR: Final = "near_duplicate"
SAME: Final = "same_file"


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[collect]`: hashes that differ in at most `bits` of 256 are called near; vectors of an
    `encoder` (as `overread probe fit` takes it) say how far apart pictures are; the `outermost`
    share is shown to a person before it is taken.
    """

    # Of 199 real pictures of three kinds copies of 60 % of the side and JPEG at 50 differ in at
    # most 8, other pictures in at least 62.
    bits: int = 16
    encoder: str = "builtin"
    device: str = ""
    outermost: float = 0.01


class Opened(NamedTuple):
    """A candidate whose picture was looked at."""

    candidate: Candidate
    look: Look
    name: bytes


def collect(
    found: Iterable[Candidate | Lost], wanted: Wanted, folder: Path, features: Path
) -> list[Record]:
    """The records of all candidates: what may not be used, what is doubtful, what is selected."""
    options = wanted.options("collect", Options)
    if not 0 <= options.bits <= likeness.BITS or not 0 <= options.outermost <= 1:
        raise BadInput(
            f"{wanted.file} [collect]: bits is 0 to {likeness.BITS}, outermost a share from 0 to 1."
        )
    permitted = {one.name or Path(one.path).stem: one.permitted for one in wanted.sources}
    lost: list[Record] = []
    usable: list[Candidate] = []
    seen: set[str] = set()
    for one in found:
        candidate, reason = one[:2] if isinstance(one, Lost) else (one, "")
        reason = reason or refused(candidate.licence, permitted.get(candidate.collection, ""))
        known = (candidate.caption, candidate.labels, candidate.boxes, candidate.mask)
        if not reason and not any(known):
            reason = "nothing_known"
        if reason:
            facts = {"line": one.line} if isinstance(one, Lost) else {}
            lost.append(_dropped(candidate, reason, facts))
        elif candidate.id in seen:
            lost.append(_dropped(candidate, "listed_twice"))
        else:
            seen.add(candidate.id)
            usable.append(candidate)
    opened: list[Opened] = []
    vectors = Vectors(open_encoder(options.encoder, options.device or None), features)
    for looked in _looked_at(usable, vectors, folder):
        if isinstance(looked, Record):
            lost.append(looked)
        else:
            opened.append(looked)
    return [*_judged(opened, vectors, wanted, options), *lost]


def _dropped(
    candidate: Candidate, reason: str, facts: Mapping[str, Number] | None = None
) -> Record:
    return record(
        candidate, parents=(), by=["rule:collect"], verdict="dropped", reason=reason, facts=facts
    )


# ---------------------------------------------------------------- opening


def _looked_at(
    candidates: Sequence[Candidate], vectors: Vectors, folder: Path
) -> Iterator[Opened | Record]:
    """Each picture opened once, for its hash and its vector; kept, so that none is opened again."""
    looks = _kept_looks(folder)
    fresh = len(looks)
    with ThreadPoolExecutor() as pool:
        rest = iter(candidates)
        while some := list(islice(rest, _AT_ONCE)):
            shares = list(pool.map(lambda one: _opened(one, looks, vectors), some))
            new = {
                one.name: one.pixels
                for one in shares
                if isinstance(one.name, bytes) and one.pixels is not None
            }
            if new:
                vectors.learn(list(new), list(new.values()))
            for candidate, name, _, look in shares:
                if isinstance(name, str) or look is None:
                    yield _dropped(candidate, "unreadable", {"line": str(name)})
                else:
                    looks[name.hex()] = look
                    yield Opened(candidate, look, name)
    if len(looks) > fresh:
        kept.put(folder, _LOOKS, msgspec.json.encode(looks))


class _Share(NamedTuple):
    """What a thread found of one picture: its name, or a line on why it cannot be opened."""

    candidate: Candidate
    name: bytes | str
    pixels: Pixels | None = None
    look: Look | None = None


def _opened(candidate: Candidate, looks: Mapping[str, Look], vectors: Vectors) -> _Share:
    from overread.imaging import digest, pixels, render

    source = candidate.picture.source
    try:
        if isinstance(source, Inline):
            raise BadInput("a picture of a candidate is a file")
        name = picture_name(source, _PX)
        named = msgspec.structs.replace(candidate, source=digest(source).hex())
        look = looks.get(name.hex())
        if look is not None and vectors.knows(name):
            return _Share(named, name, None, look)
        shown = pixels(render(Picture(source, (Resize(_PX, _PX),))))
    except BadInput as error:
        return _Share(candidate, str(error))
    return _Share(named, name, shown, likeness.look_at(shown))


def _kept_looks(folder: Path) -> dict[str, Look]:
    path = folder / _LOOKS
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Look])
    except (OSError, msgspec.MsgspecError):
        return {}


# ---------------------------------------------------------------- judging


class _Doubt(NamedTuple):
    """Why a person should look at a candidate, and beside which other."""

    reason: str
    other: str = ""
    bits: int = 0


def _judged(
    opened: Sequence[Opened], vectors: Vectors, wanted: Wanted, options: Options
) -> Iterator[Record]:
    """The candidates that can be used, in their order."""
    doubts: dict[int, _Doubt] = {}
    ids = [one.candidate.id for one in opened]
    for place, one in enumerate(opened):
        if one.look.blank:
            doubts[place] = _Doubt(BLANK)
    # Blank pictures are alike for no reason.
    hashed = [place for place, one in enumerate(opened) if not one.look.blank]
    for pair in likeness.near_pairs([opened[place].look.hash for place in hashed], options.bits):
        first, second = hashed[pair.first], hashed[pair.second]
        same = opened[first].candidate.source == opened[second].candidate.source
        doubts.setdefault(second, _Doubt(SAME if same else NEAR, ids[first], pair.bits))
    groups: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(opened):
        groups[one.candidate.collection].append(place)
    take = {one.name or Path(one.path).stem: one.take for one in wanted.sources}
    gone = {
        place for place in range(len(opened)) if _refused(ids[place], doubts.get(place), wanted)
    }
    taken: set[int] = set()
    for collection, places in groups.items():
        there = [place for place in places if place not in gone]
        taken |= _selected(opened, there, doubts, vectors, wanted, options, take.get(collection))
    for place, one in enumerate(opened):
        yield _said(one, doubts.get(place), wanted, place in taken, place in gone)


def _selected(
    opened: Sequence[Opened],
    places: Sequence[int],
    doubts: dict[int, _Doubt],
    vectors: Vectors,
    wanted: Wanted,
    options: Options,
    take: int | None,
) -> set[int]:
    """The places that are taken of a source; in `corrected` outliers are found on the way."""
    import numpy as np

    if not places:
        return set()
    names = [opened[place].name for place in places]
    rows = np.arange(len(places))
    parts = [vectors.taken(part, names)(rows) for part in ("whole", "local")]
    found = likeness.scaled(np.concatenate([part for part in parts if part.size], axis=1))
    if wanted.robust:
        for at in likeness.outermost(found, options.outermost):
            doubts.setdefault(places[at], _Doubt(OUTERMOST))
    if take is None:
        return set(places)
    # A doubtful picture is no typical one until a person has seen it.
    open_ = [
        at
        for at, place in enumerate(places)
        if not wanted.robust
        or place not in doubts
        or _people(opened[place].candidate.id, wanted) is not None
    ]
    chosen = [opened[places[at]].candidate for at in open_]
    spread = likeness.dispersed(
        found[open_],
        [one.labels[0] if one.labels else "" for one in chosen],
        take,
        owners=[one.patient for one in chosen] if wanted.robust else None,
        central=wanted.robust,
    )
    return {places[open_[at]] for at in spread}


def _people(candidate: str, wanted: Wanted) -> People | None:
    return wanted.people.get(candidate)


def _refused(candidate: str, doubt: _Doubt | None, wanted: Wanted) -> str:
    """Why people do not want it, as a reason; empty where they do, or were not asked."""
    said = _people(candidate, wanted)
    if said is None:
        return ""
    if said.values.get("usable") == "no":
        return "unusable"
    return "duplicate" if said.values.get("same") == "yes" and doubt is not None else ""


def _said(one: Opened, doubt: _Doubt | None, wanted: Wanted, taken: bool, gone: bool) -> Record:
    candidate, people = one.candidate, _people(one.candidate.id, wanted)
    by = tuple(people.by) if people is not None else ("rule:collect",)
    facts: dict[str, Number] = {}
    if doubt is not None and doubt.other:
        facts = {"other": doubt.other, "bits": doubt.bits}
    verdict: Verdict = "kept"
    reason = ""
    if gone:
        verdict, reason = "dropped", _refused(candidate.id, doubt, wanted)
    elif doubt is not None and people is None:
        # With `take` it waits; where everything is taken, it goes on with its flag.
        verdict, reason = ("flagged", doubt.reason) if taken else ("dropped", WAITS)
        facts = {**facts, "doubt": doubt.reason}
    elif not taken:
        verdict, reason, by = "dropped", "not_selected", ("rule:typicality",)
    return record(candidate, parents=(), by=by, verdict=verdict, reason=reason, facts=facts)
