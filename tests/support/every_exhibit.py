"""Hand-made measures that give every exhibit, for readers of any name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from overread.case import Measure
from overread.measuring.notes import NO_PICTURE, noted

__all__ = ["measured", "nothing_known"]

CATEGORIES = ("uses image", "ignores image", "unstable", "indeterminate", "insufficient")
RATES = (
    "accuracy", "sensitivity", "specificity", "cgr", "uar", "is", "gsp", "image_contingent",
    "parse_rate",
)  # fmt: skip
REGIMES = ("grounded_correct", "ungrounded_correct", "incorrect")


def measured(readers: Sequence[str], without_image: str | None = None) -> list[Measure]:
    """Records of every kind an exhibit shows; the values differ from reader to reader."""
    found = [record for at, reader in enumerate(readers) for record in _of(reader, at)]
    if without_image is not None:
        found = [_blind(r) if r.reader == without_image else r for r in found]
        for at, reader in enumerate(r for r in readers if r != without_image):
            for name in ("accuracy", "uar"):
                found.append(_against(reader, without_image, name, at, "text_baseline"))
    for at, reader in enumerate(readers[1:]):
        found.append(_against(readers[0], reader, "accuracy", at, "pairwise"))
    rho = {"px": "224,512", "of": "cgr"}
    found.append(Measure(reader="", measure="rho", by=rho, value=0.5, n=9, p=0.02, method="exact"))
    return found


def nothing_known(records: Sequence[Measure]) -> list[Measure]:
    """The same records, every number of them undefined."""
    gone: dict[str, Any] = dict.fromkeys(("value", "low", "high", "k", "se", "p", "q", "label"))
    return [msgspec.structs.replace(record, n=0, note=None, **gone) for record in records]


def _of(reader: str, at: int) -> Iterator[Measure]:
    def rate(name: str, value: float, n: int = 40, **by: str) -> Measure:
        value = round(value + at / 100, 4)
        low, high = round(value - 0.05, 4), round(value + 0.05, 4)
        k = round(value * n)
        return Measure(
            reader=reader, measure=name, by=by, value=value, n=n, k=k, se=0.01, low=low, high=high
        )

    label = CATEGORIES[at % len(CATEGORIES)]
    yield Measure(reader=reader, measure="category", label=label)
    for place, name in enumerate(RATES):
        yield rate(name, 0.1 + place / 12)
    for name in ("auroc", "brier", "ece_answer", "ece_label"):
        yield rate(name, 0.3)
    for below in ("0.50", "0.60", "0.70", "0.80", "0.90"):
        by = {"unstable_below": below}
        yield Measure(reader=reader, measure="category", by=by, label=label)
    for finding, n in (("edema", 40), ("lung_opacity", 5)):
        yield rate("cgr", 0.3, n, finding=finding)
        yield rate("is", 0.9, n, finding=finding)
        yield rate("cgr", 0.4, n, coverage="accurate", finding=finding)
    for name in ("all", "accurate", "accurate_or_partial"):
        yield rate("cgr", 0.35, coverage=name)
    for name in ("cgr", "uar"):
        yield rate(name, 0.2, sex="F")
        yield rate(name, 0.3, sex="M")
        by = {"attribute": "sex"}
        yield Measure(reader=reader, measure=f"gap_{name}", by=by, value=-0.1, p=0.01, q=0.04)
        yield rate(name, 0.25, condition="mean_mask")
    yield rate("rexerr_sensitivity", 0.2, error_group="text_only")
    yield rate("rexerr_sensitivity", 0.2, error_type="add_typo")
    for place, regime in enumerate(REGIMES):
        yield rate("confidence", 0.7 - place / 10, 30, regime=regime)
        yield rate("confidence", 0.15, 10, regime=regime, bin="1")
        yield rate("confidence", 0.85, 20, regime=regime, bin="8")
    for name, mean in (("1", 0.15), ("8", 0.85)):
        yield rate("confidence", mean, 30, bin=name)
        yield rate("reliability", mean - 0.05, 30, bin=name)
    for px in ("224", "512"):
        yield rate("cgr", 0.3 + int(px) / 5120, px=px)
    by = {"px": "512", "versus": "px=224"}
    yield Measure(reader=reader, measure="diff_cgr", by=by, value=0.05, low=0.0, high=0.1, n=30)
    for words in ("default", "terse"):
        for name in ("parse_rate", "accuracy", "uar"):
            yield rate(name, 0.6, phrasing=words)
    for image in ("original", "target_mask"):
        yield rate("parse_rate", 0.8, condition=image)
    for name in ("accuracy", "cgr", "uar", "is", "is_all"):
        for bound, value in (("low", 0.1), ("high", 0.4)):
            yield rate(name, value, bound=bound)


def _blind(record: Measure) -> Measure:
    if record.measure != "category" or record.by:
        return record
    return noted(record, NO_PICTURE)


def _against(reader: str, other: str, name: str, at: int, kind: str) -> Measure:
    value = round(0.12 - at / 10, 4)
    q = (0.01, 0.2, 0.03)[at % 3]
    return Measure(
        reader=reader,
        measure=f"diff_{name}",
        by={"versus": other, "comparison": kind},
        value=value,
        low=round(value - 0.04, 4),
        high=round(value + 0.04, 4),
        n=30,
        p=q / 2,
        q=q,
        note="0.6620 against 0.5420",
    )
