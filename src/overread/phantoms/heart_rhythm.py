"""When a heart beats and how its volume runs: exact, frame by frame, before anything is drawn."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

__all__ = ["FITTING", "Rhythm", "Volumes", "opening", "rhythm", "volumes"]

Volumes = npt.NDArray[np.float64]

FITTING: Final = (12, 23)
"""l, frames from ED to ES, for which a window of 24 frames holds both phases of one beat alone."""
_FITS: Final = 0.94  # of the clips; the others are for whoever must leave clips out


class Rhythm(msgspec.Struct, frozen=True):
    """Frames at whose instant a beat is at its largest and at its smallest.

    `ed[k] < es[k] < ed[k + 1]`; the first and the last beat may reach beyond the clip. `ed_volumes`
    and `es_volumes` are shares of the annotated beat's volume at end-diastole; `beat` is that beat.
    """

    fps: int
    frames: int
    ed: tuple[int, ...]
    es: tuple[int, ...]
    ed_volumes: tuple[float, ...]
    es_volumes: tuple[float, ...]
    beat: int

    @property
    def phases(self) -> tuple[int, int]:
        """ED and ES of the annotated beat."""
        return self.ed[self.beat], self.es[self.beat]

    @property
    def heart_rate(self) -> float:
        """Beats per minute over the whole clip, as its frames have it."""
        return 60 * self.fps * (len(self.ed) - 1) / (self.ed[-1] - self.ed[0])


def rhythm(rng: np.random.Generator, ef: float) -> Rhythm:
    """A new rhythm: 50 to 110 beats per minute at 30 to 70 frames per second, EF of one beat given.

    Systole lasts about a third of a second whatever the rate, and always less than diastole. The
    annotated beat stands in the clip with l frames before its ED and after its ES.
    """
    fps, cycle, systole = _pace(rng)
    frames = max(int(rng.integers(88, 112)), -(-12 * cycle // 5) + int(rng.integers(0, 8)))
    at = int(rng.integers(0, cycle)) - 2 * cycle
    ed = [at]
    while at < frames + cycle:
        at += max(2 * systole + 2, cycle + int(rng.integers(-1, 2)))
        ed.append(at)
    es = tuple(first + systole for first in ed)
    whole = [k for k, first in enumerate(ed) if systole <= first < frames - 2 * systole]
    beat = whole[int(rng.integers(len(whole)))]
    # Breathing and filling make every beat a little other than the one before.
    large = rng.uniform(0.985, 1.015, len(ed))
    large[beat] = 1.0
    small = large * (1 - ef * rng.uniform(0.97, 1.03, len(ed)))
    small[beat] = 1.0 - ef
    return Rhythm(fps, frames, tuple(ed), es, tuple(large.tolist()), tuple(small.tolist()), beat)


def _pace(rng: np.random.Generator) -> tuple[int, int, int]:
    """Frames per second, frames of a beat, and frames of its systole."""
    fits = rng.random() < _FITS
    while True:
        rate, fps = rng.uniform(50, 110), int(rng.integers(30, 71))
        cycle = round(60 * fps / rate)
        seconds = 0.44 - 0.0016 * rate + rng.uniform(-0.02, 0.02)
        systole = min(round(seconds * fps), int(0.46 * cycle))
        if (FITTING[0] <= systole <= FITTING[1]) is fits:
            return fps, cycle, systole


def volumes(kept: Rhythm) -> Volumes:
    """The volume of every frame, as a share of the annotated beat's at end-diastole.

    Ejection is nearly even; filling is fast, slow and, with the atrium's beat, fast again. Each
    falls or rises all the way, so every phase is the one frame of its beat.
    """
    found = np.empty(kept.ed[-1] - kept.ed[0] + 1)
    for k, (first, following) in enumerate(pairwise(kept.ed)):
        last = kept.es[k]
        out = np.arange(last - first + 1) / (last - first)
        filling = np.arange(following - last + 1) / (following - last)
        large, small, after = kept.ed_volumes[k], kept.es_volumes[k], kept.ed_volumes[k + 1]
        found[first - kept.ed[0] : last - kept.ed[0] + 1] = large - (large - small) * _ejected(out)
        found[last - kept.ed[0] : following - kept.ed[0] + 1] = small + (after - small) * _filled(
            filling
        )
    return found[-kept.ed[0] : kept.frames - kept.ed[0]]


def _ejected(share: Volumes) -> Volumes:
    return share - 0.25 * np.sin(2 * np.pi * share) / (2 * np.pi)


def _filled(share: Volumes) -> Volumes:
    early = 1 - (1 - np.clip(share / 0.5, 0, 1)) ** 2
    late = np.clip((share - 0.7) / 0.3, 0, 1) ** 1.5
    found: Volumes = 0.52 * early + 0.16 * share + 0.32 * late
    return found


def opening(kept: Rhythm) -> Volumes:
    """How far the valves between atria and ventricles stand open in every frame, 0 to 1.

    Shut from ED to ES; widest early in filling, half shut in the middle, open again at its end.
    """
    found = np.zeros(kept.ed[-1] - kept.ed[0] + 1)
    for k, following in enumerate(kept.ed[1:]):
        last = kept.es[k]
        share = np.arange(following - last + 1) / (following - last)
        early = np.exp(-(((share - 0.25) / 0.16) ** 2))
        late = 0.8 * np.exp(-(((share - 0.82) / 0.1) ** 2))
        ends = np.clip(share / 0.08, 0, 1) * np.clip((1 - share) / 0.08, 0, 1)
        found[last - kept.ed[0] : following - kept.ed[0] + 1] = ends * np.maximum(
            np.maximum(early, late), 0.4
        )
    return found[-kept.ed[0] : kept.frames - kept.ed[0]]
