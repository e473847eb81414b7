"""A policy is read strictly: what it does not say cannot be checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from overread.case import BadInput
from overread.report.gate import read_policy

TITLE = 'title = "A gate"\n'
RULE = """
[[rule]]
name = "reads"
why = "Replies must be readable."
benchmark = "grounding"
measure = "parse_rate"
at_least = 0.9
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "gate.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_rule_takes_what_it_does_not_say_from_the_defaults(tmp_path: Path) -> None:
    defaults = """
[defaults]
edition = "authors"
minimum_n = 30
confidence = "point"
readers = ["a", "b"]
"""
    own = 'edition = "corrected+px=512"\nminimum_n = 0\nconfidence = "interval"\nreaders = "*"\n'
    second = RULE.replace('"reads"', '"own"') + own
    policy = read_policy(write(tmp_path, 'title = "A gate"' + defaults + RULE + second))
    first, other = policy.rule
    assert (first.edition, first.minimum_n, first.confidence) == ("authors", 30, "point")
    assert first.readers == ("a", "b")
    assert (other.edition, other.minimum_n, other.confidence) == ("corrected+px=512", 0, "interval")
    assert other.readers == "*"


def test_without_defaults_it_is_the_corrected_edition_on_the_interval(tmp_path: Path) -> None:
    (rule,) = read_policy(write(tmp_path, 'title = "A gate"' + RULE)).rule
    assert (rule.edition, rule.minimum_n, rule.confidence) == ("corrected", 1, "interval")
    assert (rule.readers, rule.judges, rule.unanswered) == ("*", "fit", 0.0)
    assert not rule.partial
    assert not rule.optional


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "A gate"', "", "missing required field `title`"),
        ('title = "A gate"', 'title = " "', "title is empty"),
        ('title = "A gate"', 'title = "A gate"\nextra = 1', "unknown field `extra`"),
        ('title = "A gate"', 'title = "A gate"\n[defaults]\nn = 1', "defaults: Object contains"),
        ('title = "A gate"', 'title = "A gate"\n[defaults]\nminimum_n = -2', "minimum_n is -2"),
        ("at_least = 0.9", "at_least = 0.9\natleast = 1", "rule 1: Object contains unknown field"),
        ("at_least = 0.9", "at_least = 0.9\nat_most = 1", "it has at_least and at_most"),
        ("at_least = 0.9", "", "it has none"),
        ("at_least = 0.9", "at_least = nan", "at_least is nan"),
        ("at_least = 0.9", "at_most = inf", "at_most is inf"),
        ("at_least = 0.9", 'at_least = "0.9"', "rule 1, at_least: Expected"),
        ("at_least = 0.9", "at_least = true", "rule 1, at_least: Expected"),
        ("at_least = 0.9", 'gap = { across = "sex" }', "missing required field `at_most`"),
        ("at_least = 0.9", 'gap = { across = "sex", at_most = -1 }', "at_most is below 0"),
        ("at_least = 0.9", 'gap = { across = "sex", at_most = nan }', "gap is nan"),
        ("at_least = 0.9", 'gap = { across = "sex", at_most = 1, groups = ["F"] }', "one group"),
        (
            "at_least = 0.9",
            'by = { sex = "F" }\ngap = { across = "sex", at_most = 1 }',
            "across is in by",
        ),
        ("at_least = 0.9", 'at_least = 0.9\nundecided = ["x"]', "undecided lists"),
        ("at_least = 0.9", 'label = "x"\nundecided = ["x"]', "undecided lists"),
        ("at_least = 0.9", "at_least = 0.9\nminimum_n = -3", "minimum_n is -3"),
        ("at_least = 0.9", "at_least = 0.9\nunanswered = 2", "unanswered is 2.0"),
        ("at_least = 0.9", "at_least = 0.9\nreaders = []", "readers is empty"),
        ("at_least = 0.9", "at_least = 0.9\nminimum_n = -1", "minimum_n is -1"),
        ("at_least = 0.9", 'at_least = 0.9\nedition = ""', "edition is empty"),
        ("at_least = 0.9", 'at_least = 0.9\nreaders = "a"', 'readers is "a"; give a list'),
        ("at_least = 0.9", 'at_least = 0.9\nconfidence = "luck"', "Invalid enum value 'luck'"),
        ("at_least = 0.9", "at_least = 0.9\nby = { px = 512 }", "by"),
        ('why = "Replies must be readable."', "", "missing required field `why`"),
        ('why = "Replies must be readable."', 'why = "because"', "why must be a sentence"),
        ('name = "reads"', 'name = ""', "name is empty"),
        ('benchmark = "grounding"', 'benchmark = "groundin"', "expected one of grounding"),
        ("[[rule]]", "[[rule", "gate.toml"),
        (RULE, RULE + RULE, 'two rules are called "reads"'),
        (RULE, "", "missing required field `rule`"),
        (RULE, "rule = []", "no rule"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = 'title = "A gate"\n' + RULE
    assert old in text
    path = write(tmp_path, text.replace(old, new, 1))
    with pytest.raises(BadInput) as refused:
        read_policy(path)
    assert says in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere.toml"):
        with pytest.raises(BadInput, match="--policy"):
            read_policy(path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(bytes(range(256)))
    with pytest.raises(BadInput, match=r"binary\.toml"):
        read_policy(binary)
    long = write(tmp_path, 'title = "A gate"\n[defaults]\nminimum_n = ' + "9" * 5000)
    with pytest.raises(BadInput, match=r"gate\.toml"):
        read_policy(long)
    deep = write(tmp_path, "title = " + "[" * 5000)
    with pytest.raises(BadInput, match=r"gate\.toml"):
        read_policy(deep)


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        ("at_most = 50", "at_most is 50, which every value meets: uar goes from 0 to 1"),
        ("at_most = 50", "for 50 % write 0.5"),
        ("at_most = 1", "for 1 % write 0.01"),
        ("at_least = 80", "at_least is 80, which no value meets"),
        ("at_least = -1", "at_least is -1, which every value meets"),
        ("gap = { across = 'sex', at_most = 15 }", "uar differs by 0 to 1"),
    ],
)
def test_percent_typed_for_a_fraction_is_refused_with_both_forms(
    tmp_path: Path, bound: str, says: str
) -> None:
    text = RULE.replace("at_least = 0.9", bound).replace("parse_rate", "uar")
    assert bound in text
    with pytest.raises(BadInput, match=re.escape(says)) as raised:
        read_policy(write(tmp_path, TITLE + text))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("benchmark", "measure", "bound"),
    [
        ("heartbeat", "mae", "at_most = 50"),
        ("heartbeat", "skill", "at_least = -3"),
        ("grounding", "gsp", "at_least = -0.5"),
        ("grounding", "uar", "at_most = 0.5"),
        ("grounding", "uar", "at_least = 1"),
        ("grounding", "a_measure_of_tomorrow", "at_most = 50"),
    ],
)
def test_a_bound_that_values_can_reach_is_taken(
    tmp_path: Path, benchmark: str, measure: str, bound: str
) -> None:
    text = RULE.replace("at_least = 0.9", bound).replace("parse_rate", measure)
    text = text.replace('"grounding"', f'"{benchmark}"')
    assert read_policy(write(tmp_path, TITLE + text)).rule[0].benchmark == benchmark
