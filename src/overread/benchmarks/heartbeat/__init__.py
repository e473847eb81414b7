"""Can it follow a beating heart? End-diastole and end-systole, frame by frame."""

from overread.benchmarks.heartbeat.benchmark import Heartbeat

__all__ = ["Heartbeat"]
