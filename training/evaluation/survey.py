"""Every head of an encoder scored on held-out pairs, with uniform values and a permutation null.

The null shuffles each input's keys (the same order for all queries of an input) and scores the
shuffled attention: `null` is the best head's own mean under shuffling, `null_best` the best score
any head reaches in any shuffle, which is what a best-of-all-heads score has to beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from training.encoder import Encoder
from training.evaluation.patterns import PATTERNS, Tally, targets
from training.masking import mask
from training.pairs import Stream
from training.tokenizer import MASK


def tables(vocabulary: list[str], device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Over the vocabulary: which pieces continue a word, which are . or ,"""
    continues = torch.tensor([piece.startswith("##") for piece in vocabulary], device=device)
    punctuation = torch.tensor([piece in (".", ",") for piece in vocabulary], device=device)
    return continues, punctuation


@dataclass
class _Batch:
    """One batch's targets, and where its scores go."""

    found: dict[str, Tensor]
    reported: dict[str, Tensor]
    orders: Tensor  # shuffle b k
    other: Tensor  # b q k, 1 where the key is in the other segment
    share: Tensor  # b q
    plain: Tally
    nulls: list[Tally]
    cross: Tensor  # layer head: other_sentence as the mass on the other segment alone predicts it

    def look(self, layer: int, attention: Tensor) -> None:
        self.plain.add(layer, attention, self.found)
        mass = torch.einsum("bhqk,bqk->bhq", attention, self.other)
        self.cross[layer] += (mass * self.share[:, None]).sum((0, 2)).double()
        for tally, order in zip(self.nulls, self.orders, strict=True):
            index = order[:, None, None, :].expand_as(attention)
            tally.add(layer, attention.gather(-1, index), self.reported)


@torch.no_grad()
def survey(
    encoder: Encoder,
    held_out: Stream,
    vocabulary: list[str],
    inputs: int = 256,
    length: int = 128,
    shuffles: int = 5,
    batch: int = 32,
) -> dict[str, Any]:
    """Scores of all heads, and for each pattern its best head."""
    device = held_out.tokens.device
    generator = torch.Generator(device).manual_seed(20_000 + length)
    continues, punctuation = tables(vocabulary, device)
    shape = encoder.shape
    plain = Tally(shape.layers, shape.heads)
    nulls = [Tally(shape.layers, shape.heads) for _ in range(shuffles)]
    masked = Tally(shape.layers, shape.heads)
    cross = torch.zeros(shape.layers, shape.heads, dtype=torch.float64, device=device)
    was_training, dtype = encoder.training, encoder.dtype
    encoder.eval()
    encoder.dtype = torch.float32
    for _ in range(max(1, inputs // batch)):
        pairs = held_out.draw(batch, length, generator)
        found = targets(pairs.tokens, pairs.segments, continues, punctuation)
        reported = {name: found[name] for name in (*PATTERNS, "punctuation")}
        orders = torch.rand(shuffles, batch, length, device=device, generator=generator).argsort(-1)
        for tally in (plain, *nulls):
            tally.count(found)
        other = pairs.segments[:, :, None] != pairs.segments[:, None, :]
        share = found["other_sentence"].sum(-1) / other.sum(-1)  # |copies| / |other segment|
        batch_of = _Batch(found, reported, orders, other.float(), share, plain, nulls, cross)
        encoder.encode(pairs.tokens, pairs.segments, batch_of.look)

        # The same inputs as in training: does attention rest on [MASK] while there is any?
        tokens, _, _ = mask(pairs, shape.vocabulary, generator)
        rows = ~pairs.special[:, :, None].expand(-1, -1, length)
        resting = {
            "delimiter": found["delimiter"],
            "mask": rows & (tokens == MASK)[:, None, :],
            "punctuation": rows & punctuation[tokens][:, None, :],
        }
        masked.count(resting)
        encoder.encode(tokens, pairs.segments, partial(masked.add, found=resting))
    encoder.train(was_training)
    encoder.dtype = dtype

    return {
        "length": length,
        "inputs": inputs,
        "best": _best(plain, nulls, cross),
        "best_on_masked_inputs": _resting(masked),
        "heads": {
            name: [[round(float(x), 5) for x in row] for row in s]
            for name, s in plain.scores().items()
        },
    }


def _best(plain: Tally, nulls: list[Tally], cross: Tensor) -> dict[str, Any]:
    """For each pattern its best head, beside uniform attention and the shuffled keys."""
    scores, uniform = plain.scores(), plain.uniform_scores()
    shuffled = [tally.scores() for tally in nulls]
    best: dict[str, Any] = {}
    for name in (*PATTERNS, "punctuation"):
        flat = int(scores[name].argmax())
        layer, head = divmod(flat, cross.shape[1])
        score = float(scores[name][layer, head])
        best[name] = {
            "layer": layer,
            "head": head,
            "score": score,
            "uniform": uniform[name],
            "lift": score / max(uniform[name], 1e-9),
            "null": sum(float(s[name][layer, head]) for s in shuffled) / max(1, len(nulls)),
            "null_best": max((float(s[name].max()) for s in shuffled), default=0.0),
            "mean_of_heads": float(scores[name].mean()),
        }
    layer, head = best["delimiter"]["layer"], best["delimiter"]["head"]
    for part in ("cls", "sep1", "sep2"):
        best["delimiter"][part] = float(scores[f"delimiter_{part}"][layer, head])
    layer, head = best["other_sentence"]["layer"], best["other_sentence"]["head"]
    expected = float(cross[layer, head]) / max(plain.counts["other_sentence"], 1.0)
    best["other_sentence"]["lift_within_other"] = best["other_sentence"]["score"] / max(
        expected, 1e-9
    )
    return best


def _resting(masked: Tally) -> dict[str, Any]:
    """Where heads rest while there are masks."""
    return {
        name: {
            "score": float(s.max()),
            "mean_of_heads": float(s.mean()),
            "uniform": masked.uniform_scores()[name],
        }
        for name, s in masked.scores().items()
    }


def one_line(result: dict[str, Any]) -> str:
    """The best heads in one line of a log."""
    parts = [f"{n} {b['score']:.2f} (L{b['layer']}H{b['head']})" for n, b in result["best"].items()]
    masked = ", ".join(f"{n} {b['score']:.2f}" for n, b in result["best_on_masked_inputs"].items())
    return " · ".join(parts) + f" · masked inputs: {masked}"
