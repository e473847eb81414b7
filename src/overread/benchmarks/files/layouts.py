"""One way into a set of cases: which layout lies at a path, its items, and what is left out.

A `Layout` says how it is recognised, which items it has and what a case is made of. A `SetReader`
holds all layouts of a benchmark; the first that knows what lies at a path reads it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from overread.benchmarks.base import Left, Loaded
from overread.benchmarks.files.card import Held, held_at, policy_of
from overread.benchmarks.files.fields import Fields, fields_of, read_fields, refuse_twice
from overread.benchmarks.files.sheets import quoted
from overread.benchmarks.packed import Packed
from overread.case import BadInput, Policy, Source

C = TypeVar("C")

# Where an item stands ("test.json item 3"), and its case, or why there is none.
Stated: TypeAlias = tuple[str, C | Left]
# Where a download keeps its tables: beside the images, or as Hugging Face lays data sets out.
_FOLDERS: Final = ("", "data", "MM")
# Absolute, a drive's, upwards, with another system's slashes, or with control characters.
_UNSAFE: Final = re.compile(r"^/|^[A-Za-z]:|(?:^|/)\.\.(?:/|$)|[\\\x00-\x1f]")


class FoundSet(NamedTuple):
    """A set that was found: its files, and the folder, archive or parquet file of its images.

    `place` is whatever else its layout found out, for its own use.
    """

    files: tuple[Path, ...]
    root: Path
    remarks: tuple[str, ...] = ()
    place: Any = None


class Contents(NamedTuple, Generic[C]):
    """What stands in a set: its items, and lines to be said before and after they are read."""

    items: Iterable[Stated[C]]
    remarks: Sequence[str] = ()
    afterwards: Callable[[], Iterable[str]] = tuple


class Layout(NamedTuple, Generic[C]):
    """How one set lies on a disk.

    `find` gives the set at a path, or None for what is not this layout; `read` what stands in it,
    with images below the root given, under the benchmark's options, for somebody to see or not.
    `needed` are the fields that its items are known by.
    """

    name: str
    find: Callable[[Path], FoundSet | None]
    read: Callable[[FoundSet, Path, Any, bool], Contents[C]]
    needed: tuple[str, ...] = ()


class Item(Fields, frozen=True, kw_only=True):
    """One item of a published set: its fields, its place from 1, its name and its images."""

    index: int
    case_id: str
    images: tuple[str, ...] = ()

    def left(self, why: str) -> Left:
        """The item as one that is not asked about."""
        return Left(self.case_id, f"{self.where}: {why}")


def published(
    name: str,
    suffixes: Sequence[str],
    needed: Sequence[str],
    case: Callable[[Item, Any], C | Left | None],
    *,
    images: Callable[[Fields], Iterable[str]] | Sequence[str],
    folders: Sequence[str],
    named_by: str = "",
    accepts: Callable[[Path], bool] | None = None,
    root: Callable[[Path], Path] = lambda file: file.parent,
) -> Layout[C]:
    """A set in one table: known by its suffix and columns, its images in one of some folders.

    `case` makes a case of an item (None passes it over); `images` are the files that its fields
    name, or the columns that hold their names, below the first of `folders` that has any.
    `named_by` is the field of the set's own ids.
    `accepts` looks at a file more closely; `root` says where images stand, by the table.
    """

    def find(path: Path) -> FoundSet | None:
        found = tables_at(path, suffixes, needed)
        if accepts is not None:
            found = [file for file in found if accepts(file)]
        if not found:
            return None
        file, remarks = one_table(found, path)
        return FoundSet((file,), root(file), remarks)

    def named(row: Fields) -> Iterable[str]:
        if callable(images):
            return images(row)
        return [row.lenient(column).strip() for column in images]

    def read(found: FoundSet, home: Path, options: Any, seen: bool) -> Contents[C]:
        listed = items_of(found.files, needed, home, named, folders, named_by)
        made = ((item.where, case(item, options)) for item in listed)
        return Contents(((where, one) for where, one in made if one is not None))

    return Layout(name, find, read, tuple(needed))


def tables_at(path: Path, suffixes: Sequence[str], needed: Sequence[str]) -> list[Path]:
    """The files at a path, or in a folder, of these suffixes that have all of these fields."""
    if path.is_file():
        listed = [path]
    else:
        homes = (path / name for name in _FOLDERS)
        listed = [file for home in homes if home.is_dir() for file in sorted(home.iterdir())]
    return [
        file
        for file in listed
        if file.suffix.lower() in suffixes
        and not file.name.startswith(".")
        and file.is_file()
        and fields_of(file).issuperset(needed)
    ]


def one_table(found: Sequence[Path], path: Path) -> tuple[Path, tuple[str, ...]]:
    """The one file that is meant: the only one, or the only one of a test split."""
    tests = [file for file in found if file.stem.casefold().startswith("test")]
    if len(found) > 1 and len(tests) != 1:
        named = ", ".join(file.name for file in found[:6])
        raise BadInput(f"{path} holds several sets of questions: {named}. Give one of them.")
    if len(found) == 1:
        return found[0], ()
    others = ", ".join(file.name for file in found if file != tests[0])
    return tests[0], (f"the items are those of {tests[0].name}; not of {others}.",)


def items_of(
    files: Sequence[Path],
    needed: Sequence[str],
    root: Path,
    images: Callable[[Fields], Iterable[str]],
    folders: Sequence[str],
    named_by: str = "",
) -> Iterator[Item]:
    """The items of these files, named by a field of theirs or by their places."""
    rows = [row for file in files for row in read_fields(file, needed)]
    given = [[name for name in images(row) if name] for row in rows]
    folder = images_below(root, [name for names in given for name in names], folders)
    named = _names_of(rows, named_by)
    for place, (row, case_id, names) in enumerate(zip(rows, named, given, strict=True), start=1):
        yield Item(
            row.where,
            row.cells,
            row.remedy,
            index=place,
            case_id=case_id,
            images=tuple(below(folder, name) for name in names),
        )


def _names_of(rows: Sequence[Fields], field: str) -> list[str]:
    """What items are called: by the set's own ids where each has its own, else by their places."""
    own = [row.lenient(field).strip() for row in rows] if field else []
    if own and all(own) and len(set(own)) == len(own):
        return own
    return [str(place) for place in range(1, len(rows) + 1)]


def images_below(root: Path, names: Sequence[str], folders: Sequence[str]) -> str:
    """In which of these folders the images stand, with a slash: the first that has any of them."""
    for folder in folders:
        prefix = f"{folder}/" if folder else ""
        if any((root / (prefix + name)).is_file() for name in names[:20] if ".." not in name):
            return prefix
    there = next((folder for folder in folders if folder and (root / folder).is_dir()), folders[0])
    return f"{there}/" if there else ""


# ---------------------------------------------------------------- names of images


def unsafe_name(name: str) -> str | None:
    """Why a name of a file must not be followed; None for one that stays below its root."""
    if not name.strip():
        return "its image has no name"
    if _UNSAFE.search(name):
        shown = "".join(letter if letter.isprintable() else "?" for letter in quoted(name, 60))
        return f'its image "{shown}" is no safe name: a path below the set, with / and without ..'
    return None


def below(prefix: str, name: str) -> str:
    """A name with the folder it stands in; an unsafe one stays as it is, to be refused as such."""
    return name if unsafe_name(name) else prefix + name


def first_of(names: Sequence[str], most: int = 3) -> str:
    """The first few of some names, and how many more there are."""
    shown = ", ".join(quoted(name, 80) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


class _Images:
    """Which images are there; each is looked for once. A class, for it counts."""

    def __init__(self, root: Path) -> None:
        from overread.imaging import archive, is_archive

        self._root = root
        self._archive = archive(root) if is_archive(root) else None
        self._known: dict[str, str | None] = {}
        self._beside: dict[str, frozenset[str]] = {}
        self._missed: Counter[str] = Counter()

    def lack(self, names: Iterable[str]) -> str | None:
        """What is wrong with the first of these images that cannot be had."""
        for name in names:
            if name not in self._known:
                self._known[name] = self._looked(name)
            told = self._known[name]
            if told is not None:
                self._missed[name] += 1
                return told
        return None

    def _looked(self, name: str) -> str | None:
        from overread.imaging import check_there

        folder, _, file = name.rpartition("/")
        if file in self._beside.get(folder, ()):
            return None
        try:
            if self._archive is not None:
                self._archive.entry(name)
                return None
            check_there(Source(str(self._root), name))
        except BadInput as error:
            return " ".join(str(error).split()).rstrip(".")
        # Where one image is there and its folder is sound, so are the plain files beside it.
        if folder not in self._beside and self._root.is_dir():
            with os.scandir(self._root / folder) as listed:
                plain = (entry.name for entry in listed if entry.is_file(follow_symlinks=False))
                self._beside[folder] = frozenset(plain)
        return None

    def remarks(self) -> Iterator[str]:
        if self._missed:
            names, items = list(self._missed), self._missed.total()
            images = "1 image is" if len(names) == 1 else f"{len(names)} images are"
            left = "1 item is" if items == 1 else f"{items} items are"
            yield f"{images} not to be had, so that {left} left out: {first_of(names)}."


# ---------------------------------------------------------------- all layouts of a benchmark


class SetReader(msgspec.Struct, Generic[C], frozen=True, kw_only=True):
    """Every layout that a benchmark reads, in the order they are tried.

    `case` is the struct that all make of an item. `expected` says what may lie at a path, `what`
    what such a thing is called and `item` one of its parts. `images` and `name` are those of a
    case, `lack` what keeps it from being asked, and `remarks` lines to be said of the cases.
    """

    layouts: tuple[Layout[C], ...]
    case: type[C]
    expected: str
    images: Callable[[C], Iterable[str]]
    name: Callable[[C], str]
    lack: Callable[[C], str | None] = lambda case: None
    remarks: Callable[[Sequence[C]], Iterable[str]] = lambda cases: ()
    what: str = "set of questions"
    item: str = "item"

    def find(self, path: str | Path) -> tuple[Layout[C], FoundSet]:
        """The layout that knows what lies at a path, and what it found there."""
        place = Path(path)
        try:
            there = place.exists()
            for layout in self.layouts if there else ():
                found = layout.find(place)
                if found is not None:
                    return layout, found
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}. Mend its rights.") from None
        if there:
            raise BadInput(f"{path} is no {self.what}. Expected {self.expected}.")
        raise BadInput(f"{path}: there is no such file or folder. Expected {self.expected}.")

    def root_of(self, path: str | Path, root: str | None) -> Path:
        """What images stand below, `root` where one is given: a folder, archive or parquet file."""
        return Path(root) if root is not None else self.find(path)[1].root

    def policy_at(self, path: str | Path, root: str | None, images: Iterable[str] = ()) -> Policy:
        """Who may see the set: the strictest card where its files and these images stand.

        That of the folder named by `root=` counts too, whatever stands there.
        """
        given = Path(path)
        folder = (given if given.is_dir() else given.parent).absolute()
        found = self.find(path)[1]
        home = found.root.absolute()
        # The folder above the one given, where a layout has its images there.
        top = home if home in folder.parents else folder
        held = [Held(top, tuple(file.absolute() for file in found.files))]
        if root is not None:
            held.append(held_at(Path(root), ("", *images)))
        elif home.is_dir():  # an archive or a parquet file is among the files
            held.append(Held(top, (os.path.join(home, image) for image in images)))
        return policy_of(*held)

    def load(
        self, path: str | Path, options: Any, root: str | None = None, *, seen: bool = True
    ) -> Loaded[C]:
        """The cases at a path, the items left out, each with its reason, and what should be told.

        One damaged item never stops the others. Where nobody is to see them (an import), images
        may be absent.
        """
        layout, found = self.find(path)
        home = Path(root) if root is not None else found.root
        contents = layout.read(found, home, options, seen)
        cases = Packed(self.case)
        left: list[Left] = []
        taken: dict[str, str] = {}
        there = _Images(home.absolute()) if seen else None
        for where, case in contents.items:
            if isinstance(case, Left):
                left.append(case)
                continue
            called, why = self.name(case), self.lack(case)
            first = taken.setdefault(called, where)
            if first != where:
                why = f"{called} stands in {first} already"
            if why is None and there is not None:
                why = there.lack(self.images(case))
            if why is None:
                cases.append(case)
            else:
                left.append(Left(called, f"{where}: {why}"))
        if not cases:
            told = "; the first is {}: {}".format(*left[0]) if left else ""
            raise BadInput(
                f"{path}: no {self.item} can be asked about, {len(left)} are left out{told}."
            )
        missed = () if there is None else there.remarks()
        before, after = (*found.remarks, *contents.remarks), contents.afterwards()
        return Loaded(cases, left, (*before, *missed, *self.remarks(cases), *after))


def own_set(
    suffixes: Sequence[str],
    needed: Sequence[str],
    case: Callable[[Fields, int], C],
    *,
    called: str,
    fits: Callable[[frozenset[str]], bool] = lambda fields: True,
    keeps: Callable[[C, Any], bool] = lambda case, options: True,
    folder: str = "",
) -> Layout[C]:
    """A set of one's own: a file, or the one file of a folder that has questions and answers.

    It may stand in `folder` below that one, where a set is several benchmarks' own. Images stand
    beside the file; those of a parquet file in its rows.

    `case` makes a case of a row and its place from 1, and refuses a damaged one; each has its own
    `case_id`. `called` are its rows in complaints. `fits` looks at the fields of a file in a
    folder; `keeps` says which cases the options ask for.
    """

    def find(path: Path) -> FoundSet | None:
        if not path.is_dir():
            if path.suffix.lower() not in suffixes or (embeds(path) and not has(path)):
                return None
            return FoundSet((path,), path if embeds(path) else path.parent)
        homes = [path, path / folder] if folder and (path / folder).is_dir() else [path]
        for home in homes:
            listed = sorted(file for file in home.iterdir() if file.suffix.lower() in suffixes)
            found = [file for file in listed if file.is_file() and has(file)]
            if len(found) > 1:
                named = ", ".join(file.name for file in found[:6])
                raise BadInput(f"{home}: {named} all have questions and answers. Give one of them.")
            if found:
                return find(found[0])
        return None

    def embeds(file: Path) -> bool:
        return file.suffix.lower() == ".parquet"

    def has(file: Path) -> bool:
        """Whether a table has what is needed; others' parquet looks alike: ours names its items."""
        own = fields_of(file)
        return own.issuperset(needed) and fits(own) and (not embeds(file) or "case_id" in own)

    def items(path: Path, options: Any) -> Iterator[Stated[C]]:
        taken: dict[str, str] = {}
        for place, row in enumerate(read_fields(path, needed), start=1):
            if embeds(path):  # an image is named by its row
                row = msgspec.structs.replace(row, cells={**row.cells, "image": str(place - 1)})
            made: Any = case(row, place)
            refuse_twice(taken, made.case_id, row.where, "Give each item its own case_id.")
            if keeps(made, options):
                yield row.where, made
        if not taken:
            raise BadInput(f"{path} has no {called} for each question.")

    def read(found: FoundSet, root: Path, options: Any, seen: bool) -> Contents[C]:
        return Contents(items(found.files[0], options))

    return Layout("own", find, read)
