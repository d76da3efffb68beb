"""Text to token ids, once: each corpus file becomes one small safetensors file per split.

    python -m training.stage corpus/*.txt.xz --tokenizer run/tokenizer -o run/staged --workers 16

A split file holds `tokens` (int16), `sentence_starts` (int64, into tokens) and
`document_starts` (int64, into tokens). Files are written atomically, so a trainer that looks
into the folder never sees half of one. `--only held` stages what evaluation needs alone.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from training.corpus import documents, is_held_out, sentences
from training.tokenizer import fast, load_vocabulary

_tokenizer: Tokenizer | None = None
Staged = tuple[bool, np.ndarray, list[int]]  # held out?, tokens, lengths of its sentences


def _start(folder: str) -> None:
    global _tokenizer
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism
    _tokenizer = fast(load_vocabulary(Path(folder)))


def _encode(batch: list[list[str]]) -> list[Staged]:
    assert _tokenizer is not None
    out: list[Staged] = []
    for document in batch:
        parts = [s for paragraph in document for s in sentences(paragraph)]
        encoded = _tokenizer.encode_batch(parts, add_special_tokens=False)
        pieces = [e.ids for e in encoded if e.ids]
        tokens = np.fromiter((i for ids in pieces for i in ids), dtype=np.int16)
        out.append((is_held_out(document), tokens, [len(ids) for ids in pieces]))
    return out


def _batches(path: Path, only: str | None, size: int = 32) -> Iterator[list[list[str]]]:
    batch: list[list[str]] = []
    for document in documents(path):
        if only and is_held_out(document) != (only == "held"):
            continue
        batch.append(document)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


class _Split:
    def __init__(self) -> None:
        self.tokens: list[np.ndarray] = []
        self.lengths: list[int] = []
        self.documents: list[int] = []
        self.size = 0

    def add(self, tokens: np.ndarray, lengths: list[int]) -> None:
        if not len(tokens):
            return
        self.documents.append(self.size)
        self.tokens.append(tokens)
        self.lengths.extend(lengths)
        self.size += len(tokens)

    def save(self, path: Path) -> None:
        ends = np.cumsum(np.asarray(self.lengths, dtype=np.int64))
        tensors = {
            "tokens": np.concatenate([*self.tokens, np.zeros(0, np.int16)]),
            "sentence_starts": np.concatenate([np.zeros(1, np.int64), ends[:-1]])
            if len(ends)
            else np.zeros(0, np.int64),
            "document_starts": np.asarray(self.documents, dtype=np.int64),
        }
        hidden = path.with_name("." + path.name)
        save_file(tensors, hidden)
        hidden.rename(path)


def stage(
    paths: list[Path], tokenizer: Path, out: Path, workers: int, only: str | None = None
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with Pool(workers, initializer=_start, initargs=(str(tokenizer),)) as pool:
        for path in paths:
            began = time.monotonic()
            splits = {False: _Split(), True: _Split()}
            for staged in pool.imap(_encode, _batches(path, only)):
                for held_out, tokens, lengths in staged:
                    splits[held_out].add(tokens, lengths)
            stem = path.name.split(".")[0]
            for held_out, split in ((True, "held"), (False, "train")):
                if only in (None, split):
                    splits[held_out].save(out / f"{stem}.{split}.safetensors")
            print(
                f"{path.name}: {splits[False].size:,} training and {splits[True].size:,} held-out "
                f"tokens in {time.monotonic() - began:.0f} s",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", choices=("train", "held"), help="one split instead of both")
    options = parser.parse_args()
    stage(options.corpus, options.tokenizer, options.out, options.workers, options.only)


if __name__ == "__main__":
    main()
