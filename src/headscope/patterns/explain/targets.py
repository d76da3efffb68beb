"""Which keys a pattern's explanation is about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pattern import Pattern
from headscope.patterns.token_pairs import Sheet
from headscope.statistics.features.grid import PUNCTUATION, Grid


def targets_of(pattern: Pattern, grid: Grid) -> NDArray[np.bool_]:
    """Targets (t s) of a pattern in a grid of one text; for a bag of words the own sentence."""
    if not pattern.applies(grid.causal):
        seen = "sees only what came before" if grid.causal else "sees the whole text"
        raise BadInput(f"The pattern {pattern.label!r} does not apply: this model {seen}.")
    if isinstance(pattern, MassPattern):
        aimed = pattern.rows_and_keys(grid)[0]
    elif pattern.name == "bag_of_words":
        sheet = Sheet(grid, slice(0, grid.query.ids.shape[1]))
        content = (grid.query.classes >= PUNCTUATION)[:, :, None]
        aimed = sheet.visible & sheet.same_segment & sheet.pair & content
    else:
        raise BadInput(
            f"The pattern {pattern.label!r} is an order of all words, with no targets to explain; "
            "choose another, such as 'same_word'."
        )
    if not bool(aimed.any()):
        raise BadInput(
            f"No token of this text has a target for {pattern.label!r}; try a text that has one."
        )
    return aimed[0].numpy()
