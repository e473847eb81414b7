"""When a heart beats and how its volume runs: exact, frame by frame, before anything is drawn."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

__all__ = ["Rhythm", "Volumes", "opening", "rhythm", "volumes"]

Volumes = npt.NDArray[np.float64]

# Frames from ED to ES of 10,024 EchoNet-Dynamic clips: at most l in so large a share of them. The
# ends are ours: the longest real distances are no single systole.
_LENGTHS: Final = (5.5, 8.5, 10.5, 11.5, 16.5, 23.5, 30.5, 40.4)
_SHARES: Final = (0, 0.012, 0.045, 0.074, 0.53, 0.952, 0.991, 1)
_RATE: Final = 50  # frames per second of most of them
_AT_RATE: Final = 0.79
_RATES: Final = (30, 70)
_SLOWEST: Final = 45  # beats per minute
_FASTEST: Final = 130
_SYSTOLE: Final = 0.46  # of a beat, at most
_WINDOW: Final = 30  # frames that a window may have


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
    """A new rhythm: 45 to 130 beats per minute as a rule, at 30 to 70 frames per second, EF given.

    l, the frames of systole, are drawn as real clips have them, so that some are too short or too
    long for a window; systole is always shorter than diastole. The annotated beat stands in the
    clip with at least l frames before its ED and after its ES, and with all that a window may show.
    """
    fps, cycle, systole = _pace(rng)
    margin = max(systole, _WINDOW - 1 - systole)
    frames = max(int(rng.integers(88, 112)), -(-12 * cycle // 5) + int(rng.integers(0, 8)))
    at = int(rng.integers(0, cycle)) - 2 * cycle
    ed = [at]
    while at < frames + cycle:
        at += max(2 * systole + 2, cycle + int(rng.integers(-1, 2)))
        ed.append(at)
    es = tuple(first + systole for first in ed)
    whole = [k for k, first in enumerate(ed) if margin <= first < frames - systole - margin]
    beat = whole[int(rng.integers(len(whole)))]
    # Breathing and filling make every beat a little other than the one before.
    large = rng.uniform(0.985, 1.015, len(ed))
    large[beat] = 1.0
    small = large * (1 - ef * rng.uniform(0.97, 1.03, len(ed)))
    small[beat] = 1.0 - ef
    return Rhythm(fps, frames, tuple(ed), es, tuple(large.tolist()), tuple(small.tolist()), beat)


def _pace(rng: np.random.Generator) -> tuple[int, int, int]:
    """Frames per second, frames of a beat, and frames of its systole."""
    length, other = np.interp(rng.random(2), _SHARES, _LENGTHS)
    systole = round(float(length))
    # Few frames, as a rule, are of a systole that was taken slowly, not of a short one.
    fps = (
        _RATE if rng.random() < _AT_RATE else round(float(np.clip(_RATE * length / other, *_RATES)))
    )
    # A fast heart has a short systole: about 0.44 - 0.0016 rate seconds.
    rate = (0.44 - systole / fps + rng.uniform(-0.02, 0.02)) / 0.0016
    cycle = round(60 * fps / min(max(rate, _SLOWEST), _FASTEST))
    return fps, max(cycle, math.ceil(systole / _SYSTOLE)), systole


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
