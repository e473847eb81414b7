"""Questions that a writer chooses from, by dimension or task: ours in TOML, or a user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import msgspec

from overread.benchmarks.registry import benchmarks_for_items, class_of
from overread.case import BadInput
from overread.files import read_toml
from overread.plugins import at

OWN: Final = Path(__file__).with_name("templates.toml")
_SLOT: Final = re.compile(r"\{([^{}]*)\}")
_SLOT_NAME: Final = re.compile(r"[a-z][a-z_]{0,39}")
_LONGEST: Final = 300
_MOST_QUESTIONS: Final = 99


def labels_of(benchmark: str) -> Mapping[str, tuple[str, ...]]:
    """The names that labels of an item may have in a benchmark, by field; none it does not say."""
    place = class_of(benchmark).curated.labels
    found: Mapping[str, tuple[str, ...]] = at(place) if place else {}
    return found


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Questions of one dimension or task; `questions` are texts by their number.

    `kind` is multiple where an answer is a list. The labels stand on the items made of it.
    """

    about: str
    answer: str
    questions: dict[str, str]
    kind: Literal["short", "multiple"] = "short"
    dimension: str = ""
    task: str = ""
    ability: str = ""
    name: str = ""

    def filled(self, number: str, words: Mapping[str, str]) -> str | None:
        """A question with its words in braces filled in; None where one is missing."""
        text = self.questions[number]
        if not set(slots_of(text)) <= set(words):
            return None
        # One pass: what was filled in is never looked at again.
        return _SLOT.sub(lambda match: words[match[1]], text)


def slots_of(text: str) -> list[str]:
    """The words in braces of a question.

    >>> slots_of("Where does the {finding} lie?")
    ['finding']
    """
    return _SLOT.findall(text)


def load_templates(path: Path | None = None) -> tuple[Group, ...]:
    """The groups of a file, ours where none is given, in its order."""
    file = path or OWN
    known: dict[str, tuple[str, ...]] = {}
    for benchmark in benchmarks_for_items():
        known |= labels_of(benchmark)
    groups = [_group(file, name, table, known) for name, table in read_toml(file).items()]
    if not groups:
        raise BadInput(f"{file} holds no group. Copy one from {OWN} and change it.")
    return tuple(groups)


def _group(file: Path, name: str, table: Any, labels: Mapping[str, tuple[str, ...]]) -> Group:
    def wrong(what: str) -> NoReturn:
        raise BadInput(f"{file} [{name}]: {what}.")

    try:
        group = msgspec.convert(table, Group)
    except msgspec.ValidationError as error:
        wrong(f"{error}. A group has about, answer and [{name}.questions]")
    if group.name or not name.strip() or set(name) & set("./\n"):
        wrong("a group is named by its table, without . or /, and has no name of its own")
    if not 1 <= len(group.questions) <= _MOST_QUESTIONS:
        wrong(
            f"it has {len(group.questions)} questions; give 1 to {_MOST_QUESTIONS}, best 10 to 20"
        )
    for label, known in labels.items():
        given = getattr(group, label, "")
        if given and given not in known:
            wrong(f'{label} is "{given[:60]}"; it is one of {", ".join(known)}, or left out')
    seen: dict[str, str] = {}
    for number, text in group.questions.items():
        if not text.strip() or len(text) > _LONGEST or "\n" in text:
            wrong(f"question {number} is one line of 1 to {_LONGEST} characters")
        slots = slots_of(text)
        strange = [slot for slot in slots if not _SLOT_NAME.fullmatch(slot)]
        if strange or set(_SLOT.sub("", text)) & set("{}"):
            wrong(f"question {number} has braces around {strange[:1] or 'nothing'}; "
                  "use {words_of_small_letters}")  # fmt: skip
        if len(set(slots)) < len(slots):
            wrong(f"question {number} has the same word in braces twice")
        same = " ".join(text.casefold().split())
        if same in seen:
            wrong(f"question {number} is the same as {seen[same]}")
        seen[same] = number
    return msgspec.structs.replace(group, name=name)
