"""Words become calls: what is read, what is refused, and what help says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import pytest

from overread.cli.app import COMMANDS
from overread.cli.command_line import Argument, Commands, Option, WrongWords, parameters_of

CALLS: list[dict[str, Any]] = []


def draw(
    first: Annotated[str, Argument(help="What.")],
    others: Annotated[list[Path] | None, Argument(metavar="FILE", help="More.")] = None,
    size: Annotated[int, Option(min=1, max=9, help="How large.")] = 3,
    scale: Annotated[float | None, Option(help="By how much.")] = None,
    colour: Annotated[list[str] | None, Option(help="Which. Repeatable.")] = None,
    set_: Annotated[str | None, Option("--set", help="One more.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Draw nothing.")] = False,
) -> int:
    """Draw something.

    Example: made draw a
    """
    CALLS.append(locals())
    return 7


def sign(name: Annotated[str, Option(help="Whose.")]) -> int:
    """Sign it."""
    return 0


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Commands:
    here = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "overread.cli.of_a_test", here)
    CALLS.clear()
    below = Commands("made below", "Below.", {"sign": "of_a_test:sign"})
    return Commands("made", "About.", {"draw": "of_a_test:draw", "below": below}, "made 1")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("a", {"first": "a"}),
        ("a b c", {"others": [Path("b"), Path("c")]}),
        ("--size 4 a --dry-run b", {"others": [Path("b")], "size": 4, "dry_run": True}),
        ("a --size=4 --scale -1.5", {"size": 4, "scale": -1.5}),
        ("a --size 4 --size 5", {"size": 5}),
        ("a --colour red --colour=a=b", {"colour": ["red", "a=b"]}),
        ("a --set --size", {"set_": "--size"}),
        ("-- --size --help", {"first": "--size", "others": [Path("--help")]}),
        ("-", {"first": "-"}),
    ],
)
def test_words_are_read(made: Commands, words: str, given: dict[str, Any]) -> None:
    assert made.call(["draw", *words.split()]) == 7
    usual = dict.fromkeys(("others", "scale", "colour", "set_")) | {"size": 3, "dry_run": False}
    assert [usual | {"first": given.get("first", "a")} | given] == CALLS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("darw", "No such command 'darw' (perhaps draw)"),
        ("zzz", "No such command 'zzz'"),
        ("--frob", "No such option: --frob"),
        ("draw", "Missing argument 'first'"),
        ("below sign", "Missing option '--name'"),
        ("below sign --name a more words", "Got unexpected extra argument(s) (more words)"),
        ("draw a --colours x", "No such option: --colours (perhaps --colour)"),
        ("draw a -x", "No such option: -x"),
        ("draw a -4", "No such option: -4"),
        ("draw a --size", "Option '--size' requires an argument"),
        ("draw a --dry-run=yes", "Option '--dry-run' does not take a value"),
        ("draw a --size x", "Invalid value for '--size': 'x', and it must be a whole number"),
        ("draw a --size 0", "Invalid value for '--size': '0', and it must be at least 1"),
        ("draw a --size 10", "Invalid value for '--size': '10', and it must be at most 9"),
        ("draw a --scale much", "Invalid value for '--scale': 'much', and it must be a number"),
    ],
)
def test_what_is_no_call_is_refused(made: Commands, words: str, said: str) -> None:
    with pytest.raises(WrongWords) as refused:
        made.call(words.split())
    assert str(refused.value) == said
    assert not CALLS


def test_help_of_commands_and_of_one(
    made: Commands, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert made.call([]) == made.call(["--help"]) == 0
    both = capsys.readouterr().out
    assert both[: len(both) // 2] == both[len(both) // 2 :]
    assert "  draw   Draw something.\n  below  Below." in both
    assert made.call(["draw", "a", "--help", "--frob"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Usage: made draw [OPTIONS] first [FILE...]\n\n  Draw something.\n")
    assert "  --size N       How large.  [default: 3]\n" in told
    assert "  --dry-run      Draw nothing.\n" in told
    assert made.call(["below", "sign", "--help"]) == 0
    assert "  --name TEXT  Whose.  [required]\n" in capsys.readouterr().out
    assert made.call(["--version"]) == 0
    assert capsys.readouterr().out == "made 1\n"


def test_every_command_is_declared_in_full() -> None:
    """Each parameter is of a kind that words can be read as, and says what it is."""
    for name, command in COMMANDS.every():
        for one in parameters_of(command):
            assert one.kind in (str, int, float, bool, Path), (name, one.name)
            said = one.about.help if isinstance(one.about.help, str) else one.about.help()
            assert said.endswith((".", "…", "?")), (name, one.name)
