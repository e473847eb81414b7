"""Synthetic patients whose truth is known exactly. Each kind is imported when it is made.

A module of an organ has `write_phantoms(root, n, seed)`, which a benchmark names as its maker.
"""
