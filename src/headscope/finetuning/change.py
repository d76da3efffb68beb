"""How far two models' heads attend differently to the same text, streamed batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from headscope.capture import Call, Kind
from headscope.edits.disable import chosen_kind
from headscope.errors import BadInput, HeadscopeError
from headscope.finetuning.texts import BATCH, Texts, batch_of, in_order
from headscope.runs import Run, State
from headscope.statistics.kernels.jensen_shannon import row_divergence

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Batch

TINY = 1e-12
MEASURES = ("cosine", "cosine_padded", "divergence")


@dataclass(frozen=True)
class Change:
    """Per head, averaged over texts: 1 and 0 mean unchanged."""

    kind: Kind
    cosine: np.ndarray  # layer head, of the maps laid out flat, cut to the real tokens
    cosine_padded: np.ndarray  # layer head, the same over the whole padded map
    divergence: np.ndarray  # layer head, Jensen-Shannon per query, in nats (at most ln 2)
    texts: int


@dataclass(frozen=True)
class Sums:
    """Sums over texts so far; immutable, so that a stop finds them whole."""

    totals: dict[str, np.ndarray]  # layer head, by measure
    texts: int = 0

    @staticmethod
    def none(scope: Scope, kind: Kind) -> Sums:
        return Sums({name: np.zeros((scope.layers[kind], scope.heads[kind])) for name in MEASURES})

    def mean(self, kind: Kind) -> Change:
        if not self.texts:
            raise BadInput("There is no text to compare the models on.")
        if not all(np.isfinite(total).all() for total in self.totals.values()):
            raise HeadscopeError(
                "The models' attention is NaN on some texts; load both with "
                "dtype='float32', or earlier checkpoints."
            )
        means = {name: total / self.texts for name, total in self.totals.items()}
        return Change(kind, **means, texts=self.texts)


def change(a: Scope, b: Scope, batches: Iterable[Batch]) -> Change:
    """Run both models on the same batches and compare every head with its twin."""
    kind = chosen_kind(a, None)
    check_alike(a, b, kind)
    sums = Sums.none(a, kind)
    for batch in batches:
        sums = with_batch(sums, a, b, batch, kind)
    return sums.mean(kind)


def change_of_texts(run: Run, a: Scope, b: Scope, texts: Texts, kind: Kind, longest: int) -> Change:
    """The change over texts as a part of a run, which saves the sums."""
    ordered, part, title = in_order(texts), run.part("change"), "Comparing maps"
    state = part.recall()
    sums = Sums.none(a, kind) if state is None else Sums(state.arrays, state.position["texts"])
    tokens = 0

    def now() -> State:
        return State({"texts": sums.texts}, dict(sums.totals))

    run.tell(sums.texts, len(ordered), title=title)
    for start in range(sums.texts, len(ordered), BATCH):
        batch = batch_of(a, ordered[start : start + BATCH], longest)
        more = with_batch(sums, a, b, batch, kind)
        with part.step(now):
            sums = more
        tokens += sum(map(len, batch.tokens))
        run.tell(sums.texts, len(ordered), title=title, segments=sums.texts, tokens=tokens)
    part.keep()
    return sums.mean(kind)


def with_batch(sums: Sums, a: Scope, b: Scope, batch: Batch, kind: Kind) -> Sums:
    """The sums with one more batch of texts."""
    first: dict[int, Tensor] = {}
    totals = {name: total.copy() for name, total in sums.totals.items()}

    def keep(call: Call) -> None:
        if call.kind != kind:
            return
        if call.layer >= a.layers[kind]:  # CANINE attends to characters, then to their pools
            raise BadInput(
                f"{a.name} computes attention more than once in some of its "
                f"{a.layers[kind]} layers, so its heads cannot be compared; use "
                "scope.capture."
            )
        first[call.layer] = call.weights.detach()

    def measure(call: Call) -> None:
        if call.kind != kind:
            return
        one, two = first.pop(call.layer).float(), call.weights.detach().float()
        real = call.valid_queries[:, None, :, None].to(one.device)
        for name, value in _compare(one, two.to(one.device), real).items():
            totals[name][call.layer] += value.sum(dim=0).double().cpu().numpy()

    a.forward(batch, keep)
    b.forward(batch.to(b.device), measure)
    return Sums(totals, sums.texts + len(batch))


def _compare(one: Tensor, two: Tensor, real: Tensor) -> dict[str, Tensor]:
    """b h each. Padded keys carry no weight already; padded query rows are cut by `real`."""
    rows = row_divergence(one, two)
    queries = real[..., 0]
    return {
        "cosine": _cosine(one * real, two * real),
        "cosine_padded": _cosine(one, two),
        "divergence": (rows * queries).sum(dim=2) / queries.sum(dim=2).clamp(min=1),
    }


def _cosine(one: Tensor, two: Tensor) -> Tensor:
    product = (one * two).sum(dim=(2, 3))
    size = (one * one).sum(dim=(2, 3)) * (two * two).sum(dim=(2, 3))
    return product / size.sqrt().clamp(min=TINY)


def check_alike(a: Scope, b: Scope, kind: Kind) -> None:
    """Raise an error unless both models have one shape and tokenise alike."""
    if set(a.kinds) != set(b.kinds):
        raise BadInput(
            f"{a.name} has {' and '.join(a.kinds)} attention and {b.name} has "
            f"{' and '.join(b.kinds)}; compare a model with its own fine-tuned version."
        )
    if kind not in b.kinds or (a.layers[kind], a.heads[kind]) != (b.layers[kind], b.heads[kind]):
        raise BadInput(
            f"{a.name} and {b.name} differ in layers or heads; compare a model with its own "
            "fine-tuned version."
        )
    if a.tokenizer.get_vocab() != b.tokenizer.get_vocab():
        raise BadInput(f"{a.name} and {b.name} split text into different tokens.")
