"""Attention to copies of the token, or to what followed them.

For the other sentence the pool is that sentence alone, so merely attending across scores nothing:
the null is (mass on the words there) × (copies there) / (words there). Induction and duplicate
tokens are measured on repeated random tokens, where only the repetition can guide a head.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor
from torch.nn.functional import pad

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.token_pairs import TokenPairs, earlier, other_words, words_across


def copies(pairs: TokenPairs) -> Tensor:
    return pairs.same_token


def after_copies(pairs: TokenPairs) -> Tensor:
    followed = pad((earlier(pairs) & pairs.same_token)[..., :-1], (1, 0))
    # in a doubled word the token itself follows its copy, which is not looking back
    return followed & (pairs.offset < -1)


same_word = MassPattern(
    name="same_word",
    label="same word",
    about="attends to other occurrences of the same word",
    least_score=0.2,
    least_lift=4.0,
    targets=copies,
    pool=other_words,
)
same_word_other = replace(
    same_word,
    name="same_word_other",
    label="same word, other sentence",
    about="attends to the same word in the other sentence",
    causal=False,
    pool=words_across,
)
induction = MassPattern(
    name="induction",
    label="induction",
    about="attends to what followed an earlier copy of the token",
    least_score=0.3,
    least_lift=4.0,
    source="repeats",
    causal=True,
    paper="Olsson et al. 2022",
    targets=after_copies,
    pool=earlier,
)
duplicate_token = replace(
    induction,
    name="duplicate_token",
    label="duplicate token",
    about="attends to an earlier copy of the token",
    paper="Wang et al. 2022",
    targets=copies,
)
