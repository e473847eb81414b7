"""The nouns every room shares: small, frozen, typed.

Data flows one way: cases -> trials -> replies -> answers -> measures -> exhibits. A `Request` is
what a reader gets and never holds the case, so the truth cannot travel to a reader.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from overread import typeset

Modality = Literal["multimodal", "text", "vision"]
Policy = Literal["open", "research", "credentialed"]
Outcome = Literal["answered", "unparsed", "refused", "unanswered", "not_judged"]
Condition: TypeAlias = Mapping[str, str | int]
# What is known of how a reader came to its replies, by name.
Fact: TypeAlias = str | int | float | bool


class BadInput(Exception):
    """Something the user can mend. One line: which thing, what was expected, what to do."""


def printable(text: str) -> str:
    """Others' words without what would steer a terminal or turn the direction of writing.

    >>> printable("a\\x1b[31mb\\u202ec")
    'a\ufffd[31mb\ufffdc'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


# ---------------------------------------------------------------- pictures: recipes for pixels


class Box(msgspec.Struct, frozen=True, gc=False):
    """A half-open rectangle in pixels: columns x <= c < x+w, rows y <= r < y+h."""

    x: int
    y: int
    w: int
    h: int


class Source(msgspec.Struct, frozen=True, gc=False, tag="file"):
    """An image file: a name below a data root. A name that leaves the root is refused.

    The root is a folder, a zip archive of which the name is a member, or a parquet file with a
    column `image` of which the name is a row ("12").
    """

    root: str
    name: str


class Inline(msgspec.Struct, frozen=True, gc=False, tag="inline"):
    """An image file's bytes held in memory, for pictures made on the spot."""

    data: bytes


class Resize(msgspec.Struct, frozen=True, gc=False, tag="resize"):
    """Stretch to exactly width x height, bilinear as Pillow does it."""

    width: int
    height: int


class Within(msgspec.Struct, frozen=True, gc=False, tag="within"):
    """Shrink until the longer side is within `px`, Lanczos as Pillow does it; never enlarge.

    Both sides are multiplied by the float px / longer side and cut to whole numbers, so that the
    longer one may come out one short of `px`.
    """

    px: int


class Fill(msgspec.Struct, frozen=True, gc=False, tag="fill"):
    """Paint a half-open box with one grey value; what lies outside the image is ignored."""

    box: Box
    value: int = 0


class Occlude(msgspec.Struct, frozen=True, gc=False, tag="occlude"):
    """Hide a half-open box behind something other than one grey; what lies outside is ignored.

    `mean`: the mean of the rest of the picture. `blur`: the picture blurred until a box of this
    size keeps no structure. `noise`: Gaussian noise with the rest's mean and spread, drawn by
    `seed`. `inpaint`: a smooth surface between the pixels around the box, so what is bright around
    it stays bright in it.
    """

    box: Box
    how: Literal["mean", "blur", "noise", "inpaint"]
    seed: int = 0


class Mirror(msgspec.Struct, frozen=True, gc=False, tag="mirror"):
    """Hide half-open boxes behind the other side of the picture, mirrored and fitted to this one.

    Nothing is taken from these boxes, nor from those `apart`; where the other side lies in one of
    them or outside the picture, a smooth surface stands instead.
    """

    boxes: tuple[Box, ...]
    apart: tuple[Box, ...] = ()


class Overlay(msgspec.Struct, frozen=True, gc=False, tag="overlay"):
    """Blend a colour where the mask image is not zero; the mask is fitted to the picture."""

    mask: Source | Inline
    color: tuple[int, int, int] = (255, 0, 0)
    alpha: float = 0.5


Operation: TypeAlias = Resize | Within | Fill | Occlude | Mirror | Overlay


class Picture(msgspec.Struct, frozen=True, gc=False):
    """A recipe for pixels: a source, operations in order, and the format on the wire.

    Cheap and hashable; rendered late, only when a reply is really missing.
    `wire` is "png" (lossless, the default) or "jpeg:QUALITY".
    """

    source: Source | Inline
    operations: tuple[Operation, ...] = ()
    wire: str = "png"


class ClipMask(msgspec.Struct, frozen=True, gc=False):
    """One mask per frame of a clip, blended over it.

    A source of packed bits (npz), a folder of PNG, a video of masks, or EchoNet's side-by-side
    output. Here alone a source may name a folder: a numbered image of each frame.
    """

    source: Source | Inline
    color: tuple[int, int, int] = (255, 0, 0)
    alpha: float = 0.5


ClipForm: TypeAlias = Literal["images", "sheet", "video"]


class Clip(msgspec.Struct, frozen=True, gc=False):
    """A recipe for frames: which frames of a source, in this order, and what is done to each.

    `form` says how a reader takes them: as images, as one labelled contact sheet, or as a video.
    Whatever the form, the number of frames that were encoded is the number asked for.
    """

    source: Source | Inline
    frames: tuple[int, ...]
    operations: tuple[Operation, ...] = ()
    mask: ClipMask | None = None
    wire: str = "png"
    form: ClipForm = "images"


class Shown(msgspec.Struct, frozen=True, dict=True):
    """A rendered picture: the very bytes a reader receives."""

    media_type: str
    data: bytes

    @functools.cached_property
    def base64(self) -> bytes:
        """The bytes in base64, encoded once however many requests carry them."""
        return base64.b64encode(self.data)

    @functools.cached_property
    def digest(self) -> bytes:
        """The digest of the bytes, taken once however many requests carry them."""
        return blake2b(self.data, digest_size=16).digest()


class ShownClip(msgspec.Struct, frozen=True, gc=False):
    """A rendered clip: `count` frames in order, as so many images, or as one sheet or one video."""

    frames: tuple[Shown, ...]
    count: int
    form: ClipForm

    def __post_init__(self) -> None:
        if self.count < 1 or len(self.frames) != (self.count if self.form == "images" else 1):
            raise AssertionError(f"{self.count} frames as {len(self.frames)} {self.form}")


# ---------------------------------------------------------------- what a reader is asked


class Message(msgspec.Struct, frozen=True, gc=False):
    """One turn: text and picture slots in order."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Picture | Clip, ...]


class Decoding(msgspec.Struct, frozen=True, gc=False):
    """How the reply is to be decoded. `temperature=None` leaves it to the server."""

    max_tokens: int = 10
    temperature: float | None = 0.0
    top_logprobs: int = 0
    seed: int | None = None

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


class Request(msgspec.Struct, frozen=True, gc=False):
    """What a reader gets: messages with picture slots, and decoding. Never the case.

    `topic` names what the question asks about, for readers that take no words (`told_topic`): a
    finding, or "not FINDING" where its absence is asked for. It says no more than the question.
    """

    messages: tuple[Message, ...]
    decoding: Decoding = Decoding()
    topic: str = ""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(p for m in self.messages for p in m.parts if isinstance(p, Picture))

    @property
    def clips(self) -> tuple[Clip, ...]:
        return tuple(p for m in self.messages for p in m.parts if isinstance(p, Clip))

    def for_reader(self, traits: Traits) -> Request:
        """The request as a reader of these traits may see it.

        Text-only readers lose every picture and clip here, before keys are made or pixels rendered:
        their swap and mask trials have the key of the original trial and cost no call. Readers that
        are told the topic lose every word, and no other is told it. Others get clips in the form
        they take. What the user set for this reader's decoding replaces what the benchmark asked
        for, and what is to stand around its messages is put there.
        """
        decoding, messages, form = traits.adjust(self.decoding), self.messages, traits.clips
        if traits.modality == "text":
            messages = tuple(
                Message(m.role, tuple(p for p in m.parts if isinstance(p, str))) for m in messages
            )
        elif traits.told_topic:
            shown = (tuple(p for p in m.parts if not isinstance(p, str)) for m in messages)
            messages = tuple(Message("user", parts) for parts in shown if parts)
            return Request(messages, decoding, self.topic)
        elif any(clip.form != form for clip in self.clips):
            messages = tuple(
                Message(
                    m.role, tuple(_formed(p, form) if isinstance(p, Clip) else p for p in m.parts)
                )
                for m in messages
            )
        messages = traits.framed(messages)
        same = decoding is self.decoding and messages is self.messages and not self.topic
        return self if same else Request(messages, decoding)


@functools.lru_cache(1024)
def _formed(clip: Clip, form: ClipForm) -> Clip:
    """One object however many trials share the clip, so that its digest is found at once."""
    return msgspec.structs.replace(clip, form=form)


class Trial(msgspec.Struct, frozen=True, gc=False):
    """One case under one condition."""

    case: str
    condition: Condition
    request: Request
    repeat: int = 0


class PromptMessage(msgspec.Struct, frozen=True, gc=False):
    """A message whose pictures and clips have been rendered."""

    role: str
    parts: tuple[str | Shown | ShownClip, ...]


class Prompt(msgspec.Struct, frozen=True, gc=False):
    """A rendered request: exactly what any reader sees, be it a server or a control.

    `digest` names the request it was rendered from (hexadecimal), for readers that look replies up.
    `draw` names the reply (hexadecimal) where it is sampled: readers that draw it themselves take
    their seed from it, so that repeats and cases differ and the same command draws the same.
    `case` is the item's id for controls that are made of the cases (`Traits.told_case`), `topic`
    the request's for readers that take no words; both are empty for every other reader.
    """

    messages: tuple[PromptMessage, ...]
    decoding: Decoding = Decoding()
    digest: str = ""
    draw: str = ""
    case: str = ""
    topic: str = ""

    @property
    def text(self) -> str:
        """All text of the last user turn, joined."""
        users = [m for m in self.messages if m.role == "user"]
        return "\n".join(p for p in users[-1].parts if isinstance(p, str)) if users else ""

    @property
    def pictures(self) -> tuple[Shown, ...]:
        """Everything shown, in order: a clip by its frames, or by its one sheet or video."""
        return tuple(
            shown
            for m in self.messages
            for p in m.parts
            if not isinstance(p, str)
            for shown in (p.frames if isinstance(p, ShownClip) else (p,))
        )

    @property
    def clips(self) -> tuple[ShownClip, ...]:
        return tuple(p for m in self.messages for p in m.parts if isinstance(p, ShownClip))


# ---------------------------------------------------------------- what a reader says


# The exponential of less is 0.
_NEVER = -745.2


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a reader said. An error is never a reply.

    `logprobs` are the first generated token's alternatives as (token, log-probability), or None
    when the reader gave none. `sent` is the digest of what was sent, in which every picture stands
    by the digest of its own bytes. `model` and `fingerprint` are what the server said of itself.
    """

    text: str
    logprobs: tuple[tuple[str, float], ...] | None = None
    reasoning: str | None = None
    refusal: str | None = None
    finish: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float = 0.0
    sent: str = ""
    model: str | None = None
    fingerprint: str | None = None

    @property
    def refused(self) -> bool:
        return self.refusal is not None or self.finish == "content_filter"

    @property
    def certain(self) -> bool:
        """Whether every alternative is given with a probability of exactly 0 or 1.

        Some servers take the question for log-probabilities and fill in 0, or -9999. One reply may
        be so by rounding; that all are is never.
        """
        given = self.logprobs or ()
        return bool(given) and all(value >= 0 or value < _NEVER for _, value in given)


class ReaderFailure(Exception):
    """Why a trial got no reply. `heals`: whether asking again may help."""

    def __init__(
        self,
        reason: str,
        *,
        heals: bool,
        throttled: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.heals = heals
        self.throttled = throttled
        self.retry_after = retry_after


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What is declared of a reader: all a benchmark may know of it.

    `max_tokens`, `temperature` and `logprobs` replace the benchmark's decoding where they are set;
    temperature "server" sends none at all, for servers that refuse the field. `clips` is the form
    in which it takes them. `system`, `before` and `after` are texts put around what it is asked.
    `told_case`: the engine tells it which case it is asked about. Only a control can be: no spec
    has it. `told_topic`: it takes no words, and is told the name of what is asked about instead.
    """

    modality: Modality = "multimodal"
    clips: ClipForm = "images"
    reasoning: bool = False
    knows_truth: bool = False
    told_case: bool = False
    told_topic: bool = False
    max_tokens: int | None = None
    temperature: float | Literal["server"] | None = None
    logprobs: int | None = None
    system: str | None = None
    before: str | None = None
    after: str | None = None

    def framed(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages with `system` first, and the last question between `before` and `after`.

        Texts that meet are joined by a line break, since chat templates put nothing between parts;
        and there is one system message, since many templates take no second.
        """
        if self.before or self.after:
            last = max((at for at, m in enumerate(messages) if m.role == "user"), default=None)
            if last is not None:
                before, after = ((text,) if text else () for text in (self.before, self.after))
                asked = Message("user", _joined(_joined(before, messages[last].parts), after))
                messages = (*messages[:last], asked, *messages[last + 1 :])
        if self.system:
            if messages and messages[0].role == "system":
                first = Message("system", _joined((self.system,), messages[0].parts))
                messages = (first, *messages[1:])
            else:
                messages = (Message("system", (self.system,)), *messages)
        return messages

    def adjust(self, decoding: Decoding) -> Decoding:
        if self.max_tokens is None and self.temperature is None and self.logprobs is None:
            return decoding
        temperature = decoding.temperature if self.temperature is None else self.temperature
        return Decoding(
            max_tokens=self.max_tokens if self.max_tokens is not None else decoding.max_tokens,
            temperature=None if temperature == "server" else temperature,
            top_logprobs=self.logprobs if self.logprobs is not None else decoding.top_logprobs,
            seed=decoding.seed,
        )


_Parts: TypeAlias = tuple[str | Picture | Clip, ...]


def _joined(first: _Parts, second: _Parts) -> _Parts:
    if first and second and isinstance(first[-1], str) and isinstance(second[0], str):
        return (*first[:-1], f"{first[-1]}\n{second[0]}", *second[1:])
    return first + second


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How hard a reader may be driven. Never part of a reply's key.

    `begin` is how many calls are made at once at first; a reader that bears it gets more.
    `patience` is how many seconds in all a trial waits because its server asks for it.
    """

    concurrency: int = 16
    begin: int = 8
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 120.0
    attempts: int = 6
    backoff: float = 0.5
    patience: float = 600.0


@runtime_checkable
class Reader(Protocol):
    """Whatever can reply: a served model, a control, a file of recorded replies, a person.

    `name` is printed; `identity` enters the key of every reply (kind, model, revision, host).
    """

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def traits(self) -> Traits: ...
    @property
    def limits(self) -> Limits: ...
    async def reply(self, prompt: Prompt) -> Reply: ...
    async def close(self) -> None: ...


# ---------------------------------------------------------------- what is reported


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """Degrees of freedom, interval and p by the formula as published, where ours is another."""

    t: float | None
    low: float
    high: float
    p: float


class Method(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an interval was made; `str` says it in the words that `Measure.method` has.

    `kind` is wilson, bootstrap, alike (all cases agree, so Wilson's at 0 speaks for them) or the
    name of another; `of` what was drawn, `boot` and `seed` how often and from where. `effect` is
    the design effect by cluster, `t` the degrees of freedom by which few clusters stretch it;
    `floor` says that it was made to hold at least Wilson's at 0, `centred` that resamples were
    moved to the estimate. Where people `checked` a sample, `weight` is how far judges were followed
    beyond it. `published` is what a formula that we correct gives as it stands.
    """

    kind: str
    of: str = ""
    boot: int | None = None
    seed: int | None = None
    effect: float | None = None
    t: int | None = None
    floor: bool = False
    centred: bool = False
    checked: int | None = None
    weight: float | None = None
    published: Published | None = None

    def __str__(self) -> str:
        if self.kind == "alike":
            return f"all {self.of} agree: wilson at 0"
        words = f"{self.kind} of {self.of}" if self.of else self.kind
        words += "".join(f":{part}" for part in (self.boot, self.seed) if part is not None)
        words += ", centred" if self.centred else ""
        words += f", {self.checked} checked" if self.checked is not None else ""
        words += f", weight {self.weight:.2f}" if self.weight is not None else ""
        words += f", t of {self.t}" if self.t is not None else ""
        words += ", at least wilson at 0" if self.floor else ""
        if self.effect is not None and self.effect != 1:
            words += f", design effect {self.effect:.3g}"
        if self.published is not None:
            words += f", as published p {self.published.p:.3g}"
        return words


class Pooled(msgspec.Struct, frozen=True, kw_only=True):
    """A group's number drawn towards those of the reader's other groups (`stats.pooled_groups`).

    `weight` is how much of its own number is in it, the rest is the `mean` of all `groups`.
    """

    value: float
    low: float
    high: float
    weight: float
    mean: float
    groups: int


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A number with its n, spread and interval: one record of `measures.json`.

    Absent or undefined is None, never NaN. Rates are fractions in [0, 1]. `note` and `method` are
    for people and are read by no code; what they say stands in fields too: `how` the interval was
    made, `flags` (see `overread.measuring.notes`), who was `left_out` of n and who was counted
    `as_wrong` without an answer, by outcome, and the two rates that a difference stands `beside`.
    `against` is the value that p tests, where it tests one: an interval holds it where p > 0.05.
    `pooled` is beside the number of one of many groups.
    """

    reader: str
    measure: str
    by: dict[str, str] = {}
    value: float | None = None
    n: int | None = None
    k: int | None = None
    se: float | None = None
    sd_boot: float | None = None
    sd_seeds: float | None = None
    sd_videos: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None
    p: float | None = None
    q: float | None = None
    family: str | None = None
    label: str | None = None
    note: str | None = None
    how: Method | None = None
    flags: tuple[str, ...] = ()
    left_out: dict[str, int] = {}
    as_wrong: dict[str, int] = {}
    beside: tuple[float, float] | None = None
    against: float | None = None
    pooled: Pooled | None = None


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """What a benchmark says of one reader in a sentence, and the measure it stands on.

    `answer` is its short form: yes, no, in part, or cannot tell (the data do not decide it).
    `lead` is the sentence without its numbers, at most 40 words.
    """

    reader: str
    question: str
    answer: Literal["yes", "no", "in part", "cannot tell"]
    sentence: str
    measure: Measure
    lead: str = ""


class FrameMark(msgspec.Struct, frozen=True, gc=False):
    """A frame of a clip that is true or was named, from 0 within the clip, and how often."""

    phase: str
    frame: int
    times: int = 1


class Slide(msgspec.Struct, frozen=True, kw_only=True):
    """A picture or clip on a card, with boxes drawn over it in the pixels a reader was shown.

    `shown` is the card's condition it belongs to; several slides of one were shown together.
    `marks` are the true frames of a clip.
    """

    label: str
    picture: Picture | Clip
    boxes: tuple[tuple[str, Box], ...] = ()
    shown: str = ""
    marks: tuple[FrameMark, ...] = ()


class CardScore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a judge gave an open answer: each part with its most, and the sum, where there is one.

    No parts say that the verdict could not be read.
    """

    judge: str
    parts: tuple[tuple[str, float, float], ...] = ()
    total: float | None = None
    most: float = 100


class CardAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer of a reader, to what one condition of a card shows.

    `asked` says how it was asked, where that was done in several ways. `text` is the answer, or
    what became of the trial; `option` the key of the option it names; `sure` from 0 to 1; `note`
    what judges said of it; `reply` its own words, where they are more than the answer.
    `changed`: another than the answer to the first condition, asked the same way. It and `right`
    are None where neither can be said.
    """

    shown: str
    text: str
    asked: str = ""
    option: str = ""
    sure: float | None = None
    right: bool | None = None
    changed: bool | None = None
    note: str = ""
    reply: str = ""
    scores: tuple[CardScore, ...] = ()


class CardStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step of reasoning; `mark` is a judge's word on it, `right` what that comes to."""

    kind: str
    text: str = ""
    mark: str = ""
    right: bool | None = None


class CardOption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the options a question offers."""

    key: str
    text: str
    right: bool = False


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What one reader said about a case: its answers by condition, and what belongs to none.

    `lines` are short and labelled; `text` is a reply that no answer holds. `marks` are the frames
    it named; `steps` its own steps, and `gold` what was found of the card's steps, in their order.
    `right` and `flipped` are None where neither can be said.
    """

    reader: str
    answers: tuple[CardAnswer, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()
    text: str = ""
    marks: tuple[FrameMark, ...] = ()
    steps: tuple[CardStep, ...] = ()
    gold: tuple[CardStep, ...] = ()
    right: bool | None = None
    flipped: bool | None = None


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One case as a person looks at it: what was shown, asked and true, and what readers said.

    `facts` are what cards are filtered by; `texts` are labelled texts such as the question.
    `conditions` are what was shown, by name and in words, in the order in which they stand side by
    side: slides and answers name theirs. `steps` are the gold steps.
    """

    case: str
    title: str
    facts: dict[str, str] = {}
    texts: tuple[tuple[str, str], ...] = ()
    options: tuple[CardOption, ...] = ()
    steps: tuple[CardStep, ...] = ()
    conditions: tuple[tuple[str, str], ...] = ()
    slides: tuple[Slide, ...] = ()
    said: tuple[Said, ...] = ()


_LEGEND_SIZE = 10
_LEGEND_LETTER = 5.0  # pixels of a letter of that size, on average


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """An exhibit that is a table: cells are ready to print; `signature` says what it stands on.

    `finding` is what it shows, in one line, and `measures` are those the line goes by.
    `headline` are the columns that tell most, the first of them first: what is shown where there is
    no room for all. Without it columns count in their order.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    signature: str = ""
    notes: tuple[str, ...] = ()
    finding: str = ""
    measures: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    edition: str = ""

    def save(self, path: str | Path) -> None:
        """Write the table; the suffix says how: .csv, .tex (the columns that fit), .html."""
        making: dict[str, Callable[[], bytes]] = {
            ".csv": lambda: typeset.table_csv(self).encode(),
            ".tex": lambda: typeset.latex_table(self, self.name.replace("_", "-")).encode(),
            ".html": lambda: typeset.html_table(self).encode(),
        }
        _save("table", path, making)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {self.title}, {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return typeset.html_table(self)


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """An exhibit that is a drawing: a Vega-Lite specification with its data inside.

    `alt` says in words, with the numbers, what the drawing shows. The numbers behind it are the
    rows of `spec["data"]`. What is drawn in `INK` and `PAPER` takes the colours of the text and the
    ground of a page that holds the drawing.
    """

    INK: ClassVar[str] = "#1a1a1a"
    PAPER: ClassVar[str] = "#ffffff"

    name: str
    title: str
    spec: dict[str, Any]
    alt: str
    signature: str = ""
    notes: tuple[str, ...] = ()
    finding: str = ""
    measures: tuple[str, ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The numbers behind the drawing."""
        found: list[dict[str, Any]] = self.spec.get("data", {}).get("values", [])
        return found

    def svg(self, background: str = "white") -> str:
        """The drawing as an SVG document. Nothing is fetched.

        Figures that ask for more than `drawing` knows, as a plug-in's may, are drawn by Vega.
        """
        from overread import drawing

        try:
            return drawing.drawn(self.spec | {"background": background})
        except drawing.NotDrawn:
            return _drawn_by_vega(self.specification(background))

    def save(self, path: str | Path) -> None:
        """Write the drawing; the suffix says how: .svg, .png (300 dpi), .pdf, .json, .csv.

        .json is the specification, .csv the numbers behind the drawing.
        """
        making: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self.svg().encode(),
            ".png": self._png,
            ".pdf": self._pdf,
            ".json": lambda: msgspec.json.format(self.specification("white").encode()),
            ".csv": self._csv,
        }
        _save("figure", path, making)

    def __repr__(self) -> str:
        return f"<Figure {self.name}: {self.title}>"

    def _repr_svg_(self) -> str:
        """The drawing in a notebook."""
        return self.svg()

    def with_legend(self) -> Figure:
        """The same with its notes below it, in the drawing: for a file that stands alone."""
        if not self.notes or "title" in self.spec:
            return self
        from textwrap import wrap

        width = re.search(r'<svg[^>]* width="([0-9.]+)"', self.svg())
        letters = int(float(width[1]) / _LEGEND_LETTER) if width else 100
        lines = [line for note in self.notes for line in wrap(note, max(40, letters))]
        legend = {
            "text": lines,
            "orient": "bottom",
            "anchor": "start",
            "offset": 12,
            "fontSize": _LEGEND_SIZE,
            "fontWeight": "normal",
            "color": self.INK,
        }
        return msgspec.structs.replace(self, spec=self.spec | {"title": legend})

    def specification(self, background: str) -> str:
        """What the renderer is given, as JSON: the drawing follows from it alone."""
        whole = self.spec | {"background": background}
        with suppress(UnicodeEncodeError, TypeError):
            encoded = msgspec.json.encode(whole).decode()
            if not _PERHAPS_UNDRAWABLE.search(encoded):
                return encoded
        return msgspec.json.encode(_drawable(whole)).decode()

    def _png(self) -> bytes:
        from vl_convert import svg_to_png

        return svg_to_png(self.svg(), ppi=300)

    def _pdf(self) -> bytes:
        from vl_convert import svg_to_pdf

        return svg_to_pdf(self.svg())

    def _csv(self) -> bytes:
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        rows = ([*map(row.get, columns)] for row in self.rows)
        return typeset.csv_text(columns, rows).encode()


def _save(what: str, path: str | Path, making: Mapping[str, Callable[[], bytes]]) -> None:
    """Write an exhibit in the form that the suffix of a file names."""
    if not isinstance(path, str | Path):
        raise BadInput(f'save({path!r}): a {what} is saved to a path, as "{what}.csv".')
    place = Path(path)
    make = making.get(place.suffix.lower())
    if make is None:
        raise BadInput(f"{place}: a {what} is saved as {', '.join(making)}. Name it so.")
    if not place.parent.is_dir():
        raise BadInput(f"{place}: there is no folder {place.parent}. Make it first.")
    if place.exists() and not (place.is_file() or place.is_dir()):
        raise BadInput(f"{place}: it is no file. Give another name.")
    data = make()
    try:
        place.write_bytes(data)
    except OSError as error:
        raise BadInput(f"{place}: {error.strerror}. Give a file that can be written.") from None


@functools.lru_cache(64)
def _drawn_by_vega(spec: str) -> str:
    """A drawing by the renderer of the whole language: half a second and 100 MB for the first."""
    from vl_convert import vegalite_to_svg

    return vegalite_to_svg(spec, allowed_base_urls=[])


# In JSON: a control character, or what no document may hold.
_PERHAPS_UNDRAWABLE: Final = re.compile(r"\\[bfu]|[\ufffe\uffff]")


def _drawable(part: Any) -> Any:
    """A specification without the characters no XML document may hold.

    A name with one would not raise: it ends the process inside the renderer.
    """
    if isinstance(part, str):
        return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", part)
    if isinstance(part, dict):
        return {key: _drawable(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_drawable(value) for value in part]
    return part
