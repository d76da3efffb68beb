"""A running tally of one pattern over documents, per layer and head; tallies can be merged."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from headscope.patterns.pattern import Scores, Values


@dataclass(eq=False)
class Tally:
    """Sums over documents, every array l h. `excess` is score minus null, document by document."""

    documents: Values
    score: Values
    score_squared: Values
    uniform: Values
    null: Values
    excess_squared: Values
    variance: Values

    @staticmethod
    def empty(layers: int, heads: int) -> Tally:
        return Tally(*(np.zeros((layers, heads)) for _ in fields(Tally)))

    def add(self, layer: int, scores: Scores) -> None:
        """Count one document's scores for the heads of one layer."""
        self.documents[layer] += 1
        self.score[layer] += scores.score
        self.score_squared[layer] += scores.score**2
        self.uniform[layer] += scores.uniform
        self.null[layer] += scores.null
        self.excess_squared[layer] += (scores.score - scores.null) ** 2
        self.variance[layer] += scores.variance

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Tally)))
