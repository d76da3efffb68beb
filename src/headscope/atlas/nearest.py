"""Nearest examples: where in the corpus a head's output is most like that at a given query.

The texts of an atlas are read again, once for a head, and their vectors kept beside the file,
where `example_index` looks a query up.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_scope
from headscope.atlas.example_index import ExampleIndex, Vectors
from headscope.atlas.example_texts import (
    InputText,
    batched,
    inputs_of,
    kept_texts,
    new_text,
    stamp_of,
)
from headscope.atlas.excerpt import excerpt
from headscope.capture import Call, Kind
from headscope.errors import BadInput
from headscope.models.open import BUNDLED

if TYPE_CHECKING:
    import pandas as pd

    from headscope.atlas.atlas import Atlas
    from headscope.reading import Reading, Scope
    from headscope.text.tokenise import Text

Of = Literal["output", "query"]


def nearest(
    atlas: Atlas,
    scope: Scope,
    text: Text | Reading,
    query: int,
    layer: int,
    head: int,
    *,
    text_pair: Text | None = None,
    n: int = 10,
    of: Of = "output",
    kind: Kind | None = None,
    exact: bool | None = None,
    around: int = 12,
) -> pd.DataFrame:
    """Examples in the atlas's texts most like one query of a text: document, query, likeness, text.

    `text` may be a reading. Of a model with two stacks `text_pair` is what the decoder reads, and a
    query of `kind` "decoder" or "cross" is one of its tokens. `of="output"` compares the head's
    output (Σ_j α_ij v_j), `of="query"` its query vector (q). For large atlases faiss answers from
    an index, if installed, and may miss an example; the column `by` says whether the index answered
    or every position was compared. `exact=True` compares every position, `exact=False` uses the
    index for an atlas of any size.
    """
    import pandas as pd

    need_scope(scope)
    chosen: Kind = kind or atlas.kinds[0]
    _check(atlas, scope, chosen, layer, head, of)
    if n < 1:
        raise BadInput(f"n is how many examples to give, at least 1, not {n}.")
    index = _index(atlas, scope, chosen, layer, head, of)
    given = new_text(scope, text, text_pair, chosen)
    if not 0 <= query < given.queries:
        raise BadInput(f"There is no token {query}; the text has 0 to {given.queries - 1}.")
    inputs = inputs_of(scope, [given])
    own = _unit(_vectors(scope, inputs, chosen, layer, head, of)[0, [query]])
    best, likeness, by = index.nearest(own[0].numpy(), n, exact)
    rows = index.positions[best]
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
    atlas.profiles(layer, head, kind=kind)  # raises if there is no such head
    if of not in ("output", "query"):
        raise BadInput(f"Examples are compared by a head's 'output' or 'query', not by {of!r}.")
    if not atlas.has_text:
        raise BadInput(
            "This atlas does not store its texts, so no example can be compared; make "
            "it again without text=False (--no-text)."
        )
    atlas.check(scope)


def _index(atlas: Atlas, scope: Scope, kind: Kind, layer: int, head: int, of: Of) -> ExampleIndex:
    """The index over all tokens of all texts: already open, saved beside the atlas, or made now."""
    name = f"{kind}-{layer}-{head}-{of}"
    if name in atlas.indexes:
        return atlas.indexes[name]
    beside = _beside(atlas, name)
    texts = kept_texts(atlas, scope, kind)
    stamp = stamp_of(atlas, texts)
    found = ExampleIndex.kept(beside, stamp)
    if found is None:
        found = ExampleIndex.made(*_made(scope, texts, kind, layer, head, of), beside, stamp)
    atlas.indexes[name] = found
    return found


def _beside(atlas: Atlas, name: str) -> Path | None:
    """Where vectors are saved; None if the folder is read-only or is headscope's own."""
    if atlas.path is None or atlas.path.parent == BUNDLED:
        return None
    folder = Path(f"{atlas.path}.vectors")
    where = folder if folder.is_dir() else folder.parent
    return folder / name if os.access(where, os.W_OK) else None


def _made(
    scope: Scope, texts: Sequence[InputText], kind: Kind, layer: int, head: int, of: Of
) -> tuple[Vectors, NDArray[np.int64]]:
    vectors: list[Vectors] = []
    positions: list[NDArray[np.int64]] = []
    for some, inputs in batched(scope, texts):
        made = _vectors(scope, inputs, kind, layer, head, of)
        for row, text in enumerate(some):
            length = text.queries
            vectors.append(_unit(made[row, :length]).numpy())
            positions.append(np.stack([np.full(length, text.document), np.arange(length)], axis=1))
    return np.concatenate(vectors), np.concatenate(positions).astype(np.int64)


def _vectors(
    scope: Scope, inputs: dict[str, Tensor], kind: Kind, layer: int, head: int, of: Of
) -> Tensor:
    """b t d of one head."""
    found: list[Tensor] = []

    def look(call: Call) -> None:
        if call.kind != kind or call.layer != layer:
            return
        if call.q is None or call.v is None:
            raise BadInput(
                f"The queries and values of {scope.name} cannot be read, so examples cannot be "
                f"compared."
            )
        if of == "query":
            found.append(call.q[:, head].float().cpu())
        else:
            values = call.v[:, head // (call.heads // call.groups)].float()
            found.append((call.weights[:, head].float() @ values).cpu())
        raise _Seen

    with contextlib.suppress(_Seen):
        scope.forward(inputs, look, lazy=True, scores=True)
    return found[0]


class _Seen(Exception):
    """Ends the pass: the layers above, and their outputs, need not be computed."""


def _unit(vectors: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vectors.float(), dim=-1)
