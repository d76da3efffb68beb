"""T5Gemma 2, which is refused: its decoder shares one softmax between two texts.

A query's weights go to the decoder's tokens and to the encoder's together. Neither half is a
distribution, and no measure of a head would mean what it means elsewhere.
"""

from __future__ import annotations

from torch import nn

from headscope.errors import AttentionNotRead


def taps(module: nn.Module) -> None:
    if type(module).__name__ == "T5Gemma2MergedAttention":
        raise AttentionNotRead(
            "The decoder of T5Gemma 2 looks at its own tokens and at the encoder's in one softmax, "
            "so it has no map of either; read its encoder alone, with "
            "headscope.load(model.get_encoder(), tokenizer)."
        )
