"""`overread completion`: what a shell offers while a command is being typed.

The printed script asks this program for the words, so that it knows every option there is, and
those that installed packages add. Only the module of the command on the line is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Final

from overread.case import BadInput
from overread.cli.command_line import Argument, Commands, Option, Parameter, command_at

_SCRIPTS: Final = {
    "bash": """\
_overread() {
  local IFS=$'\\n'
  COMPREPLY=($(overread --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]/}
complete -o default -F _overread overread
""",
    "zsh": """\
#compdef overread
_overread() {
  local -a found
  found=("${(@f)$(overread --complete "${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)}")
  if [[ -n $found[1] ]]; then compadd -Q -S '' -- $found; else _files; fi
}
compdef _overread overread
""",
    "fish": """\
complete -c overread -a '(overread --complete (commandline -opc)[2..] (commandline -ct))'
""",
}


def completion(
    shell: Annotated[str, Argument(help="bash, zsh or fish.", completes="shells")],
) -> int:
    """Print a script with which a shell completes commands, options, benchmarks and settings.

    Example: overread completion bash > ~/.local/share/bash-completion/completions/overread
    """
    if shell not in _SCRIPTS:
        raise BadInput(f'completion "{shell}": there is one for {", ".join(_SCRIPTS)}.')
    print(_SCRIPTS[shell], end="")
    return 0


def offered(commands: Commands, words: Sequence[str]) -> list[str]:
    """What may stand in place of the last of these words, which is only begun; none for files."""
    *before, begun = words or [""]
    found, rest = command_at(commands, before)
    if isinstance(found, Commands):
        return _beginning(begun, found.commands)
    options = {one.shown: one for one in found if isinstance(one.about, Option)}
    if rest and (asked := options.get(rest[-1])) is not None and asked.kind is not bool:
        return _values(asked, begun, rest)
    if begun.startswith("-"):
        return _beginning(begun, [*options, "--help"])
    for one in found:
        if isinstance(one.about, Argument) and one.about.completes:
            return _values(one, begun, rest)
    return []


def _values(parameter: Parameter, begun: str, words: Sequence[str]) -> list[str]:
    offers: Mapping[str, Callable[[], Iterable[str]]] = {
        "benchmarks": _benchmarks,
        "settings": lambda: _settings(words),
        "readers": lambda: _readers(begun),
        "shells": lambda: _SCRIPTS,
    }
    offer = offers.get(parameter.about.completes)
    return [] if offer is None else _beginning(begun, offer())


def _beginning(begun: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(begun)]


def _benchmarks() -> Sequence[str]:
    from overread.benchmarks.registry import benchmark_names

    return benchmark_names()


def _settings(words: Sequence[str]) -> list[str]:
    """The keys of the benchmark that is named on the line, up to their `=`."""
    from overread.benchmarks.registry import benchmark_names, class_of

    named = [word for word in words if word in benchmark_names()]
    book = class_of(named[0]).book if named else None
    return [] if book is None else [f"{key}=" for key in (*book.rules, *book.options)]


def _readers(begun: str) -> list[str]:
    """The kinds of reader; behind a `?`, the options that a spec has."""
    from overread.readers.spec import ReaderSpec, known_kinds

    spec, mark, query = begun.partition("?")
    if not mark:
        return [f"{kind}:" for kind in known_kinds()]
    lead = f"{spec}?{query[: query.rfind('&') + 1]}"
    names = (name for name in ReaderSpec.__struct_fields__ if name not in _BEFORE_THE_MARK)
    return [f"{lead}{name}=" for name in names]


_BEFORE_THE_MARK: Final = ("kind", "model", "base_url")
