"""The questions, word for word: protocol strings of the paper (GROUNDING 4)."""

from __future__ import annotations

from typing import Final

# The 13 findings asked for, in the order the protocol fixes (F13).
FINDINGS: Final = (
    *("atelectasis", "cardiomegaly", "consolidation", "edema", "enlarged_cardiomediastinum"),
    *("fracture", "lung_lesion", "lung_opacity", "pleural_effusion", "pleural_other"),
    *("pneumonia", "pneumothorax", "support_devices"),
)
# The label of a normal film; its question is about any abnormality [D1].
NORMAL: Final = "no_finding"

# The findings MS-CXR has boxes for.
MSCXR_FINDINGS: Final = (
    *("atelectasis", "cardiomegaly", "consolidation", "edema"),
    *("lung_opacity", "pleural_effusion", "pneumonia", "pneumothorax"),
)

# The source whose cases ask about a sentence of a report instead of a finding.
SENTENCE_SOURCE: Final = "rexerr"

DISPLAY_NAMES: Final = {
    **{finding: finding.replace("_", " ") for finding in FINDINGS},
    "edema": "pulmonary edema",
    "fracture": "rib fracture",
    "pleural_other": "pleural abnormality",
    "support_devices": "support device",
    NORMAL: "any acute abnormality",
}

# Not in the paper; the authors' code sends it to reasoning models only.
REASONING_SYSTEM_MESSAGE: Final = (
    "You are a clinical decision support tool. After your reasoning, you MUST end your response "
    "with a single word on its own line: either Yes or No. No other text after that word."
)

_ABOUT_A_FINDING: Final = {
    "default": ("Is {} present in this chest X-ray? Answer with a single word: Yes or No."),
    "brief": "Is {} present? Yes or No.",
    "clinical": (
        "You are a radiologist reviewing a chest X-ray. Is {} present? "
        "Answer with a single word: Yes or No."
    ),
}
_ABOUT_A_SENTENCE: Final = {
    "default": (
        "Does the following sentence accurately describe the findings visible in this chest X-ray?"
        '\nSentence: "{}"\nAnswer with a single word: Yes or No.'
    ),
    "brief": 'Is this sentence accurate for this X-ray? "{}" Yes or No.',
    "clinical": (
        "You are a radiologist. Does the following sentence accurately describe findings in this "
        'chest X-ray?\nSentence: "{}"\nAnswer with a single word: Yes or No.'
    ),
}
PHRASINGS: Final = tuple(_ABOUT_A_FINDING)


def display(finding: str) -> str:
    """The words a question uses for a finding; a finding not listed loses its underscores."""
    return DISPLAY_NAMES.get(finding, finding.replace("_", " "))


def question(
    source: str,
    finding: str | None,
    error_sentence: str | None = None,
    phrasing: str = "default",
) -> str:
    """The question put to a reader about one case.

    ReXErr cases are asked about their sentence, all others about their finding. A missing sentence
    reads `nan`, as the authors' code sends it; the `corrected` edition rejects such rows when the
    manifest is loaded.
    """
    if source == SENTENCE_SOURCE:
        # format() of the sentence, never of a template holding it: sentences may contain braces.
        return _ABOUT_A_SENTENCE[phrasing].format(
            "nan" if error_sentence is None else error_sentence
        )
    if not finding:
        raise ValueError(f"a case of source {source!r} has no finding to ask for")
    return _ABOUT_A_FINDING[phrasing].format(display(finding))
