"""A run resumes on the corpus it was begun with and on no other, whatever kind of thing it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.corpus.identity import corpus_identity
from headscope.errors import BadInput
from headscope.patterns.over_corpus import map_kind_shares, pattern_scores
from headscope.runs import describe
from tests.runs.kinds import TEXTS
from tests.tiny import tiny_scope

ONE, OTHER = TEXTS[:12], [text[::-1] for text in TEXTS[:12]]


def in_file(texts: list[str], folder: Path) -> Path:
    """Always of one name, one size and one time."""
    path = folder / "texts.txt"
    path.write_text("\n".join(texts))
    os.utime(path, (10**9, 10**9))
    return path


def in_memory(texts: list[str], folder: Path) -> str:
    fsspec = pytest.importorskip("fsspec")
    uri = f"memory://{folder.name}/texts.txt"
    with fsspec.open(uri, "w") as file:
        file.write("\n".join(texts))
    return uri


def as_dataset(texts: list[str], folder: Path) -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict({"text": texts})


CORPORA: dict[str, Callable[[list[str], Path], Any]] = {
    "list": lambda texts, _: list(texts),
    "generator": lambda texts, _: iter(texts),
    "data frame": lambda texts, _: pd.DataFrame({"text": texts}),
    "series": lambda texts, _: pd.Series(texts),
    "array": lambda texts, _: np.array(texts),
    "data set": as_dataset,
    "file": in_file,
    "folder": lambda texts, folder: in_file(texts, folder).parent,
    "URI": in_memory,
}


def stop_once(at: int) -> Callable[[Any], None]:
    seen = 0

    def show(progress: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            raise KeyboardInterrupt

    return show


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.runs.part.KEEP_EVERY", -1.0)
    monkeypatch.setattr("headscope.runs.part.SHARE", 0)


@pytest.mark.parametrize("kind", CORPORA)
@pytest.mark.parametrize("function", [pattern_scores, map_kind_shares, hs.survey])
def test_another_corpus_is_refused_and_the_same_is_resumed(
    function: Any, kind: str, tmp_path: Path
) -> None:
    scope, make = tiny_scope("BertForPreTraining"), CORPORA[kind]
    output, data = tmp_path / "out.csv", tmp_path / "data"
    data.mkdir()
    chunk: dict[str, Any] = {"chunk": 4} if function is hs.survey else {"cut": "documents"}
    if function is pattern_scores:
        chunk |= {"predictive": 6}
    with pytest.raises(hs.Stopped, match="Run the same command to resume"):
        stop = stop_once(7 if function is pattern_scores else 3)
        function(scope, make(ONE, data), output=output, progress=stop, **chunk)
    with pytest.raises(BadInput, match="corpus"):
        function(scope, make(OTHER, data), output=output, progress=False, **chunk)
    function(scope, make(ONE, data), output=output, progress=False, **chunk)
    assert output.exists()


def test_rows_of_a_frame_are_told_apart_by_every_cell() -> None:
    pair = pd.DataFrame({"text": ONE, "text_pair": OTHER})
    seen = {corpus_identity(pair), corpus_identity(pair[["text"]]), corpus_identity(pair[::-1])}
    assert len(seen) == 3


@pytest.mark.parametrize(
    "make", [lambda words: np.array(words, object), pd.Series, lambda words: pd.DataFrame(words)]
)
def test_words_in_arrays_and_frames_are_told_apart_in_settings_too(make: Any) -> None:
    words = ["a"] * 200
    one, again, other = make(words), make(list(words)), make([*words[:100], "b", *words[101:]])
    assert describe({"given": one}) == describe({"given": again}) != describe({"given": other})


def test_long_arrays_are_told_apart_in_their_middle() -> None:
    one, other = np.zeros((2, 5000)), np.zeros((2, 5000))
    other[1, 2500] = 1
    assert corpus_identity(one) != corpus_identity(other)
