"""Tables as LaTeX: whatever a cell holds is printed, and nothing of it is carried out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import Table
from overread.report.exports import escaped, latex_table, write_latex_files
from support.reported import reported_of

# Everything that our files may be made of. What is left over after these is a fault.
_TOKEN = re.compile(
    r"\\[a-zA-Z]+|\\[{}_%&#$,`'^~=.\"\\-]|\$[^$\\{}%&#_]*(?:\\[a-z]+|\^\{(?:\\circ|[123])\})?\$"
    r"|[{}&~\[\]]|[A-Za-z0-9 .,:;!?'()/+=|<>@*\-]|\n"
)
_COMMANDS = frozenset({
    "begin", "end", "centering", "caption", "label", "footnotesize", "tiny", "toprule", "midrule",
    "bottomrule", "texttt", "allowbreak", "textbackslash", "textasciicircum", "textasciitilde",
    "textquoteleft", "textquotedblleft", "ldots", "dag", "ddag", "S", "P", "ss", "ae", "AE", "oe",
    "OE", "o", "O", "l", "L", "i", "j", "u", "r", "H", "v", "c",
})  # fmt: skip


def tokens(text: str) -> list[str]:
    """The text as tokens; an assertion where it holds anything else."""
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match, f"{text[at : at + 20]!r} is no token"
        found.append(match[0])
        at = match.end()
    for token in found:
        if re.fullmatch(r"\\[a-zA-Z]+", token):
            assert token[1:] in _COMMANDS, token
    return found


def balanced(found: list[str]) -> bool:
    depth = 0
    for token in found:
        depth += (token == "{") - (token == "}")
        assert depth >= 0
    return depth == 0


def table(*rows: tuple[str, ...], **more: object) -> Table:
    columns = tuple(f"c{number}" for number in range(len(rows[0])))
    return Table(name="t", title="A title", columns=columns, rows=rows, **more)  # type: ignore[arg-type]


@given(st.text(max_size=200))
def test_any_text_is_balanced_ascii_without_a_raw_special_character(text: str) -> None:
    made = escaped(text)
    assert made.isascii()
    found = tokens(made)
    assert balanced(found)
    # Raw &, ~, [ and ] would be read as a next cell, a glue and options.
    assert "&" not in found
    for bracket in "[]":
        for place, token in enumerate(found):
            if token == bracket:
                assert (found[place - 1], found[place + 1]) == ("{", "}")
    assert "%" not in re.sub(r"\\%", "", made)
    assert "\n" not in made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("a_b 5% & #1 $x", r"a\_b 5\% \& \#1 \$x"),
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("x^2~y", r"x\textasciicircum{}2\textasciitilde{}y"),
        ("p<0.05", r"p$<$0.05"),
        ("33.2 [28.7, 38.1]", "33.2 {[}28.7, 38.1{]}"),
        ("-3.1", "-{}3.1"),
        ("--", "-{}-{}"),
        ("Zoë Çelik", r"Zo\"{e} \c{C}elik"),
        ("naïve", r"na\"{\i}ve"),
        ("10 × 3 ≥ 2 κ", r"10 $\times$ 3 $\geq$ 2 $\kappa$"),
        ("a\u202eb", "a{[}U+202E{]}b"),
        ("胸", "{[}U+80F8{]}"),
        ("two\nlines\t here", "two lines here"),
    ],
)
def test_characters_are_written_as_they_print(text: str, made: str) -> None:
    assert escaped(text) == made


def test_a_table_has_its_rows_title_notes_and_signature() -> None:
    made = latex_table(
        table(
            ("control:looks", "33.2 [28.7, 38.1] n=370"),
            ("[rest] \\\\ \\end{table}", "n/a"),
            notes=("Intervals are Wilson's.",),
            signature="grounding|edition:corrected|cases:480@7ec2",
        ),
        "grounding-summary",
    )
    body = made.split("\n", 1)[1]  # the first line is a comment
    assert made.startswith("% 2 rows of 2 columns")
    found = tokens(body)
    assert balanced(found)
    assert made.count(r"\end{table}") == 1
    assert made.count(" \\\\\n") == 3
    assert r"\begin{tabular}{lr}" in made
    assert "A title. Intervals are Wilson's. \\texttt{grounding$|$" in made
    assert "edition:corrected" in made
    for rule in ("toprule", "midrule", "bottomrule"):
        assert made.count(rf"\{rule}") == 1


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=4))
def test_every_row_has_as_many_cells_as_the_head(rows: list[tuple[str, str]]) -> None:
    made = latex_table(table(*rows), "t")
    body = made[made.index(r"\toprule") : made.index(r"\bottomrule")]
    ends = [line for line in body.splitlines() if line.endswith(" \\\\")]
    assert len(ends) == len(rows) + 1
    assert all(tokens(line[:-3]).count("&") == 1 for line in ends)


def test_each_table_of_the_runs_is_a_file_the_paper_beside(tmp_path: Path) -> None:
    one, two = table(("a", "1"), signature="s1"), table(("b", "2"), signature="s2")
    runs = [reported_of([one], published=[two]), reported_of([one])]
    written = write_latex_files(tmp_path, runs)
    assert [each.file for each in written] == [
        "grounding-t.tex", "grounding-published-t.tex", "grounding-2-t.tex",
    ]  # fmt: skip
    assert [each.signature for each in written] == ["s1", "s2", "s1"]
    for each in written:
        text = (tmp_path / each.file).read_text(encoding="ascii")
        assert balanced(tokens(text.split("\n", 1)[1]))
