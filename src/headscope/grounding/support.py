"""Whether the documents support an answer: what they add to its log-probability.

There are three passes: with the documents, without any, and with the letters of every word
shuffled. The third has no content, so what it adds is chance. Documents that only share names with
an answer help to spell a name, not to expect it: so the least expected of their words decides too.
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
from headscope.text.tokenise import tokenise

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
KNOWN = np.log(0.5)  # least mean log-probability of a token for an answer to count as known
EXPLAINED = 0.4  # share of an answer's surprise that documents must remove, beyond chance
LEAST = 1.0  # nats that documents must remove at least
RARE = np.log(0.01)  # log-probability without documents below which a token needs them
PLACED = 0.55  # share of such a token's surprise that documents with its word must remove
REFUSED = "not supported"
OWN = 0.5  # share of what the documents add that one source must carry to be named alone


def shuffled(tokenizer: Any, documents: Sequence[Titled], chance: random.Random) -> list[Titled]:
    """The documents with the letters of each word in another order, in no more tokens.

    A tokenizer spells unknown words with more tokens: uncut, they may not fit the model.
    """

    def mixed(word: re.Match[str]) -> str:
        letters = list(word.group())
        chance.shuffle(letters)
        return "".join(letters)

    return [
        (title, _cut(tokenizer, re.sub(r"\w+", mixed, text), text)) for title, text in documents
    ]


def _cut(tokenizer: Any, text: str, model: str) -> str:
    """The beginning of a text, in whole words, that takes no more tokens than another text."""
    made, given = tokenise(tokenizer, [text, model], add_special_tokens=False).tokens
    if len(made) <= len(given):
        return text
    end = int(made.spans[len(given) - 1, 1])
    words = re.match(r".*\S(?=\s)", text[: end + 1], re.DOTALL)
    return words.group() if words else text[:end]


def copied(
    prompt: Prompt, tokens: NDArray[np.intp], documents: Sequence[Titled]
) -> NDArray[np.bool_]:
    """Which tokens of a sentence of the answer spell words of the documents, its first word aside.

    A sentence may begin in many ways, so its first word is always a surprise.
    """
    known = {word.casefold() for _, text in documents for word in re.findall(r"\w+", text)}
    spans = prompt.tokens.spans[prompt.answer + tokens]
    found = np.zeros(len(tokens), dtype=bool)
    first, last = int(spans[:, 0].min()), int(spans[:, 1].max())
    for word in list(re.finditer(r"\w+", prompt.tokens.texts[0][first:last]))[1:]:
        if word.group().casefold() in known:
            found |= (spans[:, 0] < first + word.end()) & (spans[:, 1] > first + word.start())
    return found


def least_expected(read: Floats, bare: Floats, held: NDArray[np.bool_]) -> float:
    """The share of its surprise that documents take from their least expected token; 1 if none."""
    at = held & (bare < RARE)
    return float((1 - read[at] / bare[at]).min(initial=1.0))


def supported(
    passes: AnswerPasses,
    groups: Sequence[NDArray[np.intp]],
    sources: Sequence[Source],
    lost: Floats,  # sentences × sources, NaN if a source was not ablated
    without_context: Prompt,
    chance: Sequence[Prompt],
    documents: Sequence[Titled],
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
        held = copied(passes.first, tokens, documents)
        least = least_expected(passes.log_probabilities[tokens], found[0, tokens], held)
        own = lost[number - WHOLE]
        sentence, source = verdict(gain, by_chance, bare, len(tokens), own, sources, least=least)
        rows.append(
            {
                "sentence": number,
                "with_documents": read,
                "without_documents": bare,
                "gain": gain,
                "by_chance": by_chance,
                "least_expected": least,
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
    least: float = 1.0,
) -> tuple[str, str | None]:
    """What the documents add to a sentence, in words, and the most important source."""
    beyond = gain - max(0.0, by_chance)
    known = bare / max(1, tokens) > KNOWN
    if beyond < max(LEAST, EXPLAINED * -bare) or least < PLACED:
        return ("known without the context", None) if known else (REFUSED, None)
    name, source = _origin(lost, sources)
    return f"taken from {name}", source


def why_refused(row: Any, best: pd.DataFrame) -> str:
    """Which condition a refused sentence misses, and what it depends on all the same."""
    surprise = -float(row.without_documents)
    taken = (float(row.gain) - max(0.0, float(row.by_chance))) / max(surprise, 1e-9)
    if taken < EXPLAINED:
        reason = f"The documents remove {max(taken, 0):.0%} of its surprise; {EXPLAINED:.0%} is"
    else:
        reason = (
            f"A word that it shares with the documents keeps its surprise: they remove "
            f"{max(float(row.least_expected), 0):.0%} of it; {PLACED:.0%} is"
        )
    first: Any = best.iloc[0] if len(best) else None
    if first is None or float(first.value) < LEAST:
        return f"{reason} needed."
    return f"{reason} needed. It still depends most on {first.source}."


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
