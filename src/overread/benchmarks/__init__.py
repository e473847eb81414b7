"""Benchmarks: one folder each, and the protocol they implement."""
