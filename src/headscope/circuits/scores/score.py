"""`hs.circuits.score`: attention scores as sums over writers of the query and of the key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

import torch
from torch import Tensor

from headscope.arguments import need_count, need_scope, shown
from headscope.capture import Call, Kind
from headscope.circuits.scores.all_keys import QueryScores, all_keys
from headscope.circuits.scores.decompose import written
from headscope.circuits.scores.features import Dictionary, check_dictionary, in_features
from headscope.circuits.scores.head_pass import HeadPass, head_pass
from headscope.circuits.scores.result import Score
from headscope.circuits.scores.row import Row, row_of
from headscope.circuits.scores.verify import removals
from headscope.circuits.scores.writers import Removal, Writer, Written
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import wiring
from headscope.errors import BadInput
from headscope.reading.inputs.decoder_text import encode_both
from headscope.text.tokenise import need_one_text

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Text
    from headscope.text.tokens import Tokens

Relative = int | Literal["mean"] | None


@overload
def score(
    scope: Scope, text: Text, layer: int, head: int, query: int, key: int, *,
    text_pair: Text | None = None, relative_to: Relative = None, kind: Kind | None = None,
    verify: int = 0, dictionary: Dictionary | None = None,
) -> Score: ...  # fmt: skip
@overload
def score(
    scope: Scope, text: Text, layer: int, head: int, query: int, key: None = None, *,
    text_pair: Text | None = None, relative_to: Relative = None, kind: Kind | None = None,
    verify: int = 0,
) -> QueryScores: ...  # fmt: skip
def score(
    scope: Scope,
    text: Text,
    layer: int,
    head: int,
    query: int,
    key: int | None = None,
    *,
    text_pair: Text | None = None,
    relative_to: Relative = None,
    kind: Kind | None = None,
    verify: int = 0,
    dictionary: Dictionary | None = None,
) -> Score | QueryScores:
    """Decompose attention scores by what wrote the query and what wrote the key.

    The score of a head is q·k times a scale, plus a positional bias where the model has one. Both
    vectors are sums over writers: embeddings, earlier heads, MLPs and biases. Norms keep their
    scale on this text, so the sum over pairs of writers is the score itself.

    Parameters
    ----------
    scope
        The model, from `hs.load`.
    text, text_pair
        What the model reads.
    layer, head
        The head, both counted from 0.
    query, key
        Positions of two tokens; negative ones count from the end. Without a key, all keys of the
        query are decomposed, by the query's writers and by the key's writers.
    relative_to
        Another key's position, or "mean" for the mean over the keys that the query sees: the result
        explains the difference between the two scores.
    kind
        "encoder", "decoder" or "cross"; the model's own self-attention by default.
    verify
        How many writers of each side are removed from the query or the key alone, strongest
        first, to measure the change of weight that their parts predict. Needs a key.
    dictionary
        Features in place of writers: a module with `encode` and `decode` for the stream as it
        enters this layer, such as a sparse autoencoder. Needs a key.

    Returns
    -------
    Score or QueryScores
        `table` (each writer's part on either side) and `map`; `pairs` (writer × writer) and
        `verified` for one key.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.score(hs.load(), "The cat sat on the mat.", 2, 3, query=4, key=5)
    >>> found.top("key", 3)  # doctest: +SKIP
    """
    need_scope(scope)
    need_one_text(text)
    if verify:
        need_count(verify, "verify")
    scope = unrolled(scope)
    kind = wiring(scope).stack.kind if kind is None else kind
    read = Read(kind, *tokens_of(scope, text, text_pair, kind))
    return score_of(scope, read, layer, head, query, key, relative_to, verify, dictionary)


@dataclass(frozen=True)
class Read:
    """A text as a kind of attention reads it."""

    kind: Kind
    inputs: Mapping[str, Tensor]
    queries: Tokens
    keys: Tokens


def score_of(
    scope: Scope,
    read: Read,
    layer: int,
    head: int,
    query: int,
    key: int | None,
    relative_to: Relative,
    verify: int = 0,
    dictionary: Dictionary | None = None,
) -> Score | QueryScores:
    """The same for given tokens; `scope` runs no module as several layers."""
    found = wiring(scope)
    kind, inputs, queries, keys = read.kind, read.inputs, read.queries, read.keys
    check_head(scope, kind, layer, head)
    query = _position(query, queries, "query")
    if relative_to is not None and not (isinstance(relative_to, str) and relative_to == "mean"):
        relative_to = _position(relative_to, keys, "key")
    if dictionary is not None:
        check_dictionary(dictionary)
        if key is None:
            raise BadInput("dictionary= decomposes the score of one key; give key= too.")
        if verify:
            raise BadInput("verify= needs writers, which dictionary= replaces; leave verify= out.")
        if kind == "cross":
            raise BadInput("dictionary= needs self-attention; leave kind='cross' out.")
    if key is None:
        if verify:
            raise BadInput("verify needs one query and one key; give key= too.")
        passed = head_pass(scope, found, inputs, kind, layer, None)
        row = _row(scope, passed.call, head, query)
        _check_seen(row, queries, keys, relative_to)
        return all_keys(scope, passed, row, queries, keys, relative_to)
    key = _position(key, keys, "key")
    if relative_to == key:
        raise BadInput("The two keys are the same token; compare it with another, or with 'mean'.")
    rows = None
    if relative_to != "mean":
        wanted = {query, key} if relative_to is None else {query, key, relative_to}
        rows = torch.tensor(sorted(wanted if kind != "cross" else {query}))
    passed = head_pass(scope, found, inputs, kind, layer, rows)
    row = _row(scope, passed.call, head, query)
    _check_seen(row, queries, keys, key, relative_to)
    of_query, of_key, value, bias = _both(passed, row, key, relative_to, dictionary)
    verified: tuple[Removal, ...] = ()
    if verify:
        verified = removals(scope, found, inputs, passed, row, key, of_query, of_key, verify)
    return Score(
        model=scope.name,
        kind=kind,
        layer=layer,
        head=head,
        query=query,
        key=key,
        relative_to=relative_to,
        query_tokens=tuple(queries.labels),
        key_tokens=tuple(keys.labels),
        value=value,
        weight=float(row.weights()[key]),
        positional_bias=bias,
        softcap=row.call.softcap,
        query_writers=of_query.writers,
        key_writers=of_key.writers,
        parts=(row.scaling * of_query.vectors @ of_key.vectors.T).cpu().numpy(),
        verified=verified,
    )


def _row(scope: Scope, call: Call | None, head: int, query: int) -> Row:
    assert call is not None
    if call.scaling is None:
        raise BadInput(
            f"{scope.name} scales its scores in an unusual way, so they cannot be decomposed."
        )
    return row_of(call, head, query)


@torch.enable_grad()
def _both(
    passed: HeadPass, row: Row, key: int, against: Relative, dictionary: Dictionary | None
) -> tuple[Written, Written, float, float]:
    """The query and the key (or the difference of two) by writer; the score; its bias."""
    vector, bias, keys = row.k[key], row.bias[key], [key]
    if against == "mean":
        vector, bias = vector - row.k[row.seen].mean(0), bias - row.bias[row.seen].mean()
        keys = row.seen.nonzero().flatten().tolist()
    elif against is not None:
        vector, bias = vector - row.k[against], bias - row.bias[against]
        keys.append(against)
    if dictionary is not None:
        of_query = in_features(passed, row.q, torch.tensor([row.query]), dictionary)
        of_key = in_features(passed, vector, torch.tensor(keys), dictionary)
    else:
        of_query = written(passed, row.q, torch.tensor([row.query]))
        cross = row.call.kind == "cross"
        of_key = _from_encoder(vector) if cross else written(passed, vector)
    value = row.scaling * float(of_query.whole @ of_key.whole) + float(bias)
    return of_query, of_key, value, float(bias)


def _from_encoder(vector: Tensor) -> Written:
    """Keys of cross-attention come from the encoder's output, which counts as one writer."""
    whole = vector.detach().double()
    return Written((Writer("encoder"),), whole[None], whole)


def _check_seen(row: Row, queries: Tokens, keys: Tokens, *positions: Relative) -> None:
    for one in positions:
        if isinstance(one, int) and not bool(row.seen[one]):
            raise BadInput(
                f"Query {row.query} ({queries.labels[row.query]!r}) does not see key {one} "
                f"({keys.labels[one]!r}): the mask hides it."
            )


def tokens_of(
    scope: Scope, text: Text, text_pair: Text | None, kind: Kind
) -> tuple[dict[str, Tensor], Tokens, Tokens]:
    """The inputs, and the tokens of queries and keys."""
    if scope.encoder_decoder:
        batch, heard = encode_both(scope, [text], [text_pair])
        own = heard[0]
        return dict(batch.inputs), own, batch.tokens[0] if kind == "cross" else own
    batch = scope.encode([text], [text_pair])
    return dict(batch.inputs), batch.tokens[0], batch.tokens[0]


def check_head(scope: Scope, kind: Kind, layer: int, head: int) -> None:
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
        raise BadInput(f"A {side} is the position of a token, a whole number, not {shown(at)}.")
    if not -count <= at < count:
        raise BadInput(f"There is no token {at}; the text has tokens 0 to {count - 1}.")
    return at % count
