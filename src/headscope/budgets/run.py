"""`hs.budget`: the cost of restricting each key-value head, their order, how many to restrict."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_count, need_real, need_scope, need_seed
from headscope.budgets.gate import estimated_costs
from headscope.budgets.heads import Head, KeyValueHeads, key_value_heads
from headscope.budgets.looking import lengths, retrieval_scores, shares_outside
from headscope.budgets.result import Budget, budget_of, memory_of, recommending, rise, share_kept
from headscope.budgets.texts import (
    ANSWER,
    CUE,
    Texts,
    cut_texts,
    halves,
    needle_questions,
    text_questions,
)
from headscope.edits.answers import OneLayer, answer, answer_each
from headscope.edits.modes import streaming
from headscope.errors import BadInput
from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.runs import ProgressCallback, Run, State, fingerprint, scope_identity
from headscope.tasks.questions import Questions

if TYPE_CHECKING:
    from headscope.reading import Scope

Floats = NDArray[np.float64]
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
KEPT = 0.95  # share of the needles that must be kept


@dataclass(frozen=True)
class Asked:
    """Questions about one half of the texts, and the unrestricted model's answers."""

    texts: Questions
    needles: Questions
    loss: Floats  # n 2
    found: Floats  # n 3
    counts: NDArray[np.bool_]  # n, needles that are found, but not without the needle in the text


def budget(
    scope: Scope,
    corpus: Any,
    *,
    sink: int = streaming.SINK,
    window: int = streaming.WINDOW,
    tolerance: float = 0.02,
    max_tokens: int | None = None,
    limit: int | None = 16,
    needles: int = 32,
    shares: Sequence[float] = SHARES,
    draws: int = 5,
    seed: int = 0,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> Budget:
    """Find which key-value heads need the whole cache, and which need a sink and a window only.

    Every key-value head is restricted alone, exactly, and by the slope of a gate. Heads are then
    restricted together in the order of their cost. One half of the texts chooses; the other
    reports what the recommended set costs, beside as many heads drawn at random.

    Parameters
    ----------
    scope
        A decoder.
    corpus
        Your own text, as `hs.survey` takes it: read in texts of `max_tokens`.
    sink
        How many of the first tokens a restricted head sees.
    window
        How many of the latest tokens it sees, the query's own among them.
    tolerance
        The rise of a token's loss, in nats, up to which a set is recommended. The set must also
        keep 95 % of the needles that the model finds.
    max_tokens
        The length of the texts; by default four times sink and window, or what the model reads.
    limit
        How many texts at most, both halves together; None reads the whole corpus.
    needles
        How many stretches of your text are hidden in other texts and asked for.
    shares
        How many of the heads are restricted together, as shares.
    draws
        How many random sets the recommended one is compared with.
    seed
        Of needles and draws.
    output
        Where the result is written (.parquet); a stopped run resumes there.
    restart
        Whether to start over instead of resuming.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Budget
        Costs, order, curve, and the recommended set, which it exports for serving.

    Examples
    --------
    >>> found = hs.budget(hs.load("gpt2"), "corpus.txt", window=64)  # doctest: +SKIP
    >>> found.recommended[:2]  # doctest: +SKIP
    ((3, 1), (0, 2))
    """
    import pandas as pd

    need_scope(scope)
    need_seed(seed)
    for name, value in (("limit", limit), ("needles", needles), ("window", window)):
        if value is not None:
            need_count(value, name)
    need_real(tolerance, "tolerance")
    streaming.check((sink, window))
    if output is not None:
        check_table(output, "A budget")
    if not shares or not all(0 < share <= 1 for share in shares):
        raise BadInput(f"Shares are above 0 and at most 1, not {tuple(shares)!r}.")
    check_weights(scope.model, scope.name)
    tokens = _length(scope, sink + window, max_tokens)
    texts = cut_texts(scope, corpus, tokens, limit)
    chosen, held = halves(scope, texts, needles, sink, window, seed)
    sizes = (sink, window)
    identity = {
        **scope_identity(scope),
        "texts": fingerprint(texts),
        "settings": [sizes, tolerance, needles, tuple(shares), draws, seed],
    }
    title = f"Budget of {scope.name}"
    with Run(output, identity, title=title, restart=restart, progress=progress) as run:
        heads = key_value_heads(scope, text_questions(scope, chosen, 1).batches[0][0])
        open_heads = heads.open(sink + window)
        asked = [_asked(scope, half, sum(sizes), run, name) for half, name in _named(chosen, held)]
        alone = [
            answer_each(
                scope, questions, _edits(heads, open_heads), mode="streaming", kind="decoder",
                weights=sizes, run=run, part=f"alone-{questions.name}",
            ).edited
            for questions in (asked[0].texts, asked[0].needles)
        ]  # fmt: skip
        estimates = [
            estimated_costs(scope, questions, heads, sizes, run)
            for questions in (asked[0].texts, asked[0].needles)
        ]
        found = budget_of(
            scope.name, heads, open_heads, sizes, tolerance, tokens, asked[0], alone,
            estimates[0] + estimates[1],
            shares_outside(scope, chosen, heads, sink, window, run),
            lengths(sum(sizes), tokens),
            retrieval_scores(scope, chosen, heads, run),
        )  # fmt: skip
        together = _Together(scope, heads, sizes, run)
        counts = sorted({0, *(round(share * len(open_heads)) for share in shares)})
        curve = [together.row("exact", found.order[:count], asked[0], "chosen") for count in counts]
        found = recommending(found, curve, KEPT)
        count = len(found.recommended)
        by_gate = found.by_estimate[:count]
        luck = np.random.default_rng(seed)
        drawn = [luck.permutation(len(open_heads))[:count] for _ in range(draws if count else 0)]
        curve += [
            together.row("exact", found.recommended, asked[1], "held out"),
            together.row("gate", by_gate, asked[1], "held out"),
            *(
                together.row("random", [open_heads[at] for at in some], asked[1], "held out")
                for some in drawn
            ),
        ]
        found = dataclasses.replace(found, curve=pd.DataFrame(curve))
        if output is not None:
            found.save(output)
    return found


def _length(scope: Scope, kept: int, max_tokens: int | None) -> int:
    most = scope.max_tokens or 1 << 20
    tokens = min(4 * kept, most) if max_tokens is None else max_tokens
    if tokens > most:
        raise BadInput(f"{scope.name} reads at most {most:,} tokens, not {tokens:,}.")
    if tokens < kept + 3 * (CUE + ANSWER):
        raise BadInput(
            f"Texts of {tokens:,} tokens are too short for a sink and window of "
            f"{kept:,} together; give a smaller window."
        )
    return tokens


def _named(chosen: Texts, held: Texts) -> tuple[tuple[Texts, str], ...]:
    return ((chosen, "chosen"), (held, "held"))


def _asked(scope: Scope, texts: Texts, kept: int, run: Run, name: str) -> Asked:
    questions = text_questions(scope, texts, kept)
    needles = needle_questions(scope, texts)
    part = run.part(f"unrestricted-{name}")
    state = part.recall()
    if state is None:
        loss, found = answer(scope, questions, run), answer(scope, needles, run)
        blind = answer(scope, needle_questions(scope, texts, without=True), run)
        state = State({}, {"loss": loss, "found": found, "blind": blind})
        part.put(state)
    loss, found, blind = (state.arrays[one] for one in ("loss", "found", "blind"))
    return Asked(questions, needles, loss, found, (found[:, 2] > 0) & (blind[:, 2] == 0))


def _edits(heads: KeyValueHeads, chosen: Sequence[Head]) -> list[OneLayer]:
    return [OneLayer(layer, heads.queries(group)) for layer, group in chosen]


class _Together:
    """The answers with sets of heads restricted together; each set runs once and is cached."""

    def __init__(
        self, scope: Scope, heads: KeyValueHeads, sizes: tuple[int, int], run: Run
    ) -> None:
        self._scope, self._heads, self._sizes, self._run = scope, heads, sizes, run
        self._part = run.part("together")
        state = self._part.recall()
        self._kept: dict[str, NDArray[Any]] = {} if state is None else dict(state.arrays)

    def row(self, order: str, chosen: Sequence[Head], asked: Asked, half: str) -> dict[str, Any]:
        """What one set costs: the rise of the loss with its interval, and the needles kept."""
        name = fingerprint([half, sorted(chosen)])[:16]
        loss, found = self._answers(name, chosen, asked)
        change, low, high = rise(asked.loss, loss)
        known = self._heads
        return {
            "order": order,
            "texts": half,
            "heads": len(chosen),
            "share": len(chosen) / max(1, len(known.open(sum(self._sizes)))),
            "loss": float(loss[:, 0].sum() / loss[:, 1].sum()),
            "rise": change,
            "low": low,
            "high": high,
            "needles": float(found[:, 2].mean()),
            "kept": share_kept(asked.counts, found),
            **memory_of(known, chosen, sum(self._sizes)),
        }

    def _answers(self, name: str, chosen: Sequence[Head], asked: Asked) -> tuple[Floats, Floats]:
        if not chosen:
            return asked.loss, asked.found
        if f"{name} loss" not in self._kept:
            scope = self._scope.edited(self._heads.edit(chosen, *self._sizes))
            loss = answer(scope, asked.texts, self._run)
            found = answer(scope, asked.needles, self._run)
            with self._part.step(lambda: State({}, self._kept)):
                self._kept |= {f"{name} loss": loss, f"{name} found": found}
        return self._kept[f"{name} loss"], self._kept[f"{name} found"]
