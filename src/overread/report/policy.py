"""What a page may show of a data set, and what a browser may do with the page."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Final

import msgspec

from overread.case import Card, Policy
from overread.report.reported import Reported

# What a parser made of a reply is short: Yes, 93.0 % sure.
_SHORT_LINE: Final = 60
_LEFT_OUT: Final = "(left out)"


def content_security(script: str, style: str, *, served: bool) -> str:
    """Nothing but this page's own script and style, and pictures inside it.

    A served page may also ask the server it came from, for cards and pictures of cases.
    """
    own = " 'self'" if served else ""
    rules = [
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        f"img-src data:{own}",
        *(["connect-src 'self'"] if served else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def allowed(run: Reported) -> Reported:
    """The run without what its data policy keeps off a page.

    Pictures of a set that is not open, and texts of a credentialed one, what readers said about
    them with them, are shown only to whom asked for them by `include_images`.
    """
    policy = run.record.policy
    if policy == "open" or run.include_images:
        return run
    cards = [allowed_card(card, policy) for card in run.cards]
    return msgspec.structs.replace(run, slides={}, cards=cards)


def allowed_card(card: Card, policy: Policy) -> Card:
    """A card as it is shown to whom did not ask for pictures and texts; its slides are named.

    A title may be a question's own words, and a line may quote a reply.
    """
    if policy != "credentialed":
        return card
    said = tuple(
        msgspec.structs.replace(
            one,
            text="",
            lines=tuple(
                (label, line if len(line) <= _SHORT_LINE else _LEFT_OUT)
                for label, line in one.lines
            ),
        )
        for one in card.said
    )
    return msgspec.structs.replace(card, title=card.case, texts=(), said=said)


def warning(run: Reported) -> str | None:
    """What whoever holds the page should know of it: what it shows, or why it does not."""
    record = run.record
    if record.policy == "open":
        return None
    if run.include_images or record.pictures:
        return (
            f"This page shows pictures or texts of {record.dataset} ({record.policy}): keep it "
            "where the data set may be."
        )
    kept = "Pictures" if record.policy == "research" else "Pictures and texts"
    return (
        f"{kept} of {record.dataset} are left out, for the set is {record.policy}; "
        "--include-images puts them in, where they may be seen."
    )
