"""Whether the documents support an answer: what they add to its log-probability.

There are four passes: with the documents, without any, with the letters of every word shuffled, and
with the words of each document shuffled. The third has no content, so what it adds is chance. The
fourth has every name but no statement, so what it adds comes from words alone.
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
KNOWN = np.log(0.5)  # least mean log-probability of a token for an answer to count as known
EXPLAINED = 0.4  # share of an answer's surprise that documents must remove, beyond chance
LEAST = 1.0  # nats that documents must remove at least
ORDER = 2.0  # nats that the order of the documents' words must add
OWN = 0.5  # share of what the documents add that one source must carry to be named alone


def shuffled(documents: Sequence[Titled], chance: random.Random) -> list[Titled]:
    """The documents with the letters of each word in another order."""

    def mixed(word: re.Match[str]) -> str:
        letters = list(word.group())
        chance.shuffle(letters)
        return "".join(letters)

    return [(title, re.sub(r"\w+", mixed, text)) for title, text in documents]


def reordered(documents: Sequence[Titled], chance: random.Random) -> list[Titled]:
    """The documents with the words of each in another order; spaces and signs between them stay."""
    found: list[Titled] = []
    for title, text in documents:
        words = re.findall(r"\w+", text)
        chance.shuffle(words)
        left = iter(words)
        found.append((title, re.sub(r"\w+", lambda _, left=left: next(left), text)))
    return found


def supported(
    passes: AnswerPasses,
    groups: Sequence[NDArray[np.intp]],
    sources: Sequence[Source],
    lost: Floats,  # sentences × sources, NaN if a source was not ablated
    without_context: Prompt,
    chance: Sequence[Prompt],
    words: Sequence[Prompt] = (),
) -> pd.DataFrame:
    """A row per sentence; the first of `groups` is the whole answer."""
    import pandas as pd

    found = passes.of([without_context, *chance, *words])
    split = 1 + len(chance)
    rows: list[dict[str, Any]] = []
    for number, tokens in enumerate(groups, WHOLE):
        read = float(passes.log_probabilities[tokens].sum())
        bare = float(found[0, tokens].sum())
        null = found[1:split, tokens].sum(1) - bare
        worded = found[split:, tokens].sum(1) - bare
        gain, by_chance = read - bare, float(null.max(initial=0.0))
        by_words = float(worded.max(initial=0.0))
        own = lost[number - WHOLE]
        sentence, source = verdict(
            gain, by_chance, bare, len(tokens), own, sources, by_words=by_words
        )
        rows.append(
            {
                "sentence": number,
                "with_documents": read,
                "without_documents": bare,
                "gain": gain,
                "by_chance": by_chance,
                "by_words": by_words,
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
    by_words: float = 0.0,
) -> tuple[str, str | None]:
    """What the documents add to a sentence, in words, and the most important source."""
    beyond = gain - max(0.0, by_chance)
    known = bare / max(1, tokens) > KNOWN
    if beyond < max(LEAST, explained * -bare):
        return ("known without the context", None) if known else ("not supported", None)
    name, source = _origin(lost, sources)
    if gain - by_words < ORDER:
        return f"words from {name}, which may not say so", source
    return f"taken from {name}", source


def _origin(lost: Floats, sources: Sequence[Source]) -> tuple[str, str | None]:
    """Where a sentence comes from, in words, and the most important source."""
    if not np.isfinite(lost).any():
        return "the documents", None
    order = np.argsort(-np.nan_to_num(lost, nan=-np.inf))
    first = int(order[0])
    if lost[first] < LEAST:
        return "several sources that say the same", None
    others = [
        int(at) for at in order[1:] if np.isfinite(lost[at]) and lost[at] >= OWN * lost[first]
    ]
    named = [sources[at].name for at in (first, *others[:1])]
    return " and ".join(named), named[0]
