"""The rates of the causal audit: accuracy, the triad CGR, UAR and IS, and the premium GSP.

A rate is a population, the answers that decide it, and which of them are hits. Groups, further
conditions, what was left out and worst cases follow from its declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from overread.benchmarks.grounding import authors
from overread.benchmarks.grounding.category import CORNER, Findings, Tests, category, sweep
from overread.benchmarks.grounding.conditions import PAPER, image_of
from overread.benchmarks.grounding.marks import AGAIN, NO_ROW, UNANSWERED, Marks, Study
from overread.case import Measure
from overread.measuring import specs
from overread.measuring.contrasts import paired, paired_shares
from overread.measuring.estimates import Floats, Ints, Mask, defined_mean
from overread.measuring.notes import leaving_out, remarked
from overread.measuring.units import POINTS, WORD, Unit

# ---------------------------------------------------------------- what each rate says of a case

_UNMATCHED: Final = "swapped to an unmatched image"
_OVERLAPPING: Final = "whose irrelevant box covers some of the finding"


def counted_rate(
    population: Mask, deciding: specs.Codes, hit: Mask, remark: str = ""
) -> specs.Counted:
    """Whom a rate is about, whose answers decide it, and which of these are hits."""
    why = np.maximum(-deciding, 0).astype(np.int8)
    return specs.Counted(np.where(deciding >= 0, hit, np.nan), population, why, remark=remark)


def outcomes(counted: specs.Counted) -> Floats:
    """1 hit, 0 not, NaN where a case does not decide."""
    return counted.table[:, 0]


def decided(counted: specs.Counted) -> Mask:
    """Those of the population who have an answer."""
    return ~np.isnan(outcomes(counted))


def hits(counted: specs.Counted) -> Mask:
    found: Mask = outcomes(counted) == 1
    return found


def _fit(counted: specs.Counted, fit: Mask, why: str) -> specs.Counted:
    """Over those who were shown what they should be; the others are counted apart."""
    whole = counted.population
    return counted._replace(population=whole & fit, unfit={why: whole & ~fit})


def _accuracy(run: Study, m: Marks, condition: specs.Condition) -> specs.Counted:
    """With a remark of what the other key of normal films would give [D1]."""
    right, keyed = m.original == m.truth, (m.truth >= 0) & (m.original >= 0)
    normals, remark = m.facts.normal & keyed, ""
    if normals.any():
        wrong_way = keyed & (right ^ normals)
        word = "no" if run.edition.normals == "yes" else "yes"
        share = int(wrong_way.sum()) / int(keyed.sum())
        remark = f"with key {word} for normal films {share:.4f}"
    return counted_rate(m.truth >= 0, m.original, right, remark)


def _cgr(run: Study, m: Marks, condition: specs.Condition) -> specs.Counted:
    """Causal grounding rate: of correct Yes on a boxed finding, those the mask flips."""
    answers = m.under(condition.get("condition", "target_mask"))
    return counted_rate(m.said_yes, answers, answers != m.original)


def _uar(run: Study, m: Marks, condition: specs.Condition) -> specs.Counted:
    """Unrelated-image answer rate: of correct answers, those a like image leaves."""
    answers = m.under(condition.get("condition", "swap"))
    stayed = answers == m.original
    if condition:
        return counted_rate(m.correct & (answers > NO_ROW), answers, stayed)
    swapped = m.correct & (m.facts.has_swap | (answers > NO_ROW))
    return _fit(counted_rate(swapped, answers, stayed), m.facts.swap_counts, _UNMATCHED)


def _is(run: Study, m: Marks, condition: specs.Condition) -> specs.Counted:
    """Irrelevant-mask stability: of correct answers on a boxed case, those the mask leaves.

    Over boxes inside the body every draw of every case counts, and patients are the units.
    """
    population = m.facts.boxed & (m.correct if run.edition.stability == "correct" else m.parsed)
    image = condition.get("condition", "irrelevant_mask")
    if image != "matched":
        return _left_alone(m, population, image)
    draws = [_left_alone(m, population, draw) for draw in m.matched]
    values = np.stack([draw.value for draw in draws], axis=1)
    return specs.Counted(values, population, remark=f"{len(draws)} draws; n counts draws")


def _is_all(run: Study, m: Marks, condition: specs.Condition) -> specs.Counted:
    """The same without the condition of a correct answer, as the paper words it [D3]."""
    return _left_alone(m, m.facts.boxed & m.parsed, "irrelevant_mask")


def _left_alone(m: Marks, population: Mask, image: str) -> specs.Counted:
    answers = m.under(image)
    counted = counted_rate(population, answers, answers == m.original)
    return _fit(counted, _controls(m, image), _OVERLAPPING)


def _controls(m: Marks, image: str) -> Mask:
    """The cases whose box of this image hides nothing of the finding: all matched boxes are so."""
    clean = m.facts.control_counts
    return clean if image_of(image).kind == "irrelevant" else np.ones_like(clean)


def _swap_consistency(run: Study, m: Marks, condition: specs.Condition) -> specs.Counted:
    """Of answers that another image changed, those it changed to the right one."""
    changed = m.parsed & (m.swap >= 0) & (m.swap != m.original) & (m.truth >= 0)
    counted = counted_rate(changed, m.swap, m.swap == m.truth)
    return _fit(counted, m.facts.swap_counts, _UNMATCHED)


def _retest(run: Study, m: Marks, condition: specs.Condition) -> specs.Counted:
    """Of parsed answers, those given again when the same question is put again."""
    again = m.under(AGAIN)
    return counted_rate(m.parsed & (again > NO_ROW), again, again == m.original)


def _replies(run: Study, m: Marks, condition: specs.Condition) -> specs.Counted:
    """What the parse rate counts: every reply of a condition. An error is no reply [D28]."""
    codes = m.under(condition.get("condition", "original"))
    replied = codes > (NO_ROW if run.edition.failures == "as_text" else UNANSWERED)
    # A reply decides whether it could be parsed or not, so each counts as decided.
    deciding = np.where(replied, 0, codes).astype(np.int8)
    return counted_rate(codes > NO_ROW, deciding, codes >= 0)


def _outcome(run: Study, m: Marks, condition: specs.Condition) -> tuple[Mask, specs.Codes]:
    codes = m.under(condition.get("condition", "original"))
    return codes > NO_ROW, np.maximum(-codes, 0).astype(np.int8)


def _every_image(run: Study, m: Marks) -> Iterator[specs.Condition]:
    """Each condition over its own rows; overall means the original."""
    yield specs.PLAIN
    for image in (*PAPER, *m.further, *([AGAIN] if m.asked(AGAIN) else [])):
        yield {"condition": image}


def _also_under(*kinds: str) -> Callable[[Study, Marks], Iterable[specs.Condition]]:
    """The headline's images, and every further one of these kinds that was asked; the headline
    never moves."""

    def conditions(run: Study, m: Marks) -> Iterator[specs.Condition]:
        yield specs.PLAIN
        for image in m.further:
            if image_of(image).kind in kinds:
                yield {"condition": image}
        if "irrelevant" in kinds and m.matched:
            yield {"condition": "matched"}

    return conditions


# ---------------------------------------------------------------- from a count to a record


def _rate(record: Measure, counted: specs.Counted, run: Study, unit: Unit) -> Measure:
    return rate_of(run.of(record.reader), record, counted, run, unit)


def rate_of(m: Marks, record: Measure, counted: specs.Counted, run: Study, unit: Unit) -> Measure:
    """k of n with Wilson's interval, n over the design effect by patient; or as published."""
    if run.published and counted.value.ndim == 1:
        made = authors.bootstrapped_rate(m, record, counted, run.edition)
    else:
        made = specs.SHARE_OF(record, counted, run, unit)
    left = specs.left_out_of(counted)
    lost = left.get("unparsed", 0) + left.get("refused", 0)
    if not lost or not made.n or made.k is None:
        return made
    low, high = made.k / (made.n + lost), (made.k + lost) / (made.n + lost)
    return remarked(made, f"with the replies among them between {low:.4f} and {high:.4f}")


def rated(
    run: Study, m: Marks, name: str, counted: specs.Counted, by: Mapping[str, str] = specs.PLAIN
) -> Measure:
    """The record of a rate of these marks, which need not be the headline's."""
    record = Measure(reader=m.reader, measure=name, by=dict(by))
    made = specs.estimate_of(
        record, counted, run, specs.Spec(name=name, says="", estimate=partial(rate_of, m))
    )
    assert isinstance(made, Measure)
    return made


def overall(run: Study, m: Marks, name: str) -> Measure:
    """A measure's record of all cases under the headline's condition."""

    def make() -> Measure:
        made = next(iter(specs.made_by(run, m, BY_NAME[name])))
        assert isinstance(made, Measure)
        return made

    return run.once(("overall", name, m.reader), make)


# ---------------------------------------------------------------- the premium


def _flips(m: Marks, target: str, control: str) -> tuple[Mask, Mask, Mask]:
    """Who was answered under both masks; whom the target flipped, and whom the control did."""
    both = m.said_yes & _controls(m, control) & (m.under(target) >= 0) & (m.under(control) >= 0)
    return both, m.under(target) != m.original, m.under(control) != m.original


def _make_gsp(run: Study, m: Marks) -> Iterator[Measure]:
    """CGR - (1 - IS): flips under the target mask beyond those any mask of that size causes."""
    if run.edition.gsp == "difference":
        yield authors.premium_of_rates(overall(run, m, "cgr"), overall(run, m, "is"))
    else:
        yield premium(run, m, "target_mask", ["irrelevant_mask"])
    for image in m.further:
        found = image_of(image)
        control = f"irrelevant_{found.fill}"
        if found.kind == "target" and control in m.further:
            yield premium(run, m, image, [control], {"condition": str(found.fill)})
    if draws := m.matched:
        yield premium(run, m, "target_mask", draws, {"condition": "matched"})


def premium(
    run: Study, m: Marks, target: str, controls: list[str], by: dict[str, str] | None = None
) -> Measure:
    """GSP case by case: correct Yes on a boxed finding, answered under the target and a control.

    Several controls (draws of a matched box) are averaged by case first. In the published edition
    every draw pairs with the case's target answer by itself.
    """
    found = [_flips(m, target, control) for control in controls]
    both, flipped, shaken = (np.stack(part) for part in zip(*found, strict=True))
    fit = np.stack([_controls(m, control) for control in controls])
    lost, unfit = m.said_yes & fit & ~both, m.said_yes & ~fit
    if run.robust:
        lost, unfit = np.all(lost, axis=0), np.all(unfit, axis=0)
    made = leaving_out(
        Measure(reader=m.reader, measure="gsp", by=by or {}, n=int(both.sum())),
        {"without an answer under both masks": int(lost.sum()), _OVERLAPPING: int(unfit.sum())},
    )
    if run.robust:
        one, two = (defined_mean(np.where(both, part, np.nan).T) for part in (flipped, shaken))
        return paired(made, one, two, m.facts.patients)
    owners = np.broadcast_to(m.facts.patients, both.shape)
    marks = (part[:, m.order][both[:, m.order]] for part in (flipped, shaken, owners))
    return paired_shares(made, *marks)


# ---------------------------------------------------------------- 1 - UAR, and the category


def _make_image_contingent(run: Study, m: Marks) -> Iterator[Measure]:
    """1 - UAR: the share of correct answers that a like image of another patient changes."""
    uar = replace(overall(run, m, "uar"), measure="image_contingent")
    if uar.value is None or uar.n is None or uar.k is None:
        yield uar
        return
    k = uar.n - uar.k
    low, high = (None if end is None else 1 - end for end in (uar.high, uar.low))
    said = replace(uar, value=k / uar.n, k=k, low=low, high=high, note=None)
    yield leaving_out(said, uar.left_out)


def category_tests(run: Study) -> dict[str, Tests]:
    """What the tested rule asks of every reader; q is Holm's over those that see a picture.

    Another reader in the run changes q, and the word that follows from it, and nothing else.
    """
    found = {m.reader: _tests_of(run, m) for m in run.marks}
    seeing = {m.reader for m in run.marks if m.modality != "text"}
    ranked = sorted((t.p, name) for name, t in found.items() if t.p is not None and name in seeing)
    q = 0.0
    for place, (p, name) in enumerate(ranked):
        q = max(q, min(1.0, (len(ranked) - place) * p))
        found[name] = replace(found[name], q=q)
    return found


def _tests_of(run: Study, m: Marks) -> Tests:
    control = "matched" if m.matched else CORNER
    made = premium(run, m, "target_mask", m.matched or [control])
    target, again = m.target_mask, m.under(AGAIN)
    both = m.said_yes & (target >= 0) & (again >= 0)
    one, two = (np.where(both, codes != m.original, np.nan) for codes in (target, again))
    beyond = paired(Measure(reader=m.reader, measure="again"), one, two, m.facts.patients)
    return Tests(control, _above(made), None, _above(beyond), _most_changed(m))


def _above(record: Measure) -> float | None:
    """The one-sided p of a difference above 0."""
    if record.p is None or record.value is None:
        return None
    return record.p / 2 if record.value > 0 else 1 - record.p / 2


def _most_changed(m: Marks) -> float | None:
    """The upper 95 % bound of the share of answers that a changed image changes.

    Of parsed originals with an answer to a like image of another patient, the target mask or the
    irrelevant mask, those that differ from any of these. The larger of two bounds, of all cases and
    of those with a box: who sees the finding keeps its answer to a like image, so that only a mask
    shows it, and cases without a box would thin it out.
    """
    images = [m.under(name) for name in ("swap", "target_mask", "irrelevant_mask")]
    some = m.parsed & np.any([codes >= 0 for codes in images], axis=0)
    changed = np.any([(codes >= 0) & (codes != m.original) for codes in images], axis=0)
    found = [
        _upper_bound(changed[among], m.facts.patients[among])
        for among in (some, some & m.facts.boxed)
    ]
    return None if None in found else max(bound for bound in found if bound is not None)


def _upper_bound(hits: Mask, patients: Ints) -> float | None:
    """Exact (Clopper and Pearson), of cases and hits over the design effect by patient (Korn and
    Graubard): B(0.95; k/d + 1, (n - k)/d). None without two patients."""
    from overread.stats import spread_of_mean
    from overread.stats.special import betaincinv

    n, k = int(hits.size), int(hits.sum())
    if np.unique(patients).size < 2:
        return None
    effect = spread_of_mean(hits, patients).effect
    return 1.0 if k == n else float(betaincinv(k / effect + 1, (n - k) / effect, 0.95))


def _make_category(run: Study, m: Marks) -> Iterator[Measure]:
    names = ("cgr", "uar", "is", "is_all", "gsp", "retest")
    cgr, uar, is_, is_all, gsp, retest = (overall(run, m, name) for name in names)
    findings = Findings(cgr, uar, is_, is_all, gsp, retest)
    if run.edition.category == "tested":
        tests = run.once(("category tests",), lambda: category_tests(run))
        findings = replace(findings, tests=tests[m.reader])
    # A category stands on no more cases than the smallest of the rates it is read from.
    n = min(record.n or 0 for record in (findings.cgr, findings.uar, findings.is_))
    made = Measure(reader=m.reader, measure="category", n=n)
    yield category(made, findings, run.edition, sees=m.modality != "text")
    for threshold, swept in sweep(findings, run.edition):
        by = {"unstable_below": f"{threshold / 100:.2f}"}
        yield replace(made, by=by, label=swept)


# ---------------------------------------------------------------- the declarations

_PATIENTS: Final = ("view", "sex", "age")
COMPARED: Final = ("accuracy", "uar", "cgr", "is")
"""The rates that readers, resolutions and runs are compared by."""


def _declared(
    name: str, says: str, of: Callable[[Study, Marks, specs.Condition], specs.Counted], **more: Any
) -> specs.Spec:
    return specs.Spec(name=name, says=says, of=of, estimate=_rate, empty_groups=True, **more)


_HEADLINE: Final = {"bounds": True, "by_case": True}
SPECS: Final = (
    _declared(
        "accuracy",
        "right on the original, of parsed answers with a key",
        _accuracy,
        groups=("source", "finding", *_PATIENTS, "label"),
        **_HEADLINE,
    ),
    _declared(
        "sensitivity",
        "Yes on the original where the key is Yes",
        lambda run, m, condition: counted_rate(m.truth == 1, m.original, m.original == 1),
        groups=("finding",),
    ),
    _declared(
        "specificity",
        "No on the original where the key is No",
        lambda run, m, condition: counted_rate(m.truth == 0, m.original, m.original == 0),
        groups=("finding",),
    ),
    _declared(
        "parse_rate", "replies in which an answer was found", _replies, conditions=_every_image
    ),
    *specs.coverage_specs(_every_image, _outcome),
    _declared(
        "cgr",
        "causal grounding rate: correct Yes that the target mask flips",
        _cgr,
        conditions=_also_under("target"),
        groups=("finding", *_PATIENTS, "label"),
        **_HEADLINE,
    ),
    _declared(
        "uar",
        "unrelated-image answer rate: correct answers a like image of another patient leaves",
        _uar,
        # The other patient has the same finding and label, so that who looks and who does not both
        # keep their answer: more is neither better nor worse.
        better=None,
        conditions=_also_under("opposite", "blank", "none"),
        groups=("source", "finding", *_PATIENTS, "label"),
        **_HEADLINE,
    ),
    _declared(
        "is",
        "irrelevant-mask stability: correct answers the irrelevant mask leaves",
        _is,
        conditions=_also_under("irrelevant"),
        groups=("finding", *_PATIENTS),
        **_HEADLINE,
    ),
    _declared("is_all", "the same over all parsed answers, correct or not", _is_all, bounds=True),
    _declared("retest", "answers given again when the original is asked again", _retest),
    specs.Spec(
        name="gsp",
        says="grounding-specificity premium: CGR - (1 - IS)",
        unit=POINTS,
        make=_make_gsp,
    ),
    specs.Spec(name="image_contingent", says="1 - UAR", better=None, make=_make_image_contingent),
    _declared(
        "swap_consistency",
        "answers another image changed that it changed to the right one",
        _swap_consistency,
    ),
    specs.Spec(
        name="category",
        says="what CGR, UAR, IS and GSP say together",
        unit=WORD,
        better=None,
        make=_make_category,
    ),
)
BY_NAME: Final = specs.named(SPECS)
