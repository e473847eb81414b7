"""The paper's category rule, on printed numbers."""

from __future__ import annotations

__all__ = ["category"]


def category(
    cgr: float | None,
    cgr_low: float | None,
    uar: float | None,
    stable: float | None,
    *,
    threshold: float = 70,
) -> str:
    """The stated rule on printed percentages, with any threshold of IS for "unstable".

    The grounding benchmark has the same rule for its own numbers; that room may not be imported
    from here, and a test holds the two together.
    """
    if cgr is None or cgr_low is None or uar is None or stable is None:
        return "indeterminate"
    if stable < threshold:
        return "unstable"
    if cgr == 0 and uar == 100 and stable == 100:
        return "ignores image"
    return "uses image" if cgr > 0 and cgr_low > 0 and stable >= 90 else "indeterminate"
