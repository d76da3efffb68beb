"""Nearest places: where in the corpus a head's output is most like that of a query in hand.

The texts of an atlas are read again, once for a head, and their vectors kept beside the file,
where `place_index` looks a query up.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_scope
from headscope.atlas.bundled import FILE as BUNDLED_FILE
from headscope.atlas.excerpt import excerpt
from headscope.atlas.place_index import PlaceIndex, Vectors
from headscope.capture import Call, Kind
from headscope.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from headscope.atlas.atlas import Atlas
    from headscope.reading import Scope
    from headscope.text.tokenise import Text

Of = Literal["output", "query"]
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
    exact: bool = False,
    around: int = 12,
) -> pd.DataFrame:
    """Places of the atlas's texts most like one query of a text: document, query, likeness, text.

    `of="output"` compares what the head takes (Σ_j α_ij v_j), `of="query"` what it looks for (q).
    Large atlases are looked up in an index where faiss is installed, which may miss a place;
    `by` says whether it was ("index") or every place was compared, as `exact=True` asks for.
    """
    import pandas as pd

    need_scope(scope)
    chosen: Kind = kind or atlas.kinds[0]
    _check(atlas, scope, chosen, layer, head, of)
    if n < 1:
        raise BadInput(f"n is how many places to give, at least 1, not {n}.")
    index = _index(atlas, scope, chosen, layer, head, of)
    batch = scope.encode([text], [text_pair])
    if not 0 <= query < len(batch.tokens[0]):
        raise BadInput(f"There is no token {query}; the text has 0 to {len(batch.tokens[0]) - 1}.")
    own = _unit(_vectors(scope, dict(batch.inputs), chosen, layer, head, of)[0, [query]])
    best, likeness, by = index.nearest(own[0].numpy(), n, exact)
    rows = index.places[best]
    return pd.DataFrame(
        {
            "document": rows[:, 0],
            "query": rows[:, 1],
            "likeness": likeness,
            "text": [excerpt(atlas.document(int(d), chosen), int(q), (), around) for d, q in rows],
            "by": by,
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


def _index(atlas: Atlas, scope: Scope, kind: Kind, layer: int, head: int, of: Of) -> PlaceIndex:
    """All tokens of all texts: in hand, kept beside the atlas, or read now."""
    name = f"{kind}-{layer}-{head}-{of}"
    if name in atlas.indexes:
        return atlas.indexes[name]
    beside = _beside(atlas, name)
    stamp = _stamp(atlas, kind)
    found = PlaceIndex.kept(beside, stamp)
    if found is None:
        found = PlaceIndex.made(*_made(atlas, scope, kind, layer, head, of), beside, stamp)
    atlas.indexes[name] = found
    return found


def _beside(atlas: Atlas, name: str) -> Path | None:
    """Where vectors are kept; nowhere if the folder cannot be written, or is headscope's own."""
    if atlas.path is None or atlas.path == BUNDLED_FILE:
        return None
    folder = Path(f"{atlas.path}.vectors")
    where = folder if folder.is_dir() else folder.parent
    return folder / name if os.access(where, os.W_OK) else None


def _stamp(atlas: Atlas, kind: Kind) -> str:
    """What vectors depend on: the weights, and the texts of the atlas."""
    rows: Any = atlas.frame("documents")
    rows = rows[rows["kind"] == kind]
    made_of = hashlib.sha256(str(atlas.description.get("weights")).encode())
    for row in rows.itertuples():
        for part in ([row.document, len(row.ids)], row.ids, row.segments):
            made_of.update(np.asarray(part, dtype="<i8").tobytes())
    return made_of.hexdigest()


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
