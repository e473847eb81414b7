"""`overread probe fit`: films and labels become a probe, which `probe:FOLDER` reads with.

Nothing that a probe set shows may be in its training: patients of its cases are left out, films
with the same bytes as any that is shown, and everybody who owns one of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from overread.benchmarks.files.fields import Fields, fields_of, read_fields
from overread.benchmarks.registry import class_of, with_topics
from overread.case import BadInput, Picture, Resize, Source, Traits
from overread.files import open_file
from overread.readers.probe import heads as probe_heads
from overread.readers.probe.encoders import DEFAULT, open_encoder
from overread.readers.probe.features import Vectors, features_folder, picture_name
from overread.readers.probe.heads import Card, Edition, Labelled, Part
from overread.runs._environment import environment
from overread.runs._opening import case_file, open_cases

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from overread.benchmarks.base import Benchmark

Watch = Callable[[Iterable[Any], int], Iterator[Any]]

# What a training table may call its columns, the first that it has.
_IMAGES: Final = ("image", "image_path", "jpg_rel_path", "path", "Path", "Image Index")
_PATIENTS: Final = ("patient", "subject_id", "patient_id", "Patient ID")
_NAMED: Final = {
    "image": _IMAGES,
    "patient": _PATIENTS,
    "finding": ("finding",),
    "label": ("label",),
}
# Beside 0 and 1: uncertain, not mentioned, or nothing said.
_UNSAID: Final = frozenset({"", "-1", "2", "3", "nan", "null", "none"})
_WORDLESS: Final = Traits(modality="vision", told_topic=True)


class Film(NamedTuple):
    """A film of the training table: where it is, whose, and what is said of it (0 or 1)."""

    source: Source
    patient: str
    labels: dict[str, int]


class Fitted(msgspec.Struct, frozen=True):
    """A probe, and lines for the user."""

    folder: str
    card: Card
    remarks: tuple[str, ...]


def fit_probe(
    *,
    train: str | Path,
    out: str | Path,
    cases: str | Path | None = None,
    encoder: str = DEFAULT,
    edition: str = "corrected",
    part: str = "whole",
    findings: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    images: str | Path | None = None,
    px: int | None = None,
    seed: int = 0,
    device: str | None = None,
    other_patients: bool = False,
    benchmark: str | None = None,
    watch: Watch | None = None,
) -> Fitted:
    """Fit a head for every finding of a training table on a frozen encoder's vectors.

    `cases` is the probe set that will be asked about, whose patients must not be learnt from;
    `other_patients` says that its ids are of another hospital's patients than the table's.
    """
    import numpy as np

    from overread.imaging import RESOLUTION

    if edition not in ("corrected", "authors"):
        raise BadInput(f'--edition {edition}: there is "corrected" and "authors".')
    if part not in ("whole", "local"):
        raise BadInput(f'--part {part}: there is "whole" and "local".')
    size = RESOLUTION if px is None else px
    if not 16 <= size <= 4096:
        raise BadInput(f"--px {size}: it is from 16 to 4096.")
    if not 0 <= seed < 2**32:
        raise BadInput(f"--seed {seed}: it is from 0 to {2**32 - 1}.")
    place = Path(out)
    probe_heads.check_free(place)
    opened = open_encoder(encoder, device)
    name = _benchmark(benchmark)
    films = _films(name, train, findings, columns or {}, where or {}, images)
    bench = None if cases is None else open_cases(name, cases, "corrected", {})
    names, unreadable = _names(films, size)
    shown = _Shown() if bench is None else _shown(bench)
    kept, excluded = _kept(films, names, shown, other_patients)
    vectors = Vectors(opened, features_folder(environment()))
    unreadable += _encode(
        vectors, [(films[at], names[at]) for at in kept], size, opened.batch, watch
    )
    kept = [at for at in kept if vectors.knows(names[at] or b"")]
    if not kept:
        raise BadInput(f"{train}: no film is left to fit on ({unreadable} cannot be read).")
    take = vectors.taken(part, [names[at] or b"" for at in kept])
    if not take(np.arange(1)).shape[1]:
        raise BadInput(f"--part {part}: encoder {encoder} has no patches. Use --part whole.")
    patients, labelled = _labelled([films[at] for at in kept], findings)
    edition_: Edition = "authors" if edition == "authors" else "corrected"
    part_: Part = "local" if part == "local" else "whole"
    fitted, told, missing = probe_heads.fit(take, len(kept), labelled, edition=edition_, seed=seed)
    card = probe_heads.write(
        place,
        {
            "edition": edition_,
            "part": part_,
            "encoder": _absolute(encoder),
            "encoder_identity": opened.identity,
            "encoder_runs_as": opened.runs_as,
            "px": size,
            "seed": seed,
            "train": _called(name, train),
            "films": len(kept),
            "patients": patients,
            "excluded_patients": excluded.patients,
            "excluded_films": excluded.films,
            "unreadable": unreadable,
            "missing": missing,
        },
        fitted,
        told,
    )
    return Fitted(str(place), card, tuple(_remarks(card, bench is not None, other_patients)))


def _benchmark(name: str | None) -> str:
    known = with_topics()
    if name is None:
        return known[0]
    if name not in known:
        raise BadInput(f"benchmark {name} asks no reader without words; {', '.join(known)} do.")
    return name


def _absolute(encoder: str) -> str:
    """An encoder's word as it is found again from whatever folder."""
    kind, _, what = encoder.partition(":")
    local = kind == "onnx" or (kind == "hf" and Path(what).expanduser().is_dir())
    return f"{kind}:{Path(what).expanduser().absolute()}" if local else encoder


def _called(benchmark: str, train: str | Path) -> str:
    """What the training table is called, and a digest of it."""
    path = case_file(benchmark, train)
    path = path / "manifest.csv" if path.is_dir() else path
    with open_file(path) as file:
        digest = sha256(file.read()).hexdigest()[:8]
    text = str(train)
    return f"{text if text.startswith('phantom:') else path.name}@{digest}"


# ---------------------------------------------------------------- the training table


def _films(
    benchmark: str,
    train: str | Path,
    findings: Sequence[str],
    columns: Mapping[str, str],
    where: Mapping[str, str],
    images: str | Path | None,
) -> list[Film]:
    """Films of a table: one column for each finding, or the columns `finding` and `label`."""
    path = case_file(benchmark, train)
    path = path / "manifest.csv" if path.is_dir() else path
    with open_file(path, named=f"--train {path}"):
        pass
    there = fields_of(path)
    for ours in columns:
        if ours not in _NAMED:
            raise BadInput(f"--column {ours}=…: its columns are {', '.join(_NAMED)}.")
    named = {
        ours: columns.get(ours) or next((one for one in theirs if one in there), theirs[0])
        for ours, theirs in _NAMED.items()
    }
    tall = {named["finding"], named["label"]} <= there
    wide = {} if tall else _wide(there, findings or class_of(benchmark).topics)
    needed = [named["image"], named["patient"], *where]
    for column in needed:
        if column not in there:
            has = ", ".join(sorted(there)[:20]) or "none"
            raise BadInput(
                f"{path} has no column {column}; its columns are {has}. Name it with --column."
            )
    if not tall and not wide:
        raise BadInput(
            f"{path} has neither the columns finding and label nor one that is named as a finding. "
            "Name them with --finding."
        )
    wanted = {column: set(values.split(",")) for column, values in where.items()}
    root = str((Path(images) if images is not None else path.parent).absolute())
    films: dict[tuple[str, str], Film] = {}
    for row in read_fields(path, needed if path.suffix.lower() in ("", ".csv", ".xlsx") else ()):
        if any((row.fact(column) or "") not in values for column, values in wanted.items()):
            continue
        image = row.required(named["image"], "every film needs one")
        patient = row.required(named["patient"], "every film needs its patient")
        told = _tall(row, named, findings) if tall else _told(row, wide)
        film = films.setdefault((image, patient), Film(Source(root, image), patient, {}))
        for finding, label in told.items():
            if film.labels.setdefault(finding, label) != label:
                row.wrong(finding if not tall else named["label"], "another row says otherwise")
    if not films:
        raise BadInput(f"{path}: no row is left to fit on. Check --where.")
    return list(films.values())


def _wide(there: Iterable[str], findings: Sequence[str]) -> dict[str, str]:
    """Columns that are named as findings: `Pleural Effusion` is pleural_effusion."""
    by_name = {column.strip().lower().replace(" ", "_"): column for column in there}
    return {finding: by_name[finding] for finding in findings if finding in by_name}


def _told(row: Fields, wide: Mapping[str, str]) -> dict[str, int]:
    said = {finding: _label(row, column) for finding, column in wide.items()}
    return {finding: label for finding, label in said.items() if label is not None}


def _tall(row: Fields, named: Mapping[str, str], findings: Sequence[str]) -> dict[str, int]:
    finding = row.fact(named["finding"])
    if finding is None or (findings and finding not in findings):
        return {}
    label = _label(row, named["label"])
    return {} if label is None else {finding: label}


def _label(row: Fields, column: str) -> int | None:
    """1 present, 0 absent; None where a film says neither."""
    word = row.text(column).strip().lower().removesuffix(".0")
    if word in ("0", "1"):
        return int(word)
    return None if word in _UNSAID else row.wrong(column, "it is 1, 0, or 2, 3, -1 or empty")


# ---------------------------------------------------------------- who is left out


class _Shown(NamedTuple):
    """What a probe set shows: its patients, and digests of all its films."""

    patients: frozenset[str] = frozenset()
    films: frozenset[bytes] = frozenset()


class _Excluded(NamedTuple):
    patients: int
    films: int


def _shown(bench: Benchmark) -> _Shown:
    """Patients of all cases, and the files of every picture that is shown, swaps among them."""
    from overread.imaging import digest

    patients: set[str] = set()
    sources: set[Source] = set()
    for case in bench.cases():
        patients.add(str(getattr(case, bench.patient_field, None) or ""))
        for trial in bench.trials(case, _WORDLESS):
            sources.update(p.source for p in trial.request.pictures if isinstance(p.source, Source))
    films = set()
    for source in sources:
        try:
            films.add(digest(source))
        except BadInput:  # not here: its patient is left out by name
            continue
    return _Shown(frozenset(patients - {""}), frozenset(films))


def _kept(
    films: Sequence[Film], names: Sequence[bytes | None], shown: _Shown, other_patients: bool
) -> tuple[list[int], _Excluded]:
    """The films to fit on, by their places, and how many were left out for the probe set."""
    from overread.imaging import digest

    gone = set() if other_patients else {f.patient for f in films} & shown.patients
    if shown.films:
        readable = (film for film, name in zip(films, names, strict=True) if name is not None)
        gone |= {film.patient for film in readable if digest(film.source) in shown.films}
    kept = [
        at
        for at, (film, name) in enumerate(zip(films, names, strict=True))
        if name is not None and film.patient not in gone
    ]
    return kept, _Excluded(len(gone), sum(film.patient in gone for film in films))


# ---------------------------------------------------------------- vectors


def _names(films: Sequence[Film], px: int) -> tuple[list[bytes | None], int]:
    """What each film is called among the kept vectors, None where its file cannot be read.

    Where none can, the first says why.
    """
    complaints: list[BadInput] = []

    def name(film: Film) -> bytes | None:
        try:
            return picture_name(film.source, px)
        except BadInput as error:
            complaints.append(error)
            return None

    with ThreadPoolExecutor() as pool:
        names = list(pool.map(name, films))
    if len(complaints) == len(films):
        raise complaints[0]
    return names, len(complaints)


def _encode(
    vectors: Vectors,
    films: Sequence[tuple[Film, bytes | None]],
    px: int,
    batch: int,
    watch: Watch | None,
) -> int:
    """Encode the films that have no vector yet; how many could not be opened."""
    fresh = {name: film for film, name in films if name is not None and not vectors.knows(name)}
    todo = list(fresh.items())
    starts = range(0, len(todo), batch)
    lost = 0
    with ThreadPoolExecutor() as pool:
        for start in watch(starts, len(starts)) if watch is not None else starts:
            part = todo[start : start + batch]
            opened = list(pool.map(lambda one: _pixels(one[1].source, px), part))
            good = [
                (name, seen)
                for (name, _), seen in zip(part, opened, strict=True)
                if seen is not None
            ]
            lost += len(part) - len(good)
            if good:
                vectors.learn([name for name, _ in good], [seen for _, seen in good])
    return lost


def _pixels(source: Source, px: int) -> NDArray[Any] | None:
    """A film as readers are shown it; None where it cannot be opened."""
    from overread.imaging import pixels, render

    try:
        return pixels(render(Picture(source, (Resize(px, px),))))
    except BadInput:
        return None


def _labelled(films: Sequence[Film], order: Sequence[str]) -> tuple[int, list[Labelled]]:
    """How many patients there are, and each finding's films among them, in the order asked for."""
    import numpy as np

    codes: dict[str, int] = {}
    whose = [codes.setdefault(film.patient, len(codes)) for film in films]
    told = {finding for film in films for finding in film.labels}
    found = []
    for finding in dict.fromkeys([*order, *sorted(told)]):
        at = [n for n, film in enumerate(films) if finding in film.labels]
        found.append(
            Labelled(
                finding,
                np.array(at, np.int64),
                np.array([films[n].labels[finding] for n in at], np.int8),
                np.array([whose[n] for n in at], np.int64),
            )
        )
    return len(codes), found


def _remarks(card: Card, compared: bool, other_patients: bool) -> Iterator[str]:
    if not compared:
        yield "no --cases were given, so nobody was left out of the training for a probe set."
    elif other_patients:
        yield (
            f"{card.excluded_patients} patients ({card.excluded_films} films) were left out: the "
            "probe set shows films of theirs. Ids were not compared (--other-patients)."
        )
    else:
        yield (
            f"{card.excluded_patients} patients of the probe set were left out of the training "
            f"({card.excluded_films} films)."
        )
    if card.unreadable:
        yield f"{card.unreadable} films cannot be read and were left out."
    for one in card.missing:
        yield f"no head for {one.finding}: {one.reason} ({one.films} films); it is never answered."
    for head in card.head:
        if not head.converged:
            yield f"the head for {head.finding} did not converge."
