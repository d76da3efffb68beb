"""Profiles over words: which words, parts of speech and grammatical relations a head attends to.

Counted over the places drawn from the corpus (see `places.drawn`), whose texts are parsed when the
atlas is made: the cost does not grow with the corpus. Chance is even attention over the keys that a
query sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.atlas.speech import parsed
from headscope.errors import HeadscopeError

if TYPE_CHECKING:
    from headscope.atlas.spelled import Spelled
    from headscope.statistics.places.places import Places
    from headscope.statistics.places.texts import KeptText

MOST_WORDS = 20_000  # that are parsed
LEAST = 5  # times something must be met to be listed
SPECIAL = "special token"
Names = list[tuple[str, str]]  # of every key: name, other


@dataclass
class _Words:
    """A text as words, and what a parser says of them."""

    of_token: list[int]  # -1: a special token
    texts: list[str]
    speech: list[str]
    governor: list[int]
    relation: list[str]


def word_profiles(
    places: Places, causal: bool, spelled: Spelled, judged: Callable[..., pd.DataFrame]
) -> list[pd.DataFrame]:
    """Words; and where a parser is installed, parts of speech and relations."""
    texts = _texts(places, spelled)
    asked: dict[str, Callable[[_Words, int], Names]] = {"key_word": _key_words}
    if _parse(texts):
        asked |= {"key_speech": _key_speech, "speech": _speech, "relation": _relations}
    drawn = places.drawn
    frames: list[pd.DataFrame] = []
    for profile, names_of in asked.items():
        codes: dict[tuple[str, str], int] = {}
        counts = np.zeros((drawn.values.shape[1], 0))
        expected = np.zeros(0)
        for place, words, query in _asked(places, texts):
            seen = query + 1 if causal else len(words.of_token)
            every = [codes.setdefault(name, len(codes)) for name in names_of(words, query)[:seen]]
            counts = np.pad(counts, ((0, 0), (0, len(codes) - counts.shape[1])))
            expected = np.pad(expected, (0, len(codes) - len(expected)))
            np.add.at(expected, every, 1 / seen)
            keys = drawn.keys[place, :, 0]
            head = np.flatnonzero((keys >= 0) & (keys < seen))
            counts[head, np.array(every)[keys[head]]] += 1
        frames.append(_judged(profile, codes, counts, expected, judged))
    return frames


def _judged(
    profile: str,
    codes: dict[tuple[str, str], int],
    counts: NDArray[np.float64],
    expected: NDArray[np.float64],
    judged: Callable[..., pd.DataFrame],
) -> pd.DataFrame:
    head, code = np.nonzero(counts)
    names = np.array(list(codes), dtype=object).reshape(-1, 2)[code]
    found = judged(head, profile, names[:, 0], counts[head, code].astype(np.int64), expected[code])
    found = found.assign(other=names[:, 1])
    return found.loc[found["count"] >= LEAST]


def _asked(places: Places, texts: dict[int, _Words]) -> Iterator[tuple[int, _Words, int]]:
    """The drawn places that stand in texts which were parsed, special queries left out."""
    drawn = places.drawn
    for place in range(len(drawn)):
        words, query = texts.get(int(drawn.document[place])), int(drawn.query[place])
        if words is not None and words.of_token[query] >= 0:
            yield place, words, query


def _texts(places: Places, spelled: Spelled) -> dict[int, _Words]:
    """The texts of the places drawn first, as many as hold so many words."""
    found: dict[int, _Words] = {}
    count = 0
    for number in places.drawn.document[: len(places.drawn)].tolist():
        if number not in found and count < MOST_WORDS:
            found[number] = _words(places.texts[number], spelled)
            count += len(found[number].texts)
    return found


def _words(text: KeptText, spelled: Spelled) -> _Words:
    of_token: list[int] = []
    words: list[str] = []
    for token, its_class, goes_on in zip(
        spelled(text.ids), text.classes.tolist(), text.continues.tolist(), strict=True
    ):
        if its_class <= 2:
            of_token.append(-1)
            continue
        if goes_on and words and of_token[-1] >= 0:
            words[-1] += token.removeprefix("##")
        else:
            words.append(token)
        of_token.append(len(words) - 1)
    return _Words(of_token, words, [], [], [])


def _parse(texts: dict[int, _Words]) -> bool:
    """Tag the words; False where no parser is installed."""
    every = list(texts.values())
    try:
        for words, document in zip(every, parsed([each.texts for each in every]), strict=True):
            words.speech = [token.pos_ for token in document]
            words.governor = [token.head.i for token in document]
            words.relation = [token.dep_.lower() for token in document]
    except HeadscopeError:
        return False
    return True


def _key_words(words: _Words, query: int) -> Names:
    return [(words.texts[at].lower() if at >= 0 else SPECIAL, "") for at in words.of_token]


def _key_speech(words: _Words, query: int) -> Names:
    return [(words.speech[at] if at >= 0 else SPECIAL, "") for at in words.of_token]


def _speech(words: _Words, query: int) -> Names:
    mine = words.speech[words.of_token[query]]
    return [(mine, words.speech[at] if at >= 0 else SPECIAL) for at in words.of_token]


def _relations(words: _Words, query: int) -> Names:
    """What the key's word is to the query's word in the sentence."""
    mine = words.of_token[query]

    def named(place: int, at: int) -> str:
        if at < 0:
            return SPECIAL
        if at == mine:
            return "itself" if place == query else "same word"
        if words.governor[mine] == at:
            return f"governor of {words.relation[mine]}"
        if words.governor[at] == mine:
            return f"its {words.relation[at]}"
        return "no direct relation"

    return [(named(place, at), "") for place, at in enumerate(words.of_token)]


def written(
    scope: Any, places: Places, heads: Any, spelled: Spelled, most: int
) -> pd.DataFrame | None:
    """The tokens each head raises most when it looks at what it looks at most often; None where
    its weights cannot be read."""
    import torch

    from headscope.circuits.weights.matrices import head_weights, vocabulary

    try:
        weights, (into, out) = head_weights(scope), vocabulary(scope)
    except HeadscopeError:
        return None
    counts = places.counts
    head, token = np.divmod(counts.keys.codes, counts.vocabulary)
    rows: list[pd.DataFrame] = []
    for at, (layer, number) in enumerate(heads):
        mine = np.flatnonzero(head == at)
        if layer >= len(weights.layers) or not len(mine):
            continue
        share = torch.from_numpy(counts.keys.count[mine] / counts.keys.count[mine].sum()).float()
        seen = share @ into[torch.from_numpy(token[mine])].float()
        of = weights.layers[layer]
        raised = seen @ of.v[number].float() @ of.o[number].float() @ out.float().T
        best = torch.topk(raised - raised.mean(), min(most, len(raised)))
        names = spelled(best.indices.numpy())
        rows.append(
            pd.DataFrame(
                {"at": at, "profile": "writes", "name": names, "weight": best.values.numpy(),
                 "count": len(mine)}
            )
        )  # fmt: skip
    return pd.concat(rows, ignore_index=True) if rows else None
