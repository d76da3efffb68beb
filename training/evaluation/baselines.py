"""What counting words alone achieves at the same masked positions: unigrams and bigrams.

The bigram is given the true word piece on its left, masked or not, and its smoothing strength is
chosen on the very text it is scored on: both favour the baseline.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

STRENGTHS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


class Counts:
    def __init__(self, tokens: Tensor, vocabulary: int) -> None:
        """tokens: the whole training stream."""
        self.vocabulary = vocabulary
        self.unigram = torch.bincount(tokens.int(), minlength=vocabulary).double()
        self.share = (self.unigram + 0.5) / (self.unigram + 0.5).sum()
        self.bigram = torch.zeros(vocabulary * vocabulary, dtype=torch.int32, device=tokens.device)
        for chunk in range(0, len(tokens) - 1, 1 << 24):
            part = tokens[chunk : chunk + (1 << 24) + 1].long()
            code = part[:-1] * vocabulary + part[1:]
            self.bigram.index_add_(0, code, torch.ones_like(code, dtype=torch.int32))
        self.follower = self.bigram.view(vocabulary, vocabulary).argmax(1)
        self.before = self.bigram.view(vocabulary, vocabulary).sum(1).double()

    def score(self, left: Tensor, truth: Tensor) -> dict[str, float]:
        """Accuracy and perplexity of both baselines for `truth` given the piece to its left."""
        share = self.share[truth]
        top = int(self.unigram.argmax())
        # A left piece that nothing ever followed: the bigram says what the unigram says.
        guess = torch.where(self.before[left] > 0, self.follower[left], top)
        pair = self.bigram[left * self.vocabulary + truth].double()
        bigram = min(
            float(-((pair + k * share) / (self.before[left] + k)).log().mean()) for k in STRENGTHS
        )
        return {
            "unigram_accuracy": float((truth == top).double().mean()),
            "unigram_perplexity": math.exp(float(-share.log().mean())),
            "bigram_accuracy": float((guess == truth).double().mean()),
            "bigram_perplexity": math.exp(bigram),
        }
