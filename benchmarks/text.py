"""Tokens a core prepares in a second: read, cut, tokenised and gridded as a survey does it.

    python benchmarks/text.py [--corpus FILE] [--tokenizer FOLDER_OR_GGUF …] [--tokens 1000000]

Every stage is timed by processor time on one thread and set against the bare batched call of the
same tokenizer on the same texts in the same run ("of bare call"; above 1 is faster than the call).
Without a corpus, sentences are made up from as many words as English uses in a book.
"first" is the first half of the corpus, when every word is new; "then" the second half, whose
words are mostly known by then.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch

SHAPES = (("pairs", 128), ("documents", 512))
PORTION = 1024  # segments, as on a GPU


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def made_up(words: int, seed: int = 0) -> list[str]:
    """Documents of about 500 words, each word as common as its rank in English makes it."""
    chance = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwygpbvk"))
    known = ["".join(chance.choice(letters, size)) for size in chance.integers(1, 11, 20_000)]
    commonness = 1 / np.arange(1, len(known) + 1)
    drawn = chance.choice(len(known), words, p=commonness / commonness.sum())
    documents: list[str] = []
    for start in range(0, words, 500):
        lines = [drawn[at : at + 20] for at in range(start, min(start + 500, words), 20)]
        documents.append(
            " ".join(" ".join(known[n] for n in line).capitalize() + "." for line in lines)
        )
    return documents


def measure(scope: Any, corpus: Any, cut: str, longest: int) -> None:
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.documents import Document, Reader

    def read() -> list[Document]:
        found = list(Reader().documents(corpus, Faults()))
        if cut == "pairs":
            return found
        # whole articles are cut at their paragraphs, so that little is tokenised and thrown away
        return [Document(line) for one in found for line in one.text.split("\n")]

    reading, documents = timed(read)
    half = len(documents) // 2
    found = [_stages(scope, part, cut, longest) for part in (documents[:half], documents[half:])]
    counts = [stages.pop("tokens") for stages in found]
    bare = [count / stages.pop("bare call") for count, stages in zip(counts, found, strict=True)]
    print(f"  {longest}-token {cut}, {counts[0]:,.0f} and {counts[1]:,.0f} tokens", end="")
    print(f"; the tokenizer's bare call {bare[0]:,.0f} and {bare[1]:,.0f} tokens/s")
    for count, stages in zip(counts, found, strict=True):
        stages["reading"] = reading * count / sum(counts)
        stages["all"] = sum(stages.values())
    for name in ("reading", "cutting", "tokenising", "gridding", "all"):
        rates = [count / stages[name] for count, stages in zip(counts, found, strict=True)]
        told = [
            f"{rate:>12,.0f} tokens/s {rate / own:7.2f} of bare call"
            for rate, own in zip(rates, bare, strict=True)
        ]
        print(f"    {name:<10} first {told[0]}   then {told[1]}")


def _stages(scope: Any, documents: list[Any], cut: Any, longest: int) -> dict[str, float]:
    """Seconds of each stage for these documents, and how many tokens they make."""
    from headscope.corpus.text.batches import Encoder
    from headscope.corpus.text.segments import segments
    from headscope.statistics.features.grid import grids

    cutting, made = timed(lambda: list(segments(documents, cut, scope.tokenizer, longest=longest)))
    portions = [made[n : n + PORTION] for n in range(0, len(made), PORTION)]
    tokenising, batched = timed(
        lambda: [
            batch
            for portion in portions
            for batch in Encoder.of(scope, 2**15, longest).batches(portion)
        ]
    )
    gridding, _ = timed(lambda: [grids(scope, batch) for batch in batched])

    def call(portion: list[Any]) -> None:
        pairs = [segment.pair for segment in portion] if cut == "pairs" else None
        texts = [segment.text for segment in portion]
        scope.tokenizer(texts, pairs, truncation=True, max_length=longest, verbose=False)

    bare, _ = timed(lambda: [call(portion) for portion in portions])
    count = sum(batch.amount.tokens for batch in batched)
    return {
        "cutting": cutting,
        "tokenising": tokenising,
        "gridding": gridding,
        "bare call": bare,
        "tokens": float(count),
    }


def main() -> None:
    from transformers import AutoTokenizer

    import headscope as hs

    options = argparse.ArgumentParser()
    options.add_argument("--corpus", help="a text file instead of made-up sentences")
    options.add_argument(
        "--tokenizer", action="append", default=[], help="a model's folder or GGUF file"
    )
    options.add_argument("--tokens", type=int, default=1_000_000, help="of made-up sentences")
    given = options.parse_args()
    torch.set_num_threads(1)
    corpus = given.corpus or made_up(given.tokens)
    for folder in (None, *given.tokenizer):
        scope = hs.load()
        if folder is not None:
            # only texts are prepared, so any tokenizer will do with any model
            file = {"gguf_file": Path(folder).name} if folder.endswith(".gguf") else {}
            place = str(Path(folder).parent) if file else folder
            tokenizer = AutoTokenizer.from_pretrained(place, **file)
            scope.model.resize_token_embeddings(len(tokenizer))
            scope = dataclasses.replace(scope, tokenizer=tokenizer)
        print(folder or "bundled model")
        for cut, longest in SHAPES:
            measure(scope, corpus, cut, longest)


if __name__ == "__main__":
    main()
