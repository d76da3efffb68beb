"""Patch: put a part's activity on the clean prompt into a run on the corrupted one.

Exact: every part in turn, with everything the runs share computed once. Estimated: all parts
together from one gradient, (clean − corrupted) · ∂metric/∂activity.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from headscope.arguments import need_count, need_scope
from headscope.circuits.patching.batch import PairBatch, batches
from headscope.circuits.patching.donor import Donor, record
from headscope.circuits.patching.pairs import Pairs, asked_of
from headscope.circuits.patching.result import (
    ESTIMATE,
    EXACT,
    Floats,
    Patching,
    Site,
    intervals_of,
)
from headscope.circuits.patching.swept import HEADS_PATCHED, PATCHED, PatchSweep, Queries, What
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import Wiring
from headscope.edits.answers import TOKENS_AT_ONCE
from headscope.edits.sweep.split_layer import Replaced
from headscope.errors import BadInput, HeadscopeError
from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.models.placement import check_gradients
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback, Run, State, fingerprint, scope_identity

if TYPE_CHECKING:
    from headscope.reading import Scope


Method = Literal["exact", "estimate", "both"]
MEASURES: dict[Method, tuple[str, ...]] = {
    "exact": (EXACT,),
    "estimate": (ESTIMATE,),
    "both": (EXACT, ESTIMATE),
}

RECORDED = {"heads": "heads", "mlps": "mlps", "layers": "hidden"}  # where gradients are taken


def patch(
    scope: Scope,
    clean: Any,
    corrupted: str | Sequence[str] | None = None,
    metric: object = None,
    *,
    answers: object = None,
    what: What = "heads",
    method: Method = "exact",
    positions: bool | Sequence[str] = False,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    seed: int = 0,
) -> Patching:
    """How much of the clean answer each part of the model restores on the corrupted prompt.

    Parameters
    ----------
    scope
        The model.
    clean
        The prompt that the model answers; or many: a list, a table with the columns `clean`,
        `corrupted`, `answer` and `wrong`, pairs from a file, or a ready task.
    corrupted
        The prompt, or the list of them, that the model is run on; a table has its own.
    metric
        The answer, or the answer and the wrong answer: `("Mary", "John")`. If prompts bring their
        answers, or `answers` gives them: the name of a metric (logit_difference, logit,
        probability, probability_difference, loss, accuracy), or a function of the logits (b t v),
        and of the answers if it takes two arguments, that returns one number a row.
    answers
        The answers, where `metric` is a metric.
    what
        heads (their outputs), weights (attention alone), values, mlps or layers (the hidden
        state after each).
    method
        exact, estimate (a few passes in all) or both.
    positions
        True patches one token at a time; a list patches named positions, which prompts of any
        length may have: markers of a table's templates, columns of token numbers, and `end`.
    limit
        How many pairs at most.
    output
        File for the table; a stopped run resumes from the checkpoint beside it.
    restart
        Whether to discard a stopped run's checkpoint.
    progress
        Whether to show progress, or a function that is called with it.
    seed
        Seed of the draws behind intervals.

    Returns
    -------
    Patching
        Shares with intervals over pairs, and every pair's own.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load()
    >>> found = hs.circuits.patch(
    ...     scope, "The cats [MASK] asleep.", "The cat [MASK] asleep.", ("are", "is"),
    ...     progress=False,
    ... )
    >>> found.map().dims
    ('layer', 'head')
    """
    need_scope(scope)
    scope = unrolled(scope)
    names = () if isinstance(positions, bool) else tuple(positions)
    _check(scope, what, method, positions)
    if output is not None:
        check_table(output, "A patching")
    check_weights(scope.model, scope.name)
    pairs, marks = asked_of(clean, corrupted, metric, answers)
    if not marks.differentiable and method != "exact":
        raise BadInput(
            f"{marks.name} has no gradient, so it cannot be estimated; use method='exact'."
        )
    if limit is not None:
        need_count(limit, "limit")
        pairs = Pairs(pairs.name, pairs.pairs[:limit])
    found = (HEADS_PATCHED if what == "heads" else PATCHED).of(scope)
    every = batches(scope, pairs, marks, names)
    sites = _common_sites(scope, found, what, every, positions)
    identity = {
        **scope_identity(scope),
        "pairs": fingerprint(pairs.pairs),
        "settings": [what, method, names or positions, marks.identity],
    }
    title = f"Patching {what}"
    with Run(output, identity, title=title, restart=restart, progress=progress) as run:
        part = run.part("effects")
        kept = Found(MEASURES[method], len(sites), part.recall())
        run.tell(kept.done, len(every))
        for batch in every[kept.done :]:
            rows = _of_batch(scope, found, batch, what, method, sites)
            with part.step(kept.state):
                kept.add(rows, batch.numbers)
            run.tell(kept.done, len(every))
        effects, right, wrong = kept.in_order()
        intervals = {name: intervals_of(one, right - wrong, seed) for name, one in effects.items()}
        made = Patching(
            scope.name, pairs.name, what, found.stack.kind, tuple(sites), effects, right, wrong,
            names or tuple(every[0].tokens[0].labels), intervals, marks.name,
            marks.higher_is_better, tuple(pair.clean for pair in pairs.pairs),
        )  # fmt: skip
        if output is not None:
            write_output(made, output, made.table)
    return made


def _of_batch(
    scope: Scope,
    found: Wiring,
    batch: PairBatch,
    what: What,
    method: Method,
    sites: list[Site],
) -> dict[str, Floats]:
    """e b per measure, and 2 b: the metric on the clean and the corrupted prompts."""
    donor = record(scope, found, batch.clean, calls=what in ("weights", "values"))
    answered = batch.read(donor.output, clean=True)[:, 0].double().cpu().numpy()
    if batch.named:
        length = len(_common_ids(batch.corrupted)[0])
        sides = ([one[side] for one in batch.named.values()] for side in (0, 1))
        donor = donor.laid_out(length, *sides)
    rows: dict[str, Floats] = {}
    base = np.zeros(0)
    if ESTIMATE in MEASURES[method]:
        base, rows[ESTIMATE] = _estimated(scope, found, batch, donor, what, sites)
    if EXACT in MEASURES[method]:
        base, rows[EXACT] = _exact(scope, found, batch, donor, what, sites)
    return {**rows, ENDS: np.stack([answered, base])}


def _common_ids(inputs: dict[str, Tensor]) -> Tensor:
    """b t: what the stack that answers reads."""
    return inputs["decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"]


def _check(scope: Scope, what: What, method: Method, positions: bool | Sequence[str]) -> None:
    if isinstance(positions, str):
        raise BadInput(f"Give the names of positions as a list: positions=[{positions!r}].")
    if what in ("weights", "values") and (positions or method != "exact"):
        raise BadInput(
            f"A patch of {what} is always exact and covers all positions together; "
            f"leave method= and positions= out."
        )
    if what == "values" and not scope.description.reads_values:
        raise HeadscopeError(
            f"{scope.name} does not expose its values, so they cannot be patched; patch its heads, "
            "weights, mlps or layers."
        )


def _common_sites(
    scope: Scope,
    found: Wiring,
    what: What,
    every: list[PairBatch],
    positions: bool | Sequence[str],
) -> list[Site]:
    if not isinstance(positions, bool):
        return sites_of(scope, found, what, tuple(positions))
    lengths = {int(one) for batch in every for one in _lengths(batch)}
    if positions and len(lengths) > 1:
        raise BadInput(
            "Patching every position in turn needs prompts that all have the same length; name "
            "the positions to patch: positions=['end']."
        )
    return sites_of(scope, found, what, tuple(range(max(lengths))) if positions else ())


def _lengths(batch: PairBatch) -> Tensor:
    """b: how many tokens each pair has."""
    mask = batch.corrupted.get("decoder_attention_mask", batch.corrupted.get("attention_mask"))
    return torch.tensor([_common_ids(batch.corrupted).shape[1]]) if mask is None else mask.sum(1)


def sites_of(
    scope: Scope, found: Wiring, what: What, queries: Sequence[int | str] = ()
) -> list[Site]:
    """Every part at each of the positions; without positions, at all of them together."""
    layers = len(found.stack.layers)
    heads: list[int | None] = [None]
    if what in ("heads", "weights", "values"):
        heads = list(range(scope.heads[found.stack.kind]))
    at = list(queries) or [None]
    return [Site(layer, head, q) for layer in range(layers) for head in heads for q in at]


def _query(batch: PairBatch, site: Site) -> Queries:
    """b 1: where a site is in each of the corrupted prompts."""
    if site.query is None:
        return None
    if isinstance(site.query, str):
        return batch.named[site.query][1][:, None]
    return torch.full_like(batch.right, site.query)[:, None]


def _exact(
    scope: Scope,
    found: Wiring,
    batch: PairBatch,
    donor: Donor,
    what: What,
    sites: list[Site],
) -> tuple[Floats, Floats]:
    """The metric on the corrupted prompts (b), and its change for every site (e b)."""
    tokens = next(iter(batch.corrupted.values())).numel()
    copies = max(1, TOKENS_AT_ONCE.get(scope.device.type, 8_192) // tokens)
    changes: list[Tensor] = []
    sweep = PatchSweep(scope, found, batch, donor, what)
    with sweep:
        base = sweep.baseline[:, 0]
        for layer in range(len(found.stack.layers)):
            here = [site for site in sites if site.layer == layer]
            queries = [_query(batch, site) for site in here]
            if what == "layers":
                answers = sweep.layer_answers(layer, queries, copies)
            elif what == "mlps":
                answers = sweep.mlp_answers(layer, queries, copies)
            elif what == "heads" and (scope.read_at != "interface" or batch.named):
                placed = [(p.head or 0, q) for p, q in zip(here, queries, strict=True)]
                answers = sweep.head_answers(layer, placed, copies)
            else:
                answers = sweep.answers(layer, [_edit(site) for site in here], copies)
            changes.append(answers[:, :, 0] - base)
    return base.double().cpu().numpy(), torch.cat(changes).double().cpu().numpy()


def _edit(site: Site) -> tuple[int, ...] | Replaced:
    assert site.head is not None
    return Replaced((site.head,), (site.query,)) if isinstance(site.query, int) else (site.head,)


def _estimated(
    scope: Scope,
    found: Wiring,
    batch: PairBatch,
    donor: Donor,
    what: What,
    sites: list[Site],
) -> tuple[Floats, Floats]:
    """The same, estimated from one forward and one backward pass on the corrupted prompts."""
    name = RECORDED[what]
    check_gradients(scope.model)
    with torch.enable_grad():
        own = record(scope, found, batch.corrupted, gates=True)
        answers = batch.read(own.output)[:, 0]
        gates = [own.gates[name, layer] for layer in range(len(found.stack.layers))]
        slopes = torch.autograd.grad(answers.sum(), gates, materialize_grads=True)
    changes: list[Tensor] = []
    for layer, slope in enumerate(slopes):
        gained = getattr(donor, name)[layer] - getattr(own, name)[layer]
        along = (gained.double() * slope.double()).sum(-1)  # b t h, or b t
        along = along if along.dim() == 3 else along[:, :, None]
        for site in sites:
            if site.layer == layer:
                at, query = along[:, :, site.head or 0], _query(batch, site)
                changes.append(at.sum(1) if query is None else at.gather(1, query)[:, 0])
    return answers.detach().double().cpu().numpy(), torch.stack(changes).cpu().numpy()


# Results so far, pair by pair: a run's checkpoint, put in the pairs' order at the end.

ENDS = "ends"  # the metric on the clean and on the corrupted prompts


class Found:
    """Columns are pairs, in the order in which their batches ran."""

    def __init__(self, names: Collection[str], parts: int, state: State | None) -> None:
        self.done = 0  # batches
        self._order: list[int] = []
        self._rows: dict[str, Floats] = {name: np.zeros((parts, 0)) for name in names}
        self._rows[ENDS] = np.zeros((2, 0))
        if state is not None:
            self.done, self._order = state.position["batches"], state.position["pairs"]
            self._rows = dict(state.arrays)

    def add(self, rows: dict[str, Floats], pairs: Collection[int]) -> None:
        """One batch: e b per measure and 2 b of ends."""
        self._rows = {
            name: np.concatenate([kept, rows[name]], axis=1) for name, kept in self._rows.items()
        }
        self._order = [*self._order, *pairs]
        self.done += 1

    def state(self) -> State:
        return State({"batches": self.done, "pairs": self._order}, self._rows)

    def in_order(self) -> tuple[dict[str, Floats], Floats, Floats]:
        """e n per measure, and the metric on clean and corrupted prompts (n each)."""
        back = np.argsort(self._order)
        rows = {name: kept[:, back] for name, kept in self._rows.items()}
        clean, corrupted = rows.pop(ENDS)
        return rows, clean, corrupted
