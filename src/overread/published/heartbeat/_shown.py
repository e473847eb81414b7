"""What a run showed its readers, beside what the paper showed: windows and words.

How answers are counted is the edition's that a run was last measured under. What was shown stays
that of the edition it was asked under; how many frames the windows have the signature states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

__all__ = ["shown"]


def shown(comparing: Mapping[str, str], run: str, signature: str, asked: str) -> Iterator[str]:
    """What may be compared of what was shown, and how to show or count it as the authors did.

    `asked` is the label of the edition the readers were asked under, empty for an import.
    """
    stated = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    window = stated.get("window", "-")
    ours = _rule(asked, "window", "fixed") if asked else window.isdecimal()
    said = []
    if window != "-":  # T2 alone shows no window
        words = comparing["windows_alike" if ours else "windows_differ"]
        said.append(words.format(frames=window.replace("-", " to ")))
        said += [comparing["all_frames"]] * bool(asked)
    if not asked:
        said.append(comparing["words_theirs"])
    else:
        clean = _rule(asked, "wording", "clean")
        said.append(comparing["words_clean" if clean else "words_published"])
    yield f"{run}, shown: {'; '.join(said)}."
    if window != "-" and ours:
        yield comparing["again"]
    if not stated.get("edition", "").startswith("authors"):
        yield f"`overread measure {run} --edition authors` counts as the authors do."


def _rule(label: str, rule: str, corrected: str) -> bool:
    """Whether a label such as `authors+window=fixed` has the corrected value of a rule."""
    edition, *changed = label.split("+")
    for change in changed:
        name, _, value = change.partition("=")
        if name == rule:
            return value == corrected
    return edition == "corrected"
