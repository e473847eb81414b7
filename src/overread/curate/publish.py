"""`publish`: items as a folder that others load: rows, pictures, and what must be known of them.

One subfolder for each benchmark that is aimed at, named as it, with `items.jsonl` and `images/`, or
one parquet file with its pictures as Hugging Face lays them out. Pictures are written as they were
shown, without the metadata of their files. What an item cannot be a row of is left out of that
benchmark alone, with its reason.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from overread.benchmarks.curated import Item
from overread.benchmarks.registry import benchmarks_for_pairs, class_of
from overread.case import BadInput, Picture, Policy, Table
from overread.curate import folder as kept
from overread.curate import leakage
from overread.curate.blind import blind_report, blind_table
from overread.curate.croissant import croissant_of
from overread.curate.datasheet import Sheet, readme_of
from overread.curate.filtering import Filter
from overread.curate.form import check_form, form_table
from overread.curate.funnel import figure_of, funnel_of
from overread.curate.records import Record, candidates_of, items_of
from overread.curate.review import FILE as REVIEWED
from overread.curate.review import UNREVIEWED, Reviewed
from overread.curate.wanted import Wanted
from overread.plugins import at
from overread.records import check_folder
from overread.scratch import scratch_folder

T = TypeVar("T")

ITEMS: Final = "items"
IMAGES: Final = "images"
CARD: Final = "dataset.toml"
CROISSANT: Final = "croissant.json"
DROPS: Final = "drops.jsonl"
_AT_ONCE: Final = 128
_GAP: Final = 8  # pixels between pictures that stand side by side

Form = Literal["jsonl", "parquet"]


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[publish]`: how and under what words the set goes out. `rai` are Croissant's properties of
    responsible AI by their names ("dataBiases"), in place of what is filled in.
    """

    form: Form = "jsonl"
    licence: str = ""
    title: str = ""
    description: str = ""
    creators: tuple[str, ...] = ()
    url: str = ""
    version: str = "1.0.0"
    # The day it goes out, and how it is to be cited.
    published: str = ""
    cite: str = ""
    rai: dict[str, str] = {}


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """What was published where: items by benchmark, and those it could not take, by reason."""

    folder: str
    items: dict[str, int]
    left_out: dict[str, dict[str, int]]
    unreviewed: int = 0


class _Row(NamedTuple):
    """An item as a row of a benchmark, with the picture it shows where that is to be embedded."""

    row: dict[str, Any]
    image: bytes


def publish(folder: Path, wanted: Wanted, out: Path, policy: Policy) -> Published:
    """Write the reviewed items into a folder of their own, whole or not at all."""
    options = wanted.options("publish", Options)
    there = kept.steps_there(folder)
    if not there or there[-1] != "review":
        raise BadInput(
            f"{folder}: its items are not reviewed. Run overread curate review {folder}, with "
            "--unreviewed if nobody is to look at them."
        )
    broken = kept.stale(folder)
    if broken:
        raise BadInput(f"{folder}: {broken[0]}.")
    items = items_of(kept.read_step(folder, "review"))
    if not items:
        raise BadInput(f"{folder}: no item passed the review, so there is nothing to publish.")
    check_free(out)
    called, out = out, out.resolve()  # it may be a link, or "."
    out.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(out.parent) as scratch:
        made = scratch / out.name
        made.mkdir()
        counts, left = {}, {}
        for target in wanted.targets:
            counts[target], left[target] = _target(made / target, target, items, options.form)
        if not any(counts.values()):
            raise BadInput(f"{folder}: no benchmark can take any of its {len(items)} items.")
        for target in benchmarks_for_pairs():
            _pairs(made / target, target, items)
        sheet = _sheet(folder, made, wanted, items, options, policy, counts, left)
        _write_about(made, folder, sheet)
        if policy == "credentialed":
            for path in (made, *made.rglob("*")):
                path.chmod(0o700 if path.is_dir() else 0o600)
        if out.exists():
            os.rename(out, scratch / "before")
        os.rename(made, out)
    return Published(
        folder=str(called),
        items=counts,
        left_out=left,
        unreviewed=sum(UNREVIEWED in item.flags for item in items),
    )


def check_free(out: Path) -> None:
    """A folder that is there is replaced only if it was published."""
    check_folder(f"--out {out}", out, lambda folder: (folder / CROISSANT).is_file())


# ---------------------------------------------------------------- rows and pictures


def _target(
    place: Path, target: str, items: Sequence[Item], form: Form
) -> tuple[int, dict[str, int]]:
    """Write what one benchmark takes of the items; how many, and the others by reason."""
    place.mkdir()
    to_row = at(class_of(target).curated.row)
    left: dict[str, int] = {}
    pictures = _Pictures()

    def rows() -> Iterator[_Row]:
        for item in items:
            shown = [pictures.of(picture) for picture in item.pictures]
            if form == "parquet" and len(shown) > 1:  # a row has one picture
                shown = [_side_by_side(shown)]
            row = to_row(item, [_name(data) for data in shown])
            if row == "several_images":
                shown = [_side_by_side(shown)]
                row = to_row(item, [_name(data) for data in shown])
            if isinstance(row, str):
                left[row] = left.get(row, 0) + 1
                continue
            if form == "jsonl":
                for data in shown:
                    (place / IMAGES).mkdir(exist_ok=True)
                    (place / _name(data)).write_bytes(data)
            yield _Row({name: cell for name, cell in row.items() if cell not in ("", [])}, shown[0])

    write = _write_lines if form == "jsonl" else _write_parquet
    count = write(place, rows())
    if not count:
        (place / f"{ITEMS}.{form}").unlink(missing_ok=True)
        place.rmdir()
    return count, dict(sorted(left.items()))


def _pairs(place: Path, target: str, items: Sequence[Item]) -> None:
    """Write the pairs once more, as a benchmark that tells two pictures apart takes them."""
    to_row = at(class_of(target).curated.pair)
    together: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.pair:
            together[item.pair].append(item)
    pictures, lines = _Pictures(), []
    for two in together.values():
        shown = [pictures.of(picture) for item in two for picture in item.pictures]
        row = to_row(*two, [_name(data) for data in shown]) if len(two) == 2 else None
        if row is not None:
            for data in shown:
                (place / IMAGES).mkdir(parents=True, exist_ok=True)
                (place / _name(data)).write_bytes(data)
            lines.append(msgspec.json.encode(row) + b"\n")
    if lines:
        (place / f"{ITEMS}.jsonl").write_bytes(b"".join(lines))


def _name(data: bytes) -> str:
    """A picture's name: equal pictures are one file."""
    return f"{IMAGES}/{blake2b(data, digest_size=8).hexdigest()}.png"


class _Pictures:
    """Rendered pictures, the last few kept: items of one picture come one after the other."""

    def __init__(self) -> None:
        self._kept: dict[Picture, bytes] = {}

    def of(self, picture: Picture) -> bytes:
        from overread.imaging import render

        if picture not in self._kept:
            if len(self._kept) >= _AT_ONCE:
                self._kept.pop(next(iter(self._kept)))
            lossless = msgspec.structs.replace(picture, wire="png")
            self._kept[picture] = render(lossless).data
        return self._kept[picture]


def _side_by_side(pictures: Sequence[bytes]) -> bytes:
    """One picture of several, in their order from left to right, on white."""
    from PIL import Image

    images = [Image.open(BytesIO(data)).convert("RGB") for data in pictures]
    width = sum(image.width for image in images) + _GAP * (len(images) - 1)
    whole = Image.new("RGB", (width, max(image.height for image in images)), "white")
    left = 0
    for image in images:
        whole.paste(image, (left, 0))
        left += image.width + _GAP
    made = BytesIO()
    whole.save(made, "PNG")
    return made.getvalue()


def _write_lines(place: Path, rows: Iterable[_Row]) -> int:
    count = 0
    with (place / f"{ITEMS}.jsonl").open("wb") as file:
        for one in rows:
            file.write(msgspec.json.encode(one.row) + b"\n")
            count += 1
    return count


def _write_parquet(place: Path, rows: Iterable[_Row]) -> int:
    """One file, its pictures in the column `image` of {bytes, path}; never all in memory."""
    import polars as pl

    picture = pl.Struct({"bytes": pl.Binary, "path": pl.String})
    count, parts, several = 0, list[Path](), iter(rows)
    with scratch_folder(place) as scratch:
        while some := list(islice(several, _AT_ONCE)):
            count += len(some)
            plain = [
                {name: cell for name, cell in one.row.items() if name not in ("image", "images")}
                for one in some
            ]
            frame = pl.DataFrame(plain, schema_overrides=_typed(plain), infer_schema_length=None)
            images = [{"bytes": one.image, "path": f"{one.row['case_id']}.png"} for one in some]
            frame = frame.with_columns(pl.Series("image", images, dtype=picture))
            parts.append(scratch / f"{len(parts)}.parquet")
            frame.write_parquet(parts[-1])
        if parts:
            frames = [pl.scan_parquet(part) for part in parts]
            pl.concat(frames, how="diagonal_relaxed").sink_parquet(place / f"{ITEMS}.parquet")
    return count


def _typed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Types that cannot be told where a part of the rows has only empty cells."""
    import polars as pl

    there = {name for row in rows for name in row}
    lists = {"options": pl.List(pl.String)}
    return {name: lists.get(name, pl.String) for name in there if name not in ("steps",)}


# ---------------------------------------------------------------- what is said of the set


def _sheet(
    folder: Path,
    made: Path,
    wanted: Wanted,
    items: Sequence[Item],
    options: Options,
    policy: Policy,
    counts: dict[str, int],
    left: dict[str, dict[str, int]],
) -> Sheet:
    reviewed = folder / REVIEWED
    return Sheet(
        name=wanted.name,
        title=options.title or wanted.name,
        description=options.description,
        edition=wanted.edition,
        seed=wanted.seed,
        form=options.form,
        licence=options.licence,
        creators=options.creators,
        url=options.url,
        version=options.version,
        published=options.published,
        cite=options.cite,
        policy=policy,
        rai=options.rai,
        items=tuple(items),
        licences=_licences(folder, items),
        counts=counts,
        left_out=left,
        funnel=tuple(funnel_of(folder)),
        made=kept.made_in(folder),
        reviewed=_read(reviewed, Reviewed) if reviewed.is_file() else Reviewed(),
        features={
            target: list(_features(made / target / f"{ITEMS}.parquet"))
            for target, count in counts.items()
            if count and options.form == "parquet"
        },
        sizes={
            target: (made / target / f"{ITEMS}.{options.form}").stat().st_size
            for target, count in counts.items()
            if count
        },
        tables=tuple(_checked(folder, wanted, items)),
    )


def _licences(folder: Path, items: Sequence[Item]) -> dict[str, int]:
    """The pictures of the items by licence: an item of two may name two."""
    shown = {name for item in items for name in item.candidates}
    found = candidates_of(kept.read_step(folder, "collect"))
    return Counter(one.licence for one in found if one.id in shown and one.licence)


def _checked(folder: Path, wanted: Wanted, items: Sequence[Item]) -> Iterator[Table]:
    """What is known of the set as it goes out: its form, blind readers, signs of leakage."""
    yield form_table(check_form(items, wanted.seed), wanted.name)
    blind = blind_report(items, wanted.options("filter", Filter).rate)
    if blind.n:
        yield blind_table(blind, wanted.name)
    path = folder / leakage.FILE
    if path.is_file():
        yield leakage.table_of(_read(path, leakage.Report), wanted.name)


def _read(path: Path, kind: type[T]) -> T:
    """What an earlier step said of the set."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.MsgspecError as error:
        raise BadInput(
            f"{path}: {error}. Remove it and run overread curate {path.stem} again."
        ) from None


def _features(path: Path) -> Iterator[str]:
    """The columns of a parquet file as `dataset_info` names them."""
    import polars as pl

    for name, kind in pl.read_parquet_schema(path).items():
        yield f"- name: {name}"
        if name == "image":
            yield "  dtype: image"
        elif isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
            yield "  list:"
            for field in kind.inner.fields:
                yield f"  - name: {field.name}"
                yield "    dtype: string"
        elif isinstance(kind, pl.List):
            yield "  list: string"
        else:
            yield "  dtype: string"


def _write_about(made: Path, folder: Path, sheet: Sheet) -> None:
    """The card, the datasheet, the funnel, every drop, and the metadata of what lies here."""
    (made / CARD).write_text(_card(sheet), encoding="utf-8")
    drops = (
        msgspec.json.encode(_drop(step, one), order="deterministic") + b"\n"
        for step in kept.steps_there(folder)
        for one in kept.read_step(folder, step)
        if one.verdict == "dropped"
    )
    with (made / DROPS).open("wb") as file:
        file.writelines(drops)
    figure_of(list(sheet.funnel), sheet.name).save(made / "funnel.svg")
    (made / "README.md").write_text(readme_of(sheet), encoding="utf-8")
    (made / CROISSANT).write_bytes(kept.to_json(croissant_of(sheet, made)))


def _drop(step: str, one: Record) -> dict[str, Any]:
    """A drop without any text of what was dropped: some may not be passed on."""
    facts = {name: fact for name, fact in one.facts.items() if not isinstance(fact, str)}
    return {
        "step": step,
        "id": one.id,
        "from": one.parents,
        "reason": one.reason,
        "by": one.by,
        "facts": facts,
    }


def _card(sheet: Sheet) -> str:
    """`dataset.toml`: who may see the set, and what every run of it has to say."""

    def quoted(text: str) -> str:
        # A TOML basic string is written alike, but for one sign that a served name may have too.
        return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")

    filters = ", ".join(quoted(name) for name in sheet.filters)
    return "\n".join(
        (
            f"name = {quoted(sheet.name)}",
            f'policy = "{sheet.policy}"',
            "",
            "[curated]",
            f'edition = "{sheet.edition}"',
            "# Models that the items were filtered by: every run of the set says so.",
            f"filters = [{filters}]",
            f"unreviewed = {sheet.unreviewed}",
            "",
        )
    )
