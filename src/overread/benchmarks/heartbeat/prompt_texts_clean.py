"""One wording of ours for every task, context and format: the published facts without the slips.

The same is asked and the same reply is wanted. Where nothing medical is meant, no medical word
stands; the published two-frame question names the echocardiogram there (HEARTBEAT 3).
"""

from __future__ import annotations

from typing import Final

from overread.benchmarks.heartbeat.prompt_texts import AREAS, PHASES, Numbers

__all__ = ["clean_system", "clean_text"]

_SYSTEM: Final = {
    "original": "You are an expert in echocardiography. Use only the frames provided.",
    "segmented": "You are an expert in echocardiography. Use only the frames provided.",
    "non_medical": "You are an expert in video analysis. Use only the frames provided.",
}
_CAVITY: Final = {
    "EDV": "EDV (largest left ventricular cavity)",
    "ESV": "ESV (smallest left ventricular cavity)",
}
_RED: Final = {"EDV": "largest", "ESV": "smallest"}
_REPLY: Final = "Reply with exactly one line in this format, and nothing else:\n"


def clean_system(context: str) -> str:
    """The system message, the same in both tasks."""
    return _SYSTEM[context]


def clean_text(task: str, context: str, output: str, numbers: Numbers | None) -> str:
    """The text of a question; the two-frame task has no numbers."""
    phases = PHASES[output]
    if task == "t2":
        return "\n".join((*_two_frames(context, phases[0]), _REPLY + _one(context, phases[0])))
    if numbers is None:
        raise ValueError("a question about a window needs its numbers")
    return "\n".join((*_window(context, phases, numbers), _REPLY + _line(context, phases)))


def _window(context: str, phases: tuple[str, ...], numbers: Numbers) -> tuple[str, ...]:
    count, low, high = numbers
    video = "video" if context == "non_medical" else "echocardiogram"
    given = (
        f"You are given exactly {count} consecutive frames of one {video}, in order. "
        f"Their indices run from {low} to {high}. Use only these {count} frames."
    )
    if context == "original":
        return given, _find(phases)
    if context == "segmented":
        return given, "The left ventricle is marked in red in every frame.", *_by_area(phases)
    return (
        given,
        "A red region is drawn on every frame. Ignore everything else.",
        "Find "
        + " and ".join(f"the index of the frame with the {_RED[p]} red area" for p in phases)
        + ".",
    )


def _find(phases: tuple[str, ...]) -> str:
    return "Find " + " and ".join(f"the index of the frame at {_CAVITY[p]}" for p in phases) + "."


def _by_area(phases: tuple[str, ...]) -> tuple[str, ...]:
    return (
        _find(phases),
        *(f"The frame at {phase} is the one with the {_RED[phase]} red area." for phase in phases),
    )


def _two_frames(context: str, phase: str) -> tuple[str, ...]:
    if context == "non_medical":
        return (
            "You are given exactly 2 frames of one video. "
            "The first frame has index 0 and the second has index 1. Use only these 2 frames.",
            "The order of the frames is arbitrary.",
            "A red region is drawn on both frames. Ignore everything else.",
            f"Decide which frame has the {_RED[phase]} red area.",
        )
    shared = (
        "You are given exactly 2 frames of one echocardiogram. "
        "The first frame has index 0 and the second has index 1. Use only these 2 frames.",
        "The order of the frames is arbitrary and does not show which one is EDV or ESV.",
        f"Exactly one frame is at {_CAVITY['EDV']} and the other is at {_CAVITY['ESV']}.",
    )
    if context == "original":
        return *shared, f"Decide which frame is at {phase}."
    return (
        *shared,
        "The left ventricle is marked in red in both frames.",
        f"Decide which frame is at {phase}, the one with the {_RED[phase]} red area.",
    )


def _line(context: str, phases: tuple[str, ...]) -> str:
    names = [AREAS[phase] if context == "non_medical" else phase for phase in phases]
    return "Frame: " + ", ".join(f"{name}=<int>" for name in names)


def _one(context: str, phase: str) -> str:
    return f"{AREAS[phase]}=<0 or 1>" if context == "non_medical" else f"{phase}=<int>"
