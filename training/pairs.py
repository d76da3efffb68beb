"""Sentence pairs as BERT had them, drawn on the device that trains.

`[CLS] A [SEP] B [SEP]`, filled to the length exactly, so no input is padded. A is one or more
whole sentences; B follows A in its document half of the time, and starts at a sentence of
another document otherwise. B ends where the length is reached. Which boundary parts A from B is
drawn uniformly among the sentence boundaries of the window, as in BERT's own data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from training.tokenizer import CLS, SEP

SHORTEST_B = 8  # a shorter second segment says nothing about whether it follows
TRIES = 4  # draws for a B of another document that is long enough


@dataclass
class Pairs:
    tokens: Tensor  # b t, int64
    segments: Tensor  # b t, 0 up to and including the first [SEP], then 1
    special: Tensor  # b t, bool: [CLS] and both [SEP]
    is_random: Tensor  # b, 1 where B does not follow A (BERT's label)


class Stream:
    """All staged tokens of one split in one tensor, with its sentence and document bounds."""

    def __init__(self, tokens: Tensor, sentence_starts: Tensor, document_starts: Tensor) -> None:
        self.tokens = tokens
        self.starts = sentence_starts
        ends = torch.cat([document_starts[1:], document_starts.new_tensor([len(tokens)])])
        self.document = torch.searchsorted(document_starts, sentence_starts, right=True) - 1
        self.room = ends[self.document] - sentence_starts  # tokens left in the document
        self._valid: dict[int, tuple[Tensor, Tensor]] = {}

    @classmethod
    def open(cls, folder: Path, split: str, device: torch.device | str = "cpu") -> Stream:
        paths = sorted(folder.glob(f"*.{split}.safetensors"))
        if not paths:
            raise SystemExit(f"No {split} tokens in {folder}: run python -m training.stage first.")
        parts = [load_file(path) for path in paths]
        offsets, size = [], 0
        for part in parts:
            offsets.append(size)
            size += len(part["tokens"])
        joined = {
            name: torch.cat([p[name] + o for p, o in zip(parts, offsets, strict=True)])
            for name in ("sentence_starts", "document_starts")
        }
        tokens = torch.cat([part["tokens"] for part in parts])
        return cls(
            tokens.to(device),
            joined["sentence_starts"].to(device),
            joined["document_starts"].to(device),
        )

    def valid(self, length: int) -> tuple[Tensor, Tensor]:
        """Sentences that can open a pair of this length, and how many boundaries each has."""
        if length not in self._valid:
            content = length - 3
            last = self.starts + content - SHORTEST_B
            own = torch.arange(len(self.starts), device=self.starts.device)
            choices = torch.searchsorted(self.starts, last, right=True) - 1 - own
            index = torch.nonzero((self.room >= content) & (choices > 0))[:, 0]
            if not len(index):
                raise SystemExit(f"No document is long enough for pairs of {length} tokens.")
            self._valid[length] = index, choices[index]
        return self._valid[length]

    def draw(self, count: int, length: int, generator: torch.Generator) -> Pairs:
        device = self.tokens.device
        index, choices = self.valid(length)

        def pick(shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
            """An opening sentence and the sentence after a boundary drawn in its window."""
            uniform = torch.rand((2, *shape), device=device, generator=generator)
            row = (uniform[0] * len(index)).long().clamp_(max=len(index) - 1)
            step = 1 + torch.minimum((uniform[1] * choices[row]).long(), choices[row] - 1)
            return index[row], index[row] + step

        first, following = pick((count,))
        a_length = self.starts[following] - self.starts[first]
        b_length = length - 3 - a_length

        # B of another document is drawn as a true B would be, so its place gives nothing away.
        _, other = pick((TRIES, count))
        elsewhere = self.document[other] != self.document[first]
        fits = elsewhere & (self.room[other] >= b_length)
        chosen = fits.int().argmax(0)
        other = other[chosen, torch.arange(count, device=device)]
        coin = torch.rand(count, device=device, generator=generator) < 0.5
        is_random = coin & fits.any(0)

        a_start = self.starts[first][:, None]
        b_start = torch.where(is_random, self.starts[other], self.starts[following])[:, None]
        a_length = a_length[:, None]
        position = torch.arange(length, device=device)[None]
        in_b = position >= a_length + 2
        place = torch.where(in_b, b_start + position - a_length - 2, a_start + position - 1)
        tokens = self.tokens[place.clamp_(0, len(self.tokens) - 1)].long()
        separator = (position == a_length + 1) | (position == length - 1)
        special = separator | (position == 0)
        tokens = torch.where(separator, SEP, tokens)
        tokens[:, 0] = CLS
        return Pairs(tokens, in_b.long(), special, is_random.long())
