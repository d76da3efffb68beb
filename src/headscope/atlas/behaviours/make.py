"""`hs.behaviours`: how many things a head does, and which positions show each."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_count, need_scope
from headscope.atlas.behaviours.clusters import clusters, components
from headscope.atlas.behaviours.describe import Targets, named, profile
from headscope.atlas.behaviours.result import Behaviours
from headscope.atlas.behaviours.vectors import Drawn, Head, Matched, drawn_positions, matched
from headscope.capture import Kind
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas
    from headscope.reading import Scope

POSITIONS = 600
AROUND = 12  # tokens kept on either side of a position
AT_ONCE = 2**27  # numbers of q, k and products in memory: 512 MB
By = Literal["products", "vectors"]


def behaviours(
    scope: Scope,
    atlas: Atlas,
    layer: int | None = None,
    head: int | None = None,
    *,
    kind: Kind | None = None,
    by: By = "products",
    positions: int = POSITIONS,
    seed: int = 0,
) -> Behaviours:
    """Cluster a head's positions by what its queries and keys match.

    The atlas's texts are read again with the model. At drawn positions the query and its strongest
    key give one number per neuron (or per pair that rotary positions turn): its part of the score.
    Positions are split as long as a split is better than one of a single Gaussian.

    Parameters
    ----------
    scope
        The model of the atlas, from `hs.load`.
    atlas
        From `hs.atlas` or `hs.open`, made with text.
    layer, head
        The head, both counted from 0; all heads (of the layer) by default.
    kind
        "encoder" or "decoder"; the atlas's first by default.
    by
        "products" of the query and the key, neuron by neuron, or the "vectors" of both themselves.
    positions
        How many positions are drawn.
    seed
        Of the draw and of the clustering.

    Returns
    -------
    Behaviours
        `top("behaviours")`, `of(layer, head)`, `examples(layer, head, behaviour)`, `profiles`.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.atlas.bundled import bundled_atlas
    >>> found = hs.behaviours(hs.load(), bundled_atlas(), 2, 3, positions=100)
    >>> found.of(2, 3)  # doctest: +SKIP
    """
    need_scope(scope)
    need_count(positions, "positions")
    chosen: Kind = kind or atlas.kinds[0]
    if chosen == "cross":
        raise BadInput("Behaviours are found in self-attention; give kind='encoder' or 'decoder'.")
    if not atlas.has_text:
        raise BadInput(
            "This atlas does not store its texts, so they cannot be read again; make "
            "it again without text=False (--no-text)."
        )
    if head is not None and layer is None:
        raise BadInput(f"head={head} needs a layer; give layer= too.")
    atlas.need(layer, head, chosen)
    atlas.check(scope)
    heads = _heads(atlas, chosen, layer, head)
    drawn = drawn_positions(atlas, scope, chosen, positions, seed)
    targets = Targets(chosen, chosen == "decoder")
    made = _Made(by, seed, list(targets.patterns.items()))
    for some in _portions(scope, chosen, heads, sum(len(one.queries) for one in drawn)):
        own: dict[Head, list[tuple[Matched, Any]]] = {one: [] for one in some}
        for each in matched(scope, drawn, chosen, some):
            own[each.head].append((each, targets.masses(each)))
        for one, parts in own.items():
            made.add(one, parts)
    return made.result(scope.name, chosen, drawn)


def _heads(atlas: Atlas, kind: Kind, layer: int | None, head: int | None) -> list[Head]:
    table: Any = atlas.table
    rows = table[table["kind"] == kind]
    every = sorted({(int(one.layer), int(one.head)) for one in rows.itertuples()})
    return [one for one in every if layer in (None, one[0]) and head in (None, one[1])]


def _portions(scope: Scope, kind: Kind, heads: list[Head], count: int) -> list[list[Head]]:
    """Heads whose vectors are in memory together, by whole layers."""
    config = scope.model.config.get_text_config()
    width = int(getattr(config, "hidden_size", 1024)) // max(1, scope.heads[kind])
    each = max(1, AT_ONCE // (3 * count * width))
    portions: list[list[Head]] = [[]]
    for _, group in itertools.groupby(heads, key=lambda one: one[0]):
        own = list(group)
        if portions[-1] and len(portions[-1]) + len(own) > each:
            portions.append([])
        portions[-1] += own
    return portions


class _Made:
    """The tables of a result, a head at a time."""

    def __init__(self, by: By, seed: int, known: list[tuple[str, Any]]) -> None:
        self.by, self.seed, self.known = by, seed, dict(known)
        self.found: list[dict[str, Any]] = []
        self.profiles: list[dict[str, Any]] = []
        self.points: list[Any] = []
        self.plane = "PCA"

    def add(self, head: Head, parts: list[tuple[Matched, Any]]) -> None:
        import pandas as pd

        q, k, products = (
            np.concatenate([getattr(one, name) for one, _ in parts]).astype(np.float64)
            for name in ("q", "k", "products")
        )
        own, uniform = (np.concatenate([masses[at] for _, masses in parts]) for at in (0, 1))
        key = np.concatenate([one.key for one, _ in parts])
        query = np.concatenate([one.drawn.queries for one, _ in parts])
        weight = np.concatenate([one.weights.amax(1).numpy() for one, _ in parts])
        tokens = [(one.drawn.tokens.labels, one) for one, _ in parts]
        asked = [labels[at] for labels, one in tokens for at in one.drawn.queries]
        matched_to = [labels[at] for labels, one in tokens for at in one.key]
        vectors = products if self.by == "products" else _joint(q, k)
        cluster = clusters(vectors, self.seed)
        self.plane, plane = _plane(q, k, self.seed)
        layer, number = head
        at_head = {"layer": layer, "head": number}
        columns = {"offset": (key - query).tolist(), "key_token": matched_to, "query_token": asked}
        for one in range(int(cluster.max()) + 1):
            inside = cluster == one
            label, score, lift, _ = named(self.known, own[inside], uniform[inside])
            here = {**at_head, "behaviour": one}
            self.found.append(
                {**here, "share": float(inside.mean()), "count": int(inside.sum()),
                 "label": label, "score": score, "lift": lift,
                 "weight": float(weight[inside].mean())}
            )  # fmt: skip
            self.profiles += [{**here, **row} for row in profile(inside, columns)]
        count = len(query)
        names = ("query_x", "query_y", "key_x", "key_y")
        self.points.append(
            pd.DataFrame(
                {
                    "layer": np.full(count, layer), "head": np.full(count, number),
                    "position": np.arange(count), "behaviour": cluster, "key": key,
                    "key_token": matched_to, "weight": weight,
                    **dict(zip(names, plane.T, strict=True)),
                }
            )
        )  # fmt: skip

    def result(self, model: str, kind: Kind, drawn: tuple[Drawn, ...]) -> Behaviours:
        import pandas as pd

        columns = ["layer", "head", "behaviour", "profile", "name", "count", "expected", "lift"]
        found = pd.DataFrame(self.found)
        found.insert(0, "kind", kind)
        return Behaviours(
            model=model,
            kind=kind,
            by=self.by,
            plane=self.plane,
            found=found,
            points=pd.concat(self.points, ignore_index=True),
            profiles=pd.DataFrame(self.profiles, columns=columns),
            positions=_positions(drawn),
        )


def _positions(drawn: tuple[Drawn, ...]) -> Any:
    """Each position with the tokens about it."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for one in drawn:
        labels, continues = one.tokens.labels, one.tokens.continues
        for query in one.queries.tolist():
            start = max(0, query - AROUND)
            about = slice(start, query + AROUND + 1)
            rows.append(
                {"position": len(rows), "document": one.text.document, "query": query,
                 "query_token": labels[query], "start": start, "tokens": list(labels[about]),
                 "continues": continues[about].astype(int).tolist()}
            )  # fmt: skip
    return pd.DataFrame(rows)


def _joint(q: NDArray[np.float64], k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both vectors side by side, each with the same variance in all."""
    return np.concatenate([one / max(float(one.std(0).max()), 1e-12) for one in (q, k)], axis=1)


def _plane(
    q: NDArray[np.float64], k: NDArray[np.float64], seed: int
) -> tuple[str, NDArray[np.float64]]:
    """n × 4: q and k in one plane, each centred and scaled to one size."""
    scaled = [(one - one.mean(0)) / max(float(one.std()), 1e-12) for one in (q, k)]
    both = np.concatenate(scaled)
    try:
        import umap  # pyright: ignore[reportMissingImports]
    except ImportError:
        name, flat = "PCA", components(both, 2)
        flat = np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    else:
        name, flat = "UMAP", np.asarray(umap.UMAP(random_state=seed).fit_transform(both))
    return name, np.concatenate([flat[: len(q)], flat[len(q) :]], axis=1)
