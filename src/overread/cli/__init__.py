"""The commands: a thin layer over `overread.runs`."""

from overread.cli.app import main

__all__ = ["main"]
