"""`dataset.toml`, the card of a data set: what it is called, and who may see it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_args

from overread.case import BadInput, Policy

__all__ = ["policy_of", "read_card"]


def policy_of(*folders: Path) -> Policy:
    """The strictest policy of these folders; one that declares none is credentialed."""
    cards = [read_card(folder / "dataset.toml") for folder in folders]
    policies: tuple[Policy, ...] = get_args(Policy)  # from the loosest to the strictest
    strictest = max(policies.index(card.get("policy", "credentialed")) for card in cards)
    return policies[strictest]


def read_card(path: Path) -> dict[str, str]:
    """Name, policy and the images' root as far as they are declared; nothing without a card."""
    if not path.is_file():
        return {}
    try:
        card = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not TOML: {error}. Mend or remove it.") from None
    policies = get_args(Policy)
    if card.get("policy", "open") not in policies:
        known = ", ".join(policies)
        raise BadInput(f'{path}: policy is "{card["policy"]}"; the policies are {known}.')
    if not isinstance(card.get("name", ""), str) or set(card.get("name", "")) & set("|@\n"):
        raise BadInput(f"{path}: name is a text without | or @.")
    if not isinstance(card.get("root", ""), str) or not card.get("root", "."):
        raise BadInput(f"{path}: root is the path of the images' folder.")
    return {key: card[key] for key in ("name", "policy", "root") if key in card}
