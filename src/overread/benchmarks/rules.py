"""The rules and options of a benchmark as tables: every one once, both editions side by side.

`authors` does what the paper's code does, bug for bug; `corrected` is sound. Every rule in which
they differ is one field of the benchmark's `Edition`, so that `--set field=value` tries one rule at
a time. Options say what is asked, not how it is judged: they stand in the signature but do not
change the edition's label. What is known of each stands in a table of words above the fields, one
row a line, its last cell going on below:

    class Edition(EditionRules, frozen=True, kw_only=True):
        table = '''
            rule      | authors | corrected | decides
            normals   | yes     | no        | The key of normal films [D1].
            masks *   | closed  | half_open | Whether a mask blacks w+1 by h+1 pixels or exactly
                w by h [D11].
        '''
        normals: Literal["yes", "no"]
        masks: Literal["closed", "half_open"]

    BOOK: Final = Rulebook("lights", Edition, Options)

A `Literal` is read by its words, anything else by the reading beside its type. From the tables come
the two editions, `--set name=value` and its refusals, labels, what readers and judges are shown,
which options name files; docs/editions.md has the same tables.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from overread.case import BadInput
from overread.files import decimal

Reading: TypeAlias = Callable[[str], Any]
EditionName: TypeAlias = Literal["authors", "corrected"]

# ---------------------------------------------------------------- readings
# A reading takes a word of `--set` and gives a value, or raises `ValueError` that says what the
# setting is.


def reading(what: str, value_of: Callable[[str], Any]) -> Reading:
    """By what makes a value of a word, None of one that is not `what` the setting is."""

    def read(text: str) -> Any:
        value = value_of(text)
        if value is None:
            raise ValueError(what)
        return value

    return read


def one_of(*values: Any) -> Reading:
    """One of these, written as `str` writes it."""
    words = {str(value): value for value in values}
    return reading(" or ".join(words), words.get)


def some_of(*values: str, none: str | None = None) -> Reading:
    """A list joined by commas, each value once, kept in the order they have here.

    The word `none`, where one is given, stands for the empty list.
    """

    def some(text: str) -> tuple[str, ...] | None:
        given = [] if text == none else [word.strip() for word in text.split(",")]
        fits = set(given) <= set(values) and len(set(given)) == len(given)
        return tuple(value for value in values if value in given) if fits else None

    also = "" if none is None else f", or {none}"
    return reading(f"one or more of {', '.join(values)}, joined by commas, each once{also}", some)


def whole(low: int, high: int) -> Reading:
    """A whole number in plain digits, both bounds included."""

    def within(text: str) -> int | None:
        plain = text.isascii() and text.isdecimal() and len(text) <= 12
        return int(text) if plain and low <= int(text) <= high else None

    return reading(f"a whole number from {low} to {high}", within)


def number(low: float, high: float) -> Reading:
    """A finite number, both bounds included."""

    def within(text: str) -> float | None:
        value = decimal(text)
        # -0.0 is 0.0
        return value + 0.0 if value is not None and low <= value <= high else None

    return reading(f"a number from {low:g} to {high:g}", within)


folder: Reading = reading("a folder", lambda text: str(Path(text).absolute()) if text else None)
"""A folder, as an absolute path."""


def files(what: str) -> Reading:
    """One or more paths joined by commas, as absolute paths; `what` says of what."""

    def absolute(text: str) -> str | None:
        paths = [part.strip() for part in text.split(",")]
        return ",".join(str(Path(path).absolute()) for path in paths) if all(paths) else None

    return reading(f"{what}; several by commas", absolute)


Sheets: TypeAlias = Annotated[str | None, files("a filled sheet of judge-sample")]
"""Sheets on which people judged what judges had judged."""


def read_words(
    benchmark: str, words: Mapping[str, str], readings: Mapping[str, Reading], known: Sequence[str]
) -> dict[str, Any]:
    """The values of these words; `known` are all settings there are, for the refusal."""
    values = {}
    for key, text in words.items():
        if key not in readings:
            has = ", ".join(known)
            raise BadInput(f'--set {key}={text}: {benchmark} has no "{key}"; it has {has}.')
        try:
            values[key] = readings[key](text.strip())
        except ValueError as error:
            raise BadInput(f"--set {key}={text}: {key} is {error}.") from None
    return values


# ---------------------------------------------------------------- what a field says of itself


class Rule(NamedTuple):
    """A rule in which editions may differ: its value in each, what it decides, and how it is read.

    `shown`, a star behind its name in the table: it changes what readers or judges are shown, so
    that measuring again cannot change it.
    """

    authors: Any
    corrected: Any
    why: str
    reads: Reading
    shown: bool


class Option(NamedTuple):
    """What is asked, in one respect: it stands in the signature, not in the edition's label.

    Its kind in the table: `measured` is looked at only when numbers are made, so that it is not
    `shown`; `judges` alone are asked it, so that a run may be judged later with another; `files`
    are what it names, and a record keeps their paths absolute. `written` is the default as a word,
    in the table behind the name, where that is not simply its parts joined by commas.
    """

    why: str
    reads: Reading
    shown: bool
    for_judges: bool
    place: bool
    written: str


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A key of `--set` as a person reads of it.

    A rule has a value in both editions; an option has one default, whatever the edition. `shown`:
    it changes what readers or judges are shown, so that measuring again cannot change it.
    `published` is None of an option. `value` is what holds in a run, the default outside of one.
    """

    name: str
    default: str
    published: str | None
    value: str
    shown: bool
    takes: str
    decides: str


_KINDS: Final = ("measured", "judges", "files")
Boot: TypeAlias = Annotated[int, whole(100, 10_000_000)]
"""How often a bootstrap resamples."""
Seed: TypeAlias = Annotated[int, whole(0, 2**32 - 1)]
Folder: TypeAlias = Annotated[str | None, folder]


class EditionRules(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules; a benchmark's own stand in its subclass, as fields and in `table`."""

    table: ClassVar[str] = ""
    name: EditionName = "corrected"

    @property
    def robust(self) -> bool:
        """Whether intervals and tests are ours; the published edition keeps those it had."""
        return self.name != "authors"

    @property
    def label(self) -> str:
        """The edition's name, with every rule that was changed: `corrected+match=truthy`."""
        standard = edition_of(type(self), self.name)
        values = ((rule, getattr(self, rule)) for rule in rules_of(type(self)))
        changed = (f"+{rule}={own}" for rule, own in values if own != getattr(standard, rule))
        return self.name + "".join(changed)


class AskedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked; a field that `table` does not list follows from others: no word sets it."""

    table: ClassVar[str] = ""

    def sheets(self, name: str) -> list[Path]:
        """The files that people filled, of an option that names them."""
        return [Path(file) for file in (getattr(self, name) or "").split(",") if file]

    def check_sheets(self, *names: str) -> None:
        """Refuse a sheet that is not there."""
        for name in names:
            for sheet in self.sheets(name):
                if not sheet.is_file():
                    raise BadInput(f"--set {name}={sheet}: there is no such file. Give its path.")


R = TypeVar("R", bound=EditionRules)
Asked = TypeVar("Asked", bound=AskedOptions)


def _cells(table: str) -> list[list[str]]:
    """The cells of each row below the heading; a line without bars goes on with the last cell."""
    rows: list[list[str]] = []
    for line in table.split("\n"):
        if "|" in line:
            rows.append([cell.strip() for cell in line.split("|")])
        elif line.strip():
            rows[-1][-1] += f" {line.strip()}"
    return rows[1:]


def _readings(struct: type[msgspec.Struct]) -> dict[str, Reading]:
    """By field, how its word is read: by the reading beside its type, or by a `Literal`'s words."""
    found: dict[str, Reading] = {}
    for field, hint in typing.get_type_hints(struct, include_extras=True).items():
        if typing.get_origin(hint) is Annotated:
            found[field] = typing.get_args(hint)[1]
        elif typing.get_origin(hint) is Literal:
            found[field] = one_of(*typing.get_args(hint))
    return found


@cache
def rules_of(edition: type[EditionRules]) -> Mapping[str, Rule]:
    """The rules of a benchmark's edition, in order."""
    reads, found = _readings(edition), {}
    for called, authors, corrected, why in _cells(edition.table):
        name = called.removesuffix("*").strip()
        read = reads[name]
        found[name] = Rule(read(authors), read(corrected), why, read, shown=called != name)
    return found


@cache
def edition_of(edition: type[R], name: EditionName) -> R:
    """The edition of that name with no rule changed."""
    values = {rule: getattr(said, name) for rule, said in rules_of(edition).items()}
    return edition(name=name, **values)


# ---------------------------------------------------------------- the table


class Rulebook(msgspec.Struct, Generic[R, Asked], dict=True):
    """All rules and options of a benchmark, and whatever follows from them.

    `complete` makes the options from the edition's name, the words and the values read of them,
    where that is more than one value for each word; it refuses values that do not go together.
    """

    benchmark: str
    rules_type: type[R]
    options_type: type[Asked]
    complete: Callable[[str, Mapping[str, str], dict[str, Any]], Asked] | None = None

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        return rules_of(self.rules_type)

    @cached_property
    def options(self) -> Mapping[str, Option]:
        """Those that a word can set."""
        reads, found = _readings(self.options_type), {}
        for called, kind, why in _cells(self.options_type.table):
            name, _, written = (word.strip() for word in called.partition("="))
            measured, for_judges, place = (word in kind.split() for word in _KINDS)
            found[name] = Option(why, reads[name], not measured, for_judges, place, written)
        return found

    @cached_property
    def editions(self) -> Mapping[str, R]:
        names: tuple[EditionName, ...] = ("corrected", "authors")
        return {name: edition_of(self.rules_type, name) for name in names}

    @property
    def corrected(self) -> R:
        return self.editions["corrected"]

    @property
    def authors(self) -> R:
        return self.editions["authors"]

    @cached_property
    def shows(self) -> frozenset[str]:
        """The settings that say what is shown, which measuring again cannot change."""
        declared: Iterable[tuple[str, Rule | Option]] = (*self.rules.items(), *self.options.items())
        return frozenset(name for name, said in declared if said.shown)

    @cached_property
    def for_judges(self) -> frozenset[str]:
        """Those that say what judges are asked, and nothing else."""
        return frozenset(name for name, option in self.options.items() if option.for_judges)

    @cached_property
    def places(self) -> frozenset[str]:
        """The options that name files or folders."""
        return frozenset(name for name, option in self.options.items() if option.place)

    # ------------------------------------------------------------ words of `--set`

    def edition(self, name: str, overrides: Mapping[str, str] | None = None) -> R:
        """The edition of that name with some rules changed; words as `--set` takes them."""
        if name not in self.editions:
            raise BadInput(f'edition is "{name}"; the editions are {", ".join(self.editions)}.')
        return msgspec.structs.replace(self.editions[name], **self._read(overrides, self.rules))

    def settings(self, name: str, words: Mapping[str, str] | None = None) -> tuple[R, Asked]:
        """An edition and options from all `--set` words of a command."""
        words = words or {}
        asked = {key: text for key, text in words.items() if key in self.options}
        rules = {key: text for key, text in words.items() if key not in self.options}
        edition, given = self.edition(name, rules), self._read(asked, self.options)
        if self.complete is None:
            return edition, self.options_type(**given)
        return edition, self.complete(name, words, given)

    def asked_under(self, label: str) -> R:
        """The edition of a label, such as `corrected+boot=200`."""
        name, *changed = label.split("+")
        return self.edition(name, dict(rule.split("=", 1) for rule in changed if "=" in rule))

    def absolute(self, words: Mapping[str, str]) -> dict[str, str]:
        """The words with every path absolute: a record is read from whatever folder."""
        found = dict(words)
        for key in self.places & words.keys():
            with suppress(ValueError):  # refused, with the reason, when all words are read
                found[key] = str(self.options[key].reads(words[key].strip()))
        return found

    def _read(
        self, words: Mapping[str, str] | None, among: Mapping[str, Rule] | Mapping[str, Option]
    ) -> dict[str, Any]:
        readings = {name: said.reads for name, said in among.items()}
        known = (*self.rules, *self.options)
        return read_words(self.benchmark, words or {}, readings, known)

    # ------------------------------------------------------------ in words

    def listing(self, rules: R | None = None, options: Asked | None = None) -> list[Setting]:
        """Every setting, rules first; with what holds under these rules and options."""
        held, asked = rules or self.corrected, options or self.settings("corrected")[1]
        default = self.settings("corrected")[1]
        found = [
            Setting(
                name=name,
                default=_word(rule.corrected),
                published=_word(rule.authors),
                value=_word(getattr(held, name)),
                shown=rule.shown,
                takes=_takes(rule.reads),
                decides=rule.why,
            )
            for name, rule in self.rules.items()
        ]
        return found + [
            Setting(
                name=name,
                default=option.written or _word(getattr(default, name)),
                published=None,
                value=_file_names(getattr(asked, name))
                if option.place
                else _word(getattr(asked, name)),
                shown=option.shown,
                takes=_takes(option.reads),
                decides=option.why,
            )
            for name, option in self.options.items()
        ]

    def departures(self, rules: R) -> list[str]:
        """The rules that are not the published ones."""
        return [name for name in self.rules if getattr(rules, name) != getattr(self.authors, name)]


def _word(value: Any) -> str:
    """A value as `--set` takes it; nothing where there is none."""
    if isinstance(value, tuple | list | frozenset):
        return ",".join(map(_word, value))
    return "" if value is None else str(value)


def _file_names(value: str | None) -> str:
    """The files of an option without their folders, which say whose machine it was."""
    return ",".join(Path(part).name for part in (value or "").split(",") if part)


def _takes(reads: Reading) -> str:
    """What a setting is, in the words of its own refusal."""
    try:
        reads("\0")
    except ValueError as error:
        return str(error)
    return "a path"  # of files and folders any text may be one


# ---------------------------------------------------------------- what several rulebooks share


def check_variants(words: Mapping[str, str], variants: int, checks: int) -> None:
    """Refuse more items that judges judge with a change than items they are tried on."""
    if variants > checks:
        raise BadInput(
            f"--set variants={words['variants']}: variants are made of the items of checks, here "
            f"{checks}. Give at most that, or more checks."
        )
