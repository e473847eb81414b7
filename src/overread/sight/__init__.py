"""Does a reader really receive pixels? Random digits, and what moves when they change."""

from overread.sight.digits import ask_for_digits, ask_for_frames, digit_picture
from overread.sight.verdict import ClipSight, Parts, Sight, judge_clips, judge_sight

__all__ = [
    "ClipSight",
    "Parts",
    "Sight",
    "ask_for_digits",
    "ask_for_frames",
    "digit_picture",
    "judge_clips",
    "judge_sight",
]
