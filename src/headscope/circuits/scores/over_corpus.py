"""`hs.circuits.score_parts`: which writers make a head look where it looks, over a corpus.

For every query the strongest key (of a pattern's targets, or of all) is compared with the mean of
the keys the query sees. Two backward steps per document sum the parts of all its queries.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headscope.arguments import need_count, need_scope
from headscope.capture import Call, Kind
from headscope.circuits.patching.result import intervals_of
from headscope.circuits.scores.decompose import written_rows
from headscope.circuits.scores.head_pass import head_pass
from headscope.circuits.scores.parts import Floats, ScoreParts
from headscope.circuits.scores.row import row_blocks
from headscope.circuits.scores.score import check_head
from headscope.circuits.scores.writers import Side, Writer, WrittenRows
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import wiring
from headscope.corpus.bad_data import Faults
from headscope.corpus.identity import corpus_identity
from headscope.corpus.text.documents import Reader
from headscope.errors import BadInput
from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pattern import pattern_named
from headscope.patterns.token_pairs import TokenPairs
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback, Run, State, scope_identity
from headscope.statistics.features.grid import Grid, grid_of

if TYPE_CHECKING:
    from headscope.reading import Scope

TOKENS = 128  # read of a document by default
Key = tuple[Side, Writer]


def score_parts(
    scope: Scope,
    corpus: Any,
    layer: int,
    head: int,
    pattern: str | None = None,
    *,
    max_tokens: int = TOKENS,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    seed: int = 0,
) -> ScoreParts:
    """Average a head's decomposed scores over a corpus: which writers wrote what it matches.

    Parameters
    ----------
    scope
        The model, from `hs.load`.
    corpus
        Texts: a file, a folder, a list, or "sample".
    layer, head
        The head, both counted from 0.
    pattern
        The name of a pattern such as "induction": only queries that have a target count, with
        their strongest target. Without one every query counts, with its strongest key.
    max_tokens
        Tokens read of each document.
    limit
        Documents read; all by default.
    output, restart, progress
        File for the result, whether a stopped run starts over, and whether to show progress.
    seed
        Seed of the bootstrap over documents behind the intervals.

    Returns
    -------
    ScoreParts
        `table`: each writer's mean part of the score, relative to the mean key, with interval.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.score_parts(hs.load(), "sample", 2, 3, limit=20, progress=False)
    >>> found.top("key", 3)  # doctest: +SKIP
    """
    need_scope(scope)
    if output is not None:
        check_table(output, "Parts of scores")
    if limit is not None:
        need_count(limit, "limit")
    need_count(max_tokens, "max_tokens")
    asked = None if pattern is None else pattern_named(pattern)
    if asked is not None and not isinstance(asked, MassPattern):
        raise BadInput(
            f"{pattern} has no target keys; choose a pattern that is scored by attention mass."
        )
    scope = unrolled(scope)
    if scope.encoder_decoder:
        raise BadInput(
            f"{scope.name} has an encoder and a decoder, and hs.circuits.score_parts reads only "
            "one stack; hs.circuits.score decomposes a single text's scores."
        )
    check_weights(scope.model, scope.name)
    kind = wiring(scope).stack.kind
    check_head(scope, kind, layer, head)
    texts = list(itertools.islice(Reader().documents(corpus, Faults()), limit))
    identity = {
        **scope_identity(scope),
        "corpus": corpus_identity(corpus),
        "settings": [layer, head, pattern, max_tokens, limit],
    }
    title = f"Scores of head {layer}-{head}"
    with Run(output, identity, title=title, restart=restart, progress=progress) as run:
        part = run.part("parts")
        kept = _Kept(part.recall())
        run.tell(kept.done, len(texts))
        for document in texts[kept.done :]:
            batch = scope.encode(
                [document.text], [document.pair], truncate=True, max_tokens=max_tokens
            )
            grid = grid_of(batch.tokens, kind=kind, causal=scope.causal)
            sums, count = _of_document(scope, batch.inputs, grid, kind, layer, head, asked)
            with part.step(kept.state):
                kept.add(sums, count)
            run.tell(kept.done, len(texts))
        made = kept.result(scope.name, kind, layer, head, pattern, seed)
        if output is not None:
            write_output(made, output, made.table)
    return made


@torch.enable_grad()
def _of_document(
    scope: Scope,
    inputs: Any,
    grid: Grid,
    kind: Kind,
    layer: int,
    head: int,
    pattern: MassPattern | None,
) -> tuple[dict[Key, float], int]:
    """Each writer's part summed over the document's queries, and the number of queries."""
    passed = head_pass(scope, wiring(scope), inputs, kind, layer, None)
    call = passed.call
    assert call is not None and call.q is not None and call.k is not None
    q, k = call.q[0, head], call.k[0, head // (call.heads // call.groups)]
    towards_keys = torch.zeros_like(k)  # Σ over queries: the factor of a key
    towards_queries = torch.zeros_like(q)
    count = 0
    for queries, pull in _pulls(call, head, grid, pattern):
        towards_keys += pull.T @ q.detach()[queries]
        towards_queries[queries] = pull @ k.detach()
        count += int((pull != 0).any(1).sum())
    if not count:
        return {}, 0
    assert call.scaling is not None
    of_query = written_rows(passed, call.scaling * (q * towards_queries).sum(-1))
    of_key = written_rows(passed, call.scaling * (k * towards_keys).sum(-1))
    return {**_summed("query", of_query), **_summed("key", of_key)}, count


def _summed(side: Side, rows: WrittenRows) -> dict[Key, float]:
    return {
        (side, writer): float(values.sum())
        for writer, values in zip(rows.writers, rows.values, strict=True)
    }


def _pulls(
    call: Call, head: int, grid: Grid, pattern: MassPattern | None
) -> Iterator[tuple[slice, Tensor]]:
    """Some queries at a time: 1 at the strongest key, minus 1/n at each of the n seen keys."""
    for queries, scores, seen in row_blocks(call, head):
        pairs = TokenPairs(grid, queries)
        counted = pairs.from_content[0] & seen
        chosen = counted if pattern is None else counted & pattern.aim(pairs)[0]
        asks = chosen.any(1) & (seen.sum(1) > chosen.sum(1).clamp(max=1))
        strongest = scores.masked_fill(~chosen, -torch.inf).argmax(1)
        pull = torch.nn.functional.one_hot(strongest, seen.shape[1]).to(scores)
        pull -= seen / seen.sum(1, keepdim=True).clamp(min=1)
        yield queries, pull * asks[:, None]


class _Kept:
    """Sums by writer and document so far."""

    def __init__(self, state: State | None) -> None:
        self.done = 0
        self.counts: list[int] = []  # per document with a query that counts
        self.sums: dict[Key, list[float]] = {}
        if state is not None:
            self.done, self.counts = state.position["done"], list(state.position["counts"])
            for (side, *writer), row in zip(
                state.position["writers"], state.arrays["sums"], strict=True
            ):
                self.sums[side, Writer(*writer)] = row.tolist()

    def add(self, sums: dict[Key, float], count: int) -> None:
        self.done += 1
        if not count:
            return
        for key in {*self.sums, *sums}:
            row = self.sums.setdefault(key, [0.0] * len(self.counts))
            row.append(sums.get(key, 0.0))
        self.counts.append(count)

    def state(self) -> State:
        keys = [(side, *dataclasses.astuple(writer)) for side, writer in self.sums]
        position = {"done": self.done, "counts": self.counts, "writers": keys}
        return State(position, {"sums": np.array(list(self.sums.values()))})

    def result(
        self, model: str, kind: Kind, layer: int, head: int, pattern: str | None, seed: int
    ) -> ScoreParts:
        if not self.counts:
            what = "" if pattern is None else f" with a target of {pattern}"
            raise BadInput(
                f"No token of these texts can be measured{what}; give longer texts, or others."
            )
        keys = sorted(self.sums, key=lambda one: (one[0] != "query", one[1].order))
        sums: Floats = np.array([self.sums[key] for key in keys])
        counts = np.array(self.counts, dtype=float)
        return ScoreParts(
            model=model,
            kind=kind,
            layer=layer,
            head=head,
            pattern=pattern,
            documents=len(self.counts),
            queries=sum(self.counts),
            sides=tuple(side for side, _ in keys),
            writers=tuple(writer for _, writer in keys),
            parts=intervals_of(sums, counts, seed),
        )
