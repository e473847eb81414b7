"""Does a reader really receive pixels? Random digits, and what moves when they change."""

from overread.sight.digits import ask_for_digits, digit_picture
from overread.sight.verdict import Sight, judge_sight

__all__ = ["Sight", "ask_for_digits", "digit_picture", "judge_sight"]
