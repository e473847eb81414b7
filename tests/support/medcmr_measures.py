"""Measures of made-up medcmr runs: every record an exhibit shows, the counts of groups adding up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import sqrt

from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, MODALITIES, SYSTEMS
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED

__all__ = ["JUDGES", "LONG", "everything_measured"]

LONG = (
    "openai:Qwen/Qwen3-VL-235B-A22B-Instruct@http://localhost:8000/v1",
    "openai:Qwen/Qwen3-VL-235B-A22B-Thinking@http://localhost:8000/v1",
    "openai:google/medgemma-27b-it@http://localhost:8001/v1",
    "hf:OpenGVLab/InternVL3_5-241B-A28B",
    "lingshu-32B",
    "hf:google/gemma-3-27b-it",
    "gpt-5",
    "gemini-2.5-pro '\"<b>",
    "hf:Qwen/Qwen2.5-VL-72B-Instruct-AWQ",
)
"""Nine readers, some with names that are long, alike or hostile."""
SIZES = (235, 235, 27, 241, 32, 27, None, None, 72)
JUDGES = ("deepseek-v3.2-exp", "control:lexical-judge")
N = 1663
COMPONENTS = {"clarity": 0.95, "coherence": 0.8, "visual": 0.35, "truth": 0.3}
ERRORS = {"recognition": 40, "reasoning": 27, "knowledge": 25, "question": 6, "format": 2}


def split(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in about these proportions that add up to the total."""
    ends, at = [0], 0.0
    for weight in weights:
        at += weight
        ends.append(round(total * at / sum(weights)))
    return [high - low for low, high in pairwise(ends)]


def share(reader: str, measure: str, k: int, n: int, **by: str) -> Measure:
    """k of n with Wilson's interval, roughly."""
    if n == 0:
        return Measure(reader=reader, measure=measure, by=by, n=0, note="no items")
    value, z = k / n, 1.96
    middle = (value + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(value * (1 - value) / n + z * z / (4 * n * n))
    return Measure(
        reader=reader, measure=measure, by=by, value=value, n=n, k=k, method="wilson",
        low=max(0.0, middle - half), high=min(1.0, middle + half),
    )  # fmt: skip


def mean(reader: str, measure: str, value: float, n: int, label=None, **by: str) -> Measure:
    """A mean with an interval as wide as its n leaves it; not below 0."""
    half = 0.6 / sqrt(n)
    low = value - half if measure.startswith("diff_") else max(0.0, value - half)
    return Measure(
        reader=reader, measure=measure, by=by, value=value, n=n, low=low,
        high=min(1.0, value + half), method="bootstrap of images:10000:0", label=label,
    )  # fmt: skip


def everything_measured(
    readers: Sequence[str] = LONG, judges: Sequence[str] = JUDGES, label: str | None = NOT_CHECKED
) -> list[Measure]:
    """Everything that is measured of a run in which everything was asked, judged and labelled."""
    found = [Measure(reader="", measure="chance", value=0.2, n=N, method="exact")]
    for name in DIMENSIONS:
        by = {"dimension": name}
        found.append(Measure(reader="", measure="chance", by=by, value=0.2, n=9, method="exact"))
    for at, reader in enumerate(readers):
        found += _choices(reader, 0.58 - 0.04 * (at % 9))
        found += _open(reader, 1 - 0.05 * (at % 9), judges, label)
        size = SIZES[at % len(SIZES)]
        if size is not None:
            found.append(Measure(reader=reader, measure="params_b", value=float(size)))
    found += _between(readers)
    found += _judges(judges)
    return found


def _groups() -> Iterator[tuple[dict[str, str], float]]:
    """Every group with its share of the items."""
    for key, names in (
        ("dimension", DIMENSIONS),
        ("ability", ABILITIES),
        ("modality", MODALITIES),
        ("system", SYSTEMS),
    ):
        weights = [1 / (1 + place) ** 2.2 for place in range(len(names))]
        for name, weight in zip(names, weights, strict=True):
            yield {key: name}, weight / sum(weights)
            if key == "dimension":
                for number in range(5):
                    by = {key: name, "subtype": f"kind {number + 1} of {name}"}
                    yield by, weight / sum(weights) / 5


def _choices(reader: str, skill: float) -> Iterator[Measure]:
    right = round(N * skill)
    yield share(reader, "accuracy", right, N)
    yield share(reader, "accuracy", right, N, kind="mcq")
    yield mean(reader, "accuracy_macro", skill + 0.02, N)
    for by, part in _groups():
        n = round(N * part)
        yield share(reader, "accuracy", round(n * skill), n, **by)
    for place, image in enumerate(("blank", "swap", "text")):
        lost = 0.18 - 0.05 * place
        for by, part in (({}, 1.0), *(one for one in _groups() if list(one[0]) == ["dimension"])):
            n = round(N * part)
            less = max(0.0, skill - lost) if by.get("dimension") != "MSI" else skill
            yield share(reader, "accuracy", round(n * less), n, condition=image, **by)
            where = {"condition": image, "versus": "original", **by}
            diff = mean(reader, "diff_accuracy", less - skill, n, **where)
            yield Measure(**_fields(diff), p=0.0004, q=0.002, family="diff_accuracy by image")
            yield mean(reader, "survives", less / skill, n, **where)
    yield share(reader, "accuracy", round(N * (skill - 0.03)), N, condition="permuted")
    yield share(reader, "accuracy_all_orders", round(N * skill / 2), N)
    yield share(reader, "order_consistency", round(N * 0.6), N)
    yield mean(reader, "position_bias", 0.07, 5 * N)
    for letter, k in zip("ABCDE", split(5 * N, (30, 20, 20, 18, 12)), strict=True):
        yield share(reader, "position_share", k, 5 * N, position=letter)
    yield share(reader, "invalid_rate", 12, N)
    for kind, n in (("mcq", N), ("open", 400), ("reformulated", 500)):
        for name, k in (("invalid_rate", 12), ("refused_rate", 3), ("unanswered_rate", 0)):
            yield share(reader, name, k, n, kind=kind)
        yield share(reader, "cut_off_rate", 5, n, kind=kind)
    yield share(reader, "accuracy_logprobs", right - 9, N)
    yield mean(reader, "ece", 0.21, N)
    yield mean(reader, "brier", 0.31, N)


def _fields(record: Measure) -> dict:
    kept = ("reader", "measure", "by", "value", "n", "low", "high", "method", "label")
    return {name: getattr(record, name) for name in kept}


def _open(reader: str, skill: float, judges: Sequence[str], label: str | None) -> Iterator[Measure]:
    def scores(n: int, **by: str) -> Iterator[Measure]:
        parts = {name: top * skill for name, top in COMPONENTS.items()}
        whole = sum(parts.values()) + 3 * (parts["visual"] + parts["truth"])
        for name, value in (*parts.items(), ("score", whole / 10)):
            yield mean(reader, name, value, max(n, 2), label, **by)

    if not judges:
        return
    yield from scores(400)
    yield from scores(400, kind="open")
    yield from scores(500, kind="reformulated")
    for judge in judges:
        yield from scores(400, judge=judge)
    for by, part in _groups():
        yield from scores(round(400 * part), **by)
    for image in ("blank", "swap", "text"):
        yield from scores(400, condition=image)
        where = {"condition": image, "versus": "original"}
        yield mean(reader, "diff_score", -0.03, 400, label, **where)
    for name in (*COMPONENTS, "score"):
        for by in ({}, {"kind": "open"}, {"condition": "blank"}):
            yield mean(reader, f"{name}_checked", 0.5 * skill, 400, **by)
    yield mean(reader, "score_macro", 0.4 * skill, 400, label)
    for kind, n in (("open", 400), ("reformulated", 500)):
        yield share(reader, "judged_rate", n - 4, n, kind=kind)
        for judge in judges:
            yield share(reader, "judged_rate", n - 2, n, kind=kind, judge=judge)
    for name, value in (("rouge_l", 0.07), ("edit_similarity", 0.2)):
        yield mean(reader, name, value * skill, 900)
        yield mean(reader, name, value * skill, 400, kind="open")
        yield mean(reader, name, value * skill, 500, kind="reformulated")


def _between(readers: Sequence[str]) -> Iterator[Measure]:
    for one, two in combinations(readers, 2):
        for name in ("diff_accuracy", "diff_score"):
            made = mean(one, name, 0.04, 400, versus=two)
            yield Measure(**_fields(made), p=0.03, q=0.05, family=name)
        made = mean(one, "diff_score", -0.02, 500, kind="reformulated", versus=two)
        yield Measure(**_fields(made), p=0.3, q=0.5)
    if len(readers) > 1:
        base, medical = readers[:2]
        for by, n in (({}, N), ({"dimension": "SOD"}, 300)):
            yield share(medical, "only_base", round(0.12 * n), n, versus=base, **by)
            yield share(medical, "only_medical", round(0.08 * n), n, versus=base, **by)
    if len(readers) > 2:
        for name in ("accuracy", *COMPONENTS, "score"):
            for measure, value in (("r", 0.81), ("rho", 0.79)):
                by = {"of": name, "with": "log_params"}
                yield Measure(reader="", measure=measure, by=by, value=value, n=7, p=0.03)
        by = {"of": "accuracy", "with": "log_params", "dimension": "SOD"}
        yield Measure(reader="", measure="r", by=by, value=0.5, n=7, p=0.2)
    for component in COMPONENTS if len(readers) > 1 else ():
        for rater, value in (("human", 0.62), ("judge", 0.58)):
            by = {"component": component, "rater": rater}
            for number, (one, two) in enumerate(combinations(readers[:3], 2)):
                yield mean(one, "win_ratio", value - 0.1 * number, 200, **by, versus=two)
            for number, one in enumerate(readers[:3]):
                yield mean(one, "win_ratio", value - 0.08 * number, 200, **by)
        for more in ({}, {"of": "reader"}):
            by = {"component": component, **more}
            yield Measure(reader="", measure="win_ratio_gap", by=by, value=0.045, n=3)
        by = {"component": component, "with": "human"}
        yield Measure(reader="", measure="rho", by=by, value=0.81, n=600, low=0.76, high=0.85)
    for reader in readers[:2]:
        for by in ({}, *({"dimension": name} for name in DIMENSIONS)):
            n = 100 if by else 700
            for error, k in zip(ERRORS, split(n, list(ERRORS.values())), strict=True):
                yield share(reader, "error_share", k, n, error=error, **by)


def _judges(judges: Sequence[str]) -> Iterator[Measure]:
    for judge in judges:
        for component in ("visual", "truth"):
            by = {"judge": judge, "question": "score", "component": component}
            yield share("", "judge_sensitivity", 19, 20, **by)
            yield share("", "judge_specificity", 38, 40, **by)
            by["change"] = "sections"
            yield share("", "judge_shift", 3, 60, **by)
    for one, two in combinations(judges, 2):
        for component in COMPONENTS:
            by = {"judges": f"{one} / {two}", "component": component}
            yield share("", "judge_agreement", 300, 400, **by)
            kappa = Measure(reader="", measure="judge_kappa", by=by, value=0.61, n=400)
            yield kappa
            yield share("", "judge_agreement", 40, 50, **by, dimension="SOD")
