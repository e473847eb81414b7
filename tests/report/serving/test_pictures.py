"""Pictures made last are kept, in so much room and no more."""

from __future__ import annotations

from overread.case import Shown
from overread.report.serving.pictures import PicturesMadeLast


def test_a_picture_is_made_once_while_it_is_kept() -> None:
    kept, made = PicturesMadeLast(most_bytes=100), []

    def ask(number: int, size: int = 40) -> Shown | None:
        def make() -> Shown | None:
            made.append(number)
            return Shown(media_type="image/png", data=bytes(size)) if size else None

        return kept.get((1, "case", number), make)

    for number in (1, 2, 1, 1, 2):
        assert ask(number) == Shown(media_type="image/png", data=bytes(40))
    assert made == [1, 2]
    ask(1)
    ask(3)  # the one not asked for longest goes
    ask(1)
    assert made == [1, 2, 3]
    ask(2)
    assert made == [1, 2, 3, 2]
    assert kept.held_bytes == 80


def test_what_is_larger_than_the_room_or_not_there_is_not_kept() -> None:
    kept = PicturesMadeLast(most_bytes=10)
    large = Shown(media_type="image/png", data=bytes(11))
    assert kept.get((1, "a", 0), lambda: large) is large
    assert kept.get((1, "b", 0), lambda: None) is None
    assert kept.held_bytes == 0
    assert kept.get((1, "b", 0), lambda: large) is large
