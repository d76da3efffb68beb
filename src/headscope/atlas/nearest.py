"""Nearest places: where in the corpus a head's output is most like that of a query in hand.

The texts of an atlas are read again, once for a head, and their vectors kept beside the file: a
matrix product then compares a query with every token of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_scope
from headscope.atlas.excerpt import excerpt
from headscope.capture import Call, Kind
from headscope.errors import BadInput
from headscope.files import atomic_path

if TYPE_CHECKING:
    import pandas as pd

    from headscope.atlas.atlas import Atlas
    from headscope.reading import Scope
    from headscope.text.tokenise import Text

Of = Literal["output", "query"]
Vectors = NDArray[np.float32]
MOST_TOKENS = 2048  # of a batch


def nearest(
    atlas: Atlas,
    scope: Scope,
    text: Text,
    query: int,
    layer: int,
    head: int,
    *,
    text_pair: Text | None = None,
    n: int = 10,
    of: Of = "output",
    kind: Kind | None = None,
    around: int = 12,
) -> pd.DataFrame:
    """Places of the atlas's texts most like one query of a text: document, query, likeness, text.

    `of="output"` compares what the head takes (Σ_j α_ij v_j), `of="query"` what it looks for (q).
    """
    import pandas as pd

    need_scope(scope)
    chosen: Kind = kind or atlas.kinds[0]
    _check(atlas, scope, chosen, layer, head, of)
    stored, places = _index(atlas, scope, chosen, layer, head, of)
    batch = scope.encode([text], [text_pair])
    if not 0 <= query < len(batch.tokens[0]):
        raise BadInput(f"There is no token {query}; the text has 0 to {len(batch.tokens[0]) - 1}.")
    own = _unit(_vectors(scope, dict(batch.inputs), chosen, layer, head, of)[0, [query]])
    likeness = (stored @ own[0].numpy()).astype(np.float64)
    near = np.arange(len(likeness))
    if len(near) > 4 * n > 0:  # sorting all would take longer than comparing them
        near = np.flatnonzero(likeness >= np.partition(likeness, -n)[-n])
    best = near[np.argsort(-likeness[near], kind="stable")[:n]]
    rows = places[best]
    return pd.DataFrame(
        {
            "document": rows[:, 0],
            "query": rows[:, 1],
            "likeness": likeness[best],
            "text": [excerpt(atlas.document(int(d), chosen), int(q), (), around) for d, q in rows],
        }
    )


def _check(atlas: Atlas, scope: Scope, kind: Kind, layer: int, head: int, of: str) -> None:
    atlas.profiles(layer, head, kind=kind)  # says so if there is no such head
    if of not in ("output", "query"):
        raise BadInput(f"Places are alike by a head's 'output' or 'query', not by {of!r}.")
    if not atlas.has_text:
        raise BadInput("This atlas was made without text, so it has no places to compare with.")
    if scope.encoder_decoder:
        raise BadInput("Nearest places are found for models with one stack alone.")
    atlas.check(scope)


def _index(
    atlas: Atlas, scope: Scope, kind: Kind, layer: int, head: int, of: Of
) -> tuple[Vectors, NDArray[np.int64]]:
    """Unit vectors of all tokens of all texts, and which document and token each is."""
    name = f"{kind}-{layer}-{head}-{of}"
    if name in atlas.indexes:
        return atlas.indexes[name]
    beside = None if atlas.path is None else Path(f"{atlas.path}.vectors") / f"{name}.npz"
    if beside is not None and beside.is_file():
        with np.load(beside) as kept:
            found = kept["vectors"].astype(np.float32), kept["places"]
    else:
        found = _made(atlas, scope, kind, layer, head, of)
        if beside is not None and beside.parent.parent.is_dir():
            beside.parent.mkdir(exist_ok=True)
            with atomic_path(beside) as temporary:
                np.savez(temporary, vectors=found[0].astype(np.float16), places=found[1])
    atlas.indexes[name] = found
    return found


def _made(
    atlas: Atlas, scope: Scope, kind: Kind, layer: int, head: int, of: Of
) -> tuple[Vectors, NDArray[np.int64]]:
    vectors: list[Vectors] = []
    places: list[NDArray[np.int64]] = []
    for numbers, lengths, inputs in _batches(atlas, scope, kind):
        made = _vectors(scope, inputs, kind, layer, head, of)
        for row, (number, length) in enumerate(zip(numbers, lengths, strict=True)):
            vectors.append(_unit(made[row, :length]).numpy())
            places.append(np.stack([np.full(length, number), np.arange(length)], axis=1))
    return np.concatenate(vectors), np.concatenate(places).astype(np.int64)


def _batches(
    atlas: Atlas, scope: Scope, kind: Kind
) -> Iterator[tuple[list[int], list[int], dict[str, Tensor]]]:
    rows: Any = atlas.frame("documents")
    rows = rows[rows["kind"] == kind]
    texts = sorted(
        (len(row.ids), int(row.document), row.ids, row.segments) for row in rows.itertuples()
    )[::-1]
    while texts:
        count = max(1, MOST_TOKENS // texts[0][0])
        some, texts = texts[:count], texts[count:]
        ids = torch.zeros(len(some), some[0][0], dtype=torch.long)
        kinds, seen = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, (length, _, of_row, segments) in enumerate(some):
            ids[row, :length] = torch.from_numpy(np.array(of_row, dtype=np.int64))
            kinds[row, :length] = torch.from_numpy(np.array(segments, dtype=np.int64))
            seen[row, :length] = 1
        inputs = {"input_ids": ids, "attention_mask": seen, "token_type_ids": kinds}
        moved = {name: tensor.to(scope.device) for name, tensor in inputs.items()}
        yield [one[1] for one in some], [one[0] for one in some], moved


def _vectors(
    scope: Scope, inputs: dict[str, Tensor], kind: Kind, layer: int, head: int, of: Of
) -> Tensor:
    """b t d of one head."""
    found: list[Tensor] = []

    def look(call: Call) -> None:
        if call.kind != kind or call.layer != layer:
            return
        if call.q is None or call.v is None:
            raise BadInput(f"The values of {scope.name} cannot be read, so nothing is compared.")
        if of == "query":
            found.append(call.q[:, head].float().cpu())
            return
        values = call.v[:, head // (call.heads // call.groups)].float()
        found.append((call.weights[:, head].float() @ values).cpu())

    scope.forward(inputs, look, lazy=True, scores=True)
    return found[0]


def _unit(vectors: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vectors.float(), dim=-1)
