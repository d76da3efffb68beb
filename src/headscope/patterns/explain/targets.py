"""Which keys a pattern's explanation is about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import BadInput
from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pattern import Pattern
from headscope.patterns.token_pairs import TokenPairs, blocks_of_pairs
from headscope.reading import Part
from headscope.statistics.features.grid import Grid
from headscope.statistics.of_reading import pair_counts


def stretch(part: Part, layer: int, pattern: Pattern, grid: Grid, most_pairs: int) -> range:
    """The queries to explain: all, or in a long text the stretch with most targets."""
    _, length, keys = part.layer(layer).shape
    most = max(8, most_pairs // max(1, keys))
    if most >= length or not pattern.applies(grid.causal):
        return range(length)
    before = np.concatenate([[0], np.cumsum(_asked(part, pattern, grid))])
    start = int(np.argmax(before[most:] - before[:-most]))
    return range(start, start + most)


def _asked(part: Part, pattern: Pattern, grid: Grid) -> NDArray[np.bool_]:
    """Which queries have a target, from what was counted when the part was measured."""
    if isinstance(pattern, MassPattern) and pattern.counts is not None:
        return (pattern.counts(grid)[0][0] > 0).cpu().numpy()
    counted = pair_counts(part)
    name = pattern.features()[0].name if isinstance(pattern, MassPattern) else ""
    if name in counted:
        return (counted[name][0] > 0).cpu().numpy()
    aimed = [_aimed(pattern, pairs)[0].any(-1).numpy() for pairs in blocks_of_pairs(grid)]
    return np.concatenate(aimed)


def targets_of(pattern: Pattern, grid: Grid) -> NDArray[np.bool_]:
    """Targets (t s) of a pattern in a grid of one text; for a bag of words the own sentence."""
    if not pattern.applies(grid.causal):
        seen = "sees only what came before" if grid.causal else "sees the whole text"
        raise BadInput(f"The pattern {pattern.label!r} does not apply: this model {seen}.")
    aimed = _aimed(pattern, TokenPairs(grid, slice(0, grid.query.ids.shape[1])))
    if not bool(aimed.any()):
        raise BadInput(
            f"No token of this text has a target for {pattern.label!r}; try a text that has one."
        )
    return aimed[0].numpy()


def _aimed(pattern: Pattern, pairs: TokenPairs) -> Tensor:
    """b tq s bool: the targets of some queries; for a bag of words the own sentence."""
    if isinstance(pattern, MassPattern):
        return pattern.aim(pairs)
    if pattern.name == "bag_of_words":
        return pairs.from_content & pairs.same_segment & pairs.pair
    raise BadInput(
        f"The pattern {pattern.label!r} ranks all words and has no single targets to explain; "
        f"choose another, such as 'same_word'."
    )
