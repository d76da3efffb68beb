"""The seven patterns of the two posts, and their claims about bert-base-uncased."""

from __future__ import annotations

from typing import NamedTuple

SOURCE = (
    "Jesse Vig, Deconstructing BERT: Distilling 6 Patterns from 100 Million Parameters (2018), and "
    "Deconstructing BERT, Part 2: Visualizing the Inner Workings of Attention (2019)."
)


class PostPattern(NamedTuple):
    """One section of the report: the scores for a pattern of the posts."""

    title: str
    said: str  # the posts' claim, paraphrased
    scores: tuple[str, ...]  # patterns that measure it, the leading one first
    head: str | None  # the head the posts show, layer-head from 0


SEVEN = (
    PostPattern(
        "Next word",
        "Nearly all attention goes to the token after the query, within a sentence.",
        ("next_word",),
        "2-0",
    ),
    PostPattern(
        "Previous word",
        "Much attention goes to the token before the query, some of it to the separators.",
        ("previous_word",),
        "6-11",
    ),
    PostPattern(
        "Identical or related words",
        "Attention goes to other occurrences of the word, or to words like it.",
        ("same_word", "related_word"),
        None,
    ),
    PostPattern(
        "Identical or related words in the other sentence",
        "Attention goes to the same or a like word across the border between the sentences.",
        ("same_word_other", "related_other_sentence"),
        None,
    ),
    PostPattern(
        "Words predictive of the word",
        "Attention goes to other words that help to guess this one, as `straw` and `##berries` do.",
        ("predictive", "sibling_pieces"),
        None,
    ),
    PostPattern(
        "Delimiters",
        "Attention rests on the special tokens, which a few fixed neurons find.",
        ("delimiter", "delimiter_cls", "delimiter_sep1", "delimiter_sep2"),
        "7-3",
    ),
    PostPattern(
        "Bag of words",
        "Attention is spread uniformly over the query's own sentence, by two to four neurons.",
        ("bag_of_words",),
        "0-0",
    ),
)

LOOKING_BACK = PostPattern(
    "Models that only look back",
    "The posts read BERT; these patterns are known from models that continue text.",
    ("sink", "induction", "duplicate_token"),
    None,
)
