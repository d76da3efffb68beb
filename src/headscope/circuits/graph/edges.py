"""A circuit with its faithfulness: edges by score, and how many of them explain the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headscope.arguments import is_whole, need_count, need_number, need_scope
from headscope.circuits.graph.gradients import edge_scores
from headscope.circuits.graph.nodes import StreamGraph
from headscope.circuits.graph.result import Edges
from headscope.circuits.graph.stream import STREAMED, EdgeRun, Streamed, writes
from headscope.circuits.patching.batch import PairBatch, batches
from headscope.circuits.patching.donor import record
from headscope.circuits.patching.pairs import Pairs, asked_of
from headscope.circuits.patching.result import Floats, share_of
from headscope.circuits.unrolled import unrolled
from headscope.errors import BadInput
from headscope.files import check_table
from headscope.models.placement import check_gradients
from headscope.runs import ProgressCallback, Run, State, fingerprint, scope_identity

if TYPE_CHECKING:
    from headscope.reading import Scope

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # shares of all edges
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def edges(
    scope: Scope,
    clean: Any,
    corrupted: str | Sequence[str] | None = None,
    metric: object = None,
    *,
    answers: object = None,
    steps: int = 4,
    exact: int = 0,
    share: float = 0.9,
    sizes: Sequence[int] | None = None,
    draws: int = 5,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    seed: int = 0,
) -> Edges:
    """The circuit behind an answer: which parts of the model feed which others.

    Every edge from the embedding, a head or an MLP to a later head's queries, keys or values, an
    MLP or the logits gets a score from a few gradients. Circuits of growing size are then run
    exactly: their edges carry the clean run, all others the corrupted one.

    Parameters
    ----------
    scope
        The model: a decoder whose stream is a plain sum (GPT-2, Llama, Qwen, GPT-NeoX and others).
    clean, corrupted, metric, answers
        As in `hs.patch`.
    steps
        How many gradients are averaged between the corrupted and the clean embeddings.
    exact
        How many of the edges with the largest scores are also patched one by one.
    share
        The circuit is the smallest that brings back this share of the clean answer.
    sizes
        Numbers of edges to try; by default ten shares of all edges, from 0.1 % on, and sizes
        between two of them until the smallest that is enough is found by bisection.
    draws
        How many random circuits of the same size the circuit is compared with.
    limit
        How many pairs at most.
    output
        A .parquet file for the result; a stopped run resumes from the checkpoint beside it.
    restart
        Whether to discard a stopped run's checkpoint.
    progress
        Whether to show progress, or a function that is called with it.
    seed
        Seed of the random circuits and of the bootstrap.

    Returns
    -------
    Edges
        Scores, the curve of faithfulness, and the circuit.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load("gpt2")  # doctest: +SKIP
    >>> found = hs.circuits.edges(scope, hs.circuits.task("names", 24))  # doctest: +SKIP
    >>> found.edges.head()  # doctest: +SKIP
    """
    need_scope(scope)
    need_count(steps, "steps")
    if output is not None:
        check_table(output, "A circuit")
    need_count(limit, "limit")
    for name, value in (("exact", exact), ("draws", draws), ("seed", seed)):
        need_number(value, name)
    if not 0 < share <= 1:
        raise BadInput(f"share is between 0 and 1, not {share}.")
    scope = unrolled(scope)
    found = STREAMED.of(scope)
    check_gradients(scope.model)
    pairs, marks = asked_of(clean, corrupted, metric, answers)
    if limit is not None:
        pairs = Pairs(pairs.name, pairs.pairs[:limit])
    members = batches(scope, pairs, marks)
    graph = found.graph
    chosen = _sizes(graph, sizes)
    patched = min(exact, int(graph.possible.sum()))
    identity = {
        **scope_identity(scope),
        "pairs": fingerprint(pairs.pairs),
        "settings": [marks.identity, steps, share, chosen, draws, patched, seed],
    }
    title = f"Edges of {scope.name}"
    with Run(output, identity, title=title, restart=restart, progress=progress) as run:
        between = int(graph.possible.sum()).bit_length() if sizes is None else 0
        work = _Work(scope, found, members, run, 2 + len(chosen) + between + draws + patched)
        scores = work.scores(steps) / len(pairs) * graph.possible

        def circuit_of(size: int) -> Mask:
            return graph.connected(strongest(scores, graph, size))

        tried = {size: circuit_of(size) for size in chosen}
        effects = dict(zip(chosen, work.effects("sizes", [*tried.values()]), strict=True))
        enough = [size for size in chosen if work.share(effects[size]) >= share]
        if sizes is None and enough:
            below = max((size for size in chosen if size < enough[0]), default=0)
            more = work.bisected(below, enough[0], circuit_of, share)
            effects |= more
            tried |= {size: circuit_of(size) for size in more}
            enough += [size for size, row in more.items() if work.share(row) >= share]
        chosen = sorted(effects)
        at = chosen.index(min(enough)) if enough else len(chosen) - 1
        circuit = tried[chosen[at]]
        luck = np.random.default_rng(seed)
        null = [_random(graph, int(circuit.sum()), luck) for _ in range(draws)]
        single = _in_order(graph, scores)[:patched]
        alone = work.effects("single", [graph.possible & ~_only(graph, *one) for one in single])
        made = Edges(
            model=scope.name,
            task=pairs.name,
            kind=found.wiring.stack.kind,
            graph=graph,
            scores=scores,
            sizes=tuple(chosen),
            kept=tuple(int(tried[size].sum()) for size in chosen),
            effects=np.stack([effects[size] for size in chosen]),
            whole=work.whole,
            chosen=at,
            circuit=circuit,
            complement=work.effects("complement", [graph.possible & ~circuit])[0],
            random=work.effects("random", null),
            patched=tuple(single),
            exact=(work.whole - alone).mean(1),
            seed=seed,
        )
        if output is not None:
            made.save(output)
    return made


class _Work:
    """All batches of pairs: scores and runs of circuits, each saved as soon as it is computed."""

    def __init__(
        self, scope: Scope, found: Streamed, members: list[PairBatch], run: Run, total: int
    ) -> None:
        self._run, self._total, self._done = run, total, 0
        self._members = [_Members(scope, found, batch) for batch in members]
        self.whole: Floats = np.concatenate([one.whole for one in self._members])

    def scores(self, steps: int) -> Floats:
        """readers × writers, summed over pairs."""
        part = self._run.part("scores")
        state = part.recall()
        if state is None:
            found = np.sum([one.scores(steps) for one in self._members], axis=0)
            state = State({}, {"scores": found})
            part.put(state)
        self._tell()
        return state.arrays["scores"]

    def effects(self, name: str, masks: list[Mask]) -> Floats:
        """masks × pairs: the metric's change from the corrupted prompts' with these edges clean."""
        part = self._run.part(f"effects-{name}")
        state = part.recall()
        rows: list[Floats] = [] if state is None else list(state.arrays["rows"])
        for mask in masks[len(rows) :]:
            with part.step(lambda: State({}, {"rows": np.stack(rows)})):
                rows.append(self._effect(mask))
            self._tell()
        return np.stack(rows) if rows else np.zeros((0, len(self.whole)))

    def bisected(
        self, low: int, high: int, circuit_of: Callable[[int], Mask], share: float
    ) -> dict[int, Floats]:
        """Effects of sizes between one too small and one that is enough, until they meet."""
        part = self._run.part("effects-between")
        state = part.recall()
        known: list[Floats] = [] if state is None else list(state.arrays["rows"])
        found: dict[int, Floats] = {}
        while high - low > 1:
            size = (low + high) // 2
            if len(found) < len(known):
                found[size] = known[len(found)]
            else:
                with part.step(lambda: State({}, {"rows": np.stack(list(found.values()))})):
                    found[size] = self._effect(circuit_of(size))
            low, high = (low, size) if self.share(found[size]) >= share else (size, high)
            self._tell()
        return found

    def share(self, effect: Floats) -> float:
        """Faithfulness of one circuit."""
        return float(share_of(effect[None], self.whole)[0])

    def _effect(self, mask: Mask) -> Floats:
        return np.concatenate([one.effect(mask) for one in self._members])

    def _tell(self) -> None:
        self._done += 1
        self._run.tell(self._done, self._total)


class _Members:
    """One batch of pairs: its scores, and runs of circuits on it."""

    def __init__(self, scope: Scope, found: Streamed, batch: PairBatch) -> None:
        self.scope, self.found, self.batch = scope, found, batch
        with torch.no_grad():
            donor = record(scope, found.wiring, batch.clean, calls=True)
            self.written = tuple(
                writes(scope, found, one)[0] for one in (batch.clean, batch.corrupted)
            )
            other: Any = scope.forward(batch.corrupted)
        self.base = batch.read(other)[:, 0]
        self.whole: Floats = _numbers(batch.read(donor.output, clean=True)[:, 0] - self.base)
        self._run = EdgeRun(scope, found, batch.clean, donor.calls, self.written[1])

    def scores(self, steps: int) -> Floats:
        """readers × writers, summed over pairs."""
        first, second = self.written
        found = edge_scores(self.scope, self.found, self.batch, (first, second), steps)
        return _numbers(found)

    def effect(self, kept: Mask) -> Floats:
        """b: the metric's change from the corrupted prompts' with these edges clean."""
        output = self._run(torch.from_numpy(kept))
        return _numbers(self.batch.read(output, clean=True)[:, 0] - self.base)


def _numbers(tensor: Tensor) -> Floats:
    return tensor.detach().double().cpu().numpy()


def _sizes(graph: StreamGraph, given: Sequence[int] | None) -> list[int]:
    every = int(graph.possible.sum())
    if given is None:
        return sorted({max(1, round(share * every)) for share in SHARES})
    wrong = [one for one in given if not is_whole(one) or not 1 <= one <= every]
    if wrong or not given:
        raise BadInput(f"sizes are numbers of edges from 1 to {every:,}, not {wrong or given!r}.")
    return sorted(set(given))


def strongest(scores: Floats, graph: StreamGraph, size: int) -> Mask:
    """The `size` edges with the largest absolute scores."""
    kept = np.zeros(scores.shape, bool)
    for at in _in_order(graph, scores)[:size]:
        kept[at] = True
    return kept


def _random(graph: StreamGraph, size: int, generator: np.random.Generator) -> Mask:
    possible = np.flatnonzero(graph.possible)
    kept = np.zeros(graph.possible.size, bool)
    kept[generator.choice(possible, min(size, len(possible)), replace=False)] = True
    return kept.reshape(graph.possible.shape)


def _in_order(graph: StreamGraph, scores: Floats) -> list[tuple[int, int]]:
    """Every edge as (reader, writer), the largest scores first."""
    order = np.argsort(-np.where(graph.possible, np.abs(scores), -1.0), axis=None, kind="stable")
    order = order[: int(graph.possible.sum())]
    readers, writers = np.unravel_index(order, scores.shape)
    return list(zip(readers.tolist(), writers.tolist(), strict=True))


def _only(graph: StreamGraph, reader: int, writer: int) -> Mask:
    one = np.zeros(graph.possible.shape, bool)
    one[reader, writer] = True
    return one
