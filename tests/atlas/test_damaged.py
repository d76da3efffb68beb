"""A file that is cut, changed or something else is told in one sentence, whatever is wrong."""

from __future__ import annotations

import io
import zipfile

import pandas as pd
import pytest

import headscope as hs
from headscope.atlas.compare import AtlasComparison
from headscope.errors import BadInput


@pytest.fixture(scope="module")
def saved(atlas, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "good.atlas"
    atlas.save(path)
    return path


def changed(saved, path, member, content):
    with zipfile.ZipFile(saved) as file, zipfile.ZipFile(path, "w") as other:
        for name in file.namelist():
            other.writestr(name, content if name == member else file.read(name))
    return path


def with_column(saved, table, column, value):
    """A table whose column holds something else; without a column, one without rows."""
    frame = pd.read_parquet(io.BytesIO(zipfile.ZipFile(saved).read(f"{table}.parquet")))
    into = io.BytesIO()
    frame = frame.iloc[:0] if column is None else frame.assign(**{column: [value] * len(frame)})
    frame.to_parquet(into, index=False)
    return into.getvalue()


@pytest.mark.parametrize(
    ("table", "column", "value", "sentence"),
    [
        ("heads", "value", "x", "'value' that holds no numbers"),
        ("heads", "kind", None, "'kind' that holds no text"),
        ("heads", None, None, "has no rows"),
        ("examples", "layer", "x", "'layer' that holds no whole numbers"),
        ("examples", "query", 0.5, "'query' that holds no whole numbers"),
        ("examples", "keys", 1, "'keys' that holds no lists"),
        ("documents", "tokens", None, "'tokens' that holds no lists"),
        ("labels", "labelled", "x", "'labelled' that holds no yes or no"),
    ],
)
def test_a_column_that_holds_something_else_is_told(
    saved, tmp_path, table, column, value, sentence
):
    content = with_column(saved, table, column, value)
    path = changed(saved, tmp_path / "x.atlas", f"{table}.parquet", content)
    with pytest.raises(BadInput, match=sentence):
        hs.Atlas.load(path).frame(table)


def test_every_table_of_a_sound_file_is_read_whoever_wrote_it(saved, tmp_path, atlas):
    """pandas writes its strings and lists in forms of its own."""
    path = tmp_path / "x.atlas"
    with zipfile.ZipFile(saved) as file, zipfile.ZipFile(path, "w") as other:
        for name in file.namelist():
            content = file.read(name)
            if name.endswith(".parquet"):
                into = io.BytesIO()
                frame = pd.read_parquet(io.BytesIO(content))
                kinds = {c: "category" for c in ("kind", "measure") if c in frame}
                frame.astype(kinds).to_parquet(into)
                content = into.getvalue()
            other.writestr(name, content)
    again = hs.Atlas.load(path)
    assert [len(again.frame(name)) for name in again.names] == [
        len(atlas.frame(name)) for name in atlas.names
    ]


def test_bytes_that_are_cut_or_turned_are_told(saved, tmp_path):
    """Every byte of the description, and places all over the file."""
    data, path = saved.read_bytes(), tmp_path / "x.atlas"
    start = data.index(b"atlas.json") + len("atlas.json")
    told = 0
    for at in [*range(start, start + 200), *range(0, len(data), len(data) // 50)]:
        turned = bytearray(data)
        turned[at] ^= 0x15
        path.write_bytes(turned)
        told += is_told(path)
    assert told > 200
    for size in (0, 1, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        assert is_told(path)


def is_told(path):
    try:
        opened = hs.Atlas.load(path)
        for name in opened.names:
            opened.frame(name)
    except BadInput as error:
        return str(path) in str(error)
    return False


@pytest.mark.parametrize(("offset", "value"), [(8, 99), (6, 1)])
def test_a_zip_of_another_make_is_told(saved, tmp_path, offset, value):
    """Packed in a way that nobody knows, or with a password."""
    data = bytearray(saved.read_bytes())
    for sign, further in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = data.find(sign)
        while at >= 0:
            data[at + offset + further] = value
            at = data.find(sign, at + 1)
    path = tmp_path / "x.atlas"
    path.write_bytes(data)
    assert is_told(path)


@pytest.mark.parametrize("content", ["[]", "null", "{", "", '{"format": "headscope atlas"}'])
def test_a_description_that_is_none_is_told(saved, tmp_path, content):
    assert is_told(changed(saved, tmp_path / "x.atlas", "atlas.json", content))
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(BadInput, match=r"has no atlas\.json"):
        hs.Atlas.load(folder)


def test_a_comparison_whose_bytes_are_turned_is_told(atlas, tmp_path):
    path = tmp_path / "two.zip"
    hs.compare(atlas, atlas).save(path)
    data = path.read_bytes()
    for at in range(0, len(data), len(data) // 20):
        turned = bytearray(data)
        turned[at : at + 40] = bytes(40)
        path.write_bytes(turned)
        with pytest.raises(BadInput):
            AtlasComparison.load(path)
