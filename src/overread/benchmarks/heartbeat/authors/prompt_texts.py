"""The published prompts, word for word: protocol strings, slips and blanks included (HEARTBEAT 3).

The words differ little between the families, so each sentence stands here once; what a family has
for itself, and every slip, is named where it enters.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_RADIOLOGIST: Final = (
    "You are a senior radiologist. Analyze only the provided ultrasound video frames."
)
_ANALYST: Final = "You are a video analysis expert. Analyze only the provided frames."
_SILENT: Final = " Think silently and do not reveal your reasoning."
_CARDIOLOGIST: Final = (
    "You are a senior cardiologist specialized in echocardiography. "
    "Analyze only the provided ultrasound frames."
)

# The phases a format asks for, in its order, as they are called in a reply.
PHASES: Final = {
    "edv_esv": ("EDV", "ESV"),
    "esv_edv": ("ESV", "EDV"),
    "edv": ("EDV",),
    "esv": ("ESV",),
}
# What a phase is called where nothing medical is.
AREAS: Final = {"EDV": "LARGEST_AREA_INDEX", "ESV": "SMALLEST_AREA_INDEX"}
_SIZES: Final = {"EDV": "largest", "ESV": "smallest"}


class Numbers(NamedTuple):
    """NUM, idx_low and idx_high of a prompt: how many frames there are, and the range named."""

    frames: int
    low: int
    high: int


def published_system(task: str, context: str, output: str, name: str) -> str:
    """The system message of a prompt; `name` is the family's in this task."""
    if task == "t2" and name == "qwen":
        return (_ANALYST if context == "non_medical" else _CARDIOLOGIST) + _SILENT
    # The slip of two non-medical prompts: the radiologist stayed.
    slip = task == "t2" and output == "esv" and name in ("interleave", "gemma")
    return _ANALYST if context == "non_medical" and not slip else _RADIOLOGIST


def published_text(task: str, context: str, output: str, name: str, numbers: Numbers | None) -> str:
    """The text of a prompt; the two-frame task has no numbers."""
    if task == "t2":
        return _two_frames(context, PHASES[output][0], name)
    if numbers is None:
        raise ValueError("a question about a window needs its numbers")
    if context == "non_medical":
        text, reply = _t1_areas(output, numbers)
    else:
        write = _t1_segmented if context == "segmented" else _t1_original
        text, reply = write(output, name, numbers)
    text += f"\nReply exactly as: {reply}."
    # Two of Gemma's non-medical prompts lack its addition.
    if name == "gemma" and not (context == "non_medical" and output in ("esv_edv", "edv")):
        text += (
            "\nYou must not say things like 'Okay' or explain what you are doing."
            f"Output only one line in this exact format:\n{reply}. Do not say anything else."
        )
    return text


# ---------------------------------------------------------------- T1: a window


def _reply(names: tuple[str, ...]) -> str:
    return "Frame: " + ", ".join(f"{name}=<int>" for name in names)


def _cavity(phase: str) -> str:
    return f"{phase} ({_SIZES[phase]} Left Ventricle cavity)"


def _find(output: str, numbers: Numbers, slip: str = "") -> str:
    targets = " and ".join(_cavity(phase) for phase in PHASES[output])
    return (
        f"Find the frame indices of {targets}{slip} from input frames indexing ranging in "
        f"[{numbers.low}, {numbers.high}]."
    )


def _t1_original(output: str, name: str, numbers: Numbers) -> tuple[str, str]:
    count = numbers.frames
    slip = " and" if (name, output) == ("interleave", "edv") else ""
    return (
        f"I sampled exactly {count} frames from the video. Only use these {count} frames.\n"
        + _find(output, numbers, slip)
    ), _reply(PHASES[output])


def _red_area(phase: str) -> str:
    return f"Decide which frame is {phase}, that has the {_SIZES[phase]} red region area."


def _t1_segmented(output: str, name: str, numbers: Numbers) -> tuple[str, str]:
    phases = PHASES[output]
    lines = [
        f"I sampled exactly {numbers.frames} frames from the video.",
        _find(output, numbers),
        "Left ventricle is marked as red region in all the frames. ",
        f"Only use these {numbers.frames} frames. ",
        # A blank ends the sentence on EDV where both phases are asked for, and whatever is last.
        *(
            _red_area(phase) + " " * (len(phases) > 1 and (phase == "EDV" or phase == phases[-1]))
            for phase in phases
        ),
    ]
    return "\n".join(lines), _reply(phases)


def _t1_areas(output: str, numbers: Numbers) -> tuple[str, str]:
    phases = PHASES[output]
    sizes = " and ".join(_SIZES[phase].upper() for phase in phases)
    lines = (
        f"I sampled exactly {numbers.frames} frames from the video. "
        "Ignore all background details, anatomy, or medical context.",
        "Focus on the red region drawn on top of the images.",
        f"Identify the index of the frame with the {sizes} red area from input frames indexing "
        f"ranging in [{numbers.low}, {numbers.high}].",
        f"Only use these {numbers.frames} frames. ",
    )
    return "\n".join(lines), _reply(tuple(AREAS[phase] for phase in phases))


# ---------------------------------------------------------------- T2: two frames

_GIVEN: Final = (
    "You are given exactly 2 frames from the same apical four-chamber echocardiogram. "
    "The first frame has index 0 and the second one is 1."
)
_ANY_ORDER: Final = (
    "The order of the frames is arbitrary and does NOT indicate which one is EDV or ESV."
)
_ONE_OF_EACH: Final = f"Exactly one frame is {_cavity('EDV')} and the other is {_cavity('ESV')}."
_MARKED: Final = "Left ventricle is marked as red region in all the frames."
_ONLY_THESE: Final = "Only use these 2 frames."
_NO_MORE: Final = "Do not output any explanations, extra words, or a second line."


def _two_frames(context: str, phase: str, name: str) -> str:
    if context == "non_medical":
        return _t2_areas(phase, name)
    if name == "qwen":
        return _t2_qwen(context, phase)
    if context == "segmented":
        sentences: tuple[str, ...] = (_ONE_OF_EACH, _ANY_ORDER, _MARKED, _ONLY_THESE)
        # The sentence on ESV has no blank at its end.
        decide = _red_area(phase) + " " * (phase == "EDV")
    else:
        sentences = (_ANY_ORDER, _ONE_OF_EACH, _ONLY_THESE)
        decide = (
            f"Decide which frame is {phase}, that shows the {_SIZES[phase]} Left Ventricle cavity. "
        )
    lines = (
        _GIVEN,
        *(f"{sentence} " for sentence in sentences),
        decide,
        f"Reply exactly as: {phase}=<int>.",
        "",
        "Output requirements: ",
        "Use only indices 0 and 1.",
        f"Output exactly one line. Output format must be exactly: {phase}=<int>",
        _NO_MORE,
    )
    return "\n".join(lines)


def _t2_qwen(context: str, phase: str) -> str:
    # The slip of the prompts for ESV: "is1".
    given = _GIVEN if phase == "EDV" else _GIVEN.replace("is 1.", "is1.")
    if context == "segmented":
        # A folded text: the blank that ends a line and the one that joins two stand together.
        sentences = [given + " "]
        sentences += [f"{s}  " for s in (_ONE_OF_EACH, _ANY_ORDER, _MARKED, _ONLY_THESE)]
        sentences.append(_red_area(phase) + " " * (2 if phase == "EDV" else 1))
        said = "".join(sentences)
    else:
        one_of_each = _ONE_OF_EACH.replace("the other is", "the other one is")
        decide = (
            f"Decide which frame is {phase}, that has the {_SIZES[phase]} Left Ventricle cavity."
        )
        said = " ".join((given, _ANY_ORDER, one_of_each, _ONLY_THESE, decide, ""))
    lines = (
        f"{said}Reply exactly as: {phase}=<int>.",
        "Output requirements:",
        " - Use only indices 0 and 1.",
        " - Output exactly one line.",
        f" - Output format must be exactly: {phase}=<int>",
        f" - {_NO_MORE}",
    )
    return "\n".join(lines)


def _t2_areas(phase: str, name: str) -> str:
    lines = [
        "Both images contain a red overlay region. ",
        "",
        "Your Task:",
        "1. Compare the total area of the red region in Image 0 vs Image 1.",
        f"2. Determine which image has the {_SIZES[phase].upper()} red area.",
        "",
        "Output Requirements:",
        f"Do not provide reasoning. Output exactly one line in the format: {AREAS[phase]}=<0 or 1>",
    ]
    if name == "gemma":
        lines.append(_NO_MORE)
    # Qwen's lines stand two blanks in.
    inset = "  " if name == "qwen" else ""
    return "\n".join((_GIVEN, *(inset + line if line else line for line in lines)))
