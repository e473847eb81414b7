"""Models' own names in what they replied, taken out before people read it.

A reply that says "As GPT-5, I see" tells its reader whose it is. Known names of models and makers,
and the labels of the run, become `[model]`; nothing else of a reply is changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from overread.benchmarks.people import ForPeople

MASK = "[model]"
# What a version looks like behind a name: "-4o", " 2.5 Pro", "3-VL-32B", ":latest".
_VERSION = (
    r"(?:[-_:/.\u2010\u2011]?\w*\d[\w.]*\w|[-_:/.\u2010\u2011]?\d|[-_\u2010\u2011]\w+"
    r"| \d[\w.]*\w| \d| (?:pro|flash|mini|nano|opus|sonnet|haiku)\b)*"
)


class _Names(msgspec.Struct, frozen=True):
    names: list[str]


def unnamed(
    screens: Iterable[ForPeople], labels: Iterable[str], found: Callable[[], None]
) -> Iterator[ForPeople]:
    """The same screens, no model named in their texts; `found` is called for each that named one.

    Of labels, those that can be no word of a reply: with a digit, a hyphen, a slash or a colon.
    """
    path = Path(__file__).with_name("model_names.toml")
    names = msgspec.toml.decode(path.read_bytes(), type=_Names).names
    own = [label for label in labels if re.search(r"[\d:/_-]", label)]
    own += [part for label in own for part in re.split("[:/]", label) if re.search(r"[\d_-]", part)]
    words = sorted({*names, *own}, key=len, reverse=True)
    pattern = "|".join(map(_spelt, words))
    # Letters may follow a number ("4o"), not a word.
    ends = r"(?:(?<=\d)[^\W\d_]*|(?![^\W\d_]))"
    known = re.compile(rf"(?<![^\W_])(?:{pattern}){ends}{_VERSION}", re.IGNORECASE)
    for one in screens:
        texts = tuple((heading, known.sub(MASK, text)) for heading, text in one.texts)
        if texts != one.texts:
            found()
        yield msgspec.structs.replace(one, texts=texts)


def _spelt(word: str) -> str:
    """A name however its blanks and hyphens are set; hyphens that do not break are hyphens too."""
    return re.escape(word).replace(r"\ ", r"[\s-]?").replace(r"\-", r"[-\u2010\u2011]")
