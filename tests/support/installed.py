"""What a whole file of tests needs and may not be here, found without importing it.

A file is collected by every worker: torch, Ray and scikit-learn would be imported by all of them,
and each is used by one.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

__all__ = ["needs"]


def needs(package: str, reason: str) -> pytest.MarkDecorator:
    """`pytestmark = needs(...)`: without the package every test of the file skips and says why."""
    return pytest.mark.skipif(find_spec(package) is None, reason=reason)
