"""Held-out masked-word accuracy and perplexity and next-sentence accuracy, per length.

Perplexity is per masked word piece and so depends on the vocabulary; `bits_per_character` divides
by the characters of the masked pieces and can be compared between vocabularies.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from training.encoder import Encoder
from training.evaluation.baselines import Counts
from training.masking import mask
from training.pairs import Stream

LENGTHS = (64, 128, 512)


@torch.no_grad()
def evaluate(
    encoder: Encoder,
    held_out: Stream,
    vocabulary: list[str],
    counts: Counts | None = None,
    tokens: int = 1 << 19,
    lengths: tuple[int, ...] = LENGTHS,
    batch_tokens: int = 1 << 14,
) -> dict[str, Any]:
    """One row per length. Inputs, masks and labels are the same whenever the seed and data are."""
    device = held_out.tokens.device
    characters = torch.tensor([len(p.removeprefix("##")) for p in vocabulary], device=device)
    was_training, dtype = encoder.training, encoder.dtype
    encoder.eval()
    encoder.dtype = torch.float32
    rows: dict[str, Any] = {}
    for length in lengths:
        generator = torch.Generator(device).manual_seed(10_000 + length)
        batch = max(1, batch_tokens // length)
        right = nll = pieces = letters = follows = inputs = 0.0
        lefts, truths = [], []
        for _ in range(max(1, tokens // (batch * length))):
            pairs = held_out.draw(batch, length, generator)
            shown, chosen, truth = mask(pairs, encoder.shape.vocabulary, generator)
            x = encoder.encode(shown, pairs.segments)
            logits = encoder.word_logits(x, chosen).float()
            flat = truth.flatten()
            nll += float(functional.cross_entropy(logits, flat, reduction="sum"))
            right += float((logits.argmax(-1) == flat).sum())
            pieces += flat.numel()
            letters += float(characters[flat].sum())
            follows += float((encoder.next_logits(x).argmax(-1) == pairs.is_random).sum())
            inputs += batch
            lefts.append(pairs.tokens.gather(1, chosen - 1).flatten())
            truths.append(flat)
        rows[str(length)] = {
            "accuracy": right / pieces,
            "perplexity": math.exp(nll / pieces),
            "bits_per_character": nll / math.log(2) / letters,
            "next_sentence_accuracy": follows / inputs,
            "inputs": int(inputs),
            "masked_pieces": int(pieces),
        }
        if counts is not None:
            rows[str(length)] |= counts.score(torch.cat(lefts), torch.cat(truths))
    encoder.train(was_training)
    encoder.dtype = dtype
    return rows


def table(rows: dict[str, Any]) -> str:
    lines = []
    for length, r in rows.items():
        line = (
            f"  {length:>4} tokens: accuracy {r['accuracy']:.4f}  "
            f"perplexity {r['perplexity']:.2f}  "
            f"bits/char {r['bits_per_character']:.3f}  "
            f"next sentence {r['next_sentence_accuracy']:.4f}"
        )
        if "bigram_accuracy" in r:
            line += (
                f"  | unigram {r['unigram_accuracy']:.3f} / {r['unigram_perplexity']:.0f}"
                f"  bigram {r['bigram_accuracy']:.3f} / {r['bigram_perplexity']:.0f}"
            )
        lines.append(line)
    return "\n".join(lines)
