"""Everything that is made of a run, frozen, so that a change of the code can be held against it.

    python -m support.frozen FOLDER [NAME ...]        freeze all scenes, or those named
    python -m support.frozen --compare OLD NEW        what differs, field by field; exit 1 if any

A scene is a run of one benchmark under one edition: phantoms with every control and the lexical
judge, or the golden results of the authors' scripts. Of each are kept: every measure, digests of
the tables, the signature, exhibits, headlines, methods, limitations, the published figures beside
it, cards, and what `compare` says.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["SCENES", "differences", "freeze"]

JUDGE = ("control:lexical-judge",)
EDITIONS = ("corrected", "authors")
# Benchmark, cases, judges, settings: what is asked widely, so that most that can be measured is.
ASKED: dict[str, tuple[str, str, tuple[str, ...], dict[str, str]]] = {
    "grounding": ("grounding", "phantom:60", (), {}),
    "grounding-wide": (
        "grounding", "phantom:36", (),
        {
            "conditions": "+opposite_swap,+blank,+no_image,+mirror,+blur,+matched,+repeat",
            "px": "64,96", "phrasing": "default,brief", "subset": "20",
        },
    ),
    "heartbeat": ("heartbeat", "phantom:9", (), {"seeds": "2020-2022", "passes": "2"}),
    "m3cot": ("m3cot", "phantom:30", JUDGE, {}),
    "m3cot-wide": (
        "m3cot", "phantom:26", JUDGE,
        {"images": "original,blank,swap", "follow": "truncated,answer_first", "variants": "4"},
    ),
    "medcmr": ("medcmr", "phantom:42", JUDGE, {}),
    "medcmr-wide": (
        "medcmr", "phantom:28", JUDGE,
        {"images": "original,blank,swap,text", "orders": "2", "reformulate": "6", "variants": "4"},
    ),
    "pairs": ("pairs", "phantom:40", (), {}),
}  # fmt: skip
GOLDEN = Path(__file__).parents[3] / "shared" / "golden"
# Benchmark, replies, cases, readers, further results.
IMPORTED: dict[str, tuple[str, str, str | None, str | None, tuple[str, ...]]] = {
    "grounding-mimic": (
        "grounding", "grounding/mimic/responses", "grounding/mimic/manifest.csv",
        "grounding/models.json", ("px=512:{golden}/grounding/resolution/responses_512",),
    ),
    "grounding-chexpert": (
        "grounding", "grounding/chexpert/responses", "grounding/chexpert/manifest.csv",
        "grounding/models.json", (),
    ),
    "heartbeat-t1": ("heartbeat", "heartbeat/echo_t1_original", None, None, ()),
    "heartbeat-t2": ("heartbeat", "heartbeat/echo_t2_non_medical", None, None, ()),
}  # fmt: skip
SCENES = [f"{name}.{edition}" for name in (*ASKED, *IMPORTED) for edition in EDITIONS]


def freeze(scene: str, out: Path) -> None:
    """Run a scene in a folder of its own, and write what came of it."""
    import overread as ov
    from overread import report as pages
    from overread.runs import compare, import_results, open_cases

    name, _, edition = scene.rpartition(".")
    pages_of: list[Any] = []

    def kept(path: Path, runs: Any, **_: Any) -> None:
        pages_of.extend(runs)
        path.touch()

    write, pages.write_report = pages.write_report, kept
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        os.environ["XDG_CACHE_HOME"] = scratch
        try:
            folder = Path(scratch) / "run"
            if name in ASKED:
                benchmark, cases, judges, settings = ASKED[name]
                bench = open_cases(benchmark, cases, edition, settings)
                ov.run(
                    benchmark, cases, [f"control:{one}" for one in bench.expected()],
                    judges=judges, edition=edition, out=folder, store=Path(scratch) / "s.sqlite",
                    settings=settings | {"boot": "300"},
                )  # fmt: skip
            else:
                benchmark, replies, cases_file, readers, also = IMPORTED[name]
                import_results(
                    benchmark, cases=GOLDEN / cases_file if cases_file else None,
                    replies=GOLDEN / replies, out=folder, edition=edition,
                    readers=GOLDEN / readers if readers else None, settings={"boot": "300"},
                    also=[one.format(golden=GOLDEN) for one in also],
                )  # fmt: skip
            (page,) = pages_of
            several = len(page.record.readers) > 1
            made = {"found": compare([folder])} if several else None
            compared = msgspec.to_builtins(made, enc_hook=str)
            found = _frozen(page, folder) | {"compared": compared}
        finally:
            os.chdir(home)
            pages.write_report = write
        text = msgspec.json.format(
            msgspec.json.encode(found, enc_hook=str, order="deterministic")
        ).decode()
    places = {str(Path(scratch).resolve()), scratch, str(GOLDEN), str(home)}
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place, "<here>")
    (out / f"{scene}.json").write_text(text, encoding="utf-8")


def _frozen(page: Any, folder: Path) -> dict[str, Any]:
    import polars as pl

    tables = {}
    for name in ("cases", "answers", "verdicts"):
        file = folder / f"{name}.parquet"
        if file.exists():
            frame = pl.read_parquet(file)
            tables[name] = {
                column: _digest(frame[column].to_list())
                for column in frame.columns
                if column not in ("seconds", "replied", "at", "sent")
            }
    parts = ("measures", "headlines", "methods", "limitations", "published", "cards")
    plain = {part: msgspec.to_builtins(getattr(page, part), enc_hook=str) for part in parts}
    return {
        "signature": page.record.signature,
        "tables": tables,
        "exhibits": {one.name: msgspec.to_builtins(one, enc_hook=str) for one in page.exhibits},
        **plain,
    }


def _digest(values: list[Any]) -> str:
    from hashlib import sha256

    return sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# ---------------------------------------------------------------- what differs

NUMBERS = (
    "value", "n", "k", "se", "sd_boot", "sd_seeds", "sd_videos", "low", "high", "p", "q", "family",
    "label",
)  # fmt: skip


# Fields that records got after the first freeze.
NEW = ("how", "flags", "left_out", "as_wrong", "beside", "against", "pooled")


def differences(old: Path, new: Path, *, words: bool = True) -> Iterator[str]:
    """A line for each thing that two frozen scenes have otherwise.

    Measures are matched by reader, measure and by; `words` says whether notes and methods count.
    """
    one, two = (msgspec.json.decode(path.read_bytes()) for path in (old, new))
    scene = new.stem
    mine, theirs = ({_key(m): m for m in found["measures"]} for found in (one, two))
    for key in mine.keys() - theirs.keys():
        yield f"{scene}: measure gone: {key}"
    for key in theirs.keys() - mine.keys():
        yield f"{scene}: measure new: {key}"
    fields = (*NUMBERS, "method", "note") if words else NUMBERS
    for key in mine:
        if key in theirs:
            for field in fields:
                a, b = mine[key].get(field), theirs[key].get(field)
                if a != b:
                    yield f"{scene}: {key} {field}: {a!r} -> {b!r}"
    order = [_key(m) for m in one["measures"] if _key(m) in theirs]
    if order != [_key(m) for m in two["measures"] if _key(m) in mine]:
        yield f"{scene}: measures stand in another order"
    for part in one:
        if part != "measures":
            yield from _unlike(f"{scene}: {part}", one[part], two.get(part))


def _key(record: dict[str, Any]) -> str:
    by = ",".join(f"{name}={value}" for name, value in sorted(record["by"].items()))
    return f"{record['reader']}|{record['measure']}|{by}"


def _unlike(where: str, a: Any, b: Any) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in (*a, *(key for key in b if key not in a)):
            if key in NEW and key not in a:
                continue
            yield from _unlike(f"{where}.{key}", a.get(key), b.get(key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for at, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _unlike(f"{where}[{at}]", x, y)
    elif a != b:
        yield f"{where}: {_short(a)} -> {_short(b)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"


def _compare(old: Path, new: Path) -> int:
    count = 0
    for path in sorted(new.glob("*.json")):
        if (old / path.name).exists():
            for line in differences(old / path.name, path):
                print(line)
                count += 1
    print(f"{count} differences")
    return int(count > 0)


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        raise SystemExit(_compare(Path(sys.argv[2]), Path(sys.argv[3])))
    place = Path(sys.argv[1]).absolute()
    place.mkdir(parents=True, exist_ok=True)
    wanted = [s for s in SCENES if not sys.argv[2:] or any(s.startswith(w) for w in sys.argv[2:])]
    # A process for each: what one has read of its folder is no other's.
    with ProcessPoolExecutor(2, get_context("spawn"), max_tasks_per_child=1) as pool:
        for one, _ in zip(wanted, pool.map(freeze, wanted, [place] * len(wanted)), strict=True):
            print(one, flush=True)
