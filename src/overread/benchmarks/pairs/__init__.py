"""One question, two pictures, two different right answers: who does not look gets no pair right."""

from overread.benchmarks.pairs.benchmark import Pairs

__all__ = ["Pairs"]
