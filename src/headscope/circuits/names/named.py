"""Named heads: every name's score for every head, beside the score by chance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.arguments import need_count, need_scope
from headscope.circuits.names.by_text import (
    gaussian_activations,
    massive_activations,
    name_mover,
    where_heads_look,
)
from headscope.circuits.names.by_weights import copy_suppression, successor
from headscope.circuits.names.retrieval import retrieval
from headscope.errors import BadInput
from headscope.results import HeadResult, of_layers, tidy
from headscope.statistics.significance import FEWEST

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

NAMES = (
    "copy_suppression",
    "successor",
    "name_mover",
    "retrieval",
    "positional",
    "rare_word",
    "massive_activation",
)


@dataclass(frozen=True, eq=False, repr=False)
class NamedHeads(HeadResult):
    """One row per head and name: value, error if texts were drawn, and chance (`null`)."""

    model: str
    scores: pd.DataFrame

    @property
    def table(self) -> pd.DataFrame:
        return self.scores

    @property
    def title(self) -> str:
        return f"Named heads of {self.model}"


def named(
    scope: Scope,
    names: Collection[str] | None = None,
    *,
    texts: Sequence[str] = (),
    n: int = 16,
    seed: int = 0,
) -> NamedHeads:
    """How well every head fits the kinds that papers have named.

    copy_suppression and successor come from weights, name_mover and retrieval from generated
    prompts, positional, rare_word and massive_activation (of layers) from your texts.

    Parameters
    ----------
    scope
        The model.
    names
        The names to score; copy_suppression, successor, name_mover and retrieval if left out.
    texts
        Texts for positional, rare_word and massive_activation; none by default.
    n
        How many prompts are generated, 16 by default.
    seed
        Seed of everything drawn at random, 0 by default.

    Returns
    -------
    NamedHeads
        A score per head and name, beside the score by chance.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.named(hs.load(), ["successor"])
    >>> sorted(set(found.table["measure"]))
    ['successor']
    """
    import pandas as pd

    need_scope(scope)
    chosen = tuple(names) if names is not None else NAMES[:4]
    if not chosen:
        raise BadInput(f"Give names=: one or more of {', '.join(NAMES)}.")
    wrong = [name for name in chosen if name not in NAMES]
    if wrong:
        raise BadInput(f"There is no head called {wrong[0]!r}; there are {', '.join(NAMES)}.")
    if scope.tokenizer is None:
        raise BadInput(f"{scope.name} does not read text, and these heads are found on text.")
    need_count(n, "n")
    frames: list[Any] = []
    for name in chosen:
        frames += _scored(scope, name, texts, n, seed)
    kind = "decoder" if "decoder" in scope.kinds else "encoder"
    every = of_layers(pd.concat(frames, ignore_index=True), scope.layer_numbers[kind])
    return NamedHeads(scope.name, tidy(every, kind=kind))


def _scored(scope: Scope, name: str, texts: Sequence[str], n: int, seed: int) -> list[Any]:
    if name == "copy_suppression":
        values, chance = copy_suppression(scope, seed)
        return [_frame(name, values, chance)]
    if name == "successor":
        values, chance = successor(scope)
        return [_frame(name, values, chance)]
    if name == "retrieval":
        values, chance = retrieval(scope, n, seed=seed)
        shrunk = (values * n + 2) / (n + 4)  # Agresti-Coull: never an error of 0
        error = np.sqrt(shrunk * (1 - shrunk) / (n + 4)) if n >= FEWEST else np.nan
        return [_frame(name, values, chance, error, n)]
    if name == "name_mover":
        found, null = name_mover(scope, n, seed)
        enough = len(found) >= FEWEST
        error = found.std(0, ddof=1) / np.sqrt(len(found)) if enough else np.nan
        return [_frame(name, found.mean(0), null.mean(0), error, len(found))]
    if scope.encoder_decoder:
        raise BadInput(
            f"{name} is measured only in models with a single stack; {scope.name} has "
            "an encoder and a decoder."
        )
    if name == "massive_activation":
        return [_of_layers(scope, name, texts, seed)]
    seen = where_heads_look(scope, texts, seed)
    if name == "positional":
        return [_frame(name, seen.positional, seen.positional_chance, count=len(texts))]
    return [_frame(name, seen.rare, seen.rare_chance, count=len(texts))]


def _of_layers(scope: Scope, name: str, texts: Sequence[str], seed: int) -> Any:
    """A measure of layers: its rows have no head."""
    import pandas as pd

    if not texts:
        raise BadInput("Massive activations are measured on texts; give some.")
    each = np.stack([massive_activations(scope, text) for text in texts])  # n l
    chance = np.mean([gaussian_activations(scope, text, seed) for text in texts])
    frame = _frame(name, each.mean(0)[:, None], float(chance), count=len(texts))
    return frame.assign(head=pd.array([None] * len(frame), dtype="Int64"))


def _frame(name: str, values: Any, null: Any, error: Any = np.nan, count: int = 1) -> Any:
    import pandas as pd

    layer, head = np.indices(values.shape)
    wide = np.broadcast_to
    return pd.DataFrame(
        {
            "layer": layer.ravel(),
            "head": head.ravel(),
            "measure": name,
            "value": values.ravel(),
            "error": wide(error, values.shape).ravel(),
            "count": count,
            "null": wide(null, values.shape).ravel(),
        }
    )
