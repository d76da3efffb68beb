"""`hs.circuits.score`: one attention score as a sum over writers of the query and of the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from headscope.arguments import need_scope
from headscope.capture import Call, Kind
from headscope.circuits.scores.result import Score, WriterOf
from headscope.circuits.scores.writers import HeadPass, Writer, Written, head_pass
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import Wiring, wiring
from headscope.errors import BadInput
from headscope.reading.decoder_text import encode_both

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Text
    from headscope.text.tokens import Tokens

Relative = int | Literal["mean"] | None


def score(
    scope: Scope,
    text: Text,
    layer: int,
    head: int,
    query: int,
    key: int,
    *,
    text_pair: Text | None = None,
    relative_to: Relative = None,
    kind: Kind | None = None,
) -> Score:
    """Decompose one attention score by what wrote the query and what wrote the key.

    The score of a head is q·k times a scale, plus a positional bias where the model has one. Both
    vectors are sums over writers: embeddings, earlier heads, MLPs and biases. Norms are held at
    the scale they had on this text, so the sum over pairs of writers is the score itself.

    Parameters
    ----------
    scope
        The model, from `hs.load`.
    text, text_pair
        What the model reads.
    layer, head
        The head, both counted from 0.
    query, key
        Positions of two tokens; negative ones count from the end.
    relative_to
        Another key's position, or "mean" for the mean over the keys that the query sees: the
        result explains the difference of the two scores.
    kind
        "encoder", "decoder" or "cross"; the model's own self-attention by default.

    Returns
    -------
    Score
        `table` (each writer's share on either side), `pairs` (writer × writer) and `map`.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.score(hs.load(), "The cat sat on the mat.", 2, 3, query=4, key=5)
    >>> found.top("key", 3)  # doctest: +SKIP
    """
    need_scope(scope)
    scope = unrolled(scope)
    found = wiring(scope)
    kind = found.stack.kind if kind is None else kind
    inputs, queries, keys = _tokens(scope, text, text_pair, kind)
    _check_head(scope, kind, layer, head)
    query, key = _position(query, queries, "query"), _position(key, keys, "key")
    against = relative_to
    if isinstance(against, int):
        against = _position(against, keys, "key")
        if against == key:
            raise BadInput("The two keys are one token; compare it with another, or with 'mean'.")
    elif against not in (None, "mean"):
        raise BadInput(f"relative_to is a position, 'mean' or None, not {relative_to!r}.")
    rows = None
    if against != "mean":
        wanted = {query, key} if against is None else {query, key, against}
        rows = torch.tensor(sorted(wanted if kind != "cross" else {query}))
    passed = head_pass(scope, found, inputs, kind, layer, rows)
    return _scored(scope, found, passed, queries, keys, kind, layer, head, query, key, against)


def _scored(
    scope: Scope,
    found: Wiring,
    passed: HeadPass,
    queries: Tokens,
    keys: Tokens,
    kind: Kind,
    layer: int,
    head: int,
    query: int,
    key: int,
    against: Relative,
) -> Score:
    call = passed.call
    assert call is not None and call.q is not None and call.k is not None
    if call.scaling is None:
        raise BadInput(f"{scope.name} scales its scores in a way of its own; they stay whole.")
    seen = _visible(call, query)
    for one in (key, against):
        if isinstance(one, int) and not bool(seen[one]):
            raise BadInput(
                f"Query {query} ({queries.labels[query]!r}) does not see key {one} "
                f"({keys.labels[one]!r}): the mask hides it."
            )
    group = head // (call.heads // call.groups)
    others = seen.nonzero().flatten() if against == "mean" else None
    vector = call.k[0, group, key]
    bias = _bias(call, head, query, key)
    if others is not None:
        vector = vector - call.k[0, group, others].mean(0)
        bias = bias - sum(_bias(call, head, query, one) for one in others.tolist()) / len(others)
    elif isinstance(against, int):
        vector = vector - call.k[0, group, against]
        bias = bias - _bias(call, head, query, against)
    of_query = passed.written(call.q[0, head, query])
    of_key = passed.written(vector) if kind != "cross" else _from_encoder(vector)
    matrix = call.scaling * of_query.vectors @ of_key.vectors.T
    weights = call.weights_of(torch.tensor([query], device=call.q.device))
    return Score(
        model=scope.name,
        kind=kind,
        layer=layer,
        head=head,
        query=query,
        key=key,
        relative_to=against,
        query_tokens=tuple(queries.labels),
        key_tokens=tuple(keys.labels),
        value=call.scaling * float(of_query.whole @ of_key.whole) + bias,
        weight=float("nan") if weights is None else float(weights[0, head, 0, key].detach()),
        positional_bias=bias,
        softcap=call.softcap,
        query_writers=tuple(_plain(one) for one in of_query.writers),
        key_writers=tuple(_plain(one) for one in of_key.writers),
        parts=matrix.cpu().numpy(),
    )


def _plain(writer: Writer) -> WriterOf:
    return WriterOf(writer.part, writer.kind, writer.layer, writer.head)


def _from_encoder(vector: Tensor) -> Written:
    """Keys of cross-attention are made of what the encoder gives, taken whole."""
    whole = vector.detach().double()
    return Written((Writer("encoder"),), whole[None], whole)


def _bias(call: Call, head: int, query: int, key: int) -> float:
    if call.bias is None:
        return 0.0
    bias = call.bias[0, head if call.bias.shape[1] > 1 else 0].detach()
    return float(bias[query if bias.shape[0] > 1 else 0, key])


def _visible(call: Call, query: int) -> Tensor:
    """s bool: the keys that a query may look at."""
    assert call.k is not None
    rows = torch.tensor([query], device=call.k.device)
    mask = call.mask_of(rows)
    if mask is None:
        seen = torch.ones(call.k.shape[2], dtype=torch.bool, device=call.k.device)
        if call.causal and call.kind != "cross":
            seen[query + 1 :] = False
        return seen
    return mask[0, 0, 0] > torch.finfo(torch.float32).min / 4


def _tokens(
    scope: Scope, text: Text, text_pair: Text | None, kind: Kind
) -> tuple[dict[str, Tensor], Tokens, Tokens]:
    """The inputs, and the tokens that queries and keys stand for."""
    if scope.encoder_decoder:
        batch, heard = encode_both(scope, [text], [text_pair])
        own = heard[0]
        return dict(batch.inputs), own, batch.tokens[0] if kind == "cross" else own
    batch = scope.encode([text], [text_pair])
    return dict(batch.inputs), batch.tokens[0], batch.tokens[0]


def _check_head(scope: Scope, kind: Kind, layer: int, head: int) -> None:
    layers, heads = scope.layers.get(kind, 0), scope.heads.get(kind, 0)
    if not layers:
        raise BadInput(f"{scope.name} has no {kind} attention; it has {', '.join(scope.kinds)}.")
    if not 0 <= layer < layers:
        raise BadInput(f"There is no layer {layer}; {scope.name} has layers 0 to {layers - 1}.")
    if not 0 <= head < heads:
        raise BadInput(f"There is no head {head}; each layer has heads 0 to {heads - 1}.")


def _position(at: int, tokens: Tokens, side: str) -> int:
    count = len(tokens)
    if isinstance(at, bool) or not isinstance(at, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"A {side} is the position of a token, a whole number, not {at!r}.")
    if not -count <= at < count:
        raise BadInput(f"There is no token {at}; the text has tokens 0 to {count - 1}.")
    return at % count
