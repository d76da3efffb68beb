"""CPM-Ant, which is refused: its maps are not those of the tokens it is given.

It puts a learnt prompt before every text, which takes a share of every query's attention, and takes
the last positions of a padded text for the real ones.
"""

from __future__ import annotations

from torch import nn

from headscope.errors import AttentionNotRead


def taps(module: nn.Module) -> None:
    if type(module).__name__ == "CpmAntModel":
        raise AttentionNotRead(
            f"CPM-Ant puts a learnt prompt of {module.prompt_length} positions before every text, "
            "so its maps are not those of the text's tokens; it cannot be read."
        )
