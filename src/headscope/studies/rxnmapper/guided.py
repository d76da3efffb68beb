"""Atom maps from one head's attention, as RXNMapper assigns them: the surest atom first.

A mapped atom raises the scores between its neighbours and those of its origin, and no precursor
atom is used twice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.studies.rxnmapper.reactions import Reaction

RAISED = 90.0  # the package's attention_multiplier


def assigned(scores: NDArray[np.float64], reaction: Reaction) -> NDArray[np.intp]:
    """The precursor atom of every product atom, -1 for none; `scores` adds both directions."""
    products, precursors = reaction.near
    open_scores = np.where(reaction.same, scores, 0.0)
    raised = np.ones_like(open_scores)
    found = np.full(len(scores), -1, dtype=np.intp)
    for _ in range(len(scores)):
        weighted = open_scores * raised
        total = weighted.sum(1, keepdims=True)
        share = np.divide(weighted, total, out=np.zeros_like(weighted), where=total != 0)
        atom = int(share.max(1).argmax())
        origin = int(share[atom].argmax())
        if np.isclose(share[atom, origin], 0.0):
            break
        found[atom] = origin
        raised[np.ix_(products[atom], precursors[origin])] *= RAISED
        raised[atom] = 0
        raised[:, origin] = 0
    return found
