"""Tables elsewhere: the columns that fit, and files in which a cell is text and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import BadInput, Table
from overread.report.exports import write_latex_files
from overread.typeset import (
    COLUMN,
    Cell,
    count_of,
    escaped,
    fitted,
    heading_of,
    html_table,
    latex_layout,
    latex_table,
    short,
)
from support.reported import reported_of

# Everything that our files may be made of. What is left over after these is a fault.
_TOKEN = re.compile(
    r"\\[a-zA-Z]+|\\[{}_%&#$,`'^~=.\"\\-]|\$[^$\\{}%&#_]*(?:\\[a-z]+|\^\{(?:\\circ|[123])\})?\$"
    r"|[{}&~\[\]]|[A-Za-z0-9 .,:;!?'()/+=|<>@*\-]|\n|\#[12]|#[12]"
)
_COMMANDS = frozenset({
    "begin", "end", "centering", "caption", "label", "fontsize", "selectfont", "toprule", "midrule",
    "bottomrule", "allowbreak", "providecommand", "stacked", "withinterval", "setlength", "tabcolsep",
    "columnwidth", "textwidth", "extracolsep", "fill", "raggedright", "arraybackslash", "item",
    "par", "noindent", "textbackslash", "textasciicircum", "textasciitilde",
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


# ---------------------------------------------------------------- cells


def test_a_cell_is_its_text_and_knows_its_parts() -> None:
    made = Cell("33.2*", "[28.7, 38.1]°", n=370, after="†", pooled=" pooled 30.0 [28.0, 32.0]")
    assert made == "33.2* [28.7, 38.1]° n=370† pooled 30.0 [28.0, 32.0]"
    assert short(made) == "33.2* [28.7, 38.1]°†"
    more = Cell("33.2", n=33, k=11) + " cannot tell"
    assert more == "33.2 11/33 cannot tell"
    assert (short(more), more.n) == ("33.2 cannot tell", 33)
    assert type(str(made)) is str


def test_n_heads_a_column_as_one_number_or_from_least_to_most() -> None:
    assert count_of([Cell("1", n=40), Cell("2", n=40), "n/a"]) == "n=40"
    assert count_of([Cell("1", n=160), Cell("2", n=40)]) == "n=40–160"
    assert count_of(["1", "n/a"]) == ""


# ---------------------------------------------------------------- which columns fit


def numbers(count: int, **more: object) -> Table:
    """A model's name and so many columns of numbers with intervals."""
    row = ("a-model", *(Cell("33.2", "[28.7, 38.1]", n=370) for _ in range(count)))
    columns = ("model", *(f"c{number}" for number in range(count)))
    return Table(name="t", title="A title", columns=columns, rows=(row,), **more)  # type: ignore[arg-type]


def test_columns_are_taken_in_their_order_until_there_is_no_room() -> None:
    layout = fitted(numbers(9), 60, len, gap=2)
    assert layout.columns == (0, 1, 2)
    assert layout.left_out == tuple(f"c{number}" for number in range(2, 9))
    assert sum(layout.widths) + 2 * 2 <= 60


def test_the_headline_comes_first_and_stands_where_it_stood() -> None:
    layout = fitted(numbers(9, headline=("c7", "c2")), 60, len, gap=2)
    assert layout.columns == (0, 3, 8)


def test_what_names_a_row_is_always_there_and_wraps_before_a_number_is_left_out() -> None:
    table = Table(
        name="t",
        title="T",
        columns=("model", "groups", "gap", "q"),
        rows=(("a", "young 10.0 (n=5), old 12.0 (n=7), oldest 3.0 (n=2)", "+2.0", "0.500"),),
        headline=("gap", "q"),
    )
    layout = fitted(table, 40, len, gap=2)
    assert layout.columns == (0, 1, 2, 3)
    assert layout.widths[1] < 30


def test_one_number_is_shown_however_little_room_there_is() -> None:
    assert fitted(numbers(3), 5, len, gap=2).columns == (0, 1)


# ---------------------------------------------------------------- LaTeX


def test_a_table_has_its_rows_title_and_notes_and_its_signature_as_a_comment() -> None:
    made = latex_table(
        table(
            ("control:looks", Cell("33.2", "[28.7, 38.1]", n=370)),
            ("[rest] \\\\ \\end{table}", "n/a"),
            notes=("Intervals are Wilson's.",),
            signature="grounding|edition:corrected|cases:480@7ec2",
            edition="corrected",
        ),
        "grounding-summary",
    )
    comments = [line for line in made.splitlines() if line.startswith("%")]
    assert comments[0] == "% 2 rows of 2 columns"
    assert "% grounding|edition:corrected|cases:480@7ec2" in comments
    assert r"% \usepackage{array,booktabs,threeparttable}" in comments
    found = tokens(made.split("\n", len(comments))[-1])
    assert balanced(found)
    assert made.count(r"\end{table}") == 1
    assert r"\caption[{A title}]{A title.}\label{tab:grounding-summary}" in made
    assert r"\withinterval{33.2}{{[}28.7, 38.1{]}}" in made
    assert r"\stacked{r}{c1\\n=370}" in made
    notes = made[made.index(r"\begin{tablenotes}") : made.index(r"\end{tablenotes}")]
    assert r"\item Intervals are Wilson's." in notes
    assert r"\item Edition corrected of the rules." in notes
    for rule in ("toprule", "midrule", "bottomrule"):
        assert made.count(rf"\{rule}") == 1


def test_columns_that_are_asked_for_are_there_on_the_whole_page_if_need_be() -> None:
    made, wide = numbers(9), ("c1", "c2", "c3", "c4", "c5", "c6")
    layout, page = latex_layout(made)
    assert not page
    assert sum(layout.widths) < COLUMN
    assert "c8" in layout.left_out
    layout, page = latex_layout(made, wide)
    assert page
    assert [made.columns[place] for place in layout.columns] == ["model", *wide]
    assert r"\begin{table*}" in latex_table(made, "t", wide)
    assert r"\begin{tabular*}{\columnwidth}" in latex_table(made, "t", ("c8",))


def test_a_long_table_is_several_that_fit_a_page() -> None:
    row = numbers(1).rows[0]
    made = latex_table(Table(name="t", title="T", columns=("model", "c"), rows=(row,) * 80), "t")
    assert made.count(r"\end{table}") == 4
    assert made.count(r"\withinterval{33") == 80
    assert made.count(r"\label{tab:t}") == 1
    assert "T (4 of 4)." in made


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
        lines = (tmp_path / each.file).read_text(encoding="ascii").splitlines(keepends=True)
        assert balanced(tokens("".join(line for line in lines if not line.startswith("%"))))


def test_a_column_that_no_table_has_is_refused(tmp_path: Path) -> None:
    runs = [reported_of([numbers(9)])]
    with pytest.raises(BadInput, match='no table has a column "c99"'):
        write_latex_files(tmp_path, runs, ["c1", "c99"])
    write_latex_files(tmp_path, runs, ["C8"])
    assert "c8" in (tmp_path / "grounding-t.tex").read_text("ascii")
    write_latex_files(tmp_path, runs, ["all"])
    assert "of 10 columns" in (tmp_path / "grounding-t.tex").read_text("ascii")


DOCUMENT = r"""\documentclass[twocolumn]{article}
\usepackage{array,booktabs,threeparttable}
\setlength{\textwidth}{487pt}\setlength{\columnsep}{19pt}
\setlength{\columnwidth}{234pt}\setlength{\hsize}{234pt}\setlength{\linewidth}{234pt}
\begin{document}
%s
\end{document}
"""


@pytest.mark.slow
def test_tables_fit_a_column_when_they_are_typeset(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("needs LaTeX: there is no pdflatex here")
    odd = "Qwen/Qwen2.5-VL-72B-Instruct", "llava_next:34b", "a name with many words & signs_%#"
    cells = [
        Cell("100.0", "[100.0, 100.0]°", n=12345, after="‡"),
        Cell("-7.11", "[-11.50, -4.53]", n=37, after=" cannot tell"),
        Cell("+16.7 ± 0.3", "[+10.5, +22.7]", n=480),
        "<0.001",
        "n/a",
    ]
    rows = tuple((name, "ignores image", *cells) for name in odd) * 12
    columns = ("model", "category", "accuracy of all", "skill ES", "difference", "p of it", "q")
    notes = (
        "Percent [95 % interval]; κ ≥ 0.8, χ² and ± are printed.",
        "grounding|edition:corrected|conditions:original,swap,target_mask,irrelevant_mask|px:224",
    )
    some = [
        Table(name="t", title="Müller’s 50 % & more", columns=columns, rows=rows, notes=notes),
        Table(name="u", title="U", columns=columns[:3], rows=tuple(r[:3] for r in rows[:1])),
        numbers(8, headline=("c6", "c3")),
    ]
    made = [latex_table(one, f"t{number}", ()) for number, one in enumerate(some)]
    made += [latex_table(some[0], "all", columns)]
    (tmp_path / "all.tex").write_text(DOCUMENT % "\n".join(made), "ascii")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    log = (tmp_path / "all.log").read_text("latin-1")
    assert done.returncode == 0, log[-2000:]
    assert "Overfull \\hbox" not in log
    assert "too large for page" not in log


# ---------------------------------------------------------------- tables save themselves


def test_a_table_saves_itself_as_its_name_says(tmp_path: Path) -> None:
    one = table(("=1+1", "<script>x</script>"), signature="s|1")
    for name, holds in (
        ("t.csv", "'=1+1,<script>x</script>,s|1"),
        ("t.tex", r"\begin{threeparttable}"),
        ("t.html", "&lt;script&gt;x&lt;/script&gt;"),
    ):
        one.save(tmp_path / name)
        assert holds in (tmp_path / name).read_text("utf-8")
    assert one._repr_html_() == html_table(one)
    assert "<script" not in html_table(one)
    with pytest.raises(BadInput, match="a table is saved as .csv, .tex, .html"):
        one.save(tmp_path / "t.docx")
    with pytest.raises(BadInput, match="saved to a path"):
        one.save(3)  # type: ignore[arg-type]


def test_a_heading_speaks_of_models_whatever_the_column_of_the_file_is_called():
    said = [heading_of(one) for one in ("reader", "readers", "medical reader", "reader, format")]
    assert said == ["model", "models", "medical model", "model, format"]
    assert heading_of("readership") == "readership"
