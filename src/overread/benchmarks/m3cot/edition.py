"""The two sets of rules of the M3CoT benchmark, and what is asked (M3COT 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from overread.benchmarks import rules
from overread.case import BadInput

MODES: Final = ("direct", "cot")
IMAGES: Final = ("original", "blank", "swap")
FOLLOWS: Final = ("truncated", "answer_first")
_MANY: Final = rules.whole(0, 1_000_000)


class Edition(rules.EditionRules, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    table = """
        rule        | authors   | corrected    | decides
        options *   | repeated  | once         | Whether options are looked for in the question and
            printed a second time.
        denominator | judged    | all          | Accuracy leaves items without a verdict out, or
            counts them as wrong.
        match       | truthy    | boolean      | A right answer by any truthy `match`, the string
            "false" too; or by true, false and their words.
        verdicts    | published | strict_first | How verdicts are read: fences cut and strict JSON,
            or backslashes doubled and repaired, as each of the authors' scripts does; or strict
            first, then repaired.
        step_types  | exact     | folded       | Step types by exact spelling, or trimmed,
            case-folded and by alias.
        no_steps    | published | zero         | Without steps the authors drop the item from
            precision and count 0 for recall; ours count 0 twice.
        empty_paths | kept      | apart        | Failed and empty paths: the empty path inside the
            task; or left out (failed) and never the reference where others are (empty).
        consistency | mode      | pairs        | Path consistency: the likeness of a task's paths to
            their most frequent one, which tasks of few items raise; or of every two of them.
        error_text  | searched  | ignored      | Which replies count as failed while they are timed:
            any text with Error or Failed, or none.
        reask *     | 0         | 2            | How often a judge that cannot be read is asked
            again, 0 to 10; with `verdicts=published` that of the order at least twice.
        boot        | 10000     | 10000        | Resamples of every bootstrap.
        seed        | 0         | 0            | Seed of bootstraps and sign flips, of the swaps,
            the timed items and those that judges are checked on.
    """

    options: Literal["repeated", "once"]
    denominator: Literal["judged", "all"]
    match: Literal["truthy", "boolean"]
    verdicts: Literal["published", "strict_first"]
    step_types: Literal["exact", "folded"]
    no_steps: Literal["published", "zero"]
    empty_paths: Literal["kept", "apart"]
    consistency: Literal["mode", "pairs"]
    error_text: Literal["searched", "ignored"]
    reask: Annotated[int, rules.whole(0, 10)]
    boot: rules.Boot
    seed: rules.Seed


class Options(rules.AskedOptions, frozen=True, kw_only=True):
    """What is asked."""

    table = """
        option        | kind         | says
        modes         |              | What is asked; steps and order are judged of `cot` only.
        images        |              | Also `blank`, a black image of the same size, and `swap`,
            another item's of the same task.
        follow = none |              | Also `truncated`, the answer after half of the model's own
            reasoning, and `answer_first`, before any.
        px            |              | The longer side of an image at most.
        max_tokens    |              | Tokens of a reply at most.
        temperature   |              | Temperature, unless the model's spec has one.
        timing        |              | How many items are timed, one at a time, the two modes in
            turn.
        checks        | judges       | Items whose control replies each judge judges first, to see
            whether it is fit; 0 checks nobody.
        variants      | judges       | How many of these are judged again with one harmless thing
            changed ([judging.md](judging.md#what-should-not-matter)).
        rubrics       | judges files | A folder with your own words for judges
            ([judging.md](judging.md#your-own-words)).
        root          | files        | Where images stand, if not beside the questions.
        people        | measured files | Filled sheets of `judge-sample`, several by commas
            ([judging.md](judging.md#numbers-put-right)).
    """

    modes: Annotated[tuple[str, ...], rules.some_of(*MODES)] = MODES
    images: Annotated[tuple[str, ...], rules.some_of(*IMAGES)] = ("original",)
    follow: Annotated[tuple[str, ...], rules.some_of(*FOLLOWS, none="none")] = ()
    px: Annotated[int, rules.whole(16, 8192)] = 768
    max_tokens: Annotated[int, rules.whole(1, 1_000_000)] = 3000
    temperature: Annotated[float, rules.number(0, 2)] = 0.1
    timing: Annotated[int, _MANY] = 0
    checks: Annotated[int, _MANY] = 20
    variants: Annotated[int, _MANY] = 0
    rubrics: rules.Folder = None
    root: rules.Folder = None
    people: rules.Sheets = None


def _complete(name: str, words: Mapping[str, str], given: dict[str, Any]) -> Options:
    """The options, unless they do not go together."""
    options = Options(**given)
    if options.follow and not ("cot" in options.modes and "original" in options.images):
        # What follows is made of the reader's own reasoning about the original image.
        raise BadInput(
            f"--set follow={words['follow']}: it follows the mode cot on the original image. Add "
            "cot to modes and original to images."
        )
    rules.check_variants(words, options.variants, options.checks)
    return options


BOOK: Final = rules.Rulebook("m3cot", Edition, Options, _complete)
AUTHORS, CORRECTED = BOOK.authors, BOOK.corrected
