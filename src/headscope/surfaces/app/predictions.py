"""What the model says at a masked word or next, before and after heads are switched off."""

from __future__ import annotations

from typing import Any

import torch

from headscope.capture import Call
from headscope.errors import BadInput
from headscope.reading import Scope
from headscope.surfaces.app.readings import Kept

COUNT = 5
IMPORTANT = 12  # heads listed


def predictions(whole: Scope, edited: Scope, kept: Kept) -> dict[str, Any]:
    """One place a masked word, or one for the next token; a note where there is none."""
    try:
        if whole.causal:
            before = [whole.next_token(kept.text, COUNT)]
            after = [edited.next_token(kept.text, COUNT)]
            places = [("next token", len(kept.reading.part().query) - 1)]
        else:
            before = whole.fill(kept.text, kept.text_pair, COUNT)
            after = edited.fill(kept.text, kept.text_pair, COUNT)
            places = [(f"token {at}", at) for at in _masked(whole, kept)]
    except BadInput as error:
        return {"places": [], "note": str(error)}
    return {
        "places": [
            {
                "title": title,
                "position": position,
                "before": [one._asdict() for one in first],
                "after": [one._asdict() for one in second],
            }
            for (title, position), first, second in zip(places, before, after, strict=True)
        ],
        "note": None,
    }


def _masked(scope: Scope, kept: Kept) -> list[int]:
    mask = scope.tokenizer.mask_token_id
    return [at for at, token in enumerate(kept.reading.part().query.ids) if token == mask]


def importance(scope: Scope, kept: Kept) -> dict[str, Any]:
    """How strongly the model's answer leans on each head: |∂answer/∂gate| from one backward pass.

    The answer is the log-probability of the word the model finds likeliest at each mask or next;
    a model without such an output answers with the size of its last hidden states.
    """
    gates: dict[tuple[str, int], torch.Tensor] = {}

    def gate(call: Call) -> torch.Tensor:
        shape = (1, call.weights.shape[1], 1, 1)
        one = call.weights.new_ones(shape).requires_grad_()
        gates[call.kind, call.layer] = one
        return call.weights * one

    inputs = _inputs(scope, kept)
    with torch.enable_grad():
        answer, note = _answer(scope, scope.forward(inputs, gate, gradients=True), kept)
        slopes = torch.autograd.grad(answer, list(gates.values()), materialize_grads=True)
    rows: list[dict[str, Any]] = [
        {"kind": kind, "layer": layer, "head": head, "importance": abs(float(value))}
        for (kind, layer), slope in zip(gates, slopes, strict=True)
        for head, value in enumerate(slope.flatten())
    ]
    rows.sort(key=lambda row: row["importance"], reverse=True)
    return {"heads": rows[:IMPORTANT], "note": note}


def _inputs(scope: Scope, kept: Kept) -> dict[str, torch.Tensor]:
    if scope.encoder_decoder:
        from headscope.reading.decoder_text import decoder_batch

        batch = scope.encode([kept.text])
        decoder = decoder_batch(scope.model, scope.tokenizer, [kept.text_pair])
        return {**batch.inputs, **decoder.to(scope.device).inputs}
    return dict(scope.encode([kept.text], [kept.text_pair]).inputs)


def _answer(scope: Scope, output: Any, kept: Kept) -> tuple[torch.Tensor, str]:
    logits = getattr(output, "prediction_logits", None)
    logits = getattr(output, "logits", None) if logits is None else logits
    rows = [-1] if scope.causal or scope.encoder_decoder else _masked(scope, kept)
    if logits is not None and logits.dim() == 3 and rows:
        best = logits[0, rows].float().log_softmax(-1).max(dim=-1).values.sum()
        where = "next" if rows == [-1] else "at the mask"
        return best, f"How strongly the likeliest word {where} leans on the head, to first order."
    hidden = getattr(output, "last_hidden_state", None)
    if hidden is None:
        hidden = logits if logits is not None else output[0]
    note = "How strongly the model's output as a whole leans on the head, to first order."
    return hidden.float().pow(2).sum().sqrt(), note
