"""The matrix: what was found of each model by question, and where each cell leads."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from overread.case import Measure, Said
from overread.measuring.units import SKILL
from overread.report import matrix_html
from overread.report.gate.judging import Gated, Ruling
from overread.report.matrix import answers, matrix, title_of
from overread.report.reported import Reported
from support.page import HOSTILE, card_of, headline_of, record_of, run_of, seen_in, table_of


def one(reader: str, benchmark: str = "grounding", **more: object) -> Reported:
    given = {"headlines": (headline_of(reader),), "cards": (), "card_total": 0} | more
    return run_of(record=record_of("w", reader, benchmark=benchmark), **given)


def rows(page: str) -> list[str]:
    return [seen_in(row).words for row in re.findall("<tr.*?</tr>", page, re.DOTALL)]


def test_a_model_of_several_runs_has_a_row_and_one_of_a_single_run_stands_under_it() -> None:
    runs = [
        run_of(
            record=record_of("w", "a", "b"),
            headlines=(headline_of("a", answer="yes"), headline_of("b", answer="no")),
        ),
        run_of(record=record_of("w", "b", "c", benchmark="medcmr"), headlines=(headline_of("c"),)),
    ]
    head, both, alone = rows(matrix(runs))
    assert head.startswith("model Did it look? grounding: 3 cases")
    assert "Can it integrate?" in head
    assert both == "b ✕ no 50.0 n=7 in its tables"
    assert alone == "asked one question a ✓ yes 50.0 n=7 c ◐ in part 50.0 n=7"
    assert "not asked" not in matrix(runs)


def test_models_of_one_run_all_have_rows() -> None:
    run = run_of(record=record_of("w", "a", "b"), headlines=(headline_of("a"), headline_of("b")))
    assert [row.split()[0] for row in rows(matrix([run]))] == ["model", "a", "b"]


@pytest.mark.parametrize("answer", ["yes", "no", "in part", "cannot tell"])
def test_an_answer_is_a_word_beside_its_sign(answer: str) -> None:
    page = matrix([one("a", headlines=(headline_of("a", answer=answer),))])
    assert re.search(rf"a [✓✕◐?] {answer} 50\.0 n=7", seen_in(page).words)


def test_bars_of_a_column_are_on_one_scale_and_a_unit_without_an_end_is_cut() -> None:
    far = Measure(reader="a", measure="skill", value=-3.0, low=-5.0, high=-1.0, n=4)
    near = Measure(reader="a", measure="skill", value=0.0, low=-0.5, high=0.5, n=4)
    run = one(
        "a",
        headlines=(headline_of("a", measure=far), headline_of("a", measure=near)),
        units={"skill": SKILL},
    )
    page = matrix([run])
    assert "<span>-1</span><span>skill</span><span>1</span>" in page
    spreads = re.findall(r'class="spread" x="([\d.]+)" y="2.5" width="([\d.]+)"', page)
    assert spreads == [("2.0", "1.0"), ("27.0", "50.0")]
    assert page.count("<path") == 1  # what leaves the scale points out of it


def test_where_the_deciding_measure_differs_each_cell_names_its_own() -> None:
    other = Measure(reader="a", measure="set_accuracy", value=0.25, n=4)
    run = one("a", headlines=(headline_of("a"), headline_of("a", measure=other)))
    assert "CGR 50.0" in seen_in(matrix([run])).words
    assert "set accuracy 25.0" in seen_in(matrix([run])).words


def test_a_cell_leads_to_a_short_sentence_and_the_rest_is_folded() -> None:
    headline = headline_of("a", "It looked: 50.0 % and more.", lead="It looked")
    run = one("a", headlines=(headline,))
    (to,) = [given["href"] for given in seen_in(matrix([run])).all("a") if "cell" in str(given)]
    words = seen_in(answers([run])).words
    assert f'id="{str(to)[1:]}"' in answers([run])
    assert "It looked. CGR 50.0 [25.0, 75.0], n=7, edition corrected." in words
    assert "In full It looked: 50.0 % and more." in words


def test_the_exhibits_behind_a_cell_are_those_that_show_its_measure() -> None:
    shows = replace(table_of("shows it"), name="u", measures=("cgr",))
    not_it = replace(table_of("does not"), name="v", measures=("accuracy",))
    run = one("a", exhibits=(table_of("first"), not_it, shows))
    words = seen_in(answers([run])).words
    assert "Exhibits behind it: first , shows it ; all 3 exhibits ." in words


def test_the_cases_behind_a_cell_are_linked_by_what_they_are() -> None:
    def card(case: str, **said: bool) -> object:
        return replace(card_of(case, "a b"), case=case, said=(Said(reader="a b", **said),))

    cards = (card("x", right=False, flipped=True), card("y", right=True, flipped=False))
    page = answers([one("a b", cards=cards, card_total=9)])
    assert 'href="#cases-grounding?reader=a%20b&amp;flipped=yes"' in page
    assert (
        "(1 on this page), it got wrong (1 on this page), all (2 on this page)"
        in seen_in(page).words
    )
    assert "right=no" in answers([one("a b", card_total=9)], served=True)


def test_what_it_gets_wrong_most_is_named_with_its_cases() -> None:
    groups = {"edema": 0.4, "nodule": 0.9, "mass": 0.8, "air": 0.95}
    measures = [
        Measure(reader="a", measure="accuracy", by={"finding": name}, value=value, n=20)
        for name, value in groups.items()
    ]
    card = replace(
        card_of("x", "a"), facts={"finding": "edema"}, said=(Said(reader="a", right=False),)
    )
    page = answers(
        [one("a", share_right="accuracy", measures=measures, cards=(card,), card_total=1)]
    )
    assert "Right least often: finding edema 40.0 % of 20; finding mass" in seen_in(page).words
    assert "right=no&amp;fact%3Afinding=edema" in page


def test_the_gate_stands_beside_a_model() -> None:
    ruling = Ruling(
        rule="r", why="w", run="x", benchmark="grounding", reader="a", measure="cgr", by={},
        demanded="d", found="f", outcome="fail", says="s",
    )  # fmt: skip
    gated = Gated(
        title="t", policy="p", policy_sha256="0", overread="0", outcome="fail", exit_code=1,
        counts={}, rulings=[ruling], disclaimer="d",
    )  # fmt: skip
    run = one("a")
    assert rows(matrix([run], gated))[1].endswith("✕ fail")
    two = [one("a"), one("b", "medcmr")]
    assert "a ✕ gate : fail" in seen_in(matrix(two, gated)).words


def test_a_title_names_models_data_and_day() -> None:
    assert title_of([run_of(record=record_of("chest@1a2b", "a"))]) == "a on chest"
    assert title_of([run_of(record=record_of("chest", "a", "b", "c"))]) == "3 models on chest"


def test_a_notebook_gets_it_whole_without_links_or_scripts() -> None:
    seen = seen_in(matrix_html([one("a")]))
    assert not {"a", "script", "link", "img"} & {tag for tag, _ in seen.tags}
    assert "Did it look?" in seen.words
    assert ":root" not in matrix_html([one("a")])


@pytest.mark.parametrize("word", HOSTILE)
def test_names_and_sentences_are_text(word: str) -> None:
    def tags(name: str) -> list[str]:
        run = run_of(record=record_of("w", name), headlines=(headline_of(name, name),))
        page = matrix([run]) + answers([run])
        return [tag for tag, _ in seen_in(page).tags]

    assert tags(word) == tags("plain")
