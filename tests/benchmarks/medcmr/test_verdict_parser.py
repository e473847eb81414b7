"""Judges' scores: read from lines, never guessed."""

from __future__ import annotations

import itertools
import json
import random
import time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED
from overread.benchmarks.medcmr.judged_questions import RUBRICS, questions
from overread.benchmarks.medcmr.verdict_parser import (
    COMPONENTS,
    COMPONENTS_OF,
    GRIDS,
    LINES,
    QUESTIONS,
    lines_of,
    read_verdict,
)
from overread.judging import VERDICT_COLUMNS
from overread.judging.question import reread

GOOD = {"clarity": 1, "coherence": 0.5, "visual": 3, "truth": 4}
PLAIN = """\
Language Clarity: 1
Reasoning Coherence: 0.5
Vision Feature Accuracy: 3
Ground Truth Consistency: 4"""


def with_line(part, said, text=PLAIN):
    """The plain reply with another value for one score."""
    lines = dict(zip(COMPONENTS, text.split("\n"), strict=True))
    return "\n".join((lines | {part: f"{LINES[part]}: {said}"}).values())


# Replies that give the scores of GOOD, and how they are read.
READABLE = [
    ("plain", PLAIN, "lines"),
    ("brackets", lines_of(GOOD), "lines"),
    ("blanks around", f"\n\n  {PLAIN}  \n", "lines"),
    ("Windows lines", PLAIN.replace("\n", "\r\n"), "lines"),
    ("blank lines between", PLAIN.replace("\n", "\n\n"), "lines"),
    ("reversed", "\n".join(reversed(PLAIN.split("\n"))), "lines+order"),
    ("prose before", f"Here are my scores.\n{PLAIN}", "lines+prose"),
    ("prose behind", f"{PLAIN}\nThe reader overlooked the effusion of 2 cm.", "lines+prose"),
    ("prose between", PLAIN.replace("\nVision", "\nNow the image.\nVision"), "lines+prose"),
    ("reordered in prose", f"So:\n{chr(10).join(sorted(PLAIN.split(chr(10))))}", "lines+order+prose"),
    ("code fence", f"```text\n{PLAIN}\n```", "lines+prose"),
    ("bold names", PLAIN.replace(":", ":**").replace("\n", "\n**").replace("Lang", "**Lang"), "lines"),
    ("bold lines", "\n".join(f"**{line}**" for line in PLAIN.split("\n")), "lines"),
    ("bold numbers", PLAIN.replace(": ", ": **").replace("\n", "**\n") + "**", "lines"),
    ("italics", "\n".join(f"_{line}_" for line in PLAIN.split("\n")), "lines"),
    ("headings", "\n".join(f"### {line}" for line in PLAIN.split("\n")), "lines"),
    ("bullets", "\n".join(f"- {line}" for line in PLAIN.split("\n")), "lines"),
    ("stars", "\n".join(f"* **{line}**" for line in PLAIN.split("\n")), "lines"),
    ("dots", "\n".join(f"• {line}" for line in PLAIN.split("\n")), "lines"),
    ("numbered", "\n".join(f"{n}. {line}" for n, line in enumerate(PLAIN.split("\n"), 1)), "lines"),
    ("bold numbers of lines", "\n".join(f"**{n}. {one}**" for n, one in enumerate(PLAIN.split("\n"), 1)), "lines"),
    ("other case", PLAIN.lower(), "lines"),
    ("capitals", PLAIN.upper(), "lines"),
    ("wide colon", PLAIN.replace(": ", "："), "lines"),
    ("wide digits and brackets", PLAIN.replace(": 3", "：［３］"), "lines"),
    ("hyphen", PLAIN.replace("Ground Truth", "Ground-Truth"), "lines"),
    ("visual for vision", PLAIN.replace("Vision", "Visual"), "lines"),
    ("named scores", PLAIN.replace(":", " Score:"), "lines"),
    ("decimals", PLAIN.replace("0.5", "0.50").replace(": 3", ": 3.0").replace(": 1", ": 1.00"), "lines"),
    ("bare decimals", PLAIN.replace("0.5", ".5"), "lines"),
    ("plus", with_line("truth", "+4"), "lines"),
    ("full stop", PLAIN.replace("\n", ".\n") + ".", "lines"),
    ("own scale", PLAIN.replace(": 3", ": 3/4").replace(": 4", ": 4 / 4").replace(": 0.5", ": 0.5/1"), "lines"),
    ("own scale in words", PLAIN.replace(": 3", ": 3 out of 4").replace(": 4", ": [4] (out of 4)"), "lines"),
    ("own scale with decimals", with_line("coherence", "0.5/1.0"), "lines"),
    ("round brackets", PLAIN.replace(": 3", ": (3)"), "lines"),
    ("reasons in brackets", with_line("visual", "3 (most is right, one slip)"), "lines"),
    ("reasons behind a dash", with_line("visual", "[3] – most is right"), "lines"),
    ("reasons behind a hyphen", with_line("visual", "3 - most is right"), "lines"),
    ("reasons behind a comma", with_line("truth", "4, the same in other words"), "lines"),
    ("reasons with a large number", with_line("truth", "4 (a mass of 35 mm)"), "lines"),
    ("the same twice", f"{PLAIN}\n\nSummary:\n{PLAIN}", "lines+prose"),
    ("the same twice, spelt otherwise", f"{PLAIN}\n{lines_of(GOOD)}", "lines"),
    ("words first, numbers later", f"**Language Clarity:** reads well.\n{PLAIN}", "lines"),
    ("headings first", "\n".join(f"{LINES[p]}:\nSome words." for p in COMPONENTS) + f"\n{PLAIN}", "lines+prose"),
    ("the form said again", f"Language Clarity: [0|0.5|1]\nVision Feature Accuracy: [0..4]\n{PLAIN}", "lines+order"),
    ("thoughts", f"<think>{with_line('truth', 1)}</think>\n{PLAIN}", "lines"),
    ("thoughts in capitals", f"<THINK>{with_line('truth', 1)}</THINK>\n{PLAIN}", "lines"),
    ("thoughts by another tag", f"<thinking>\n{with_line('truth', 1)}\n</thinking>\n{PLAIN}", "lines"),
    ("thoughts by a third tag", f"◁think▷\n{with_line('truth', 1)}\n◁/think▷\n{PLAIN}", "lines"),
    ("thoughts in a channel", f"<|channel|>analysis<|message|>\n{with_line('truth', 1)}\n<|channel|>final<|message|>\n{PLAIN}", "lines"),
    ("thoughts that only end", f"{with_line('truth', 1)}\n</think>\n{PLAIN}", "lines"),
    ("a quotation", f"The reply says:\n> Ground Truth Consistency: 0\n{PLAIN}", "lines+prose"),
    ("an echoed section", f"<reasoning fence=0123456789abcdef>\n{with_line('truth', 0)}\n</reasoning fence=0123456789abcdef>\n{PLAIN}", "lines"),
    ("midst of a line", f"I thought of Ground Truth Consistency: 2 at first.\n{PLAIN}", "lines+prose"),
    ("JSON", json.dumps({LINES[part]: score for part, score in GOOD.items()}), "json"),
    ("lines and JSON that say the same", f"{PLAIN}\n{json.dumps({LINES[p]: str(s) for p, s in GOOD.items()})}", "lines+prose"),
    ("JSON laid out", json.dumps({LINES[part]: score for part, score in GOOD.items()}, indent=2), "json"),
    ("JSON in a fence", f"Scores:\n```json\n{json.dumps({LINES[p]: str(s) for p, s in GOOD.items()})}\n```", "json"),
    ("JSON in other order and case", json.dumps({LINES[p].lower(): GOOD[p] for p in reversed(COMPONENTS)}), "json"),
]  # fmt: skip

# Replies that give no verdict: which score is at fault, and what is said of it.
FAULTY = [
    ("nothing", "", "", "no reply"),
    ("blanks", " \n\t", "", "no reply"),
    ("prose", "The answer is good.", "Language Clarity", "is missing"),
    ("a refusal", "I'm sorry, I cannot judge this.", "Ground Truth Consistency", "is missing"),
    *(
        (f"without {part}", "\n".join(one for one in PLAIN.split("\n") if LINES[part] not in one), LINES[part], "is missing")
        for part in COMPONENTS
    ),
    ("cut off", PLAIN[:-3], "Ground Truth Consistency", ""),
    ("vision between", with_line("visual", 2.5), "Vision Feature Accuracy", "2.5, off the grid"),
    ("truth between", with_line("truth", "3.5/4"), "Ground Truth Consistency", "off the grid"),
    ("clarity between", with_line("clarity", 0.7), "Language Clarity", "0.7, off the grid"),
    ("quarter", with_line("coherence", 0.25), "Reasoning Coherence", "off the grid"),
    ("too high", with_line("truth", 5), "Ground Truth Consistency", "5, out of scale"),
    ("per cent", with_line("truth", "100%"), "Ground Truth Consistency", ""),
    ("clarity on the other scale", with_line("clarity", 4), "Language Clarity", "out of scale"),
    ("negative", with_line("visual", -1), "Vision Feature Accuracy", "-1, out of scale"),
    ("negative, another minus", with_line("visual", "−1"), "Vision Feature Accuracy", "out of scale"),
    ("another scale", with_line("visual", "3/5"), "Vision Feature Accuracy", "another scale"),
    ("another scale in words", with_line("visual", "4 out of 10"), "Vision Feature Accuracy", "another scale"),
    ("the other's scale", with_line("clarity", "1/4"), "Language Clarity", "another scale"),
    ("N/A", with_line("visual", "N/A"), "Vision Feature Accuracy", 'no number: "N/A"'),
    ("none", with_line("visual", "[None]"), "Vision Feature Accuracy", "no number"),
    ("a dash", with_line("visual", "-"), "Vision Feature Accuracy", "no number"),
    ("empty", with_line("visual", ""), "Vision Feature Accuracy", "no number"),
    ("a word", with_line("visual", "three"), "Vision Feature Accuracy", 'no number: "three"'),
    ("high", with_line("truth", "**High**"), "Ground Truth Consistency", "no number"),
    ("a half in words", with_line("clarity", "½"), "Language Clarity", ""),
    ("a fraction", with_line("clarity", "1/2"), "Language Clarity", "another scale"),
    ("a range", with_line("visual", "3-4"), "Vision Feature Accuracy", "no plain number"),
    ("a range with blanks", with_line("visual", "3 - 4"), "Vision Feature Accuracy", "no plain number"),
    ("a range with a dash", with_line("visual", "3–4"), "Vision Feature Accuracy", "no plain number"),
    ("a choice", with_line("visual", "3 or 4"), "Vision Feature Accuracy", "no plain number"),
    ("second thoughts", with_line("visual", "3, maybe 4"), "Vision Feature Accuracy", "two numbers"),
    ("a correction", with_line("visual", "3 → 2"), "Vision Feature Accuracy", "no plain number"),
    ("a comma for the point", with_line("clarity", "0,5"), "Language Clarity", "no plain number"),
    ("an exponent", with_line("clarity", "1e0"), "Language Clarity", "no plain number"),
    ("glued", with_line("visual", "3x"), "Vision Feature Accuracy", "no plain number"),
    ("twice", f"{PLAIN}\n{with_line('truth', 3)}", "Ground Truth Consistency", "given twice: 4 and 3"),
    ("once good, once off the grid", f"{PLAIN}\nLanguage Clarity: 0.7", "Language Clarity", "off the grid"),
    ("once a number, once N/A", f"{PLAIN}\nVision Feature Accuracy: N/A", "Vision Feature Accuracy", "no number"),
    ("the form alone", "\n".join(f"{LINES[p]}: [{'|'.join(f'{s:g}' for s in GRIDS[p])}]" for p in COMPONENTS), "Language Clarity", "no number"),
    ("numbers without names", "1\n0.5\n3\n4", "Language Clarity", "is missing"),
    ("one line", PLAIN.replace("\n", ", "), "Reasoning Coherence", "is missing"),
    ("short names", "Clarity: 1\nCoherence: 1\nVision: 4\nTruth: 4", "Language Clarity", "is missing"),
    ("all of it thought", f"<think>{PLAIN}", "Language Clarity", "is missing"),
    *(
        (f"all of it thought in {tag}", f"{tag}\n{PLAIN}", "Language Clarity", "is missing")
        for tag in ("<thinking>", "<THINK>", "◁think▷", "<|channel|>analysis<|message|>")
    ),
    ("all of it quoted", "\n".join(f"> {line}" for line in PLAIN.split("\n")), "Language Clarity", "is missing"),
    ("all of it an echoed section", f"<answer fence=0123456789abcdef>\n{PLAIN}\n</answer fence=0123456789abcdef>", "Language Clarity", "is missing"),
    ("lines and JSON that say otherwise", f"{PLAIN}\n{json.dumps({LINES[p]: s for p, s in (GOOD | {'truth': 2}).items()})}", "Ground Truth Consistency", "given twice: 4 and 2"),
    ("JSON first, then other lines", f"{json.dumps({LINES[p]: s for p, s in (GOOD | {'visual': 0}).items()}, indent=1)}\n{PLAIN}", "Vision Feature Accuracy", "given twice: 3 and 0"),
    ("lines and JSON without a number", f'{PLAIN}\n{{"Language Clarity": null}}', "Language Clarity", "no number"),
    ("a line missing that JSON has", f'{PLAIN[:-27]}\n{{"Ground Truth Consistency": 4}}', "Ground Truth Consistency", "is missing"),
    ("JSON without one", json.dumps({LINES[p]: GOOD[p] for p in COMPONENTS[:3]}), "Ground Truth Consistency", "is missing"),
    ("JSON off the grid", json.dumps({LINES[p]: s for p, s in (GOOD | {"visual": 2.5}).items()}), "Vision Feature Accuracy", "off the grid"),
    ("JSON true", json.dumps({LINES[p]: s for p, s in (GOOD | {"clarity": True}).items()}), "Language Clarity", "no number"),
    ("JSON null", json.dumps({LINES[p]: s for p, s in (GOOD | {"truth": None}).items()}), "Ground Truth Consistency", "no number"),
    ("JSON with a name twice", json.dumps({LINES[p]: s for p, s in GOOD.items()})[:-1] + ', "Language Clarity": 0}', "Language Clarity", "given twice"),
    ("JSON cut off", json.dumps({LINES[p]: s for p, s in GOOD.items()})[:-4], "Ground Truth Consistency", "is missing"),
    ("too long", PLAIN + " " * 200_001, "", "more than 200000 characters"),
]  # fmt: skip


def test_there_are_at_least_forty_hard_replies():
    assert len(READABLE) + len(FAULTY) >= 40


@pytest.mark.parametrize(
    ("text", "how"), [row[1:] for row in READABLE], ids=[r[0] for r in READABLE]
)
def test_replies_that_give_all_four_scores(text, how):
    read = read_verdict("score", text)
    assert (read.value, read.fault) == (GOOD, "")
    assert read.how == how


@pytest.mark.parametrize(
    ("text", "name", "fault"), [row[1:] for row in FAULTY], ids=[r[0] for r in FAULTY]
)
def test_replies_that_give_no_verdict_and_why(text, name, fault):
    read = read_verdict("score", text)
    assert read.value is None
    assert not read.valid
    assert any(name in said and fault in said for said in read.fault.split("; ")), read.fault


def test_numbers_are_kept_as_they_were_given():
    value = read_verdict("score", PLAIN.replace(": 3", ": 3.0")).value
    assert json.dumps(value) == '{"clarity": 1, "coherence": 0.5, "visual": 3, "truth": 4}'
    assert read_verdict("score", "\n".join(f"{LINES[p]}: 0" for p in COMPONENTS)).value == dict.fromkeys(COMPONENTS, 0)  # fmt: skip


def test_every_fault_is_named():
    text = with_line("visual", 2.5, with_line("clarity", "N/A"))
    assert read_verdict("score", text).fault == (
        'Language Clarity is no number: "N/A"; '
        "Vision Feature Accuracy is 2.5, off the grid; it is one of 0, 1, 2, 3, 4"
    )


def test_without_a_caption_three_scores_are_a_verdict():
    three = {part: GOOD[part] for part in COMPONENTS_OF["score_uncaptioned"]}
    assert read_verdict("score_uncaptioned", lines_of(three)).value == three
    assert "Vision Feature Accuracy is missing" in read_verdict("score", lines_of(three)).fault
    # What was not asked for is not kept, whatever it says.
    assert read_verdict("score_uncaptioned", PLAIN).value == three
    assert read_verdict("score_uncaptioned", with_line("visual", "N/A")).value == three


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_score_of_every_grid_comes_back_in_any_order(question):
    parts = COMPONENTS_OF[question]
    for scores in itertools.product(*(GRIDS[part] for part in parts)):
        value = dict(zip(parts, scores, strict=True))
        lines = lines_of(value).split("\n")
        assert read_verdict(question, "\n".join(lines)).value == value
        random.Random(repr(scores)).shuffle(lines)
        assert read_verdict(question, "\n".join(lines)).value == value


@given(st.sampled_from(COMPONENTS), st.floats(-10, 10).map(lambda number: round(number, 3)))
def test_what_is_not_on_the_grid_is_never_moved_onto_it(part, number):
    read = read_verdict("score", with_line(part, f"{number:.3f}"))
    assert read.valid is (number in GRIDS[part])
    if read.valid:
        assert read.value[part] == number


@given(st.text(), st.text())
def test_no_text_raises_and_words_without_names_change_nothing(before, behind):
    read_verdict("score", f"{before}{PLAIN}{behind}")
    quiet = "".join(letter for letter in before if letter not in "<>{}")
    if not any(name.casefold()[:6] in quiet.casefold() for name in LINES.values()):
        assert read_verdict("score", f"{quiet}\n{PLAIN}").value == GOOD


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "Language Clarity: ", "Language Clarity:\n", "Language Clarity: 1\n", "*" * 50, "[", "- ",
        "<reasoning fence=0123456789abcdef>\n", "<think>", "</think>", "> ", "{", '{"Language Clarity": ',
        "1" * 1000, "Language Clarity: 1 (", "Ground Truth\t", "\n", " ", "\u3000", "（", "3 - ", "9.9.9.",
    ],
)  # fmt: skip
def test_time_is_in_proportion_to_the_text(piece):
    def seconds(size: int) -> float:
        text = (piece * (size // len(piece) + 1))[:size]
        best = 9.0
        for _ in range(3):
            begun = time.process_time()
            for hostile in (text, f"{PLAIN}\n{text}", f"Language Clarity: {text}"):
                read_verdict("score", hostile)
            best = min(best, time.process_time() - begun)
        return best

    # Sixteen times the text; quadratic time would be 256 times as long.
    assert seconds(96_000) < 80 * max(seconds(6_000), 2e-4)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_form_in_the_prompt_is_the_one_that_is_read(question):
    template = RUBRICS[question].template
    lines = [line for line in template.split("\n") if line.endswith("]")]
    assert [line.split(":")[0] for line in lines] == [LINES[p] for p in COMPONENTS_OF[question]]
    # A judge that gives the prompt back has not judged.
    assert not read_verdict(question, template).valid
    filled = "\n".join(f"{line.split('[')[0]}[1]" for line in lines)
    assert read_verdict(question, filled).how == "lines"


@pytest.mark.parametrize("edition", [AUTHORS, CORRECTED])
def test_kept_words_are_read_again(edition):
    kept = {"judge": "j", "question": "score", "outcome": "judged", "payload": "{}", "check": False}
    rows = [
        kept | {"text": PLAIN},
        kept | {"text": with_line("visual", 9), "how": "lines"},
        kept | {"text": None, "payload": '{"truth":4}', "how": "theirs"},
        kept | {"text": PLAIN, "question": "score_uncaptioned"},
    ]
    schema = dict.fromkeys(VERDICT_COLUMNS, pl.String) | {"check": pl.Boolean}
    found = reread(questions(edition), pl.DataFrame(rows, schema=schema, orient="row"), {})
    assert found["outcome"].to_list() == ["judged", "invalid", "judged", "judged"]
    assert json.loads(found["payload"][0]) == GOOD
    assert found["payload"][1] is None
    assert "out of scale" in found["reason"][1]
    assert found.row(2, named=True)["how"] == "theirs"
    assert "visual" not in json.loads(found["payload"][3])
