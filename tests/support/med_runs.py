"""Random Med-CMR runs, and what an obvious loop makes of them."""

from __future__ import annotations

from collections import defaultdict
from math import comb

import numpy as np

from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.choice_measures import (
    ACCURACY,
    CHOICE_SPECS,
    chance,
    gained_and_lost,
)
from overread.benchmarks.medcmr.study import Study
from overread.measuring.specs import contrasts_of, made_by
from support.med_tables import chose, mcq, opened, tables_of, wrote

READERS = ("one", "two", "three")
TEXTS = ("short", "a long one", "middling", "a long one", "x")


def chosen_measures(tables, edition, options=None):
    """The measures of multiple-choice replies."""
    study = Study(tables, None, edition, options)

    def made():
        yield from chance(study)
        for marks in study.marks:
            for spec in CHOICE_SPECS:
                yield from made_by(study, marks, spec)
        yield from contrasts_of(study, study.marks, ACCURACY)
        yield from gained_and_lost(study)

    return study.finish(made())


def random_run(seed, n=30, *, orders=2, conditions=("blank", "swap", "text"), shared=True):
    """A run of three readers with holes (none in the first item); some items share images."""
    draw = np.random.default_rng(seed)

    def some(*of):
        return of[draw.integers(len(of))]

    cases, answers = [], []
    for index in range(n):
        m = int(draw.integers(2, 6))
        cases.append(
            mcq(
                index,
                LETTERS[draw.integers(m)],
                some("SOD", "TP", "MSI", None),
                tuple(TEXTS[draw.integers(5)] for _ in range(m)),
                images=[f"{draw.integers(n)}.png"] if shared else [f"{index}.png"],
                patient=some("p", "q", None, None, None, None) if shared else None,
                subtype=some("s", "t", None),
                ability=some("DX", "CDS", None),
                modality=some("CT", "MRI"),
                system=some("Digestive", "of its own"),
            )
        )
    cases += [opened(index, some("SOD", "TP")) for index in range(4)]
    for reader in READERS:
        for case in cases[:n]:
            m = len(case["options"])
            cells = [("original", order) for order in range(min(orders, m - 1) + 1)]
            for image, order in cells + [(image, 0) for image in conditions]:
                if case["index"] and draw.random() < 0.1:
                    continue
                skill = {"original": 0.6, "swap": 0.3}.get(image, 0.2)
                choice = case["answer"] if draw.random() < skill else LETTERS[draw.integers(m)]
                choice = some("?", "!", None) if draw.random() < 0.15 else choice
                chances = draw.dirichlet(np.ones(m)).tolist() if draw.random() < 0.8 else None
                answers.append(
                    chose(
                        reader,
                        case["index"],
                        choice,
                        image=image,
                        order=order,
                        shift=order,
                        options=m,
                        probabilities=chances if choice is not None else None,
                        finish=some("stop", "length", None),
                    )
                )
        for index in range(4):
            answers.append(wrote(reader, index, outcome=some("answered", "unparsed", "refused")))
    return tables_of(cases, answers, list(READERS))


def slowly(tables):
    """Values by (reader, measure, keys): every definition as a loop over rows."""
    cases = {row["case"]: row for row in tables.cases.to_dicts()}
    found = {}
    said = defaultdict(dict)
    for row in tables.answers.to_dicts():
        said[row["reader"], row["form"], row["image"], row["order"]][row["case"]] = row

    def put(reader, measure, k, n, **by):
        if n:
            found[reader, measure, tuple(sorted(by.items()))] = (k / n, n)

    def mean(values):
        return sum(values) / len(values) if values else None

    def right(reader, case, image="original", order=0):
        row = said[reader, "mcq", image, order].get(case)
        return int(row is not None and row["choice"] == cases[case]["answer"])

    items = [case for case, row in cases.items() if row["kind"] == "mcq"]
    dimensions = sorted({cases[case]["dimension"] for case in items} - {None})

    def groups():
        yield {}, items
        for key in ("dimension", "ability", "modality", "system"):
            for name in {cases[case][key] for case in items} - {None}:
                yield {key: name}, [case for case in items if cases[case][key] == name]
        for family, names in (("visual", ("SOD", "FDD", "SU")), ("reasoning", ("TP", "MSI"))):
            yield {"family": family}, [c for c in items if cases[c]["dimension"] in names]
        for name in dimensions:
            for sub in ("s", "t"):
                told = {"dimension": name, "subtype": sub}
                yield told, [c for c in items if told.items() <= cases[c].items()]

    by_dimension = [({}, items)]
    for name in dimensions:
        some = [case for case in items if cases[case]["dimension"] == name]
        by_dimension.append(({"dimension": name}, some))
    for keys, some in by_dimension:
        chances = [1 / len(cases[case]["options"]) for case in some]
        put("", "chance", sum(chances), len(some), **keys)
    for reader in READERS:
        plain = said[reader, "mcq", "original", 0]
        for keys, some in groups():
            put(reader, "accuracy", sum(right(reader, c) for c in some), len(some), **keys)
        put(reader, "accuracy", sum(right(reader, c) for c in items), len(items), kind="mcq")
        replies = {}
        for image in ("blank", "swap", "text"):
            rows = said[reader, "mcq", image, 0]
            replies[image] = [(c, image, 0) for c in items if c in rows]
        orders = [o for o in range(10) if said.get((reader, "mcq", "original", o))]
        replies["permuted"] = [
            (c, "original", o)
            for o in orders
            for c in items
            if o == 0 or c in said[reader, "mcq", "original", o]
        ]
        if len(orders) < 2:
            replies.pop("permuted")
        for condition, asked in replies.items():
            for keys, some in by_dimension:
                rights = [right(reader, *one) for one in asked if one[0] in some]
                told = {"condition": condition, **keys}
                put(reader, "accuracy", sum(rights), len(rights), **told)
            got = []
            for case, image, order in asked:
                row = said[reader, "mcq", image, order].get(case)
                got.append("unanswered" if row is None else row["outcome"])
            for outcome in ("answered", "unparsed", "refused", "unanswered"):
                put(reader, outcome, got.count(outcome), len(asked), condition=condition)
            put(reader, "invalid_rate", got.count("unparsed"), len(asked), condition=condition)
        replies["original"] = [(c, "original", 0) for c in items]
        for condition, asked in replies.items():
            each = [
                mean([right(reader, *one) for one in asked if one[0] in some])
                for _, some in by_dimension[1:]
            ]
            each = [value for value in each if value is not None]
            told = {} if condition == "original" else {"condition": condition}
            if each:
                n = sum(cases[c]["dimension"] is not None for c in {one[0] for one in asked})
                found[reader, "accuracy_macro", tuple(told.items())] = (mean(each), n)
        for keys, some in by_dimension:
            bad = sum(c in plain and plain[c]["outcome"] == "unparsed" for c in some)
            put(reader, "invalid_rate", bad, len(some), **keys)
        for kind in ("mcq", "open"):
            asked = [c for c, row in cases.items() if row["kind"] == kind]
            rows = said[reader, kind, "original", 0]
            for name, outcome in (
                *(
                    (outcome, outcome)
                    for outcome in ("answered", "unparsed", "refused", "unanswered")
                ),
                ("invalid_rate", "unparsed"),
                ("refused_rate", "refused"),
                ("unanswered_rate", "unanswered"),
            ):
                got = [rows[c]["outcome"] if c in rows else "unanswered" for c in asked]
                put(reader, name, got.count(outcome), len(asked), kind=kind)
            ends = [row["finish"] for row in rows.values() if row["finish"] is not None]
            for name in ("cut_off", "cut_off_rate"):
                put(reader, name, ends.count("length"), len(ends), kind=kind)
        picked = [row for row in plain.values() if row["choice"] is not None]
        hits = 0
        for row in picked:
            lengths = [len(text) for text in cases[row["case"]]["options"]]
            hits += LETTERS[lengths.index(max(lengths))] == row["choice"]
        put(reader, "longest_rate", hits, len(picked))
        _positions(put, reader, orders, said, cases, items)
        _probabilities(put, reader, plain, cases)
        for image in ("blank", "swap", "text"):
            rows = said[reader, "mcq", image, 0]
            for keys, some in by_dimension:
                both = [c for c in some if c in rows]
                own, left = (sum(right(reader, c, at) for c in both) for at in ("original", image))
                told = {"condition": image, **keys, "versus": "original"}
                put(reader, "diff_accuracy", left - own, len(both), **told)
                if not keys:
                    put(reader, "image_effect", own - left, len(both), image=image)
                if own:
                    key = (reader, "survives", tuple(sorted(told.items())))
                    found[key] = (left / own, len(both))
    for place, one in enumerate(READERS):
        for two in READERS[place + 1 :]:
            gap = sum(right(one, c) - right(two, c) for c in items)
            put(one, "diff_accuracy", gap, len(items), versus=two)
    for keys, some in by_dimension:
        lost = sum(right("one", c) > right("two", c) for c in some)
        won = sum(right("two", c) > right("one", c) for c in some)
        put("two", "only_base", lost, len(some), versus="one", **keys)
        put("two", "only_medical", won, len(some), versus="one", **keys)
    return found


def _positions(put, reader, orders, said, cases, items):
    given, true = [], []
    for order in orders:
        for case, row in said[reader, "mcq", "original", order].items():
            if row["shown"] is not None:
                m = len(cases[case]["options"])
                given.append(row["shown"])
                true.append(LETTERS[(LETTERS.index(cases[case]["answer"]) - order) % m])
    most = max(len(cases[case]["options"]) for case in items)
    letters = LETTERS[:most]
    for letter in letters:
        put(reader, "position_share", given.count(letter), len(given), position=letter)
    apart = sum(abs(given.count(letter) - true.count(letter)) for letter in letters)
    put(reader, "position_bias", apart / 2, len(given))
    if len(orders) < 2:
        return
    same, always, several = 0, 0, 0
    for case in items:
        rows = [said[reader, "mcq", "original", o].get(case) for o in orders if o]
        rows = [row for row in rows if row is not None]
        if rows:
            several += 1
            rows.append(said[reader, "mcq", "original", 0].get(case))
            choices = [None if row is None else row["choice"] for row in rows]
            same += None not in choices and len(set(choices)) == 1
            always += set(choices) == {cases[case]["answer"]}
    put(reader, "order_consistency", same, several)
    put(reader, "accuracy_all_orders", always, several)


def _probabilities(put, reader, plain, cases):
    hits, squares = [], 0.0
    bins = defaultdict(float)
    rows = [row for row in plain.values() if row["probabilities"] is not None]
    for row in rows:
        p = row["probabilities"]
        answer = LETTERS.index(cases[row["case"]]["answer"])
        best = max(p)
        hits.append(p.count(best) == 1 and p[answer] == best)
        bins[min(int(10 * best), 9)] += best - hits[-1]
        squares += sum((x - (place == answer)) ** 2 for place, x in enumerate(p)) / 2
    put(reader, "accuracy_logprobs", sum(hits), len(rows))
    put(reader, "ece", sum(map(abs, bins.values())), len(rows))
    put(reader, "brier", squares, len(rows))


def coin_p(gained, lost):
    """Two-sided p of so many heads and tails of a fair coin, by counting."""
    n, most = gained + lost, max(gained, lost)
    return min(1.0, 2 * sum(comb(n, k) for k in range(most, n + 1)) / 2**n)
