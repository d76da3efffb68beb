"""How much the loss would change with each attention weight: |∂L/∂α|, by one backward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Call, Kind
from headscope.corpus.text.batches import TextBatch
from headscope.errors import BadInput
from headscope.reading import Scope
from headscope.reading.predict import word_logits
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import PUNCTUATION, Grid, Side
from headscope.statistics.features.rows import Rows
from headscope.statistics.kernels.recorder import Recorder
from headscope.text.tokenise import Batch

SHARE = 0.15  # of the words, as BERT was trained
AS_MASK, AS_RANDOM = 0.8, 0.1  # of those, shown as the mask, and as another token
MOST_WEIGHTS = 2**25  # in one backward pass; more documents go into another


def gradient_rows(
    scope: Scope,
    batch: TextBatch,
    on: Mapping[Kind, Grid],
    features: Mapping[Kind, list[Feature]],
    seed: int,
) -> Iterator[Rows]:
    """Row features of |∂L/∂α| in place of α.

    L is each document's own mean loss (masked words for encoders, the next token for decoders),
    so that a document's gradients do not depend on those it shares a batch with.
    """
    queries = max(grid.query.ids.shape[1] for grid in on.values())
    heads = sum(scope.layers[kind] * scope.heads[kind] for kind in scope.kinds)
    at_once = max(1, MOST_WEIGHTS // (heads * queries * queries))
    inputs = batch.on(scope.device)
    for start in range(0, len(batch.documents), at_once):
        part = slice(start, start + at_once)
        yield from _one_pass(
            scope,
            {name: tensor[part] for name, tensor in inputs.items()},
            {kind: grid.of_documents(part) for kind, grid in on.items()},
            features,
            seed,
        )


def _one_pass(
    scope: Scope,
    inputs: dict[str, Tensor],
    on: dict[Kind, Grid],
    features: Mapping[Kind, list[Feature]],
    seed: int,
) -> Iterator[Rows]:
    kind = scope.kinds[-1] if scope.encoder_decoder else scope.kinds[0]
    if kind == "encoder":
        inputs, labels, on = _masked(scope, inputs, on, seed)
    else:
        labels = _next_tokens(on["decoder"])
    seen: list[tuple[Call, Tensor]] = []

    def follow(call: Call) -> Tensor:
        # a zero added to the weights has their gradient, even if the parameters require none
        nothing = torch.zeros_like(call.weights, requires_grad=True)
        seen.append((call, nothing))
        return call.weights + nothing

    with torch.enable_grad():
        output = scope.forward(Batch(inputs, []), follow, gradients=True)
        loss = _loss(word_logits(scope, output), labels)
        gradients = torch.autograd.grad(loss, [nothing for _, nothing in seen])
    recorder = Recorder(on, features, lambda call: False)
    for (call, _), gradient in zip(seen, gradients, strict=True):
        recorder.record(call, gradient.abs())
    for kind in recorder.kinds:
        yield recorder.rows(kind)


def _loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over documents of their mean loss."""
    per_token = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), labels, reduction="none", ignore_index=-100
    )
    return (per_token.sum(1) / (labels != -100).sum(1).clamp_min(1)).sum()


def _next_tokens(grid: Grid) -> Tensor:
    labels = torch.full_like(grid.query.ids, -100)
    labels[:, :-1] = grid.query.ids[:, 1:].masked_fill(~grid.query.valid[:, 1:], -100)
    return labels


def _masked(
    scope: Scope, inputs: dict[str, Tensor], on: dict[Kind, Grid], seed: int
) -> tuple[dict[str, Tensor], Tensor, dict[Kind, Grid]]:
    """Mask words as in BERT's training, each document by its own seeded draw."""
    mask_id = scope.tokenizer.mask_token_id
    if mask_id is None:
        raise BadInput(
            f"{scope.name} has no mask token, so there is no masked-word loss; leave the gradient "
            "statistics out."
        )
    grid = on["encoder"]
    ids = inputs["input_ids"].clone()
    labels = torch.full_like(ids, -100)
    shown_as_mask = torch.zeros_like(grid.query.valid)
    content = (grid.query.classes >= PUNCTUATION).cpu().numpy()
    for row, document in enumerate(grid.documents):
        chance = np.random.Generator(np.random.Philox(key=[seed, int(document)]))
        places = np.flatnonzero(content[row])
        count = max(1, round(SHARE * len(places)))
        chosen = chance.choice(places, size=min(count, len(places)), replace=False)
        for place in sorted(chosen.tolist()):
            labels[row, place] = ids[row, place]
            luck = chance.random()
            if luck < AS_MASK:
                ids[row, place] = mask_id
                shown_as_mask[row, place] = True
            elif luck < AS_MASK + AS_RANDOM:
                ids[row, place] = int(chance.integers(len(scope.tokenizer)))
    return {**inputs, "input_ids": ids}, labels, _without_masks(on, shown_as_mask)


def _without_masks(on: dict[Kind, Grid], shown_as_mask: Tensor) -> dict[Kind, Grid]:
    """The grid for the paper's averages: masked tokens have no class."""
    import dataclasses

    from headscope.statistics.features.grid import SPECIAL

    grid = on["encoder"]
    classes = grid.query.classes.masked_fill(shown_as_mask, SPECIAL)
    side = Side(
        grid.query.ids,
        classes,
        grid.query.segments,
        grid.query.words,
        grid.query.stops & ~shown_as_mask,
    )
    return {**on, "encoder": dataclasses.replace(grid, query=side, key=side)}
