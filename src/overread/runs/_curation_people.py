"""Curation wired to people: reviews are studies (`study`), made, read and audited below the folder.

One command goes as far as it can: it makes the study, says who still reads, makes the audit of what
they do not agree on, and takes what was decided. What came into the set since is reviewed in a
round of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from overread.benchmarks.curated import Candidate, Item
from overread.benchmarks.people import Ask
from overread.case import BadInput, Measure, Slide
from overread.curate import folder as kept
from overread.curate import review
from overread.curate.funnel import stage_of
from overread.curate.records import Record, items_of
from overread.curate.review import Reviewed, Verdict
from overread.curate.wanted import People, Wanted, people_file, read_wanted
from overread.runs import _reader_study as studies
from overread.runs._curation import Stepped, policy_of_set
from overread.runs._opening import Tell
from overread.runs._running import Unfinished
from overread.runs._study_analysis import study_analyse
from overread.study import Candidate as Screen
from overread.study import Journal, open_study

_FIRST, _AUDIT = "first", "audit"
_AGREED: Final = ("agreement", "kappa")
_DECIDING: Final = ("decision", "usable", "same")
_RIGHT: Final = "\u2713"


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    """What all rounds of a review came to, by what they were about."""

    verdicts: dict[str, Verdict]
    agreement: tuple[Measure, ...] = ()


def curate_review(
    folder: str | Path, *, unreviewed: bool = False, tell: Tell | None = None
) -> Stepped:
    """Have the newest step's items reviewed, and take what people decided.

    `unreviewed` lets in what nobody has reviewed yet, which is written on the set for ever.
    """
    place = Path(folder)
    wanted = read_wanted(place)
    upstream = kept.upstream_of(place, "review")
    for line in kept.stale(place, [upstream]):
        if tell is not None:
            tell(line)
    items = items_of(kept.read_step(place, upstream))
    if not items:
        raise BadInput(f"{place}: nothing passed {upstream}, so there is nothing to review.")
    options = wanted.options("review", review.Options)
    below = place / "review"
    if unreviewed:
        read = _settled(below, options, whole=False)
    else:
        shown = {item.id: item for item in items}
        screens = [_screen(item) for item in items]
        read = _reviewed(below, screens, shown, wanted, options, "review")
    nobody = [item for item in items if item.id not in read.verdicts]
    seen = [item for item in items if item.id in read.verdicts]
    records = [*review.decided(seen, read.verdicts), *review.unreviewed(nobody)]
    order = {item.id: number for number, item in enumerate(items)}
    records.sort(key=lambda one: order[one.parents[0]])
    about = Reviewed(
        reviewers=tuple(sorted({name for one in read.verdicts.values() for name in one.by})),
        auditor=options.auditor,
        items=len(seen),
        audited=sum(read.verdicts[item.id].audited for item in seen),
        unreviewed=len(nobody),
        agreement=read.agreement,
    )
    kept.put(place, review.FILE, kept.to_json(about))
    kept.write_step(place, "review", records)
    return Stepped(file=str(kept.file_of(place, "review")), stage=stage_of("review", records))


def curate_look(folder: str | Path, *, tell: Tell | None = None) -> int:
    """Have doubtful pictures looked at; how many were, so that `collect` can be run again."""
    place = Path(folder)
    wanted = read_wanted(place)
    records = kept.read_step(place, "collect")
    by_id = {one.id: one.candidate for one in records if one.candidate is not None}
    doubtful = [one for one in records if "doubt" in one.facts and one.candidate is not None]
    # Whatever was decided before stays decided.
    before = place / "review-collect"
    if not doubtful and not before.is_dir():
        raise BadInput(f"{place}: no picture is doubtful. Go on with overread curate ask {folder}.")
    screens = [_doubt(one, by_id) for one in doubtful]
    options = wanted.options("review", review.Options)
    shown = {one.id: one for one in by_id.values()}
    read = _reviewed(before, screens, shown, wanted, options, "collect")
    said = {
        name: People(one.values, tuple(f"person:{by}" for by in one.by))
        for name, one in read.verdicts.items()
    }
    kept.put(place, people_file(place, "collect").name, kept.to_json(said))
    if tell is not None:
        tell(f"{len(said):,} were looked at. Run overread curate collect {folder} again.")
    return len(said)


# ---------------------------------------------------------------- rounds of a review


def _reviewed(
    below: Path,
    screens: Sequence[Screen],
    shown: Mapping[str, Item | Candidate],
    wanted: Wanted,
    options: review.Options,
    what: str,
) -> _Read:
    """What people decided about these, or `Unfinished` with what is to be done next."""
    if len(options.reviewers) < 2 or not options.auditor:
        raise BadInput(
            f"{wanted.file}: [review] names {len(options.reviewers)} reviewers and "
            f"{'an' if options.auditor else 'no'} auditor. Write reviewers = "
            '["anna", "ben"] and auditor = "carla".'
        )
    if not 2 <= options.each <= len(options.reviewers) or options.auditor in options.reviewers:
        raise BadInput(
            f"{wanted.file}: [review] each is {options.each}, and {options.auditor} is auditor. "
            f"Each item is reviewed by 2 to {len(options.reviewers)}, and the auditor is none of "
            "them."
        )
    read = _settled(below, options)
    new = [one for one in screens if one.id not in read.verdicts]
    if not new:
        return read
    number = sum(1 for _ in _rounds(below)) + 1
    below.mkdir(exist_ok=True)
    made = studies.study_of_candidates(
        below / str(number) / _FIRST,
        new,
        "usable" if what == "collect" else "review",
        options.reviewers,
        root=below,
        name=f"{wanted.name}-{what}-{number}",
        each=0 if len(options.reviewers) == 2 else options.each,
        reasons=options.reasons,
        seed=wanted.seed,
        welcome=options.welcome,
        policy=policy_of_set([shown[one.id] for one in new], wanted),
        slides_of=lambda one: _slides(shown, one),
    )
    raise Unfinished(
        f"{made.displays:,} displays for {', '.join(options.reviewers)} are ready: overread study "
        f"serve {made.folder}. Let them read.",
        "again",
    ) from None


def _rounds(below: Path) -> Iterator[Path]:
    """The rounds there are, in their order."""
    found = [one for one in below.iterdir() if one.name.isdecimal()] if below.is_dir() else []
    yield from sorted(found, key=lambda one: int(one.name))


def _settled(below: Path, options: review.Options, *, whole: bool = True) -> _Read:
    """What the rounds decided; an audit is made where it is due, and whoever still reads named.

    Unless it must be `whole`: then what is decided so far.
    """
    verdicts: dict[str, Verdict] = {}
    agreement: list[Measure] = []
    for place in _rounds(below):
        first, audit = place / _FIRST, place / _AUDIT
        reading = _reading(first)
        if not reading and not audit.is_dir() and whole:
            made = studies.study_audit(audit, first, [options.auditor], name=f"{below.name}-audit")
            if made is not None:
                raise Unfinished(
                    f"reviewers differ on {made.displays:,} displays, which {options.auditor} "
                    f"decides: overread study serve {audit}.",
                    "again",
                )
        auditing = not reading and audit.is_dir() and _reading(audit)
        if whole and (reading or auditing):
            study = audit if auditing else first
            raise Unfinished(
                f"{reading or auditing} still read: overread study serve {study}.",
                "again",
            )
        if reading:
            continue
        audited = audit if audit.is_dir() and not auditing else None
        for about, one in studies.study_settled(first, audited).items():
            if one.values is not None:
                verdicts[about.case] = Verdict(one.values, one.readers, one.audited)
        agreement += [
            one
            for one in study_analyse(first).measures
            if one.measure in _AGREED and one.by.get("question") in _DECIDING
        ]
    return _Read(verdicts=verdicts, agreement=tuple(agreement))


def _reading(study: Path) -> str:
    """Who has not read everything, and how much of it; empty where all have."""
    opened = open_study(study)
    journal = Journal(study, read_only=True)
    try:
        return ", ".join(
            f"{reader} ({done:,} of {total:,})"
            for reader, done, total, _ in journal.progress(opened)
            if done < total
        )
    finally:
        journal.close()


# ---------------------------------------------------------------- screens


def _slides(shown: Mapping[str, Item | Candidate], screen: Screen) -> list[Slide]:
    one = shown[screen.id]
    if isinstance(one, Item):
        return [Slide(label="", picture=picture) for picture in one.pictures]
    other = shown.get(screen.about.get("other", ""))
    both = [other, one] if isinstance(other, Candidate) else [one]
    return [Slide(label="", picture=candidate.picture) for candidate in both]


def _screen(item: Item) -> Screen:
    """An item as reviewers see it."""
    texts = [("Caption", item.caption)] if item.caption else []
    options = review.shown_options(item)
    answer = item.answers[0]
    if item.kind == "multiple":
        # Several are right: they are marked in a text, and mended one by one.
        lines = [f"{_RIGHT} {text}" if text in item.answers else text for text in options]
        texts.append((f"Options ({_RIGHT}: right)", "\n".join(lines)))
        options, answer = (), "; ".join(item.answers)
    kind = " · ".join(filter(None, (item.kind, item.task, item.dimension)))
    return Screen(
        id=item.id,
        question=item.question,
        options=options,
        answer=answer,
        steps=tuple(step.text for step in item.steps),
        texts=(("Kind", kind), *texts),
        flags=tuple(flag.replace("_", " ") for flag in item.flags),
        patient=item.patients[0] if len(item.patients) == 1 else "",
        stratum=item.modality,
    )


def _doubt(one: Record, by_id: Mapping[str, Candidate]) -> Screen:
    """A doubtful picture, beside the one it looks like."""
    candidate = one.candidate
    assert candidate is not None
    other = str(one.facts.get("other", ""))
    ask = Ask(name="usable", text="Can this picture be used?")
    if other in by_id:
        ask = Ask(name="same", text="Is the second picture the first one once more?")
    texts = [("Caption", candidate.caption), ("Labels", ", ".join(candidate.labels))]
    return Screen(
        id=one.id,
        texts=tuple(pair for pair in texts if pair[1]),
        flags=(str(one.facts["doubt"]).replace("_", " "),),
        patient=candidate.patient,
        asks=(ask,),
        about={"other": other} if other in by_id else {},
    )
