"""Name movers and their negatives: heads that bring the right name, or hold it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope.circuits.logits.attribute import attribute
from headscope.circuits.patching.ready import task
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading import Scope

Floats = NDArray[np.float64]


def name_mover(scope: Scope, n: int = 16, seed: int = 0) -> tuple[Floats, Floats]:
    """n × layers × heads: what each head adds to right − wrong name, taken from the right name.

    Wang et al. 2022: on the names task, the edge from the answer's place to the name to be given.
    Positive: a name mover; negative: a negative name mover. And the same from a word that is no
    name, drawn for each text: what a head takes from any one word.
    """
    if "decoder" not in scope.kinds or scope.encoder_decoder:
        raise BadInput(f"Names are moved to what comes next; {scope.name} does not continue text.")
    chance = np.random.default_rng(seed)
    found: list[Floats] = []
    null: list[Floats] = []
    for pair in task("names", n, seed).fitting(scope).pairs:
        one = attribute(
            scope, pair.clean, target=(pair.answer, pair.wrong or 0), tokens=0, lens=False
        )
        if not one.edges:
            raise BadInput(f"{scope.name} hands over no values, so names cannot be followed.")
        by_key = np.stack([edges.sum(1) for edges in one.edges.values()])  # l h s
        named = [at for at, token in enumerate(one.query) if token.strip() == pair.answer]
        names = {str(pair.answer), str(pair.wrong)}
        other = [at for at, token in enumerate(one.query[1:-1], 1) if token.strip() not in names]
        found.append(by_key[:, :, named].sum(-1))
        null.append(by_key[:, :, chance.choice(other)])
    return np.stack(found), np.stack(null)
