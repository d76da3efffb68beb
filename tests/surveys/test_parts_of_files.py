"""A large file, a list and a store of objects are read in parts, by any process, as one corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.text import sharding
from headscope.corpus.text.documents import Reader
from headscope.corpus.text.sharding import shards_of
from headscope.errors import BadInput
from tests.surveys.measuring import same_numbers

WORDS = "the cat sat on a mat and dog ran to store é".split()


def texts(count: int, longest: int = 40) -> list[str]:
    chance = np.random.default_rng(count)
    return [" ".join(chance.choice(WORDS, chance.integers(1, longest))) for _ in range(count)]


def written(layout: str, lines: list[str]) -> str:
    if layout == "wikitext":
        pieces = [f" = Article {n} = \n\n {line} \n\n = = Part = = \n\n {line} \n"
                  for n, line in enumerate(lines)]  # fmt: skip
        return "\n".join(pieces)
    if layout == "paragraphs":
        return "\n".join(f"{line}\n{line}\n\n" for line in lines)
    if layout == "json":
        return "\n".join(json.dumps({"text": line}) for line in lines)
    return "\r\n".join(lines)


@pytest.mark.parametrize("layout", ["lines", "paragraphs", "wikitext", "json"])
@pytest.mark.parametrize("part", [50, 333, 1000])
def test_the_parts_of_a_file_hold_its_documents_and_no_others(
    tmp_path: Path, layout: str, part: int
) -> None:
    path = tmp_path / ("a.jsonl" if layout == "json" else "a.txt")
    path.write_text(written(layout, texts(60)), newline="")
    reader = Reader()
    whole = [one.text for one in reader.documents(path, Faults())]
    shards = shards_of(path, reader, part)
    assert shards is not None and len(shards) > 3
    assert shards[0].span[0] == 0 and shards[-1].span[1] == path.stat().st_size
    found = [one.text for shard in shards for one in reader.shard(shard, Faults())]
    assert found == whole


def test_what_cannot_be_divided_stays_whole(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + '"a\nb",1\n' * 100)
    (tmp_path / "b.txt").write_text("one line without an end " * 100)
    assert shards_of(tmp_path / "a.csv", Reader(), 100) is None
    assert shards_of(tmp_path / "b.txt", Reader(), 100) is None
    (tmp_path / "c.txt").write_text("a line\n" * 100)
    assert shards_of(tmp_path / "c.txt", Reader(layout="file"), 100) is None
    assert len(shards_of(tmp_path / "c.txt", Reader(), 100)) == 7


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharding.shards_of, "__defaults__", (600,))
    monkeypatch.setattr(sharding, "DOCUMENTS", 20)


def measured(scope: hs.Scope, corpus: Any, **options: Any) -> hs.Survey:
    # a portion makes several batches
    asked = {"chunk": 4, "batch_tokens": 64, "max_tokens": 32, "progress": False, **options}
    return hs.survey(scope, corpus, ["entropy", "previous_word"], **asked)


def same(one: hs.Survey, other: hs.Survey) -> None:
    same_numbers(one, other)
    for name in ("segments", "documents", "tokens", "truncated", "characters"):
        assert one.metadata[name] == other.metadata[name], name


def test_one_large_file_is_spread_over_processes(
    tiny_bert: hs.Scope, tmp_path: Path, small_parts: None
) -> None:
    path = tmp_path / "large.jsonl"
    path.write_text(written("json", texts(80)) + "\n{\n")
    here = measured(tiny_bert, path)
    assert here.metadata["documents"] == 80
    assert "large.jsonl from byte" in here.metadata["left out"]
    there = measured(tiny_bert, path, workers=2)
    same(here, there)
    assert here.metadata["left out"] == there.metadata["left out"]
    same(here, measured(tiny_bert, texts(80)))  # other parts, the same documents


def test_files_of_an_object_store_are_read_as_those_of_a_disk(
    tiny_bert: hs.Scope, tmp_path: Path, small_parts: None
) -> None:
    import fsspec

    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "a b.txt").write_text(written("paragraphs", texts(30)))
    pd.DataFrame({"text": texts(20)}).to_parquet(folder / "b.parquet", row_group_size=7)
    import gzip

    (folder / "c.jsonl.gz").write_bytes(gzip.compress(written("json", texts(9)).encode()))
    here = measured(tiny_bert, folder)
    same(here, measured(tiny_bert, folder.as_uri()))
    same(here, measured(tiny_bert, f"local://{folder}"))
    store = fsspec.filesystem("memory")
    for file in folder.iterdir():
        store.pipe(f"/corpus-parts/{file.name}", file.read_bytes())
    same(here, measured(tiny_bert, "memory://corpus-parts"))
    limited = measured(tiny_bert, "memory://corpus-parts", limit=10)
    same_numbers(limited, measured(tiny_bert, folder, limit=10))


@pytest.mark.slow
def test_workers_open_the_object_store_themselves(
    tiny_bert: hs.Scope, tmp_path: Path, small_parts: None
) -> None:
    (tmp_path / "a.txt").write_text(written("lines", texts(80)))
    uri = tmp_path.as_uri()
    same(measured(tiny_bert, tmp_path), measured(tiny_bert, uri, workers=2))


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("memory://nowhere-at-all", "There is no file or folder"),
        ("unheard://of/it", "cannot be opened"),
    ],
)
def test_a_store_that_is_not_there_is_told_in_a_sentence(
    tiny_bert: hs.Scope, uri: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        measured(tiny_bert, uri)


def test_a_pass_is_told_of_every_answer(tiny_bert: hs.Scope, tmp_path: Path, small_parts) -> None:
    path = tmp_path / "large.txt"
    path.write_text(written("lines", texts(80)))
    seen: list[Any] = []
    found = measured(tiny_bert, path, workers=2, progress=seen.append)
    assert seen[-1].tokens == found.metadata["tokens"]
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert seen[-1].done == seen[-1].total and seen[-1].note == "2 workers"
