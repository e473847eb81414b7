"""Does the answer hang on where an option stands? And how sure is the reader of its letter?"""

from __future__ import annotations

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import cell
from overread.benchmarks.medcmr.exhibits.columns import interval_notes
from overread.case import Table

__all__ = ["order_table", "sureness_table"]


def order_table(index: Index, signature: str) -> Table | None:
    """Accuracy under other orders of the options, and the letters a reader likes."""
    orders = sorted(index.groups("accuracy", "order"))
    positions = sorted(index.groups("position_share", "position"))
    columns: list[tuple[str, str, dict[str, str]]] = [
        ("accuracy, set's order", "accuracy", {}),
        *((f"accuracy, order {order}", "accuracy", {"order": order}) for order in orders),
        ("accuracy, mean of orders", "accuracy", {"condition": "permuted"}),
        ("right in every order", "accuracy_all_orders", {}),
        ("same option in every order", "order_consistency", {}),
        ("position bias", "position_bias", {}),
        *((f"says {letter}", "position_share", {"position": letter}) for letter in positions),
    ]
    if not any(index.any(name, **by) for _, name, by in columns[1:]):
        return None
    kept = [one for one in columns if any(index.get(r, one[1], **one[2]) for r in index.readers)]
    rows = [
        (reader, *(cell(index.get(reader, name, **by)) for _, name, by in kept))
        for reader in index.readers
    ]
    return table(
        "option_order",
        "Does the answer hang on the order of the options?",
        ("reader", *(heading for heading, _, _ in kept)),
        rows,
        signature,
        (
            "A reader that knows the answer gives it wherever it stands; one that is right in "
            "every order much more seldom than on average guesses, or likes a letter.",
            "Percent. Says: the share of letters given over all orders, in which the right option "
            "stands about equally often at each place. Position bias: how far these shares are "
            "from those of the right options; 0 is none.",
            *interval_notes(index, "accuracy", "order_consistency", "position_share"),
        ),
    )


def sureness_table(index: Index, signature: str) -> Table | None:
    """By the probabilities of the first token, for readers that give them."""
    names = {
        "accuracy": "accuracy, as read",
        "accuracy_logprobs": "accuracy, by probability",
        "ece": "calibration error",
        "brier": "Brier score",
    }
    some = [r for r in index.readers if any(index.known(r, name) for name in list(names)[1:])]
    return table(
        "sureness",
        "Is it as sure as it is right?",
        ("reader", *names.values()),
        [(reader, *(cell(index.get(reader, name)) for name in names)) for reader in some],
        signature,
        (
            "By probability: the option of the likeliest first token. Calibration error: how far "
            "the probability given is from the share that is right; lower is better, as is the "
            "Brier score. All x 100. A large error: do not take its confidence at its word.",
            *interval_notes(index, "accuracy_logprobs", "ece", "brier"),
        ),
    )
