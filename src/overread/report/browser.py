"""The case browser: cards as data, which cases.js draws as text and pictures, never as markup.

A page holds the cards of its sample. A served page holds none and asks, beside its own address,
`cards?run=1&page=0` (runs from 1, pages from 0, `PAGE` cards each) with what to filter by:
`reader=NAME`, `right=yes|no`, `flipped=yes|no` (of that reader, or of any), `fact:NAME=VALUE`,
`text=WORDS`. The answer is `{"cards": [card_data(…), …], "count": how many match, "page": which}`;
with `case=NAME` alone it is the page that has this case. The `picture` of a slide is then the
address of an image of the size a reader was shown, `full` that of the film in its own.

Which cases a page embeds: flips and errors first, spread over readers and facts.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b
from io import BytesIO
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from overread.case import Card, CardAnswer, Clip, Said, Shown, Slide
from overread.report.markup import as_json, shown
from overread.report.reported import Reported

if TYPE_CHECKING:
    import polars as pl
    from PIL.Image import Image

PAGE: Final = 20
_LONGEST_TEXT: Final = 4_000
# A film of 224 pixels a side stays as it is; a sheet of frames may be long.
_MOST_PIXELS: Final = 200_000
# All frames of a clip together: thirty-six of 96 pixels a side.
_MOST_SHEET_PIXELS: Final = 330_000
_SHEET_QUALITY: Final = 60
_LONGEST_SIDE: Final = 1280
_QUALITY: Final = 80
# Cards whose pictures are made at the same time, and may find no room any more.
_TOGETHER: Final = 8


class Placed(NamedTuple):
    """Where the picture of a slide is (an address, or a place in a list), the pixels its boxes are
    in, where they are known, and the address of the film at its source's resolution."""

    picture: str | int
    width: int | None = None
    height: int | None = None
    full: str | None = None


def card_data(card: Card, place: Callable[[Card, int], Placed | None]) -> dict[str, Any]:
    """A card as cases.js takes it; `place` says where the picture of a slide is, if anywhere."""
    return {
        "case": card.case,
        "title": card.title,
        "facts": card.facts,
        "texts": [[label, *_cut(text)] for label, text in card.texts],
        "options": msgspec.to_builtins(card.options),
        "steps": msgspec.to_builtins(card.steps),
        "conditions": card.conditions,
        "slides": [_slide(one, place(card, number)) for number, one in enumerate(card.slides)],
        "said": [_said(one) for one in card.said],
    }


def _slide(slide: Slide, placed: Placed | None) -> dict[str, Any]:
    boxes = [[label, box.x, box.y, box.w, box.h] for label, box in slide.boxes]
    found = placed._asdict() if placed else {"picture": None}
    data: dict[str, Any] = {"label": slide.label, "shown": slide.shown, **found, "boxes": boxes}
    if (frames := frames_of(slide)) > 1:
        data["frames"] = frames
        data["marks"] = [list(msgspec.structs.astuple(mark)) for mark in slide.marks]
    return data


def frames_of(slide: Slide) -> int:
    """How many frames its picture has, side by side on one sheet; 1 of what is no clip."""
    return len(slide.picture.frames) if isinstance(slide.picture, Clip) else 1


def _said(said: Said) -> dict[str, Any]:
    text, more = _cut(said.text)
    return {
        "reader": said.reader,
        "right": said.right,
        "flipped": said.flipped,
        "answers": [_answer(one) for one in said.answers],
        "lines": [[label, _cut(line)[0]] for label, line in said.lines],
        "marks": [list(msgspec.structs.astuple(mark)) for mark in said.marks],
        "steps": msgspec.to_builtins(said.steps),
        "gold": msgspec.to_builtins(said.gold),
        "text": text,
        "more": more,
    }


def _answer(answer: CardAnswer) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(answer)
    data["text"] = _cut(answer.text)[0]
    if answer.reply:
        data["reply"], data["more"] = _cut(answer.reply)
    return data


def _cut(text: str) -> tuple[str, int]:
    """The beginning of a long text, and how many characters are left out."""
    return text[:_LONGEST_TEXT], max(0, len(text) - _LONGEST_TEXT)


# ---------------------------------------------------------------- the part of a page


def browser(run: Reported, name: str, number: int, most: int, *, served: bool) -> str:
    """The browser of a run; empty where it has no cards. Its data take at most `most` bytes."""
    total = max(run.card_total, len(run.cards))
    if not total:
        return ""
    cards, pictures = ([], []) if served else _within(run, most)
    said = [one for card in run.cards for one in card.said]
    data = {
        "run": number,
        "served": served,
        "page": PAGE,
        "total": total,
        "readers": [reader.name for reader in run.record.readers],
        "facets": {fact: list(words) for fact, words in run.facets.items()} or _facets(run.cards),
        "right": served or any(one.right is not None for one in said),
        "flipped": served or any(one.flipped is not None for one in said),
        "cards": cards,
        "pictures": pictures,
    }
    return f"""<section class="browser" id="cases-{name}" data-run="{name}" \
data-cards="cards-{name}">
<h3>Cases</h3>
{_stated(run, len(cards), total, served=served)}
<noscript><p class="note">Cases are drawn by this page's script, and scripts do not run here. The \
tables above are whole without it.</p></noscript>
<p class="printed note">The case browser is not printed.</p>
</section>
<script type="application/json" id="cards-{name}">{as_json(data)}</script>"""


def _within(run: Reported, most: int) -> tuple[list[dict[str, Any]], list[str]]:
    """As many of the cards as there is room for, and their pictures, each once."""
    cards: list[dict[str, Any]] = []
    pictures: list[str] = []
    known: dict[bytes, Placed | None] = {}
    used = 0

    def place(drawn: Sequence[_Drawn | None], card: Card, number: int) -> Placed | None:
        given = drawn[number]
        if given is None:
            return None
        if given.digest not in known:
            known[given.digest] = given.made and Placed(len(pictures), *given.made[1:])
            pictures.extend(given.made[:1] if given.made else ())
        return known[given.digest]

    for card, drawn in _with_pictures(run):
        had = len(pictures)
        data = card_data(card, partial(place, drawn))
        used += len(as_json(data).encode()) + sum(map(len, pictures[had:]))
        if cards and used > most:
            return cards, pictures[:had]
        cards.append(data)
    return cards, pictures


class _Drawn(NamedTuple):
    """A slide's picture as the page has it, if it is one, under the digest of what was shown."""

    digest: bytes
    made: tuple[str, int, int] | None


def _with_pictures(run: Reported) -> Iterator[tuple[Card, list[_Drawn | None]]]:
    """The cards with the pictures of their slides, some cards at a time on all cores: decoding and
    encoding leave the interpreter to others."""

    def drawn(card: Card) -> list[_Drawn | None]:
        found = [
            (run.slides.get((card.case, number)), frames_of(slide))
            for number, slide in enumerate(card.slides)
        ]
        return [
            None if one is None else _Drawn(one.digest, embedded(one, frames))
            for one, frames in found
        ]

    with ThreadPoolExecutor() as pool:
        for start in range(0, len(run.cards), _TOGETHER):
            some = run.cards[start : start + _TOGETHER]
            yield from zip(some, pool.map(drawn, some), strict=True)


def embedded(picture: Shown, frames: int = 1) -> tuple[str, int, int] | None:
    """The picture as WebP, shrunk where it is large, and the size it was shown in, for boxes are in
    those pixels; None where it is no picture. The frames of a sheet are shrunk one by one, so that
    none runs into another.
    """
    from PIL import Image

    try:
        with Image.open(BytesIO(picture.data)) as opened:
            drawn = opened.convert("L" if opened.mode in ("1", "L", "I;16") else "RGB")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    across = ceil(sqrt(frames))
    down = -(-frames // across)
    width, height = drawn.width // across, drawn.height // down
    most = _MOST_PIXELS if frames == 1 else _MOST_SHEET_PIXELS
    scale = min(
        1.0, (most / (drawn.width * drawn.height)) ** 0.5, _LONGEST_SIDE / max(width, height)
    )
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        drawn = _shrunk(drawn, across, down, (width, height), size)
    data = BytesIO()
    drawn.save(data, "WEBP", quality=_QUALITY if frames == 1 else _SHEET_QUALITY, method=2)
    return f"data:image/webp;base64,{b64encode(data.getvalue()).decode()}", width, height


def _shrunk(
    sheet: Image, across: int, down: int, size: tuple[int, int], small: tuple[int, int]
) -> Image:
    """The sheet with each of its tiles in another size."""
    from PIL import Image as Pillow

    made = Pillow.new(sheet.mode, (across * small[0], down * small[1]))
    for row in range(down):
        for column in range(across):
            left, top = column * size[0], row * size[1]
            tile = sheet.crop((left, top, left + size[0], top + size[1]))
            tile = tile.resize(small, Pillow.Resampling.LANCZOS)
            made.paste(tile, (column * small[0], row * small[1]))
    return made


def _facets(cards: Iterable[Card]) -> dict[str, list[str]]:
    """The facts of the cards, each with its values in order."""
    found: dict[str, set[str]] = {}
    for card in cards:
        for fact, value in card.facts.items():
            found.setdefault(fact, set()).add(value)
    return {fact: sorted(values) for fact, values in found.items()}


def _stated(run: Reported, count: int, total: int, *, served: bool) -> str:
    """Which cases these are."""
    if served:
        return f'<p class="note">All {total} cases.</p>'
    if count == total:
        return f'<p class="note">All {total} cases of the run.</p>'
    lines = [f"{count} of {total} shown, sampled by seed {run.seed}: flips and errors first"]
    lines.extend(run.strata)
    if count < len(run.cards):
        lines.append(f"{len(run.cards) - count} of those chosen had no room on the page")
    return f'<p class="note">{shown("; ".join(lines))}. overread serve shows them all.</p>'


# ---------------------------------------------------------------- which cases a page embeds

# What each kind of case may take of the places while the others need theirs too.
_SHARES: Final = {"flips": 0.5, "errors": 0.3, "the rest": 0.2}
_KEYS: Final = ("case", "reader", "right", "flipped")

# A case's labels: the readers it is of interest for, and its facts.
_Label = tuple[str, str]


def choose(index: pl.DataFrame, n: int, seed: int) -> tuple[list[str], list[str]]:
    """At most `n` cases of an index, in the order they are shown, and a line on each kind.

    `index` has a row for each case and reader: case, reader, right, flipped, and facts. A case is
    a flip if any reader's answer flipped, else an error if any reader was wrong. Flips come first,
    then errors, then the rest; places that one kind does not need go to the others in that order.
    Within a kind, each next case is the one whose readers and facts are seen least so far; ties go
    by a digest of seed and case, so that the order of rows does not matter.
    """
    kinds = _kinds(index)
    places = _places({kind: cases.height for kind, cases in kinds.items()}, n)
    chosen = [case for kind, cases in kinds.items() for case in _spread(cases, places[kind], seed)]
    strata = [
        f"{kind}: {places[kind]} of {cases.height} shown"
        for kind, cases in kinds.items()
        if cases.height
    ]
    return chosen, strata


def _kinds(index: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The cases of each kind: the name, the readers it is of interest for, and its facts."""
    import polars as pl

    facts = [name for name in index.columns if name not in _KEYS]
    # Words that are no categories: a large run's are.
    plain = [name for name in facts if not isinstance(index.schema[name], pl.Enum)]
    reader = pl.col("reader")
    cases = (
        index.lazy()
        .with_columns(
            pl.col("case", *plain).cast(pl.String), pl.col("right", "flipped").cast(pl.Boolean)
        )
        .group_by("case")
        .agg(
            reader.filter(pl.col("flipped")).unique().alias("flipped"),
            reader.filter(~pl.col("right")).unique().alias("wrong"),
            # The least, should the readers' rows differ: the order of rows says nothing.
            *(pl.col(fact).min() for fact in facts),
        )
        .collect()
    )
    flips, errors = (pl.col(name).list.len() > 0 for name in ("flipped", "wrong"))
    every = {"flips": flips, "errors": errors & ~flips, "the rest": ~flips & ~errors}
    names = {"flips": "flipped"}
    return {
        kind: cases.filter(among).select("case", names.get(kind, "wrong"), *facts)
        for kind, among in every.items()
    }


def _places(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    given = {kind: min(size, int(n * _SHARES[kind])) for kind, size in sizes.items()}
    left = n - sum(given.values())
    for kind, size in sizes.items():
        more = min(left, size - given[kind])
        given[kind] += more
        left -= more
    return given


def _spread(cases: pl.DataFrame, n: int, seed: int) -> list[str]:
    """`n` of the cases, whose labels are as different as they can be."""
    seen: Counter[_Label] = Counter()

    def worth(case: str) -> float:
        # What has been seen k times is worth a (k+1)th of what has not been seen.
        return sum(sorted(1 / (1 + seen[label]) for label in labels[case]))

    labels = _candidates(cases, n, seed) if n else {}
    open_ = list(labels)
    taken: list[str] = []
    while len(taken) < n:
        best = max(open_, key=worth)
        open_.remove(best)
        taken.append(best)
        seen.update(labels[best])
    return taken


def _candidates(cases: pl.DataFrame, n: int, seed: int) -> dict[str, frozenset[_Label]]:
    """The first `n` in the order of their lots with each label, and their labels: enough to spread,
    however many cases there are."""

    def lot(place: int) -> tuple[bytes, str]:
        text = f"{seed}\0{names[place]}".encode(errors="replace")
        return blake2b(text, digest_size=16).digest(), names[place]

    names = cases["case"].to_list()
    facts = cases.columns[2:]
    met: Counter[_Label] = Counter()
    kept: dict[str, frozenset[_Label]] = {}
    in_order = cases[sorted(range(cases.height), key=lot)].iter_rows()
    for number, (case, readers, *values) in enumerate(in_order):
        told = [(fact, value) for fact, value in zip(facts, values, strict=True) if value]
        labels = frozenset([*(("", reader) for reader in readers), *told])
        if number < n or any(met[label] < n for label in labels):
            kept[case] = labels
            met.update(labels)
    return kept
