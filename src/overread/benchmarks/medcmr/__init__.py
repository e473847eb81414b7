"""Med-CMR: can it integrate evidence on hard cases?"""

from overread.benchmarks.medcmr.benchmark import MedCMR

__all__ = ["MedCMR"]
