"""Word-level maps of all heads on disk, so that a probe can be trained for several epochs.

One file per batch, half precision: memory holds one batch at a time.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from headscope.corpus.bad_data import Faults
from headscope.corpus.treebanks.conllu import Sentence
from headscope.files import write_tensors
from headscope.probes.data import Data
from headscope.probes.dependency.gold import gold_trees
from headscope.probes.passes import PAPER_LENGTH, check_nonempty, run_pass
from headscope.probes.word_level import Mode, WordIndex
from headscope.runs import Run

if TYPE_CHECKING:
    from headscope.reading import Scope


@dataclass(frozen=True)
class MapBatch:
    """The maps of some sentences, and their trees."""

    maps: Tensor  # b k w w, attention between words in each of the k heads
    root: Tensor  # b k w 4, to the opening and the closing token, from them
    heads: Tensor  # b w, the candidate that is right: 0 is the root, w + 1 is word w
    counted: Tensor  # b w, words that train
    scored: Tensor  # b w, words that count for UAS (no punctuation)
    candidates: Tensor  # b w, words with a token
    words: Tensor  # b w, number in the vocabulary, 0 beyond the sentence

    def to(self, device: torch.device | str) -> MapBatch:
        return MapBatch(**{name: tensor.to(device) for name, tensor in vars(self).items()})


class MapStore:
    """Batches of maps in a folder that is removed with the store.

    The folder is temporary, or a run's own that survives a stop.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._temporary = (
            tempfile.TemporaryDirectory(prefix="headscope-maps-") if folder is None else None
        )
        self._folder = folder or Path(self._temporary.name if self._temporary else "")
        self._folder.mkdir(parents=True, exist_ok=True)
        self.batches = 0
        self.sentences = 0
        self.vocabulary: dict[str, int] = {"": 0}

    def add(self, batch: MapBatch) -> None:
        tensors = {name: tensor.contiguous() for name, tensor in vars(batch).items()}
        write_tensors(tensors, self._path(self.batches))
        self.batches += 1
        self.sentences += len(batch.heads)

    def __getitem__(self, number: int) -> MapBatch:
        read = load_file(self._path(number))
        read["maps"], read["root"] = read["maps"].float(), read["root"].float()
        return MapBatch(**read)

    def __iter__(self) -> Iterator[MapBatch]:
        return (self[number] for number in range(self.batches))

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()
        else:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> MapStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06}.safetensors"


def store_maps(
    scope: Scope,
    sentences: Iterable[Sentence],
    faults: Faults,
    *,
    mode: Mode = "mean",
    max_tokens: int | None = PAPER_LENGTH,
    vocabulary: dict[str, int] | None = None,
    run: Run | None = None,
    name: str = "maps",
) -> MapStore:
    """Run the sentences through the model once and keep every head's word-level map.

    A run with an output stores the maps in its checkpoint, under `name`.
    """
    data = sentences if isinstance(sentences, Data) else Data(sentences)
    store = MapStore(None if run is None else run.place(name))
    if vocabulary is not None:
        store.vocabulary = vocabulary
    run_pass(scope, data, _StoringTally(store), faults, mode=mode, max_tokens=max_tokens,
             specials=True, run=run, name=name)  # fmt: skip
    check_nonempty(store.sentences, "sentences", faults)
    data.faults_into(faults)
    return store


class _StoringTally:
    """A tally that stores everything, on disk."""

    def __init__(self, store: MapStore) -> None:
        self.store = store
        self.labels: dict[str, int] = {}
        self._layers: dict[int, Tensor] = {}
        self._about: dict[str, Tensor] = {}

    def begin(self, items: Sequence[Sentence], index: WordIndex) -> None:
        present = index.present[:, :-2].cpu()
        gold = gold_trees(items, present.numpy(), self.labels)
        words = torch.zeros_like(gold.heads, dtype=torch.int32)
        punctuation = torch.zeros_like(gold.counted)
        vocabulary = self.store.vocabulary
        for row, sentence in enumerate(items):
            numbers = [vocabulary.setdefault(w.lower(), len(vocabulary)) for w in sentence.words]
            words[row, : len(sentence)] = torch.tensor(numbers, dtype=torch.int32)
            marks = [relation.partition(":")[0] == "punct" for relation in sentence.relations]
            punctuation[row, : len(sentence)] = torch.tensor(marks)
        self._about = {
            "heads": gold.heads + 1,
            "counted": gold.counted,
            "scored": gold.counted & ~punctuation,
            "candidates": present,
            "words": words,
        }

    def layer(self, number: int, words: Tensor) -> None:
        self._layers[number] = words.half().cpu()

    def end(self, batch: int) -> None:
        del batch
        every = torch.cat([self._layers[number] for number in sorted(self._layers)], dim=1)
        to_ends = every[:, :, :-2, -2:]
        from_ends = every[:, :, -2:, :-2].mT
        self.store.add(
            MapBatch(
                maps=every[:, :, :-2, :-2],
                root=torch.cat([to_ends, from_ends], dim=-1),
                **self._about,
            )
        )
        self._layers = {}

    def state(self) -> dict[str, Any]:
        store = self.store
        return {
            "stored": np.array([store.batches, store.sentences]),
            "names": np.array(json.dumps([list(store.vocabulary), list(self.labels)])),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.store.batches, self.store.sentences = (int(n) for n in state["stored"])
        words, labels = json.loads(str(state["names"]))
        self.store.vocabulary.update({word: number for number, word in enumerate(words)})
        self.labels = {label: number for number, label in enumerate(labels)}
