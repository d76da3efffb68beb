"""Profiles over words: which words, parts of speech and grammatical relations a head attends to.

They are counted over the positions drawn from the corpus. Those texts are looked up in the
treebank, if the corpus is one, or else parsed, so the cost does not grow with the corpus. Chance is
uniform attention over the keys that a query sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.atlas.words import Words
from headscope.errors import HeadscopeError

if TYPE_CHECKING:
    from headscope.atlas.collecting.counts import Counts
    from headscope.atlas.collecting.ranked import Ranked
    from headscope.atlas.words import Spelled
    from headscope.capture import Kind

LEAST = 5  # how often a name must occur to be listed
SPECIAL = "special token"
Ints = NDArray[np.int64]
BASE = 2**32  # a code is BASE · name + other


class _Numbered:
    """Numbers for names, in order of appearance; the empty name is 0."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __call__(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def every(self, names: list[str]) -> Ints:
        return np.array([self(name) for name in names], dtype=np.int64)

    @property
    def names(self) -> NDArray[np.object_]:
        return np.array(list(self._numbers), dtype=object)


def word_profiles(
    drawn: Ranked,
    causal: bool,
    texts: Mapping[int, Words],
    judged: Callable[..., pd.DataFrame],
) -> list[pd.DataFrame]:
    """Words, and parts of speech and relations if a treebank or a parser gives them."""
    numbered = _Numbered()
    asked: dict[str, Callable[[Words, _Numbered], Callable[[int], Ints]]] = {"key_word": _key_words}
    if all(words.grammar is not None for words in texts.values()):
        asked |= {"key_speech": _key_speech, "speech": _speech, "relation": _relations}
    return [
        _judged(profile, *_counted(drawn, texts, causal, coded, numbered), numbered, judged)
        for profile, coded in asked.items()
    ]


def _counted(
    drawn: Ranked,
    texts: Mapping[int, Words],
    causal: bool,
    coded: Callable[[Words, _Numbered], Callable[[int], Ints]],
    numbered: _Numbered,
) -> tuple[Ints, Ints, Ints, Ints, NDArray[np.float64]]:
    """The codes that each head chose, with their texts; all codes, and how often uniform attention
    chooses each."""
    of_text: dict[int, Callable[[int], Ints]] = {}
    heads: list[Ints] = [np.zeros(0, dtype=np.int64)]
    chosen, within, seen_codes = heads.copy(), heads.copy(), heads.copy()
    chances: list[NDArray[np.float64]] = [np.zeros(0)]
    for at, words, query in _asked(drawn, texts):
        if id(words) not in of_text:
            of_text[id(words)] = coded(words, numbered)
        codes = of_text[id(words)](query)
        codes = codes[: query + 1] if causal else codes
        keys = drawn.keys[at, :, 0]
        head = np.flatnonzero((keys >= 0) & (keys < len(codes)))
        heads.append(head)
        chosen.append(codes[keys[head]])
        within.append(np.full(len(head), drawn.document[at], dtype=np.int64))
        seen_codes.append(codes)
        chances.append(np.full(len(codes), 1 / len(codes)))
    every, which = np.unique(np.concatenate(seen_codes), return_inverse=True)
    expected = np.bincount(which, np.concatenate(chances), len(every)).astype(np.float64)
    found = [np.concatenate(part) for part in (heads, chosen, within)]
    return found[0], found[1], found[2], every, expected


def _judged(
    profile: str,
    heads: Ints,
    chosen: Ints,
    within: Ints,
    every: Ints,
    expected: NDArray[np.float64],
    numbered: _Numbered,
    judged: Callable[..., pd.DataFrame],
) -> pd.DataFrame:
    size = max(len(every), 1)
    codes = heads * size + np.searchsorted(every, chosen)
    of_texts, in_text = np.unique(np.stack([codes, within]), axis=1, return_counts=True)
    both, at = np.unique(of_texts[0], return_inverse=True)
    count, bunched = (np.bincount(at, in_text**power, len(both)) for power in (1, 2))
    head, code = np.divmod(both, size)
    name, other = (numbered.names[part] for part in np.divmod(every[code], BASE))
    found = judged(head, profile, name, count.astype(np.int64), expected[code], bunched)
    found = found.assign(other=other)
    return found.loc[found["count"] >= LEAST]


def _asked(drawn: Ranked, texts: Mapping[int, Words]) -> Iterator[tuple[int, Words, int]]:
    """The drawn positions in parsed texts, without special queries."""
    for at, (document, query) in enumerate(zip(drawn.document, drawn.query, strict=True)):
        words = texts.get(int(document))
        if words is not None and words.of_token[query] >= 0:
            yield at, words, int(query)


def _of_tokens(words: Words, names: list[str], numbered: _Numbered) -> Ints:
    """A number for every token: that of its word, or of special tokens."""
    return np.append(numbered.every(names), numbered(SPECIAL))[words.of_token]


def _key_words(words: Words, numbered: _Numbered) -> Callable[[int], Ints]:
    codes = _of_tokens(words, [text.lower() for text in words.texts], numbered) * BASE
    return lambda query: codes


def _key_speech(words: Words, numbered: _Numbered) -> Callable[[int], Ints]:
    assert words.grammar is not None
    codes = _of_tokens(words, words.grammar.speech, numbered) * BASE
    return lambda query: codes


def _speech(words: Words, numbered: _Numbered) -> Callable[[int], Ints]:
    assert words.grammar is not None
    of_token = _of_tokens(words, words.grammar.speech, numbered)
    return lambda query: of_token[query] * BASE + of_token


def _relations(words: Words, numbered: _Numbered) -> Callable[[int], Ints]:
    """What the key's word is to the query's word in the sentence."""
    assert words.grammar is not None
    grammar, of_token = words.grammar, words.of_token
    own = numbered.every([f"its {relation}" for relation in grammar.relation])
    above = numbered.every([f"governor of {relation}" for relation in grammar.relation])
    governor = np.array(grammar.governor, dtype=np.int64)

    def codes(query: int) -> Ints:
        mine = of_token[query]
        found = np.where(governor[of_token] == mine, own[of_token], numbered("no direct relation"))
        found[of_token == governor[mine]] = above[mine]
        found[of_token == mine] = numbered("same word")
        found[query] = numbered("itself")
        found[of_token < 0] = numbered(SPECIAL)
        return found * BASE

    return codes


def written(
    scope: Any, kind: Kind, counts: Counts, heads: Any, spelled: Spelled, most: int
) -> pd.DataFrame | None:
    """The tokens each head raises most when it looks at what it looks at most often; None where
    its weights cannot be read or the heads are not those that write the words."""
    import torch

    from headscope.circuits.weights.matrices import head_weights, vocabulary

    try:  # words first: a model without an output layer of words needs no look at its weights
        (into, out), weights = vocabulary(scope), head_weights(scope)
    except HeadscopeError:
        return None
    if weights.kind != kind:  # the encoder, where a decoder gives the answer
        return None
    codes, count, *_ = counts.keys.fetched()
    head, token = np.divmod(codes, counts.vocabulary)
    starts = np.searchsorted(head, np.arange(len(heads) + 1))
    rows: list[pd.DataFrame] = []
    for layer, of in enumerate(weights.layers):
        mine = [at for at in _of_layer(heads, layer) if starts[at + 1] > starts[at]]
        mixed: list[Any] = []
        for at in mine:
            some, number = slice(starts[at], starts[at + 1]), heads[at][1]
            share = torch.from_numpy(count[some] / count[some].sum()).to(into)
            seen = share @ into[torch.from_numpy(token[some]).to(into.device)]
            mixed.append(seen @ of.v[number].to(into) @ of.o[number].to(into))
        # all heads of a layer at once: reading the words takes longest
        raised = out @ torch.stack(mixed, 1) if mixed else out[:, :0]
        best = torch.topk((raised - raised.mean(0)).T, min(most, len(out)))
        names, values = spelled(best.indices.cpu().numpy().ravel()), best.values.cpu().numpy()
        each = values.shape[1]
        rows.append(
            pd.DataFrame(
                {"at": np.repeat(mine, each), "profile": "writes", "name": names,
                 "weight": values.ravel(), "count": np.repeat(np.diff(starts)[mine], each)}
            )
        )  # fmt: skip
    found = [of_layer for of_layer in rows if len(of_layer)]
    return pd.concat(found, ignore_index=True) if found else None


def _of_layer(heads: Any, layer: int) -> list[int]:
    return [at for at, (of, _) in enumerate(heads) if of == layer]
