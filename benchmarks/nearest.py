"""Nearest examples by an index against comparing with every position: time, recall, memory.

    python -m benchmarks.nearest [TEXT] [-m MODEL] [--positions 1000000] [--head 4-2]

The positions are tokens of a text file, or of the sample corpus, read by a model in pieces of 128
tokens: the outputs of one head, as `atlas.nearest` compares them; where the file is shorter than
asked for it is read again, cut elsewhere. The queries are 200 of those positions at random, with a
little noise, so that no query is its own answer. Processor time of one thread; recall is the share
of the ten nearest that the index finds, and `lost` how much less like the query its ten are on
average.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

QUERIES, NEAREST, PIECE, TOGETHER = 200, 10, 128, 16


def vectors_of(scope: Any, text: str, positions: int, layer: int, head: int) -> Any:
    import torch

    from headscope.atlas.nearest import _unit, _vectors

    ids = scope.tokenizer(text, add_special_tokens=False)["input_ids"]
    found: list[Any] = []
    count, shift = 0, 0
    while count < positions:
        pieces = torch.tensor(ids[shift : len(ids) - (len(ids) - shift) % PIECE]).view(-1, PIECE)
        for some in pieces.split(TOGETHER):
            inputs = {"input_ids": some, "attention_mask": torch.ones_like(some)}
            made = _vectors(scope, inputs, scope.kinds[0], layer, head, "output")
            found.append(_unit(made.flatten(0, 1)).numpy())
            count += len(found[-1])
            if count >= positions:
                break
        shift += 37
    return np.concatenate(found)[:positions]


def per_query(work: Any, queries: Any) -> tuple[float, list[Any]]:
    began = time.process_time()
    answers = [work(query) for query in queries]
    return (time.process_time() - began) / len(queries), answers


def main() -> None:
    import torch

    import headscope as hs
    from headscope.atlas import example_index
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.documents import Reader

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path, nargs="?")
    parser.add_argument("-m", "--model")
    parser.add_argument("--positions", type=int, default=1_000_000)
    parser.add_argument("--head", default="4-2")
    options = parser.parse_args()
    torch.set_num_threads(1)
    layer, head = map(int, options.head.split("-"))
    scope = hs.load(options.model)
    documents = Reader().documents("sample", Faults())
    given = (one.text for one in documents) if options.text is None else [options.text.read_text()]
    text = "\n".join(given)
    began = time.process_time()
    vectors = vectors_of(scope, text, options.positions, layer, head)
    read = time.process_time() - began
    chance = np.random.default_rng(0)
    at = chance.integers(0, len(vectors), QUERIES)
    noise = chance.normal(0, 0.3 / vectors.shape[1] ** 0.5, (QUERIES, vectors.shape[1]))
    noisy = vectors[at] + noise.astype(np.float32)
    queries = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    index = example_index.ExampleIndex(np.zeros((len(vectors), 2), np.int64), None, "", vectors)
    example_index.INDEXED = 1
    importing = __import__("faiss")
    importing.omp_set_num_threads(1)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    index.nearest(queries[0], NEAREST)
    built = time.process_time() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    plain, truth = per_query(lambda q: index.nearest(q, NEAREST, exact=True), queries)
    by_index, found = per_query(lambda q: index.nearest(q, NEAREST), queries)
    recall = np.mean([len({*a[0]} & {*b[0]}) / NEAREST for a, b in zip(truth, found, strict=True)])
    lost = np.mean([a[1].mean() - b[1].mean() for a, b in zip(truth, found, strict=True)])
    size = importing.serialize_index(index._cells).nbytes
    print(f"{len(vectors):,} positions of {vectors.shape[1]} numbers, head {options.head}")
    print(f"reading them {read:.0f} s, the index {built:.1f} s, {size / 2**20:.0f} MB")
    print(f"most memory {held / 2**10:.0f} MB before the index, {most / 2**10:.0f} MB with it")
    print(f"a query: all positions {plain * 1e3:.1f} ms, by the index {by_index * 1e3:.2f} ms")
    print(f"recall of the {NEAREST} nearest {recall:.3f}, lost {lost:.5f} of cosine")


if __name__ == "__main__":
    main()
