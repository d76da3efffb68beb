"""Attention summed by span: how much of each answer token's attention goes to which document."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput

if TYPE_CHECKING:
    import xarray as xr

    from headscope.capture.call import Kind
    from headscope.reading.reading import Reading
    from headscope.text.chat import Span
    from headscope.text.tokens import Tokens

Of = Literal["message", "document", "paragraph", "sentence"]
By = Of | Sequence[str]
Unit = Literal["token", "sentence"]
KINDS = ("message", "document", "paragraph", "sentence")


def by_span(
    reading: Reading,
    of: By = "document",
    unit: Unit = "token",
    kind: Kind | None = None,
    predicting: bool = False,
) -> xr.DataArray:
    """layer × head × query × span; the queries are the answer's tokens, or its sentences' means."""
    import xarray as xr

    part = reading.part(kind)
    spans = chosen_spans(reading.spans, of)
    members = np.stack([tokens_in(part.key, span) for span in spans])  # n s
    names, groups = _queries(reading, part.query, unit)
    rows = np.concatenate(groups) - (1 if predicting else 0)
    sizes = [len(group) for group in groups]
    starts = np.cumsum([0, *sizes[:-1]])
    summing = members.T.astype(np.float32)  # s n
    found = np.full((len(part.numbers), part.heads, len(groups), len(spans)), np.nan, np.float32)
    for at, layer in enumerate(part.layers):
        for head in range(layer.shape[0]):  # one head at a time: a long text's maps are large
            mass = layer.head_weights(slice(head, head + 1), rows)[0] @ summing
            found[at, head] = np.add.reduceat(mass, starts, axis=0) / np.array(sizes)[:, None]
    return xr.DataArray(
        found,
        dims=("layer", "head", "query", "span"),
        coords={
            "layer": list(part.numbers),
            "head": np.arange(part.heads),
            "query": names,
            "span": [span.name for span in spans],
        },
        name="attention",
        attrs={"kind": part.kind},
    )


def tokens_in(tokens: Tokens, span: Span) -> NDArray[np.bool_]:
    """The tokens of a span: those with more than half of their characters in it."""
    start, stop = tokens.spans[:, 0], tokens.spans[:, 1]
    inside = np.minimum(stop, span.stop) - np.maximum(start, span.start)
    length = stop - start
    return (start >= 0) & (length > 0) & (
        (2 * inside > length) | ((2 * inside == length) & (start >= span.start))
    )  # fmt: skip


def span_runs(tokens: Tokens, spans: Sequence[Span]) -> list[tuple[str, int, int]]:
    """Name, first token and end of each run of tokens that lie in one message, document or answer.

    A document inside a message counts as the document alone.
    """
    owner = np.full(len(tokens), -1)
    for of in ("message", "answer", "document"):  # the later ones lie inside the earlier
        for at, span in enumerate(spans):
            if span.of == of:
                owner[tokens_in(tokens, span)] = at
    edges = np.flatnonzero(np.diff(owner, prepend=-2, append=-2))
    return [
        (spans[owner[start]].name, int(start), int(end))
        for start, end in itertools.pairwise(edges)
        if owner[start] >= 0
    ]


def chosen_spans(spans: Sequence[Span], of: By) -> list[Span]:
    """Spans of one kind outside the answer, or those with the names asked for."""
    if not spans:
        raise BadInput(
            "This reading has no spans; read a conversation: scope.read(messages=…, documents=…)."
        )
    if isinstance(of, str) and of in KINDS:
        answer = {span.name for span in spans if span.of == "answer"}
        found = [one for one in spans if one.of == of and one.parent not in answer]
        if not found:
            raise BadInput(
                f"Attention cannot be summed by {of}: this conversation has no {of}s, but "
                f"{_kinds(spans)}."
            )
        return found
    wanted = [of] if isinstance(of, str) else list(of)
    known = {span.name: span for span in spans}
    wrong = [name for name in wanted if name not in known]
    if wrong or not wanted:
        raise BadInput(
            f"There is no span {wrong[0] if wrong else ''!r}; give a kind ({', '.join(KINDS)}) or "
            "names from reading.spans."
        )
    return [known[name] for name in wanted]


def _queries(
    reading: Reading, tokens: Tokens, unit: Unit
) -> tuple[list[str], list[NDArray[np.intp]]]:
    """Names of the answer's tokens or sentences, and the positions of each."""
    whole = next((span for span in reading.spans if span.of == "answer"), None)
    if whole is None:
        raise BadInput(
            "This reading has no answer; pass answer=… to scope.read, or use scope.generate."
        )
    if unit == "token":
        at = np.flatnonzero(tokens_in(tokens, whole))
        return [tokens.labels[one] for one in at], [at[n : n + 1] for n in range(len(at))]
    if unit != "sentence":
        raise BadInput(f"unit= is 'token' or 'sentence', not {unit!r}.")
    parts = [one for one in reading.spans if one.parent == whole.name and one.of == "sentence"]
    groups = [np.flatnonzero(tokens_in(tokens, one)) for one in parts]
    kept = [(one.name, at) for one, at in zip(parts, groups, strict=True) if len(at)]
    return [name for name, _ in kept], [at for _, at in kept]


def _kinds(spans: Sequence[Span]) -> str:
    return ", ".join(dict.fromkeys(f"{span.of}s" for span in spans))
