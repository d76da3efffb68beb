"""Families that are refused: their weights are not a map of the tokens they are given.

CPM-Ant puts a learnt prompt before every text, which takes a share of every query's attention, and
takes the last positions of a padded text for the real ones. The decoder of T5Gemma 2 shares one
softmax between two texts: neither half is a distribution, and no measure of a head would mean what
it means elsewhere.
"""

from __future__ import annotations

from torch import nn

from headscope.errors import AttentionNotRead


def taps(module: nn.Module) -> None:
    name = type(module).__name__
    if name == "CpmAntModel":
        raise AttentionNotRead(
            f"CPM-Ant puts a learnt prompt of {module.prompt_length} positions before every text, "
            "so its maps do not match the text's tokens; it cannot be read."
        )
    if name == "T5Gemma2MergedAttention":
        raise AttentionNotRead(
            "The decoder of T5Gemma 2 attends to its own and the encoder's tokens in "
            "one softmax, so neither has a map of its own; read its encoder alone, "
            "with headscope.load(model.get_encoder(), tokenizer)."
        )
