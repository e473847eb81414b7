"""The orders in which the options of a multiple-choice item are shown."""

from __future__ import annotations

import re
from typing import Final

from overread.benchmarks.draws import lot
from overread.benchmarks.medcmr.cases import LETTERS, MedCase

__all__ = ["orders_of", "shown_order"]

# Options that speak of others by their place or letter mean something else in another order.
_OTHERS: Final = re.compile(
    r"\b(?:(?:all|none|both|neither|either|any)\s+(?:of\s+)?(?:the\s+)?"
    r"(?:above(?!\s+(?:and|or|the)\b)|these|(?:other\s+)?(?:options|choices|answers))"
    r"|(?:all|none|both|neither|either|any)\s+of\s+(?:them|those|the\s+others?)"
    r"|of\s+the\s+above)\b"
    r"|(?:以上|上述)(?:选项|答案)?(?:都|均|全|皆)",
    re.IGNORECASE,
)
# With these an option of letters speaks of other options: "Both A and B", "Same as A".
_JOINING: Final = re.compile(
    r"all|and|answers?|are|as|both|but|choices?|correct|either|except|false|is|letters?|neither|"
    r"none|nor|not|of|only|options?|or|same|the|true|wrong|[和或与及]",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"[\u4e00-\u9fff]+|[^\W_\u4e00-\u9fff]+")


def orders_of(case: MedCase, orders: int, seed: int) -> tuple[int, ...]:
    """The orders asked of a case: the set's own (0), and up to so many others, drawn by seed.

    An item of n options has n - 1 others, and none where an option speaks of its neighbours ("none
    of the above", "A and C"). More orders hold the fewer.
    """
    if not orders or any(map(_bound, case.options)):
        return (0,)
    others = sorted(
        range(1, len(case.options)),
        key=lambda order: (lot(f"order {order}", seed, case.case_id), order),
    )
    return (0, *others[:orders])


def _bound(text: str) -> bool:
    """Whether an option speaks of others.

    By letters only where it is made of them and of joining words: "Hepatitis B and C" speaks of
    viruses, and "A" alone is a blood group.
    """
    if _OTHERS.search(text):
        return True
    words = _TOKEN.findall(text)
    letters = [word for word in words if len(word) == 1 and word.upper() in LETTERS]
    rest = [word for word in words if word not in letters]
    if not letters or len(words) < 2 or not all(map(_JOINING.fullmatch, rest)):
        return False
    return len(letters) > 1 or letters[0].isupper()


def shown_order(case: MedCase, order: int) -> tuple[int, ...]:
    """Places of the case's options in the order shown: the p-th shown is option `[p]` of the case.

    Order r is the set's own turned by r places, so n orders put every option once in each place.
    A kept answer needs no seed to be read again: the seed only drew which orders were asked.
    """
    n = len(case.options)
    if not 0 <= order < n:
        raise ValueError(f"{case.case_id}: order {order} of {n} options")
    return tuple((place + order) % n for place in range(n))
