"""The posts' claims beside the study's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.errors import HeadscopeError
from headscope.patterns.explain import position_aware, sentence_sign
from headscope.studies.vig.posts import SEVEN
from headscope.studies.vig.texts import SENTENCE_A, SENTENCE_B
from headscope.text.spelling import TokenClass

if TYPE_CHECKING:
    import pandas as pd

    from headscope.studies.vig.findings import Findings

FEW, MANY = 0.25, 0.5  # of a head's neurons, by participation ratio
STEADY = 0.5


def claims(found: Findings) -> pd.DataFrame:
    """claim, published, here, agrees; claims that cannot be tested on this model are left out."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for post in SEVEN:
        name = next((score for score in post.scores if score in found.measured), None)
        if name is None:
            continue
        top = found.top(name, 1).iloc[0]
        rows.append(
            {
                "claim": f"A head shows the pattern “{post.title.lower()}”",
                "published": f"head {post.head}" if post.head else "shown, no head named",
                "here": f"head {top['layer']}-{top['head']}, score {top['score']:.2f}, "
                + ("labelled" if top["labelled"] else "not labelled"),
                "agrees": bool(top["labelled"]),
            }
        )
    for add in (_separator_disrupts, _siblings, _neuron_counts, _segments, _positions):
        try:
            rows += add(found)
        except HeadscopeError:  # the claim needs something that this model lacks
            continue
    return pd.DataFrame(rows, columns=["claim", "published", "here", "agrees"])


def _separator_disrupts(found: Findings) -> list[dict[str, Any]]:
    if "next_word" not in found.measured:
        return []
    layer, head = found.best("next_word")
    part = found.post.part()
    weights = part.head_weights(layer, head)
    from_sep = weights[part.query.classes == TokenClass.SEP].mean(0)
    to_cls = float(from_sep[part.key.classes == TokenClass.CLS].sum())
    return [
        {
            "claim": "In the next-word head, the separators attend mostly to [CLS]",
            "published": "most of it",
            "here": f"{to_cls:.0%} in head {layer}-{head}",
            "agrees": to_cls > 0.5,
        }
    ]


def _siblings(found: Findings) -> list[dict[str, Any]]:
    part = found.post.part()
    spelled = [label.removeprefix("##") for label in part.query.labels]
    if "straw" not in spelled or "berries" not in spelled or "sibling_pieces" not in found.measured:
        return []
    first, second = spelled.index("straw"), spelled.index("berries")
    layer, head = found.best("sibling_pieces")
    weights = part.head_weights(layer, head)
    there, back = float(weights[first, second]), float(weights[second, first])
    return [
        {
            "claim": "In one head “straw” attends to “##berries” and back",
            "published": "most of both",
            "here": f"{there:.0%} and {back:.0%} in head {layer}-{head}",
            "agrees": min(there, back) > 0.5,
        }
    ]


def _neuron_counts(found: Findings) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, said, few in (
        ("delimiter", "a small, fixed set", True),
        ("bag_of_words", "2 to 4, fixed", True),
        ("next_word", "most of them, others at each position", False),
    ):
        if name not in found.measured or (explained := found.explanation(name)) is None:
            continue
        reason, _ = explained
        share = reason.delta.participation / reason.count
        cosine = reason.stability.cosine
        agrees = share <= FEW and cosine >= STEADY if few else share >= MANY and cosine < STEADY
        rows.append(
            {
                "claim": f"Neurons behind {reason.pattern.label}",
                "published": said,
                "here": f"{reason.delta.participation:.1f} of {reason.count} take part, cosine "
                f"between positions {cosine:.2f} (head {reason.layer}-{reason.head})",
                "agrees": bool(agrees),
            }
        )
    return rows


def _segments(found: Findings) -> list[dict[str, Any]]:
    if "bag_of_words" not in found.measured:
        return []
    layer, head = found.best("bag_of_words")
    sign = sentence_sign(found.scope, SENTENCE_A, SENTENCE_B, layer, head)
    if sign.zeroed is None:
        return []
    return [
        {
            "claim": "Sentence embeddings cause the bag of words",
            "published": "they do",
            "here": f"score {sign.score:.2f}, with segment ids zeroed {sign.zeroed:.2f} "
            f"(head {layer}-{head})",
            "agrees": sign.zeroed < 0.8 * sign.score,
        }
    ]


def _positions(found: Findings) -> list[dict[str, Any]]:
    name = "next_word" if "next_word" in found.measured else "previous_word"
    layer, head = found.best(name)
    texts = [" ".join(pair) for pair in found.corpus.pairs[:12]]
    moved = position_aware(found.scope, texts, layer, head, name)
    if moved.followed is None or moved.shuffled is None:
        return []
    return [
        {
            "claim": f"Position embeddings cause {name.replace('_', '-')} attention",
            "published": "they do",
            "here": f"positions exchanged: {moved.followed:.2f} by position, "
            f"{moved.shuffled:.2f} by position (head {layer}-{head})",
            "agrees": bool(np.isfinite(moved.followed) and moved.followed > 2 * moved.shuffled),
        }
    ]
