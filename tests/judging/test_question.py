"""A judged question as one object, and what follows from a list of them."""

from __future__ import annotations

import json
from itertools import combinations

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.case import BadInput, Decoding
from overread.judging import VERDICT_COLUMNS, Read
from overread.judging.agreement import judge_counts
from overread.judging.fitness import (
    NOT_CHECKED,
    UNFIT,
    fitness_in,
    labels_of,
    shift_measures,
)
from overread.judging.question import (
    Deserved,
    JudgedPart,
    Question,
    Wording,
    about_of,
    again,
    by_name,
    choices_of,
    judges_and_words,
    other_rubrics,
    question_trials,
    reread,
    roles_of,
    verdict_fault,
    verdicts_in,
    with_own_words,
)
from overread.judging.rubric import Rubric
from overread.judging.sheet import units_of
from overread.stats import cohen_kappa, weighted_kappa


class Case(msgspec.Struct, frozen=True):
    case_id: str
    question: str = "Which stain?"
    truth: str = "Gram"
    kind: str = "plain"
    cells: tuple[str, ...] = ("cocci", "rods")


class About(msgspec.Struct, kw_only=True):
    image: str = "original"
    mode: str
    variant: str = ""


class Named(msgspec.Struct):
    same: bool


def rubric(name, words="Is it right?"):
    return Rubric(
        name=name,
        role="answer",
        question=name,
        template=words + " {sections}",
        sections=("truth", "reply"),
    )


def read_same(text, case, condition):
    if condition["rubric"] == "word":
        said = text.strip()
        valid = said in ("yes", "no")
        return Read({"same": said == "yes"}, "word") if valid else Read(how="word", fault="neither")
    try:
        return Read(msgspec.to_builtins(msgspec.json.decode(text, type=Named)), "strict")
    except msgspec.DecodeError:
        return Read(fault="no JSON" if case else "no JSON of an unknown case")


SAME = Question(
    name="same",
    role="answer",
    wordings={
        "": Wording({"plain": rubric("same"), "odd": rubric("same", "Odd one:")}, "JSON, please."),
        "word": Wording({"plain": rubric("word"), "odd": rubric("word")}, "Yes or no."),
    },
    kind=lambda case: case.kind,
    about=About,
    asked=lambda row, case: row["text"] is not None,
    sections=lambda row, case: {"truth": case.truth, "reply": row["text"]},
    decoding=Decoding(max_tokens=9),
    reask=2,
    payload=Named,
    read=read_same,
    compared_by=lambda payload: {"": [payload["same"]]},
    deserved=lambda control, case, payload: [
        Deserved(
            {"knows": True, "lies": False}.get(control),
            None if payload is None else payload["same"],
        )
    ],
    choices={"same": ("right", "wrong")},
    units=lambda case, payload: [JudgedPart("same", "right" if payload["same"] else "wrong")],
    gold=lambda case, name: case.truth,
)
SEEN = Question(
    name="seen",
    role="steps",
    wordings={"": Wording({"": rubric("seen")})},
    about=About,
    asked=lambda row, case: row["mode"] == "cot",
    sections=lambda row, case: {"truth": json.dumps(case.cells), "reply": row["text"] or ""},
    decoding=Decoding(max_tokens=9),
    payload=list[bool],
    read=lambda text, case, condition: Read(json.loads(text), "strict"),
    compared_by=lambda payload: {"": payload},
    width=lambda case: len(case.cells),
    put_back={"steps": lambda payload, case: payload[::-1]},
    compared_after={"length": lambda payload: {"": [True] * len(payload)}},
    choices={"seen": ("there", "not there")},
    units=lambda case, payload: [
        JudgedPart("seen", "there" if hit else "gone", cell)
        for cell, hit in zip(case.cells, payload, strict=False)
    ],
)
QUESTIONS = (SAME, SEEN)


def scored(name, parts):
    return Question(
        name=name,
        role="score",
        wordings={"": Wording({"": rubric(name)})},
        about=About,
        asked=lambda row, case: True,
        sections=lambda row, case: {"truth": case.truth, "reply": row["text"]},
        decoding=Decoding(max_tokens=9),
        payload=dict[str, float],
        read=lambda text, case, condition: Read(json.loads(text), "strict"),
        parts=parts,
        levels=dict.fromkeys(parts, (0, 0.5, 1)),
        compared_by=lambda payload: {part: [payload.get(part)] for part in parts},
        deserved=lambda control, case, payload: [
            Deserved(control == "knows", None if payload is None else payload[part] > 0.5, part)
            for part in parts
        ],
        numbers={part: (part,) for part in parts} | {"all": parts[-1:]},
    )


SCORES = (scored("full", ("logic", "truth")), scored("short", ("truth",)))
CASES = {name: Case(name) for name in ("a", "b", "c", "d")} | {"o": Case("o", kind="odd")}


def row(reader="r", case="a", text="blue", mode="cot", image="original", check=0):
    return {
        "reader": reader, "case": case, "text": text, "mode": mode, "image": image, "check": check,
    }  # fmt: skip


def verdict(judge, question, case, payload, *, reader="r", check=False, text=None, **about):
    told = {
        "judge": judge,
        "role": {"same": "answer", "seen": "steps"}.get(question, "score"),
        "question": question,
        "reader": reader,
        "case": case,
        "about": json.dumps({"mode": "cot"} | about),
        "check": check,
        "attempts": 1,
        "outcome": "invalid" if payload is None else "judged",
        "how": "strict",
        "payload": None if payload is None else json.dumps(payload),
        "text": text,
    }
    return {column: told.get(column) for column in VERDICT_COLUMNS}


def table(*rows):
    other = {"check": pl.Boolean, "attempts": pl.Int8}
    schema = {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


# ---------------------------------------------------------------- asking


def test_a_list_says_its_roles_choices_and_other_rubrics():
    assert roles_of((*QUESTIONS, *SCORES)) == ("answer", "steps", "score")
    assert other_rubrics(QUESTIONS) == {"answer": ("word",)}
    assert choices_of(QUESTIONS) == {"same": ("right", "wrong"), "seen": ("there", "not there")}
    assert list(by_name(QUESTIONS)) == ["same", "seen"]


def test_a_row_is_asked_about_in_the_words_for_its_case():
    (trial,) = question_trials(QUESTIONS, row(), "answer", CASES["a"])
    assert trial.case == "a"
    assert trial.condition == {
        "role": "answer",
        "question": "same",
        "reader": "r",
        "about": '{"image":"original","mode":"cot"}',
        "check": 0,
        "prompt": SAME.wordings[""].rubrics["plain"].digest,
        "rubric": "",
    }
    assert trial.request.decoding == SAME.decoding
    (odd,) = question_trials(QUESTIONS, row(case="o"), "answer", CASES["o"])
    assert "Odd one:" in odd.request.messages[-1].parts[0]
    (word,) = question_trials(QUESTIONS, row(), "answer", CASES["a"], rubric="word")
    assert (word.condition["rubric"], "asked for: word" in word.request.messages[-1].parts[0]) == ("word", True)  # fmt: skip
    assert not list(question_trials(QUESTIONS, row(text=None), "answer", CASES["a"]))
    assert not list(question_trials(QUESTIONS, row(mode="direct"), "steps", CASES["a"]))


def test_each_harmless_change_is_a_question_of_its_own():
    trials = list(question_trials(QUESTIONS, row(), "answer", CASES["a"], varied=True))
    assert [json.loads(one.condition["about"]).get("variant", "") for one in trials] == [
        "",
        "sections",
        "length",
    ]
    assert len({one.request for one in trials}) == 3


def test_a_question_is_asked_again_with_its_reminder_once():
    (trial,) = question_trials(QUESTIONS, row(), "answer", CASES["a"])
    twice = again(QUESTIONS, again(QUESTIONS, trial, 1), 2)
    text = twice.request.messages[-1].parts[0]
    assert twice.repeat == 2
    assert text.count("JSON, please.") == 1
    (word,) = question_trials(QUESTIONS, row(), "answer", CASES["a"], rubric="word")
    assert again(QUESTIONS, word, 1).request.messages[-1].parts[0].endswith("\n\nYes or no.")
    (bare,) = question_trials(QUESTIONS, row(), "steps", CASES["a"])
    assert again(QUESTIONS, bare, 1) == msgspec.structs.replace(bare, repeat=1)


def test_own_words_replace_a_question_or_a_wording(tmp_path):
    assert with_own_words(QUESTIONS, None) == QUESTIONS
    (tmp_path / "word.txt").write_text("Same? {sections}", "utf-8")
    same, seen = with_own_words(QUESTIONS, str(tmp_path))
    assert {one.template for one in same.wordings["word"].rubrics.values()} == {"Same? {sections}"}
    assert (same.wordings[""], seen) == (SAME.wordings[""], SEEN)
    (tmp_path / "odd.txt").write_text("{sections}", "utf-8")
    with pytest.raises(BadInput, match=r"odd\.txt is none of same\.txt, word\.txt, seen\.txt"):
        with_own_words(QUESTIONS, str(tmp_path))


# ---------------------------------------------------------------- reading


def test_a_reply_is_read_by_its_question_and_wording():
    condition = {"question": "same", "rubric": "word"}
    assert by_name(QUESTIONS)["same"].read("no", CASES["a"], condition).value == {"same": False}
    assert not by_name(QUESTIONS)["same"].read("no", CASES["a"], condition | {"rubric": ""}).valid


def test_kept_verdicts_are_read_again_in_the_wording_they_were_given_in():
    kept = table(
        verdict("j", "same", "a", None, text='{"same": true}'),
        verdict("j", "same", "b", {"same": True}, text="no") | {"how": "word"},
        verdict("j", "same", "gone", {"same": True}, text="x"),
        verdict("j", "same", "c", {"same": True}),
    )
    found = reread(QUESTIONS, kept, CASES)
    assert found["payload"].to_list() == ['{"same":true}', '{"same":false}', None, '{"same": true}']
    assert found["how"].to_list() == ["strict", "word", "", "strict"]
    assert found["outcome"].to_list() == ["judged", "judged", "invalid", "judged"]
    assert found["reason"].to_list() == ["", "", "no JSON of an unknown case", None]
    assert found.drop("payload", "how", "outcome", "reason").equals(
        kept.drop("payload", "how", "outcome", "reason")
    )


def test_verdicts_name_a_reply_however_it_was_written():
    rows = table(
        verdict("j", "same", "a", {"same": True}),
        verdict("j", "same", "a", None, image="original", variant="length"),
        verdict("j", "same", "gone", None),
        verdict("j", "other", "a", None),
        verdict("j", "same", "a", None, check=True),
    )
    first, second = verdicts_in(QUESTIONS, rows, CASES, checks=False)
    assert first.about == second.about == about_of(About, row())
    assert (first.variant, second.variant) == ("", "length")
    assert (first.payload, second.payload) == ({"same": True}, None)


@pytest.mark.parametrize(
    ("changed", "place", "says"),
    [
        ({}, None, None),
        ({"question": "mine"}, 1, 'question is "mine"; expected one of same, seen'),
        ({"about": "{}"}, 1, "about is \"{}\" (Object missing required field `mode`)"),
        ({"about": '{"mode": "cot", "image": 3}'}, 1, None),
        ({"payload": '{"same": 1}'}, 1, None),
        ({"payload": "[" * 2000}, 1, None),
        ({"judge": None}, 1, "judge is missing"),
        ({"check": None}, 1, "check is missing"),
    ],
)  # fmt: skip
def test_what_no_run_wrote_is_found_with_its_row(changed, place, says):
    good = verdict("j", "same", "a", {"same": True})
    fault = verdict_fault(QUESTIONS, table(good, good | changed))
    assert (fault is not None) == bool(changed)
    if fault is not None:
        assert fault[0] == place
        assert says is None or fault[1] == says
        assert len(fault[1]) < 300


def test_without_questions_any_json_is_taken():
    good = verdict("j", "odd", "a", [1])
    assert verdict_fault((), table(good)) is None
    assert verdict_fault((), table(good | {"payload": "no"})) is not None
    wrong = table(good).with_columns(pl.lit(1).alias("about"))
    assert verdict_fault((), wrong) == (None, "about is Int32, not String")


def test_a_signature_names_judges_and_all_their_words():
    digests = {kind: one.digest for kind, one in SAME.wordings[""].rubrics.items()}

    def words(*rows):
        return judges_and_words(QUESTIONS, table(*rows))

    plain = verdict("j", "same", "a", None) | {"prompt": digests["plain"]}
    odd = verdict("j", "same", "o", None) | {"prompt": digests["odd"]}
    assert judges_and_words(QUESTIONS, None) == words() == "none"
    assert words(verdict("j", "same", "a", None)) == "j@theirs"
    assert words(plain) == words(odd) == words(plain, odd)
    assert words(plain).startswith("j@")
    assert words(plain, odd | {"judge": "i"}) == words(plain).replace("j@", "i,j@")
    assert words(plain | {"prompt": "own"}) != words(plain)
    other = verdict("j", "same", "a", None)
    other |= {"prompt": SAME.wordings["word"].rubrics["plain"].digest}
    assert len({words(plain), words(other), words(plain, other)}) == 3


# ---------------------------------------------------------------- what judges are worth


def checks(n, said, question="same", control="knows", **more):
    named = dict.fromkeys(range(n))
    return [
        verdict("j", question, "a", said, reader=f"control:{control}", check=True, **more)
        for _ in named
    ]


def test_fitness_is_of_truths_that_are_known():
    rows = table(
        *checks(12, {"same": True}),
        *checks(9, {"same": False}, control="lies"),
        *checks(3, None, control="lies"),
        *checks(5, {"same": True}, control="somebody"),
        *checks(5, {"same": False}, variant="length"),
        verdict("j", "same", "a", {"same": False}),
    )
    (found,) = fitness_in(QUESTIONS, rows, CASES)
    assert (found.sensitivity.point, found.sensitivity.n) == (1, 12)
    assert (found.specificity.point, found.specificity.n, found.unread) == (0.75, 12, 3)
    labels = labels_of(QUESTIONS, rows, [found])
    assert labels == {("j", "same"): UNFIT}
    assert labels_of(QUESTIONS, table(verdict("k", "seen", "a", [True])), [found]) == {
        ("k", "seen"): NOT_CHECKED
    }


def test_a_number_has_the_worst_label_of_what_it_hangs_on():
    good, bad = {"logic": 1, "truth": 1}, {"logic": 0, "truth": 1}
    rows = table(
        *checks(10, good, "full"),
        *checks(10, bad, "full", "lies"),
        *checks(10, {"truth": 1}, "short"),
        *checks(10, {"truth": 0}, "short", "lies"),
    )
    found = fitness_in(SCORES, rows, CASES)
    assert [(one.question, one.part) for one in found] == [
        ("full", "logic"), ("full", "truth"), ("short", "truth"),
    ]  # fmt: skip
    # What one question finds unfit, another does not mend.
    assert labels_of(SCORES, rows, found) == {("j", "all"): UNFIT, ("j", "truth"): UNFIT}
    short = rows.filter(rows["question"] == "short")
    assert labels_of(SCORES, short, found) == {}


def shift(rows, questions=QUESTIONS):
    return {
        (one.by["question"], one.by["change"], one.by.get("component")): (one.k, one.n, one.note)
        for one in shift_measures(questions, table(*rows), CASES)
    }


def test_a_shift_is_counted_by_what_judges_are_compared_by():
    control = {"reader": "control:knows", "check": True}
    before = verdict("j", "seen", "a", [True, False], **control)
    turned = verdict("j", "seen", "a", [False, True], variant="steps", **control)
    padded = verdict("j", "seen", "a", [False, False], variant="length", **control)
    parts = verdict("j", "seen", "a", [False, True], variant="sections", **control)
    short = verdict("j", "seen", "b", [True], variant="sections", **control)
    same = verdict("j", "same", "a", None, variant="length", **control)
    found = shift([turned, padded, parts, short, same, before])
    assert found == {
        ("same", "length", None): (0, 0, "1 without a verdict both times"),
        ("seen", "sections", None): (2, 2, "2 without a verdict both times"),
        ("seen", "steps", None): (0, 2, None),
        ("seen", "length", None): (0, 2, None),
    }
    assert next(iter(found))[0] == "same"


def test_parts_shift_each_by_itself():
    control = {"reader": "control:knows", "check": True}
    before = verdict("j", "full", "a", {"logic": 1, "truth": 1}, **control)
    after = verdict("j", "full", "a", {"logic": 1, "truth": 0.5}, variant="length", **control)
    assert shift([before, after], SCORES) == {
        ("full", "length", "logic"): (0, 1, None),
        ("full", "length", "truth"): (1, 1, None),
    }


# ---------------------------------------------------------------- judges compared


def counts(questions, rows, **more):
    groups = {"a": "one", "b": "one", "c": "two"}
    given = {"groups": groups, "grouped_by": "site"} | more
    return [one for pair in judge_counts(questions, table(*rows), CASES, **given) for one in pair]


def test_two_judges_are_compared_question_by_question():
    rows = [verdict("j", "same", name, {"same": name != "c"}) for name in "abcd"]
    rows += [verdict("i", "same", name, {"same": name in "ac"}) for name in "abc"]
    rows += [verdict("i", "same", "d", None)]
    found = counts(QUESTIONS, rows)
    assert [one.record.by.get("site") for one in found] == [None, None, "one", "one", "two", "two"]
    whole, kappa = (one.record for one in found[:2])
    assert whole.by == {"judges": "i / j", "question": "same"}
    assert (whole.value, whole.n, whole.note) == (1 / 3, 3, "1 without a verdict of both")
    assert kappa.value == cohen_kappa([1, 0, 1], [1, 1, 0])
    alone = found[-1]
    assert (alone.record.value, alone.record.note) == (0, None)
    assert found[2].cases == ("a", "b", "c", "d")
    assert found[2].counted.tolist() == [True, True, False, False]
    agreed = counts(QUESTIONS, [verdict(j, "same", "a", {"same": True}) for j in "ij"])
    assert [one.record.note for one in agreed[:2]] == [None, "both said one thing only"]
    assert agreed[1].columns is None
    unread = counts(QUESTIONS, [verdict(j, "same", "a", None) for j in "ij"])
    missing = "1 without a verdict of both; no verdict of both"
    assert [one.record.note for one in unread[:2]] == [missing, missing]


LABELS = st.sampled_from([True, False, None])


@settings(max_examples=40)
@given(st.lists(st.tuples(LABELS, LABELS, LABELS, st.sampled_from("xy")), max_size=20))
def test_each_pair_overall_and_in_each_group_over_what_both_said(said):
    cases = {f"c{at}": Case(f"c{at}") for at in range(len(said))}
    groups = {f"c{at}": row[3] for at, row in enumerate(said)}
    rows = table(
        *(
            verdict(judge, "same", f"c{at}", None if label is None else {"same": label})
            for at, row in enumerate(said)
            for judge, label in zip("ijk", row[:3], strict=True)
        )
    )
    made = judge_counts(QUESTIONS, rows, cases, groups=groups, grouped_by="site")
    found = {(*one.judges, one.record.by.get("site")): (one, two) for one, two in made}
    expected = [None, *sorted(set(groups.values()))] if said else []
    assert set(found) == {(a, b, group) for a, b in combinations("ijk", 2) for group in expected}
    for (a, b, group), (agreement, kappa) in found.items():
        first, second = "ijk".index(a), "ijk".index(b)
        both = [(row[first], row[second]) for row in said if group in (None, row[3])]
        given_by_both = [pair for pair in both if None not in pair]
        missing = len(both) - len(given_by_both)
        assert agreement.record.n == kappa.record.n == len(given_by_both)
        assert sum(agreement.record.left_out.values()) == missing
        if given_by_both:
            same = sum(x == y for x, y in given_by_both)
            assert agreement.record.value == same / len(given_by_both)
            assert kappa.record.value == cohen_kappa(*map(list, zip(*given_by_both, strict=True)))
        else:
            assert (agreement.record.value, kappa.record.value) == (None, None)
        assert kappa.record.value is not None or kappa.record.note


def test_a_verdict_of_many_labels_is_compared_label_by_label():
    rows = [verdict("j", "seen", "a", [True, False]), verdict("i", "seen", "a", [True, True])]
    rows += [verdict("j", "seen", "b", None), verdict("i", "seen", "b", [True, True])]
    agreement, kappa, *_ = counts(QUESTIONS, rows)
    assert (agreement.record.value, agreement.record.n) == (0.5, 2)
    assert agreement.record.note == "2 without a verdict of both"
    assert agreement.cases == ("a", "a", "b", "b")
    assert kappa.record.value == cohen_kappa([1, 1], [1, 0])


def test_a_part_is_compared_on_its_scale_over_all_questions_that_have_it():
    said = {"a": (1, 0.5), "b": (0, 0), "c": (0.5, 1), "d": (1, 1)}
    rows = []
    for name, scores in said.items():
        question = "short" if name == "d" else "full"
        for judge, score in zip("ij", scores, strict=True):
            payload = {"truth": score} | ({"logic": score} if question == "full" else {})
            rows.append(verdict(judge, question, name, payload))
    rows += [verdict("i", "full", "a", {"truth": 0, "logic": 0}, image="blank")]
    found = counts(SCORES, rows, among=lambda about: about["image"] == "original")
    whole = {
        (one.record.by["component"], one.record.measure): one
        for one in found
        if "site" not in one.record.by
    }
    assert [one[0] for one in whole] == ["logic", "logic", "truth", "truth"]
    assert (whole["logic", "judge_kappa"].record.n, whole["truth", "judge_kappa"].record.n) == (3, 4)  # fmt: skip
    mine, theirs = zip(*said.values(), strict=True)
    kappa = whole["truth", "judge_kappa"]
    assert kappa.record.value == weighted_kappa(mine, theirs, levels=[0, 0.5, 1])
    assert kappa.limits == (-1, 1)
    # Rows are the same for all parts, so that all may be resampled together.
    assert {one.cases for one in found} == {("a", "b", "c", "d")}
    # Logic was asked of neither on the last: it is not missing.
    assert whole["logic", "judge_agreement"].record.note is None


# ---------------------------------------------------------------- people


def test_units_are_what_a_person_can_judge_too():
    answers = pl.DataFrame([row(), row(case="b", text=None), row(mode="direct")]).drop("check")
    rows = table(
        verdict("j", "seen", "a", [True, False]),
        verdict("i", "seen", "a", [True, True]),
        verdict("j", "same", "a", {"same": False}),
        verdict("j", "same", "b", {"same": True}),
        verdict("j", "same", "c", {"same": True}),
        verdict("j", "same", "a", {"same": True}, mode="direct", check=True),
    )
    found = units_of(QUESTIONS, CASES, answers, rows)
    assert [(one.item, one.question, one.part, one.verdicts) for one in found] == [
        ("a", "seen", "cocci", {"j": "there", "i": "there"}),
        ("a", "seen", "rods", {"i": "there"}),
        ("a", "same", "", {"j": "wrong"}),
        ("b", "same", "", {"j": "right"}),
    ]
    assert [one.reply for one in found] == ["blue", "blue", "blue", ""]
    assert (found[2].gold, found[2].choices) == ("Gram", ("right", "wrong"))
