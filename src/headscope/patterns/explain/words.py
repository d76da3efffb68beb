"""An explanation in words: what the head does, which neurons do it, and how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope.patterns.explain.explanation import Explanation

STEADY = 0.5  # mean cosine of two queries' Δ from which the same neurons serve every query


def in_words(found: Explanation) -> str:
    """Three or four sentences, each with its numbers."""
    return " ".join(
        [_what(found), _who(found), _where(found), _check(found)],
    )


def _what(found: Explanation) -> str:
    base = f"Head {found.layer}-{found.head} {found.pattern.about}"
    score = f"score {found.causal.score:.2f} on {_seen(found)}"
    if found.delta.total <= 0:
        return (
            f"{base} no more than elsewhere ({score}): its neurons together lower the targets by "
            f"{-found.delta.total:.2f}."
        )
    return f"{base} ({score}); its targets score {found.delta.total:.2f} above the other keys."


def _seen(found: Explanation) -> str:
    if len(found.queries) == found.length:
        return "this text"
    first, last = found.queries[0], found.queries[-1]
    return f"tokens {first:,} to {last:,} of {found.length:,}"


def _who(found: Explanation) -> str:
    part, top = found.delta.participation, ", ".join(found.top(4))
    taking_part = 0 if math.isnan(part) else round(part)
    text = f"{taking_part} of {found.count} {found.unit} take part; the first four ({top})"
    share = found.delta.share(4)
    if math.isnan(share):  # there is no difference to explain
        text += " speak for it most"
    else:
        whole = found.delta.share(found.size)
        carry = "carries" if found.size == 1 else "carry"
        text += f" carry {_part(share)} of the difference, {found.size} {carry} {_part(whole)}"
    return text + (f", position itself adds {found.bias:.2f}." if found.bias is not None else ".")


def _part(share: float) -> str:
    """A few neurons' share, which exceeds 1 if others work against the pattern."""
    return f"{share:.0%}" if share <= 1 else "more than all"


def _where(found: Explanation) -> str:
    steady = found.stability
    if math.isnan(steady.cosine):
        return "One query only: nothing can be said of stability."
    same = (
        "the same ones at every position" if steady.cosine >= STEADY else "others at each position"
    )
    text = (
        f"They are {same} (cosine {steady.cosine:.2f}, overlap of the top {found.size} "
        f"{steady.jaccard:.2f})"
    )
    if math.isnan(steady.held_out):
        return f"{text}."
    held_out = _part(steady.held_out)
    return f"{text}; chosen on half the queries they carry {held_out} on the other half."


def _check(found: Explanation) -> str:
    check = found.causal
    return (
        f"With only these {found.size} the score is {check.only:.2f}, without them "
        f"{check.without:.2f}."
    )
