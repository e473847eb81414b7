"""Pages of the site that the program writes of itself: commands, options of a model, settings.

A hook of mkdocs (mkdocs.yml). What is listed is read off the declarations that the program goes by,
so that these pages cannot go stale.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_BESIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to those that lie in docs/."""
    from mkdocs.structure.files import File

    pages = {
        "reference-commands.md": commands(),
        "reference-options.md": options(),
        "reference-settings.md": settings(),
    }
    for name, lines in pages.items():
        files.append(File.generated(config, name, content="\n".join(lines)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """A link to a file of the checkout beside docs/ has no target on a site: its words stay."""
    return _BESIDE.sub(r"\1", markdown)


def commands() -> Iterator[str]:
    from overread.cli.app import COMMANDS
    from overread.cli.command_line import Argument, parameters_of

    yield "# Commands\n"
    yield "Every command has `--help` with an example, and `--json` where a machine may read it."
    yield "Exit codes: 0 done; 1 a check failed; 2 bad input or usage, nothing is written; 3 done"
    yield "with unanswered trials, run the same command again; 4 the data cannot tell (`gate`).\n"
    for name, command in COMMANDS.every():
        first, *rest = (inspect.getdoc(command) or "").split("\n\n")
        yield f"## overread {name}\n\n{_text(first)}\n"
        for part in rest:
            example = part.removeprefix("Example: ")
            yield f"```\n{example}\n```\n" if example != part else f"{_text(part)}\n"
        yield "| | takes | says |\n|---|---|---|"
        for one in parameters_of(command):
            kind = {"Path": "path", "str": "text", "bool": "", "int": "number", "float": "number"}
            many = " …" if one.many else ""
            takes = f"{kind.get(one.kind.__name__, one.kind.__name__)}{many}"
            needed = " Needed." if one.required and not isinstance(one.about, Argument) else ""
            default = f" Default: `{one.default}`." if one.default not in (None, False) else ""
            said = one.about.help() if callable(one.about.help) else one.about.help
            yield f"| `{one.shown}` | {takes} | {_cell(said)}{needed}{default} |"
        yield ""


def options() -> Iterator[str]:
    from overread.readers.options import reader_options
    from overread.readers.spec import known_kinds

    yield "# Options of a model\n"
    yield "Behind the `?` of a spec, or as keys of a `[[reader]]` table; `overread options` prints"
    yield f"them. Kinds: {', '.join(f'`{kind}:`' for kind in known_kinds())}. *Asks anew*: the"
    yield "option is part of what replies are kept under. More: [models](readers.md).\n"
    yield "| option | default | takes | kinds | asks anew | says |\n|---|---|---|---|---|---|"
    for one in reader_options():
        cells = (
            f"`{one.name}`",
            f"`{one.default}`" if one.default else "",
            one.takes,
            ", ".join(one.kinds) or "all",
            "yes" if one.replies else "",
            one.says,
        )
        yield f"| {' | '.join(map(_cell, cells))} |"


def settings() -> Iterator[str]:
    from overread.benchmarks.registry import BENCHMARKS, class_of

    yield "# Settings\n"
    yield "What `--set KEY=VALUE` takes, by benchmark; `overread settings BENCHMARK` prints them."
    yield "*Published* is the value under `--edition authors`. *Shown*: it changes what models or"
    yield "judges are shown, so that only a new run can change it; the others `overread measure RUN"
    yield "--set …` changes, too. [Editions](editions.md) gives the reasons.\n"
    for benchmark in BENCHMARKS:
        book = class_of(benchmark).book
        yield f"## {benchmark}\n"
        yield "| key | default | published | shown | takes | decides |\n|---|---|---|---|---|---|"
        for one in book.listing() if book is not None else ():
            cells = (
                f"`{one.name}`",
                f"`{one.default}`" if one.default else "",
                f"`{one.published}`" if one.published is not None else "",
                "yes" if one.shown else "",
                one.takes,
                one.decides,
            )
            yield f"| {' | '.join(map(_cell, cells))} |"
        yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _text(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")
