"""The documentation: what it tells people to type exists, and every page can be found."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from overread.cli.app import COMMANDS
from overread.cli.command_line import Commands, Option, command_at

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?:sh|)\n(.*?)^```", re.M | re.S)
GENERATED = {"reference-commands.md", "reference-options.md", "reference-settings.md"}


def commands_of(page: Path) -> Iterator[str]:
    """Every command that a page tells people to type."""
    for block in BLOCK.findall(page.read_text("utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("overread "):
                yield line.partition(" || ")[0].partition(" > ")[0].partition(" # ")[0]


def test_the_pages_have_commands() -> None:
    assert sum(1 for page in PAGES for _ in commands_of(page)) > 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    for line in commands_of(page):
        words = shlex.split(line)[1:]
        found, rest = command_at(COMMANDS, words)
        if isinstance(found, Commands):
            assert rest == [] or rest[0] in ("--help", "--version"), f"{page.name}: {line}"
            continue
        known = {one.shown for one in found if isinstance(one.about, Option)} | {"--help"}
        given = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert given <= known, f"{page.name}: {line}: {given - known}"


def test_every_page_has_a_place_on_the_site_and_every_place_a_page() -> None:
    listed = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M)
    assert len(set(listed)) == len(listed)
    assert set(listed) == {page.name for page in PAGES[1:]} | GENERATED


def test_the_readme_is_one_screen_with_a_picture() -> None:
    text = PAGES[0].read_text("utf-8")
    assert len(text.splitlines()) <= 60
    assert (ROOT / "docs" / "assets" / "page.png").stat().st_size < 300_000


def test_the_glossary_has_every_mark_and_word_of_the_tables() -> None:
    from overread.benchmarks.exhibits import cells
    from overread.benchmarks.grounding.category import WORDS
    from overread.report.gate import VERDICTS

    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    marks = (
        *(cells.FEW_MARK, cells.UNTRIED_MARK, cells.TOLD_APART_MARK),
        *(cells.OTHER_RULE_MARK, cells.ROUGH_MARK, cells.NOT_KNOWN),
    )
    for word in (*marks, *WORDS, *VERDICTS.values()):
        assert word in text, word


def test_the_program_writes_its_own_reference() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "generated.py"))
    commands = "\n".join(made["commands"]())
    for name, _ in COMMANDS.every():
        assert f"## overread {name}\n" in commands
    assert "| `revision` |" in "\n".join(made["options"]())
    assert "| `normals` |" in "\n".join(made["settings"]())
