"""Sentence pairs cut at once equal those cut token by token, with every sort of tokenizer."""

from __future__ import annotations

import random

import pytest

from headscope.corpus.text.documents import Document
from headscope.corpus.text.segments import segments
from tests.text.test_batched import SORTS
from tests.text.tokenizers import LINES

WORDS = [word for line in LINES[:2] for word in line.split()] + [
    "12",
    "3.14",
    "naïve",
    "我喜欢草莓",
]


def documents(count: int) -> list[Document]:
    chance = random.Random(0)

    def sentence() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randrange(1, 14))) + " ."

    made = [tuple(sentence() for _ in range(chance.randrange(1, 12))) for _ in range(count)]
    return [Document(" ".join(sentences), sentences=sentences) for sentences in made]


def plain_pairs(document, tokenizer, longest, chance):
    """The definition: gather sentences, split them, drop a token from the longer side."""
    room = longest - tokenizer.num_special_tokens_to_add(pair=True)
    gathered, filled = [], 0
    for place, sentence in enumerate(document.sentences):
        gathered.append(sentence)
        filled += len(tokenizer(sentence, add_special_tokens=False)["input_ids"])
        if filled < room and place + 1 < len(document.sentences):
            continue
        if len(gathered) >= 2:
            split = chance.randint(1, len(gathered) - 1)
            sides = [" ".join(gathered[:split]), " ".join(gathered[split:])]
            kept = [plain_spans(tokenizer, side) for side in sides]
            while sum(map(len, kept)) > room:
                longer = max(kept, key=len)
                longer.pop(0 if chance.random() < 0.5 else -1)
            yield tuple(
                side[spans[0][0] : spans[-1][1]].strip()
                for side, spans in zip(sides, kept, strict=True)
            )
        gathered, filled = [], 0


def plain_spans(tokenizer, text):
    if tokenizer.is_fast:
        read = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return list(read["offset_mapping"])
    spans, place = [], 0
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        pieces = tokenizer(word, add_special_tokens=False)["input_ids"]
        spans += [(start, place)] * max(1, len(pieces))
    return spans


@pytest.mark.parametrize("sort", SORTS)
def test_pairs_equal_those_cut_token_by_token(sort):
    tokenizer, given = SORTS[sort](), documents(16)
    found = [
        (segment.document, segment.text, segment.pair)
        for segment in segments(given, "pairs", tokenizer, longest=60, seed=3)
    ]
    wanted = [
        (place, *pair)
        for place, document in enumerate(given)
        for pair in plain_pairs(document, tokenizer, 60, random.Random(f"3:{place}"))
    ]
    assert len(found) > 12
    assert found == wanted
