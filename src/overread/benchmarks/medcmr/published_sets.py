"""Sets that a laboratory has already, each read as it lies there (docs/hard-cases.md).

MedFrameQA, MedXpertQA, OmniMedVQA and PMC-VQA have options; PathVQA, SLAKE and VQA-RAD are of open
and yes-no questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files.fields import Fields, fields_of
from overread.benchmarks.files.layouts import (
    Contents,
    FoundSet,
    Item,
    Layout,
    Stated,
    items_of,
    one_table,
    published,
    tables_at,
)
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr import cases
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import Options

# ---------------------------------------------------------------- an item as a case

MODALITY_PATHOLOGY: Final = cases.MODALITIES[0]
_YES_NO: Final[Mapping[str, tuple[str, tuple[str, str]]]] = {
    "yes": ("A", ("yes", "no")),
    "no": ("B", ("yes", "no")),
    "是": ("A", ("是", "否")),
    "是的": ("A", ("是", "否")),
    "否": ("B", ("是", "否")),
    "不是": ("B", ("是", "否")),
}


def yes_or_no(answer: str) -> tuple[str, tuple[str, str]] | None:
    """The letter and the options of a question answered by yes or no; None of any other."""
    return _YES_NO.get(cases.same_text(answer).rstrip("."))


def _case(
    item: Item, answer: str, options: Sequence[str], question: str | None = None, **facts: Any
) -> MedCase:
    """An item as a case; of facts without a word there are none."""
    return MedCase(
        case_id=item.case_id,
        index=item.index,
        kind="mcq" if options else "open",
        question=item.lenient("question") if question is None else question,
        images=item.images,
        answer=answer,
        options=tuple(options),
        **{name: fact or None for name, fact in facts.items()},
    )


def _free(item: Item, *, closed: bool = True, **facts: Any) -> MedCase:
    """A question without options: one of yes or no where it is `closed`, else an open one."""
    answer = item.lenient("answer")
    either = yes_or_no(answer) if closed else None
    return _case(item, *(either or (answer.strip(), ())), **facts)


def _choice(
    item: Item, answer: str, options: Sequence[str], *, texts: bool = True, **facts: Any
) -> MedCase | Left:
    """A question with options; left out where the answer is not exactly one of them.

    Letters that all options carry (`A. left`) are taken off: the prompt has its own.
    """
    letter, kept = cases.answer_among(answer, options, texts=texts)
    if letter is None or len(kept) > len(LETTERS):
        shown = " ".join(answer.split())[:60]
        return item.left(f'answer is "{shown}", not exactly one of its options')
    return _case(item, letter, kept, **facts)


def _word(row: Fields, name: str) -> str:
    return row.lenient(name).strip()


def _closed(item: Item) -> bool:
    return _word(item, "answer_type").upper() == "CLOSED"


# ---------------------------------------------------------------- MedFrameQA
# Several frames of teaching videos in one question.
#
# JSON lines or a JSON list with question, options (a list of texts), correct_answer (a letter, or
# the text of an option) and image_1 to image_5, files below the set's folder.


def _medframe(item: Item, options: Options) -> MedCase | Left:
    given = item.raw("options")
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        return item.left("options are a list of texts")
    modality = cases.modality_named(item.lenient("modality"))
    return _choice(item, item.lenient("correct_answer"), given, modality=modality)


_MEDFRAME: Final = published(
    "MedFrameQA",
    (".json", ".jsonl"),
    ("question", "options", "correct_answer", "image_1"),
    _medframe,
    images=[f"image_{number}" for number in range(1, 6)],
    folders=("", "images"),
    named_by="question_id",
)


# ---------------------------------------------------------------- MedXpertQA
# The multimodal part: expert examinations with several images and five options.
#
# JSON lines or parquet (`MM/test.jsonl`: id, question, options by letter, label, images,
# medical_task, body_system, question_type) and a folder `images/`. The question repeats the options
# at its end (`Answer Choices: (A) ...`); that part is cut off where it holds every option, so that
# options stand where the protocol puts them, and a question asked openly does not give them away.
#
# `medical_task` is the ability (Diagnosis is DX), `body_system` the system, `question_type`
# (Reasoning, Understanding) the subtype.


def _medxpert(item: Item, options: Options) -> MedCase | Left:
    given = _by_letters(item.raw("options"))
    if given is None:
        return item.left("options are texts by their letters, from A without a gap")
    return _choice(
        item,
        item.lenient("label"),
        given,
        texts=False,
        question=_without_choices(item.lenient("question"), given),
        ability=cases.label_or_own("ability", _word(item, "medical_task")),
        system=cases.label_or_own("system", _word(item, "body_system")),
        subtype=_word(item, "question_type"),
    )


def _by_letters(given: Any) -> list[str] | None:
    """The texts in the order of their letters; None of anything else."""
    if not isinstance(given, dict):
        return None
    # Of a parquet file, letters that an item has not are there and empty.
    kept = {str(letter).strip(): text for letter, text in given.items() if text is not None}
    letters = sorted(kept)
    if "".join(letters) != LETTERS[: len(letters)] or not letters:
        return None
    texts = [kept[letter] for letter in letters]
    plain = all(isinstance(text, str | int | float) for text in texts)
    return [str(text) for text in texts] if plain else None


def _without_choices(question: str, options: Sequence[str]) -> str:
    """The question without the list of options at its end."""
    marks = list(re.finditer(r"\s*\bAnswer Choices\s*:", question, re.IGNORECASE))
    if not marks:
        return question
    tail = cases.same_text(question[marks[-1].end() :])
    whole = all(cases.same_text(text) in tail for text in options)
    return question[: marks[-1].start()] if whole else question


def _medxpert_images(row: Fields) -> Iterator[str]:
    given = row.raw("images")
    for name in given if isinstance(given, list) else [given]:
        if isinstance(name, str):
            yield name.strip()


def _beside_images(file: Path) -> Path:
    """Images stand beside the folder MM."""
    home = file.absolute().parent
    beside = (home / "images").is_dir() or not (home.parent / "images").is_dir()
    return home if beside else home.parent


_MEDXPERT: Final = published(
    "MedXpertQA",
    (".jsonl", ".parquet", ".json"),
    ("question", "options", "label", "images"),
    _medxpert,
    images=_medxpert_images,
    folders=("images", ""),
    named_by="id",
    root=_beside_images,
)


# ---------------------------------------------------------------- OmniMedVQA
# Many classification sets as questions of two to four options.
#
# `QA_information/Open-access/*.json`, one list for each source (question_id, image_path, question,
# gt_answer, option_A to option_D, question_type, modality_type), and `Images/` two folders above.
# `gt_answer` is the text of the right option; an item with two options of the same text, or whose
# answer is none of them, is left out.
#
# `modality_type` is the modality (one source writes `modality`), `question_type` the subtype.

_OMNIMED_FIELDS: Final = ("image_path", "question", "gt_answer", "option_A", "option_B")
_OMNIMED_TABLES: Final = ("QA_information", "Open-access")


def _find_omnimed(path: Path) -> FoundSet | None:
    """A list, the folder of lists, or a folder above them."""
    if path.is_file():
        return _omnimed_lists((path,) if path.suffix.lower() == ".json" else ())
    for home in (path.joinpath(*_OMNIMED_TABLES), path / _OMNIMED_TABLES[1], path):
        if home.is_dir():
            files = sorted(home.glob("*.json"))
            found = _omnimed_lists([file for file in files if not file.name.startswith(".")])
            if found is not None:
                return found
    return None


def _omnimed_lists(files: Sequence[Path]) -> FoundSet | None:
    kept = tuple(file for file in files if fields_of(file).issuperset(_OMNIMED_FIELDS))
    if not kept:
        return None
    home = kept[0].absolute().parent
    for name in reversed(_OMNIMED_TABLES):
        home = home.parent if home.name == name else home
    passed = [file.name for file in files if file not in kept]
    told = f"{len(passed)} files have no such items: {', '.join(passed[:3])}."
    return FoundSet(kept, home, (told,) if passed else ())


def _read_omnimed(found: FoundSet, root: Path, options: Options, seen: bool) -> Contents[MedCase]:
    items = items_of(
        found.files,
        _OMNIMED_FIELDS,
        root,
        images=lambda row: [_word(row, "image_path")],
        folders=("",),
        named_by="question_id",
    )
    return Contents((item.where, _omnimed(item)) for item in items)


def _omnimed(item: Item) -> MedCase | Left:
    given = [_word(item, f"option_{letter}") for letter in "ABCD"]
    while given and not given[-1]:
        given.pop()
    kept = cases.unlettered(given)
    same = [cases.same_text(text) for text in kept]
    if len(set(same)) < len(same):
        return item.left("two of its options are the same text")
    # With its letter or without, as the options are written.
    answer = item.lenient("gt_answer")
    wanted, texts = cases.same_text(answer), [cases.same_text(text) for text in given]
    place = next((told.index(wanted) for told in (texts, same) if wanted in told), None)
    if place is None:
        return item.left(f'gt_answer is "{" ".join(answer.split())[:60]}", none of its options')
    modality = cases.modality_named(item.lenient("modality_type") or item.lenient("modality"))
    # By its text alone: an option may be called "A".
    subtype = _word(item, "question_type")
    return _case(item, LETTERS[place], kept, modality=modality, subtype=subtype)


_OMNIMED: Final = Layout("OmniMedVQA", _find_omnimed, _read_omnimed)


# ---------------------------------------------------------------- PMC-VQA
# Figures of open papers with four choices.
#
# A csv with Figure_path, Question, `Choice A` to `Choice D` and Answer, with images in `figures/`
# (or `images/`). The second edition (`test_2.csv`) has Caption, and a letter as Answer; the first
# has the text of the right choice there and its letter in Answer_label. Choices may be written with
# their letters (` A: the liver`), which are taken off. The caption is the figure's legend, of all
# of its panels: judges see it, readers never.

_PMC_VQA_OPTIONS: Final = ("Choice A", "Choice B", "Choice C", "Choice D")


def _pmc_vqa(item: Item, options: Options) -> MedCase | Left:
    given = [item.lenient(name) for name in _PMC_VQA_OPTIONS]
    answer = _word(item, "Answer_label") or item.lenient("Answer")
    question, caption = _word(item, "Question"), _word(item, "Caption")
    return _choice(item, answer, given, question=question, caption=caption)


_PMC_VQA: Final = published(
    "PMC-VQA",
    (".csv",),
    ("Figure_path", "Question", *_PMC_VQA_OPTIONS, "Answer"),
    _pmc_vqa,
    images=("Figure_path",),
    folders=("figures", "images", "images_2", ""),
)


# ---------------------------------------------------------------- SLAKE
# Questions in English and Chinese about slices and radiographs.
#
# A JSON list (`test.json`: img_name, question, answer, q_lang, location, modality, answer_type,
# content_type, qid) beside `imgs/<img_name>`. `language` keeps the items of one language; all are
# kept by default. Closed questions answered by yes or no have these two options; other closed ones
# (`left`, `CT`) are open, for the set lists no options.
#
# `q_lang` is the language, `modality` the modality, `location` the system as given, and
# `content_type` (Organ, Abnormality, ...) the subtype.


def _slake(item: Item, options: Options) -> MedCase | None:
    language = _word(item, "q_lang").lower()
    if options.language not in ("all", language):
        return None
    return _free(
        item,
        closed=_closed(item),
        language=language,
        modality=cases.modality_named(item.lenient("modality")),
        system=_word(item, "location"),
        subtype=_word(item, "content_type"),
    )


_SLAKE: Final = published(
    "SLAKE",
    (".json",),
    ("img_name", "question", "answer", "q_lang", "answer_type"),
    _slake,
    images=("img_name",),
    folders=("imgs", "images", ""),
    named_by="qid",
)


# ---------------------------------------------------------------- parquet files with pictures
# The Hugging Face form in which VQA-RAD and PathVQA are handed on: image, question, answer.
#
# An image is called by its row, from 0. Nothing says which questions are closed, so that every
# answer of yes or no makes one with these options.

_PICTURED_FIELDS: Final = ("image", "question", "answer")
# A set with options must not be asked without them.
_OPTION_FIELDS: Final = frozenset({"options", "choices", "option_A", "Choice A", "A"})


def _find_pictured(path: Path) -> FoundSet | None:
    """The one such file at a path; its images stand in the file itself."""
    found = [
        file
        for file in tables_at(path, (".parquet",), _PICTURED_FIELDS)
        if not fields_of(file) & _OPTION_FIELDS and _holds_pictures(file)
    ]
    if not found:
        return None
    file, remarks = one_table(found, path)
    return FoundSet((file,), file, remarks)


def _holds_pictures(file: Path) -> bool:
    import polars as pl

    kind = pl.read_parquet_schema(file)["image"]
    return isinstance(kind, pl.Struct) and any(field.name == "bytes" for field in kind.fields)


def _pictured_items(found: FoundSet, modality: str | None) -> Iterator[Stated[MedCase]]:
    """The rows as cases, all of one modality where the set has but one."""
    nowhere = Path()
    for row in items_of(found.files, _PICTURED_FIELDS, nowhere, lambda row: (), ("",)):
        item = msgspec.structs.replace(row, images=(str(row.index - 1),))
        yield item.where, _free(item, modality=modality)


def _also_pictured(
    table: Layout[MedCase], find: Callable[[Path], FoundSet | None], modality: str | None = None
) -> Layout[MedCase]:
    """A set that is handed on as a table and as a parquet file; `find` knows both."""

    def read(found: FoundSet, root: Path, options: Options, seen: bool) -> Contents[MedCase]:
        if found.root == found.files[0]:
            return Contents(_pictured_items(found, modality))
        return table.read(found, root, options, seen)

    return table._replace(find=find, read=read)


# ---------------------------------------------------------------- PathVQA
# Pathology from textbooks and a digital library.
#
# The Hugging Face form is a parquet file with image, question and answer; else a csv, JSON list or
# JSON lines with the same columns, where `image` is a file of a folder `images/`, with or without
# its suffix. Since other sets have these columns too, the path must also hold the set's name. All
# items are of pathology. Answers of yes or no make a question with these two options.

# Columns that PathVQA has not: a set of one's own is read as such.
_NOT_PATH_VQA: Final = frozenset({"options", "A", "kind", "dimension", "caption", "case_id"})
_PATH_VQA_NAMES: Final = ("pathvqa", "pvqa")


def _path_vqa_image(row: Fields) -> Iterator[str]:
    name = _word(row, "image")
    yield name if not name or Path(name).suffix else f"{name}.jpg"


_PATH_VQA_TABLE: Final = published(
    "PathVQA",
    (".csv", ".json", ".jsonl"),
    _PICTURED_FIELDS,
    lambda item, options: _free(item, modality=MODALITY_PATHOLOGY),
    images=_path_vqa_image,
    folders=("images", "images/test", "images/val", "images/train", ""),
    accepts=lambda file: not fields_of(file) & _NOT_PATH_VQA,
)


def _find_path_vqa(path: Path) -> FoundSet | None:
    """Only where the file or one of the three folders above it is called after the set."""
    plain = [cases.folded(part) for part in path.absolute().parts[-4:]]
    if not any(name in part for part in plain for name in _PATH_VQA_NAMES):
        return None
    return _find_pictured(path) or _PATH_VQA_TABLE.find(path)


_PATH_VQA: Final = _also_pictured(_PATH_VQA_TABLE, _find_path_vqa, MODALITY_PATHOLOGY)


# ---------------------------------------------------------------- VQA-RAD
# Radiographs and slices, questions by clinicians.
#
# The official form is one JSON list (`VQA_RAD Dataset Public.json`: qid, image_name, image_organ,
# answer, answer_type, question_type, question) beside a folder of images; the Hugging Face form a
# parquet file with image, question and answer. Questions that are closed and answered by yes or no
# have these two options; without an answer_type every answer of yes or no is closed.
#
# `question_type` (PRES, MODALITY, ...) is the subtype and `image_organ` (HEAD, CHEST, ABD) the
# system, both as given; the modality is not stated.


def _vqa_rad(item: Item, options: Options) -> MedCase:
    subtype, system = _word(item, "question_type"), _word(item, "image_organ")
    return _free(item, closed=_closed(item), subtype=subtype, system=system)


_VQA_RAD_TABLE: Final = published(
    "VQA-RAD",
    (".json",),
    ("image_name", "question", "answer", "answer_type", "image_organ"),
    _vqa_rad,
    images=("image_name",),
    folders=("VQA_RAD Image Folder", "images", "imgs", ""),
    named_by="qid",
)
_VQA_RAD: Final = _also_pictured(
    _VQA_RAD_TABLE, lambda path: _VQA_RAD_TABLE.find(path) or _find_pictured(path)
)


PUBLISHED_SETS: Final[tuple[Layout[MedCase], ...]] = (
    _SLAKE,
    _PMC_VQA,
    _OMNIMED,
    _MEDXPERT,
    _MEDFRAME,
    _PATH_VQA,
    # Last: its parquet form has columns that many sets have.
    _VQA_RAD,
)
