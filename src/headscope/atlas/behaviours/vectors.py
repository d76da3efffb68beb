"""Queries and keys of heads at drawn positions of an atlas's texts, read again with the model."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.atlas.example_texts import inputs_of, kept_texts
from headscope.capture import Call, Kind
from headscope.capture.stack import StoppedPass
from headscope.errors import BadInput
from headscope.reading.rotary import neuron_groups, rotary_of
from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas
    from headscope.atlas.example_texts import InputText
    from headscope.reading import Scope

Head = tuple[int, int]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Drawn:
    """Some queries of one text."""

    text: InputText
    tokens: Tokens
    queries: NDArray[np.int64]


@dataclass(frozen=True)
class Matched:
    """What a head matched at some queries of a text: n each, the strongest key's where a key's."""

    drawn: Drawn
    head: Head
    key: NDArray[np.int64]
    weights: Tensor  # n s
    q: Floats  # n d
    k: Floats  # n d
    products: Floats  # n g: the score by neuron, or by pair of neurons that turn


def drawn_positions(
    atlas: Atlas, scope: Scope, kind: Kind, count: int, seed: int
) -> tuple[Drawn, ...]:
    """Queries that are not special and see several keys, drawn from all texts of the atlas."""
    rows: Any = atlas.frame("documents")
    kept = {int(row.document): row for row in rows[rows["kind"] == kind].itertuples()}
    texts = {text.document: text for text in kept_texts(atlas, scope, kind)}
    pairs = [
        (number, query)
        for number in sorted(texts)
        for query in np.flatnonzero(np.asarray(kept[number].classes) >= TokenClass.PUNCTUATION)
        if query > 0 or not scope.causal
    ]
    if not pairs:
        raise BadInput(
            "The texts of this atlas have no query that sees more than one key; give longer texts."
        )
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:count]
    by_text: dict[int, list[int]] = {}
    for at in sorted(chosen.tolist()):
        number, query = pairs[at]
        by_text.setdefault(number, []).append(int(query))
    return tuple(
        Drawn(texts[number], _tokens(kept[number]), np.array(queries))
        for number, queries in by_text.items()
    )


def _tokens(row: Any) -> Tokens:
    labels = tuple(str(one) for one in row.tokens)
    classes = np.asarray(row.classes, dtype=np.int8)
    special = classes < TokenClass.PUNCTUATION
    begins = ~np.asarray(row.continues, dtype=bool) & ~special
    return Tokens(
        spellings=labels,
        labels=labels,
        ids=np.asarray(row.ids, dtype=np.int64),
        classes=classes,
        segments=np.asarray(row.segments, dtype=np.int8),
        word_ids=np.where(special, -1, np.cumsum(begins) - 1).astype(np.int32),
        spans=np.full((len(labels), 2), -1, dtype=np.int32),
    )


def matched(
    scope: Scope, drawn: Sequence[Drawn], kind: Kind, heads: Collection[Head]
) -> Iterator[Matched]:
    """Each head's matches in each text, a pass a text."""
    last = max(layer for layer, _ in heads)
    for some in drawn:
        found: list[Matched] = []

        def look(call: Call, some: Drawn = some, found: list[Matched] = found) -> None:
            if call.kind != kind:
                return
            own = sorted(head for layer, head in heads if layer == call.layer)
            if own:
                found.extend(_of_call(scope, call, some, own))
            if call.layer == last:
                raise StoppedPass

        with contextlib.suppress(StoppedPass), torch.no_grad():
            scope.forward(inputs_of(scope, [some.text]), look, lazy=True, scores=True)
        yield from found


def _of_call(scope: Scope, call: Call, drawn: Drawn, heads: list[int]) -> Iterator[Matched]:
    if call.q is None or call.k is None or call.scaling is None:
        raise BadInput(
            f"{scope.name} does not expose its queries and keys, so they cannot be clustered."
        )
    rows = torch.from_numpy(drawn.queries).to(call.q.device)
    turned = neuron_groups(rotary_of(call), call.q.shape[-1])
    for head in heads:
        q = call.q[0, head, rows].float()
        k = call.k[0, head // (call.heads // call.groups)].float()
        weights = call.weights[0, head, rows].float()
        key = weights.argmax(1)
        products = call.scaling * q * k[key]
        grouped = torch.stack([products[:, list(one)].sum(1) for one in turned], dim=1)
        arrays = (one.cpu().numpy() for one in (q, k[key], grouped))
        yield Matched(
            drawn, (call.layer, head), key.cpu().numpy(), weights.cpu(), *arrays
        )  # fmt: skip
