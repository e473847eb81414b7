"""Does a reader really receive pixels? Random digits, and what moves when they change."""

from overread.sight.clip_verdict import ClipSight, Parts, judge_clips
from overread.sight.clips import ask_for_frames
from overread.sight.digits import ask_for_digits, digit_picture
from overread.sight.verdict import Sight, judge_sight

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
