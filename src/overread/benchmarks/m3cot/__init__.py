"""M3CoTBench: did the reader reason as a clinician would?"""

from overread.benchmarks.m3cot.benchmark import M3CoT

__all__ = ["M3CoT"]
