"""The vectors of every position and an index of them, to look up nearest examples.

Few positions are compared one by one, exactly. From `INDEXED` on faiss, where it is installed,
looks only into the cells nearest to the query (an inverted file, vectors in half precision). Both
are kept beside the atlas with a stamp of the weights and texts, and are made again when the stamp
differs.
"""

from __future__ import annotations

import importlib
import importlib.util
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.files import atomic_path

By = Literal["every position", "index"]
Vectors = NDArray[np.float32]
Found = tuple[NDArray[np.intp], NDArray[np.float64], By]
VECTORS, CELLS = ".npz", ".index.npz"  # endings of the files kept beside an atlas
VERSION = 2  # version of both files
INDEXED = 500_000  # positions; below, comparing with all of them takes a few milliseconds
LOOKED_INTO = 32  # cells of the index
PER_CELL = 64  # vectors that a cell's centre is learnt from


class ExampleIndex:
    """Unit vectors of positions (n d), and which document and token each is (n 2).

    `beside` is where they are kept, without its endings: `.npz` the vectors, `.index.npz` the
    index; None keeps nothing.
    """

    def __init__(
        self,
        positions: NDArray[np.int64],
        beside: Path | None,
        stamp: str,
        vectors: Vectors | None = None,
    ) -> None:
        self.positions = positions
        self._beside, self._stamp = beside, stamp
        self._vectors = vectors
        self._cells: Any = None

    @classmethod
    def made(
        cls, vectors: Vectors, positions: NDArray[np.int64], beside: Path | None, stamp: str
    ) -> ExampleIndex:
        """An index of new vectors, which are saved."""
        if beside is not None:
            arrays = {"vectors": vectors.astype(np.float16), "positions": positions}
            _write(_ended(beside, VECTORS), stamp, arrays)
        return cls(positions, beside, stamp, vectors)

    @classmethod
    def kept(cls, beside: Path | None, stamp: str) -> ExampleIndex | None:
        """The saved index of the same weights and texts; None if there is none."""
        found = None if beside is None else _read(_ended(beside, VECTORS), stamp, "positions")
        return None if found is None else cls(found, beside, stamp)

    @property
    def vectors(self) -> Vectors:
        """The vectors, read on first use; a faiss index does not need them."""
        if self._vectors is None:
            assert self._beside is not None
            found = _read(_ended(self._beside, VECTORS), self._stamp, "vectors")
            if found is None:
                raise BadInput(
                    f"{self._beside}{VECTORS} changed during the search; run the search again."
                )
            self._vectors = found.astype(np.float32)
        return self._vectors

    def nearest(self, query: Vectors, n: int, exact: bool | None = None) -> Found:
        """The numbers of the n positions most like a unit vector, their cosines, and how found."""
        few = len(self.positions) < INDEXED if exact is None else exact
        if few or not installed():
            return *_of_all(self.vectors, query, n), "every position"
        cells = self._opened()
        cosines, numbers = cells.search(query[None], min(n, len(self.positions)))
        there = numbers[0] >= 0  # fewer if the searched cells hold fewer
        at, likeness = numbers[0][there], cosines[0][there].astype(np.float64)
        order = np.lexsort((at, -likeness))
        return at[order], likeness[order], "index"

    def _opened(self) -> Any:
        """The faiss index: the open one, the saved one, or a new one."""
        if self._cells is None:
            faiss: Any = importlib.import_module("faiss")
            path = None if self._beside is None else _ended(self._beside, CELLS)
            kept = None if path is None else _read(path, self._stamp, "cells")
            if kept is not None:
                self._cells = faiss.deserialize_index(kept)
            else:
                self._cells = _cells_of(faiss, self.vectors)
                if path is not None:
                    _write(path, self._stamp, {"cells": faiss.serialize_index(self._cells)})
            self._cells.nprobe = LOOKED_INTO
        return self._cells


def installed() -> bool:
    """Whether faiss is installed."""
    return importlib.util.find_spec("faiss") is not None


def _of_all(vectors: Vectors, query: Vectors, n: int) -> tuple[Any, Any]:
    likeness = (vectors @ query).astype(np.float64)
    near = np.arange(len(likeness))
    if len(near) > 4 * n > 0:  # sorting all would take longer than comparing them
        near = np.flatnonzero(likeness >= np.partition(likeness, -n)[-n])
    best = near[np.argsort(-likeness[near], kind="stable")[:n]]
    return best, likeness[best]


def _cells_of(faiss: Any, vectors: Vectors) -> Any:
    """About as many cells as the root of the number of vectors, learnt from a part of them."""
    count, width = vectors.shape
    cells = 2 ** max(0, round(np.log2(count) / 2))
    found = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(width),
        width,
        cells,
        faiss.ScalarQuantizer.QT_fp16,
        faiss.METRIC_INNER_PRODUCT,
    )
    found.cp.max_points_per_centroid = PER_CELL
    found.cp.min_points_per_centroid = 1
    some = np.random.default_rng(0).permutation(count)[: cells * PER_CELL]
    found.train(vectors[np.sort(some)])
    found.add(vectors)
    return found


def _ended(beside: Path, ending: str) -> Path:
    return beside.with_name(beside.name + ending)


def _read(path: Path, stamp: str, name: str) -> NDArray[Any] | None:
    """An array of a saved file; None if the file is missing or its stamp differs."""
    if not path.is_file():
        return None
    try:
        with np.load(path) as kept:
            if "stamp" not in kept or str(kept["stamp"]) != f"{VERSION} {stamp}":
                return None
            return kept[name]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} is damaged; delete it, and the next run makes it again.") from error


def _write(path: Path, stamp: str, arrays: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    with atomic_path(path) as temporary:
        np.savez(temporary, stamp=np.array(f"{VERSION} {stamp}"), **arrays)
