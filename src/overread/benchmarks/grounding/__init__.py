"""Did it look at the image? The causal audit of chest-radiograph readers."""

from overread.benchmarks.grounding.benchmark import Grounding
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.edition import AUTHORS, CORRECTED, Edition

__all__ = ["AUTHORS", "CORRECTED", "Edition", "Grounding", "GroundingCase"]
