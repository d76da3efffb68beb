"""Whether an answer is supported: what the documents add to its log-probability, in words.

Three passes tell: with the documents, without any, and with documents whose letters are shuffled
within every word. The last look the same to the model and say nothing, so what they add is chance.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.grounding.passes import AnswerPasses
from headscope.grounding.prompts import Prompt
from headscope.grounding.result import WHOLE
from headscope.grounding.sources import Source, Titled

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
KNOWN = np.log(0.5)  # mean log-probability of a token from which on an answer counts as known
EXPLAINED = 0.4  # share of an answer's surprise that documents must take away, beyond chance
LEAST = 1.0  # nats, and at least so much of it
OWN = 0.5  # share of what the documents add that one source must carry to be named alone


def shuffled(documents: Sequence[Titled], chance: random.Random) -> list[Titled]:
    """The documents with the letters of each word in another order."""

    def mixed(word: re.Match[str]) -> str:
        letters = list(word.group())
        chance.shuffle(letters)
        return "".join(letters)

    return [(title, re.sub(r"\w+", mixed, text)) for title, text in documents]


def supported(
    passes: AnswerPasses,
    groups: Sequence[NDArray[np.intp]],
    sources: Sequence[Source],
    lost: Floats,  # sentences × sources, NaN where a source was not taken away
    without_context: Prompt,
    chance: Sequence[Prompt],
) -> pd.DataFrame:
    """A row per sentence; the first of `groups` is the whole answer."""
    import pandas as pd

    found = passes.of([without_context, *chance])
    rows: list[dict[str, Any]] = []
    for number, tokens in enumerate(groups, WHOLE):
        read = float(passes.log_probabilities[tokens].sum())
        bare = float(found[0, tokens].sum())
        null = found[1:, tokens].sum(1) - bare
        gain, by_chance = read - bare, float(null.max(initial=0.0))
        own = lost[number - WHOLE]
        sentence, source = verdict(gain, by_chance, bare, len(tokens), own, sources)
        rows.append(
            {
                "sentence": number,
                "with_documents": read,
                "without_documents": bare,
                "gain": gain,
                "by_chance": by_chance,
                "source": source,
                "verdict": sentence,
            }
        )
    return pd.DataFrame(rows)


def verdict(
    gain: float,
    by_chance: float,
    bare: float,
    tokens: int,
    lost: Floats,
    sources: Sequence[Source],
    explained: float = EXPLAINED,
) -> tuple[str, str | None]:
    """In words what the documents did for a sentence, and the source that did most."""
    beyond = gain - max(0.0, by_chance)
    known = bare / max(1, tokens) > KNOWN
    if beyond < max(LEAST, explained * -bare):
        return ("known without the context", None) if known else ("not supported", None)
    if not np.isfinite(lost).any():
        return "taken from the documents", None
    order = np.argsort(-np.nan_to_num(lost, nan=-np.inf))
    first = int(order[0])
    if lost[first] < LEAST:
        return "taken from several sources that say the same", None
    others = [
        int(at) for at in order[1:] if np.isfinite(lost[at]) and lost[at] >= OWN * lost[first]
    ]
    if others:
        names = " and ".join([sources[first].name, sources[others[0]].name])
        return f"taken from {names}", sources[first].name
    return f"taken from {sources[first].name}", sources[first].name
