"""Words of a command line become calls: commands are functions, their parameters say the rest.

A parameter is `Annotated[type, Argument(...)]` or `Annotated[type, Option(...)]`; without a default
it must be given. Types are str, int, float, bool, Path, lists of these, each perhaps `| None`.
A command's module is imported when the command is, and nothing else is: the library that did this
took a tenth of a second and 22 MB for every command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

__all__ = [
    "Argument",
    "Commands",
    "Option",
    "Parameter",
    "WrongWords",
    "command_at",
    "parameters_of",
]

_WIDEST = 80


class WrongWords(Exception):
    """What was typed is no call of a command; the message says which word, without a full stop."""


class Argument(NamedTuple):
    """A parameter that is known by its place; of a list, all words that are left.

    `completes` is what a shell may offer for it (completion.py). Help that takes time to make is a
    function.
    """

    help: str | Callable[[], str]
    metavar: str = ""
    completes: str = ""


class Option(NamedTuple):
    """A parameter that is known by its name: `--` and the parameter's own, unless another is given.

    A bool is a flag.
    """

    name: str = ""
    help: str = ""
    min: int | None = None
    max: int | None = None
    completes: str = ""


class Parameter(NamedTuple):
    """One parameter of a command, resolved."""

    name: str
    kind: type
    many: bool
    about: Argument | Option
    default: Any
    required: bool

    @property
    def shown(self) -> str:
        """How it is typed, and how errors call it."""
        if isinstance(self.about, Argument):
            return self.about.metavar or self.name
        return self.about.name or f"--{self.name.replace('_', '-')}"

    def read(self, word: str) -> Any:
        """A word as the value it stands for."""
        try:
            value = self.kind(word)
        except ValueError:
            what = {int: "a whole number", float: "a number"}[self.kind]
            raise self._wrong(word, f"it must be {what}") from None
        if isinstance(self.about, Option):
            low, high = self.about.min, self.about.max
            if low is not None and value < low:
                raise self._wrong(word, f"it must be at least {low}")
            if high is not None and value > high:
                raise self._wrong(word, f"it must be at most {high}")
        return value

    def _wrong(self, word: str, why: str) -> WrongWords:
        called = f"'{self.shown}'"
        return WrongWords(f"Invalid value for {called}: {word!r}, and {why}")


def parameters_of(command: Callable[..., int]) -> list[Parameter]:
    """What a command takes, in the order in which it declares it."""
    hints = get_type_hints(command, include_extras=True)
    found = []
    for name, one in inspect.signature(command).parameters.items():
        kind, about = get_args(hints[name])
        parts = [part for part in get_args(kind) if part is not type(None)]
        if len(parts) == 1 and get_origin(kind) is not list:  # T | None
            (kind,) = parts
        many = get_origin(kind) is list
        if many:
            (kind,) = get_args(kind)
        required = one.default is one.empty
        default = None if required else one.default
        found.append(Parameter(name, kind, many, about, default, required))
    return found


class Commands:
    """Commands by their names: "module:function" of this package, or commands below a name.

    A class, for it knows what it is called in help and errors.
    """

    def __init__(
        self, called: str, about: str, commands: Mapping[str, str | Commands], version: str = ""
    ) -> None:
        self.called, self.about, self.commands, self.version = called, about, commands, version

    def every(self) -> Iterator[tuple[str, Callable[..., int]]]:
        """Every command with its whole name, as "store list"."""
        for name, found in self.commands.items():
            if isinstance(found, Commands):
                yield from ((f"{name} {below}", one) for below, one in found.every())
            else:
                yield name, _imported(found)

    def call(self, words: Sequence[str]) -> int:
        """Do what the words say; the exit code of the command, 0 where help was asked for."""
        if not words or words[0] == "--help":
            print(self._help())
            return 0
        name, *rest = words
        if self.version and name == "--version":
            print(self.version)
            return 0
        if name.startswith("-"):
            raise WrongWords(f"No such option: {name}")
        if name not in self.commands:
            raise WrongWords(f"No such command {name!r}{_near(name, self.commands)}")
        found = self.commands[name]
        if isinstance(found, Commands):
            return found.call(rest)
        command = _imported(found)
        parameters = parameters_of(command)
        if "--help" in _before_the_end(rest):
            print(_help_of(f"{self.called} {name}", command, parameters))
            return 0
        return command(**_values(parameters, rest))

    def _help(self) -> str:
        rows = [
            (name, one.about if isinstance(one, Commands) else _first_line(_imported(one)))
            for name, one in self.commands.items()
        ]
        options = [("--version", "Print the version and leave.")] if self.version else []
        return "\n".join([
            f"Usage: {self.called} [OPTIONS] COMMAND [ARGS]...",
            *_paragraphs(self.about),
            *_listed("Options:", [*options, _HELP]),
            *_listed("Commands:", rows),
        ])  # fmt: skip


def command_at(
    commands: Commands, words: Sequence[str]
) -> tuple[Commands | list[Parameter], list[str]]:
    """Where the words of an unfinished line lead: commands to choose from, or a command's
    parameters, and the words that are left for it.
    """
    left = list(words)
    while left and left[0] in commands.commands:
        found = commands.commands[left.pop(0)]
        if not isinstance(found, Commands):
            return parameters_of(_imported(found)), left
        commands = found
    return commands, left


_HELP = ("--help", "Show this message and leave.")


def _imported(place: str) -> Callable[..., int]:
    module, _, name = place.partition(":")
    command: Callable[..., int] = getattr(import_module(f"overread.cli.{module}"), name)
    return command


# ---------------------------------------------------------------- reading words


def _before_the_end(words: Sequence[str]) -> Sequence[str]:
    """The words before `--`, behind which nothing is an option."""
    return words[: words.index("--")] if "--" in words else words


def _values(parameters: Sequence[Parameter], words: Sequence[str]) -> dict[str, Any]:
    """The arguments of the call that the words stand for."""
    options = {one.shown: one for one in parameters if isinstance(one.about, Option)}
    places = [one for one in parameters if isinstance(one.about, Argument)]
    values: dict[str, Any] = {}
    loose: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            loose += left
            break
        if not word.startswith("-") or word == "-":
            loose.append(word)
            continue
        name, given, value = word.partition("=")
        one = options.get(name)
        if one is None:
            raise WrongWords(f"No such option: {name}{_near(name, options)}")
        if one.kind is bool:
            if given:
                raise WrongWords(f"Option '{name}' does not take a value")
            values[one.name] = True
            continue
        if not given:
            if not left:
                raise WrongWords(f"Option '{name}' requires an argument")
            value = left.pop(0)
        if one.many:
            values.setdefault(one.name, []).append(one.read(value))
        else:
            values[one.name] = one.read(value)
    for one in places:
        if one.many and loose:
            values[one.name], loose = [one.read(word) for word in loose], []
        elif loose:
            values[one.name] = one.read(loose.pop(0))
    if loose:
        raise WrongWords(f"Got unexpected extra argument(s) ({' '.join(loose)})")
    for one in (*places, *options.values()):
        if one.required and one.name not in values:
            kind = "argument" if isinstance(one.about, Argument) else "option"
            raise WrongWords(f"Missing {kind} '{one.shown}'")
    return {one.name: values.get(one.name, one.default) for one in parameters}


def _near(word: str, names: Mapping[str, object]) -> str:
    """What may have been meant."""
    from difflib import get_close_matches

    near = get_close_matches(word, names)
    return f" (perhaps {' or '.join(near)})" if near else ""


# ---------------------------------------------------------------- help


def _width() -> int:
    import shutil

    return max(40, min(_WIDEST, shutil.get_terminal_size().columns) - 2)


def _first_line(command: Callable[..., int]) -> str:
    return (inspect.getdoc(command) or "").partition("\n")[0]


def _paragraphs(text: str) -> Iterator[str]:
    import textwrap

    for part in inspect.cleandoc(text).split("\n\n"):
        yield ""
        yield textwrap.fill(
            part, _width(), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
        )


def _listed(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Names and what they are, in two columns."""
    import textwrap

    if not rows:
        return
    yield f"\n{title}"
    column = min(26, max(len(name) for name, _ in rows)) + 4
    for name, about in rows:
        lines = textwrap.wrap(about, _width() - column, break_on_hyphens=False) or [""]
        if len(name) + 4 > column:
            yield f"  {name}"
        else:
            yield f"  {name:{column - 2}}{lines.pop(0)}".rstrip()
        for line in lines:
            yield " " * column + line


def _help_of(called: str, command: Callable[..., int], parameters: Sequence[Parameter]) -> str:
    usage, places, options = ["Usage:", called, "[OPTIONS]"], [], []
    for one in parameters:
        said = one.about.help
        about = f"{said if isinstance(said, str) else said()}{_beside(one)}"
        if isinstance(one.about, Argument):
            word = f"{one.shown}..." if one.many else one.shown
            usage.append(word if one.required else f"[{word}]")
            places.append((one.shown, about))
        else:
            options.append((" ".join([one.shown, *_VALUE[one.kind]]), about))
    return "\n".join([
        " ".join(usage),
        *_paragraphs(command.__doc__ or ""),
        *_listed("Arguments:", places),
        *_listed("Options:", [*options, _HELP]),
    ])  # fmt: skip


_VALUE: Mapping[type, tuple[str, ...]] = {
    bool: (), str: ("TEXT",), Path: ("PATH",), int: ("N",), float: ("X",),
}  # fmt: skip


def _beside(one: Parameter) -> str:
    """What help says of a parameter beside its own words."""
    said = []
    if one.required and isinstance(one.about, Option):
        said.append("required")
    if one.default not in (None, False):
        said.append(f"default: {one.default}")
    return f"  [{'; '.join(said)}]" if said else ""
