"""A gate's policy: what a reader must show before it is let through, and why each line is there."""

from __future__ import annotations

import math
import os
import re
import stat
import time
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from overread.benchmarks.registry import benchmark_names, class_of
from overread.case import BadInput
from overread.files import MOST_TOML, parse_toml, read_bytes, size_words

Confidence: TypeAlias = Literal["interval", "point"]
"""Whether a bound is judged on the ends of the interval or on the value alone."""

Judges: TypeAlias = Literal["fit", "unchecked", "any"]
"""Whose verdicts count: judges found fit; those never tried, too; even those found unfit."""

ALL = "*"

_DEMANDS = ("at_least", "at_most", "label", "gap", "margin")
# Fewer words are a name, not a reason.
_LEAST_WORDS = 3
# How many seconds a pipe may have nobody at its other end, and how much is read of it at first.
_PATIENCE = 2.0
_A_PIPE = 65_536


class Gap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The largest difference of a measure between two groups of one `by` key.

    `groups` are those compared: all there are, where none is named.
    """

    across: str
    at_most: float
    groups: tuple[str, ...] = ()


class Defaults(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for every rule that does not say otherwise."""

    edition: str = "corrected"
    minimum_n: int = 1
    confidence: Confidence = "interval"
    readers: str | tuple[str, ...] = ALL


class Rule(Defaults, frozen=True, kw_only=True):
    """One `[[rule]]`: a measure, and exactly one of the demands, `at_least` to `margin`.

    `by` is matched exactly; for a gap it is what all groups share. Labels in `undecided` say that
    the data cannot tell; any other than the one demanded fails. A `margin` is by how much a reader
    may be worse than the reader `versus`, or than in a baseline run, case by case. `unanswered` is
    the largest share of a reader's trials without a reply.
    """

    name: str
    why: str
    benchmark: str
    measure: str
    by: dict[str, str] = {}
    at_least: float | None = None
    at_most: float | None = None
    label: str | None = None
    gap: Gap | None = None
    margin: float | None = None
    versus: str | None = None
    undecided: tuple[str, ...] = ()
    judges: Judges = "fit"
    unanswered: float = 0.0
    partial: bool = False
    optional: bool = False

    @property
    def point(self) -> bool:
        return self.confidence == "point"


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy file; after reading, every rule carries its defaults."""

    title: str
    defaults: Defaults = Defaults()
    rule: tuple[Rule, ...]


def policy_bytes(path: Path) -> bytes:
    """What the file holds. A pipe can be read once, so this is all that is read of it."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISFIFO(mode):
            return _piped(path)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"--policy {path}: {said}. Check the path.") from None
    return read_bytes(path, named=f"--policy {path}", at_most=MOST_TOML)


def _piped(path: Path) -> bytes:
    """All that comes out of a pipe; one that nobody opens to write is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(descriptor, "rb", buffering=0) as pipe:
        until = time.monotonic() + _PATIENCE
        first = pipe.read(_A_PIPE)  # None: somebody is there and has said nothing yet
        while first == b"" and time.monotonic() < until:
            time.sleep(0.02)
            first = pipe.read(_A_PIPE)
        if first == b"":
            raise BadInput(f"--policy {path}: nobody writes to this pipe. Give a file.")
        os.set_blocking(descriptor, True)
        held = bytearray(first or b"")
        while len(held) <= MOST_TOML and (more := pipe.read(_A_PIPE)):
            held += more
    if len(held) > MOST_TOML:
        raise BadInput(
            f"--policy {path}: over {size_words(MOST_TOML)} come out of this pipe. Give a file."
        )
    return bytes(held)


def read_policy(path: Path, held: bytes | None = None) -> Policy:
    """Read a policy, or say in one line which key is wrong and how; `held` is what the file has."""
    try:
        data = policy_bytes(path) if held is None else held
        plain = parse_toml(data.decode("utf-8-sig"), str(path))
        policy = msgspec.convert(plain, Policy)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {_told(str(error))}. See docs/gate.md for the keys.") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: {error}. Mend the TOML.") from None
    # Every rule with the defaults it does not replace.
    common = msgspec.to_builtins(policy.defaults)
    rules = tuple(msgspec.convert(common | own, Rule) for own in plain["rule"])
    policy = msgspec.structs.replace(policy, rule=rules)
    if not policy.rule:
        raise BadInput(f"{path}: it has no rule. A gate that checks nothing is none; add [[rule]].")
    if not policy.title.strip():
        raise BadInput(f"{path}: title is empty. Say in a line what the gate is for.")
    names = [rule.name for rule in policy.rule]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f'{path}: two rules are called "{twice[0]}". Give each its own name.')
    if policy.defaults.minimum_n < 0:
        raise BadInput(f"{path}: defaults, minimum_n is {policy.defaults.minimum_n}; give 0 or up.")
    for number, rule in enumerate(policy.rule, 1):
        _check(f"{path}: rule {number} ({rule.name})", rule)
    return policy


def _told(error: str) -> str:
    """`Object contains unknown field `x` - at `$.rule[2]`` -> `rule 3: ... unknown field `x``."""
    text, _, place = error.partition(" - at ")
    found = re.match(r"`\$\.rule\[(\d+)\]\.?([^`]*)`", place)
    if found:
        where = f"rule {int(found[1]) + 1}" + (f", {found[2]}" if found[2] else "")
        return f"{where}: {text}"
    return f"{place.strip('`').removeprefix('$.')}: {text}" if place else text


def _check_in_range(where: str, rule: Rule, key: str, bound: float) -> None:
    """Refuse a bound that no value can break, or none can meet: most are percent for a fraction."""
    within = class_of(rule.benchmark).unit_of(rule.measure)
    if within is None:
        return
    low, high = (0.0, within.high - within.low) if rule.gap else within.limits
    # At most 1 of a share is always met, and may have been meant as 1 %.
    if low <= bound <= high and not (within.of_shares and key != "at_least" and bound == high):
        return
    met = (bound <= low) if key == "at_least" else (bound >= high)
    says = (
        f"{where}: {key} is {bound:g}, which {'every' if met else 'no'} value meets: {rule.measure}"
    )
    what = "differs by" if rule.gap else "goes from"
    if within.of_shares:
        raise BadInput(
            f"{says} {what} {low:g} to {high:g}. Rates are fractions: for {bound:g} % write "
            f"{bound / 100:g}."
        )
    raise BadInput(f"{says} {what} {low:g} up. Give a bound in its own unit.")


def _check_margin(where: str, rule: Rule, margin: float) -> None:
    """Refuse a margin of what is not compared case by case, or one that everybody keeps."""
    if not (math.isfinite(margin) and margin > 0):
        raise BadInput(f"{where}: margin is {margin}; give a number above 0.")
    benchmark = class_of(rule.benchmark)
    known = [words.measure for words in benchmark.compared]
    if rule.measure not in known:
        raise BadInput(
            f'{where}: margin is judged case by case, and measure is "{rule.measure}"; expected '
            f"one of {', '.join(known) or 'none'}."
        )
    if rule.by:
        raise BadInput(f"{where}: margin is judged over all cases. Leave by out.")
    if benchmark.words_of(rule.measure).in_shares and margin >= 1:
        raise BadInput(
            f"{where}: margin is {margin:g}, which every difference keeps: {rule.measure} goes "
            f"from 0 to 1. For {margin:g} points write {margin / 100:g}."
        )
    if rule.versus is not None and not rule.versus.strip():
        raise BadInput(f"{where}: versus is empty. Name a reader, or leave it out.")


def _check(where: str, rule: Rule) -> None:
    """Refuse a rule that says nothing, too much, or what no number can meet."""
    if not rule.name.strip():
        raise BadInput(f"{where}: name is empty. Name the rule.")
    if len(rule.why.split()) < _LEAST_WORDS:
        raise BadInput(f"{where}: why must be a sentence that says why the rule is there.")
    known = benchmark_names()
    if rule.benchmark not in known:
        listed = ", ".join(known)
        raise BadInput(f'{where}: benchmark is "{rule.benchmark}"; expected one of {listed}.')
    given = [name for name in _DEMANDS if getattr(rule, name) is not None]
    if len(given) != 1:
        said = " and ".join(given) or "none"
        raise BadInput(f"{where}: give exactly one of {', '.join(_DEMANDS)}; it has {said}.")
    bound = (
        rule.gap.at_most if rule.gap else rule.at_least if rule.at_most is None else rule.at_most
    )
    if bound is not None and not math.isfinite(bound):
        raise BadInput(f"{where}: {given[0]} is {bound}; give a number.")
    if rule.gap and (rule.gap.at_most < 0 or rule.gap.across in rule.by):
        wrong = "at_most is below 0" if rule.gap.at_most < 0 else "across is in by, too"
        raise BadInput(f"{where}: gap, {wrong}. No two groups could meet it.")
    if rule.gap and rule.gap.groups and len(set(rule.gap.groups)) < 2:
        raise BadInput(f"{where}: gap, groups names one group. Name two, or leave it out.")
    if bound is not None:
        _check_in_range(where, rule, given[0], bound)
    if rule.versus is not None and rule.margin is None:
        raise BadInput(f"{where}: versus goes with margin. Give both, or neither.")
    if rule.margin is not None:
        _check_margin(where, rule, rule.margin)
    if not rule.edition:
        raise BadInput(f"{where}: edition is empty. Give corrected or authors.")
    if rule.minimum_n < 0:
        raise BadInput(f"{where}: minimum_n is {rule.minimum_n}; give 0 or more.")
    if not 0 <= rule.unanswered <= 1:
        raise BadInput(f"{where}: unanswered is {rule.unanswered}; give a share from 0 to 1.")
    if rule.undecided and (rule.label is None or rule.label in rule.undecided):
        raise BadInput(f"{where}: undecided lists other labels than the one demanded by label.")
    if isinstance(rule.readers, str) and rule.readers != ALL:
        raise BadInput(f'{where}: readers is "{rule.readers}"; give a list of names, or "{ALL}".')
    if not rule.readers:
        raise BadInput(f'{where}: readers is empty. Name some, or give "{ALL}".')
