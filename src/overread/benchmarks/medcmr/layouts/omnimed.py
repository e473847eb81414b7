"""OmniMedVQA: many classification sets as questions of two to four options.

`QA_information/Open-access/*.json`, one list for each source (question_id, image_path, question,
gt_answer, option_A to option_D, question_type, modality_type), and `Images/` two folders above.
`gt_answer` is the text of the right option; an item with two options of the same text, or whose
answer is none of them, is left out.

`modality_type` is the modality (one source writes `modality`), `question_type` the subtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from overread.benchmarks.left import Left
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import Loaded, Stated, gather, same_text, unlettered
from overread.benchmarks.medcmr.layouts.finding import Layout, Set, fields_of, records_of
from overread.benchmarks.medcmr.layouts.stating import modality_named, names_of, text_of

__all__ = ["LAYOUT"]

_NEEDED: Final = ("image_path", "question", "gt_answer", "option_A", "option_B")
_OPTIONS: Final = ("option_A", "option_B", "option_C", "option_D")
_TABLES: Final = ("QA_information", "Open-access")


def find(path: Path) -> Set | None:
    """A list, the folder of lists, or a folder above them."""
    if path.is_file():
        return _found((path,) if path.suffix.lower() == ".json" else ())
    for home in (path.joinpath(*_TABLES), path / _TABLES[1], path):
        if home.is_dir():
            files = tuple(sorted(home.glob("*.json")))
            found = _found(tuple(file for file in files if not file.name.startswith(".")))
            if found is not None:
                return found
    return None


def _found(files: Sequence[Path]) -> Set | None:
    kept = tuple(file for file in files if fields_of(file).issuperset(_NEEDED))
    if not kept:
        return None
    home = kept[0].absolute().parent
    for name in reversed(_TABLES):
        home = home.parent if home.name == name else home
    passed = [file.name for file in files if file not in kept]
    told = f"{len(passed)} files have no such items: {', '.join(passed[:3])}."
    return Set(kept, home, (told,) if passed else ())


def load(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
    return gather(_stated(found.files), root, seen=seen, remarks=found.remarks)


def _stated(files: Sequence[Path]) -> Iterator[Stated]:
    items = [item for file in files for item in records_of(file, _NEEDED)]
    named = names_of([record for _, record in items], "question_id")
    for index, (where, record) in enumerate(items, start=1):
        given = [text_of(record, name).strip() for name in _OPTIONS]
        while given and not given[-1]:
            given.pop()
        answer, case_id = text_of(record, "gt_answer"), named[index - 1]
        kept = unlettered(given)
        same = [same_text(text) for text in kept]
        if len(set(same)) < len(same):
            yield where, Left(case_id, f"{where}: two of its options are the same text")
            continue
        # With its letter or without, as the options are written.
        wanted = same_text(answer)
        texts = [same_text(text) for text in given]
        place = next((told.index(wanted) for told in (texts, same) if wanted in told), None)
        if place is None:
            shown = " ".join(answer.split())[:60]
            yield where, Left(case_id, f'{where}: gt_answer is "{shown}", none of its options')
            continue
        image = text_of(record, "image_path").strip()
        modality = text_of(record, "modality_type") or text_of(record, "modality")
        yield (
            where,
            MedCase(
                case_id=case_id,
                index=index,
                kind="mcq",
                question=text_of(record, "question"),
                # By its text alone: an option may be called "A".
                answer=LETTERS[place],
                options=kept,
                images=(image,) if image else (),
                modality=modality_named(modality),
                subtype=text_of(record, "question_type").strip() or None,
            ),
        )


LAYOUT: Final = Layout("OmniMedVQA", find, load)
