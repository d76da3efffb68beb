"""An atlas as its users see it: kept, opened, searched, compared, stopped."""

from __future__ import annotations

import re
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.atlas.compare import _likeness
from headscope.cli import run
from headscope.errors import BadInput
from headscope.statistics.survey import engines, one_pass
from headscope.statistics.survey import run as survey_run
from headscope.statistics.survey.tally import Tally
from tests.tiny import tiny_model, tiny_tokenizer


def same_bytes(one, two):
    return one.read_bytes() == two.read_bytes()


def test_an_atlas_opens_again_and_with_pandas_alone(atlas, tmp_path):
    path = tmp_path / "tiny.atlas"
    atlas.save(path)
    again = hs.Atlas.load(path)
    with zipfile.ZipFile(path) as file:
        for name in again._store.names:
            plain = pd.read_parquet(file.open(f"{name}.parquet"))
            assert len(plain) == len(atlas.frame(name)) > 0, name
        file.extractall(tmp_path / "folder")
    unpacked = hs.Atlas.load(tmp_path / "folder")
    for other in (again, unpacked):
        assert other.map("entropy").shape == (2, 4)
        pd.testing.assert_frame_equal(other.examples(1, 2), atlas.examples(1, 2), check_dtype=False)
    second = tmp_path / "again.atlas"
    again.save(second)
    assert same_bytes(path, second)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no atlas"),
        (b"abc", "neither a zip"),
        ("a.txt", "has no atlas.json"),
        ("atlas.json", "names no version"),
    ],
)
def test_what_is_no_atlas_is_told(tmp_path, content, sentence):
    path = tmp_path / "x.atlas"
    if isinstance(content, str):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(content, '{"format": "headscope atlas", "version": null}')
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=sentence):
        hs.Atlas.load(path)


@pytest.mark.parametrize("table", ["heads", "examples", "documents", "profiles"])
def test_a_table_that_lacks_a_column_is_told(tiny_bert, tmp_path, table):
    folder = tmp_path / "x"
    hs.atlas(
        tiny_bert, ["the cat sat"] * 3, output=tmp_path / "x.atlas", text=False, progress=False
    )
    zipfile.ZipFile(tmp_path / "x.atlas").extractall(folder)
    kept = pd.read_parquet(folder / f"{table}.parquet")
    assert len(hs.Atlas.load(folder).frame(table)) == len(kept)  # as it was written it opens
    kept.drop(columns="kind").to_parquet(folder / f"{table}.parquet")
    with pytest.raises(BadInput, match=f"{table}.parquet has no column 'kind'; make the atlas"):
        hs.Atlas.load(folder).frame(table)


def test_a_stopped_run_goes_on_to_the_same_bytes(tiny_bert, corpus, tmp_path):
    whole, stopped = tmp_path / "whole.atlas", tmp_path / "stopped.atlas"
    hs.atlas(tiny_bert, corpus, output=whole, chunk=7, progress=False)
    calls = []

    def stop(progress):
        calls.append(progress)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(hs.Stopped):
        hs.atlas(tiny_bert, corpus, output=stopped, chunk=7, progress=stop)
    assert not stopped.exists()
    hs.atlas(tiny_bert, corpus, output=stopped, chunk=7, progress=False)
    assert same_bytes(whole, stopped)


class Backwards:
    """Workers of this process that answer what was asked last first."""

    count = 2

    def __init__(self, worker, starts):
        self._workers = [worker(*start) for start in starts]

    def submit(self, worker, method, *arguments):
        return _Task((worker, method, arguments))

    def wait(self, tasks):
        return [tasks[-1]]

    def result(self, task):
        worker, method, arguments = task
        return getattr(self._workers[worker], method)(*arguments)

    def close(self):
        pass


class _Task(tuple):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


@pytest.mark.usefixtures("one_thread")  # as many as a worker has: sums round alike
def test_portions_in_any_order_give_the_same_bytes(tiny_bert, corpus, tmp_path, monkeypatch):
    """Done backwards by two workers, merged backwards, and late as those of a GPU."""
    whole, spread = tmp_path / "whole.atlas", tmp_path / "spread.atlas"
    hs.atlas(tiny_bert, corpus, output=whole, chunk=4, progress=False)
    monkeypatch.setattr(engines, "Processes", Backwards)
    hs.atlas(tiny_bert, corpus, output=spread, chunk=4, workers=2, progress=False)
    assert same_bytes(whole, spread)
    merge, waiting = Tally.merge, []

    def last_first(tally, other):
        if not 0 < other.documents <= 4:  # not a portion
            return merge(tally, other)
        waiting.insert(0, other)
        if sum(part.documents for part in waiting) == len(corpus):
            for part in waiting:
                merge(tally, part)
        return None

    monkeypatch.setattr(Tally, "merge", last_first)
    hs.atlas(tiny_bert, corpus, output=spread, chunk=4, restart=True, progress=False)
    assert waiting and same_bytes(whole, spread)
    monkeypatch.setattr(Tally, "merge", merge)
    monkeypatch.setattr(survey_run, "Local", partial(engines.Local, is_ahead=True))
    hs.atlas(tiny_bert, corpus, output=spread, chunk=4, restart=True, progress=False)
    assert same_bytes(whole, spread)


def test_portions_added_up_beside_a_gpu_give_the_same_bytes_also_when_stopped(
    tiny_bert, corpus, tmp_path, monkeypatch
):
    """Several portions a shard and several shards, taken as from a GPU."""
    monkeypatch.setattr("headscope.corpus.text.sharding.DOCUMENTS", 6)
    plain, beside = tmp_path / "plain.atlas", tmp_path / "beside.atlas"
    hs.atlas(tiny_bert, corpus, output=plain, chunk=4, progress=False)
    monkeypatch.setattr(one_pass, "adds_beside", lambda *_: True)
    calls = []

    def stop(progress):
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(hs.Stopped) as stopped:
        hs.atlas(tiny_bert, corpus, output=beside, chunk=4, progress=stop)
    assert 0 < stopped.value.partial.description["segments"] < len(corpus)
    hs.atlas(tiny_bert, corpus, output=beside, chunk=4, progress=False)
    assert same_bytes(plain, beside)


def test_with_one_text_a_batch_portions_of_any_size_give_the_same_bytes(
    tiny_bert, corpus, tmp_path
):
    paths = [tmp_path / "small.atlas", tmp_path / "large.atlas"]
    for path, chunk in zip(paths, (4, 100), strict=True):
        hs.atlas(tiny_bert, corpus, output=path, chunk=chunk, batch_tokens=1, progress=False)
    assert same_bytes(*paths)


def test_no_text_keeps_no_token_of_the_corpus(tiny_bert, corpus, tmp_path):
    path = tmp_path / "quiet.atlas"
    hs.atlas(tiny_bert, corpus, output=path, text=False, progress=False)
    quiet = hs.Atlas.load(path)
    assert quiet.frame("documents").empty
    assert set(quiet.frame("examples")["query_token"]) == {""}
    assert set(quiet.frame("profiles")["profile"]) == {"offset", "position", "length"}
    assert quiet.examples(0, 0)["text"].eq("").all()
    with pytest.raises(BadInput, match="without text"):
        quiet.find(query="cat")
    strings = {
        str(value)
        for name in quiet._store.names
        for column in quiet.frame(name).select_dtypes(["object", "str"])
        for value in quiet.frame(name)[column]
    }
    assert not any(re.search(r"\b(cat|mat|dog|house|tree)\b", value) for value in strings)


def test_one_document_never_fills_the_list(tiny_bert):
    long = "the cat sat on the mat and the dog ran to the house. " * 3
    atlas = hs.atlas(tiny_bert, [long, "red tree", "blue house"], top=5, progress=False)
    for _, rows in (
        atlas.frame("examples").query("decile == -1").groupby(["layer", "head", "measure"])
    ):
        assert rows["document"].value_counts().max() <= 2


def test_find_names_places_by_token_word_offset_weight_and_head(atlas):
    found = atlas.find(None, query="cat")
    assert set(found["query_token"]) == {"cat"} and found["weight"].is_monotonic_decreasing
    assert all("[[cat]]" in text or "[[<<" in text or "cat" in text for text in found["text"])
    both = atlas.find(None, query="cat", key="/^(dog|mat)$/")
    assert set(both["key_token"]) <= {"dog", "mat"} and len(both) < len(found)
    back = atlas.find(None, offset=(-2, -1))
    assert (back["query"] - back["key"]).isin([1, 2]).all()
    heavy = atlas.find(None, weight=0.3, head=(1, 2))
    assert (heavy["weight"] >= 0.3).all() and set(
        zip(heavy["layer"], heavy["head"], strict=True)
    ) <= {(1, 2)}
    same = atlas.find(None, same_word=True)
    assert (same["query_token"] == same["key_token"]).all() and (same["query"] != same["key"]).all()
    with pytest.raises(BadInput, match="no regular expression"):
        atlas.find(query="/(/")


def test_the_heads_that_are_asked_for_must_be_there(atlas):
    with pytest.raises(BadInput, match="no encoder head 9-9"):
        atlas.examples(9, 9)
    with pytest.raises(BadInput, match="no examples of 'nonsense'"):
        atlas.examples(0, 0, measure="nonsense")
    with pytest.raises(BadInput, match="A profile is one of"):
        atlas.profiles(0, 0, "nonsense")


def test_neighbours_are_the_nearest_heads(atlas):
    near = atlas.neighbours(0, 1, n=3)
    rows = atlas.frame("distances").query("layer == 0 and head == 1")
    assert near["distance"].tolist() == sorted(rows["distance"])[:3]


def test_an_atlas_is_compared_with_itself_head_by_head(atlas):
    found = hs.compare(atlas, atlas)
    assert found.matches["same_place"].all() and (found.table["value"] == 0).all()
    assert found.matches["likeness"].min() > 0.999
    assert set(found.examples(0, 0, 2)["atlas"]) == {"first", "second"}
    with pytest.raises(BadInput, match="compared with another atlas"):
        hs.compare(atlas, "other.atlas")


def test_atlases_are_compared_at_the_command_line_and_one_of_one_text_has_no_errors(
    atlas, tiny_bert, tmp_path, capfd
):
    few, many = tmp_path / "few.atlas", tmp_path / "many.atlas"
    hs.atlas(tiny_bert, ["the cat sat on the mat"], output=few, progress=False)
    atlas.save(many)
    table = str(tmp_path / "change.csv")
    assert run(["compare", str(many), str(many), "-o", table]) == 0
    said = capfd.readouterr().out
    assert "8 heads matched by likeness, 0 of them" in said and said.count(" → ") == 5
    assert len(pd.read_csv(table)) == len(hs.compare(atlas, atlas).table)
    assert run(["compare", str(few), str(many), "-o", table]) == 0
    assert "No change has an error" in capfd.readouterr().err
    assert run(["compare", "a-model", "another", "-o", table]) == 2
    assert "compared on a corpus" in capfd.readouterr().err


def test_an_atlas_is_compared_at_the_command_line_whatever_its_file_or_folder_is_called(
    atlas, tmp_path, capfd
):
    file, folder, table = tmp_path / "kept", tmp_path / "unpacked.d", str(tmp_path / "change.csv")
    atlas.save(tmp_path / "kept.atlas")
    (tmp_path / "kept.atlas").rename(file)
    with zipfile.ZipFile(file) as packed:
        packed.extractall(folder)
    assert run(["compare", str(folder), str(file), "-o", table]) == 0
    assert "8 heads matched by likeness, 0 of them" in capfd.readouterr().out
    assert run(["compare", str(folder), "a-model", "-o", table]) == 2
    assert "There is no atlas a-model" in capfd.readouterr().err
    (tmp_path / "model").mkdir()
    assert run(["compare", str(tmp_path / "model"), str(tmp_path / "model"), "-o", table]) == 2
    assert "compared on a corpus" in capfd.readouterr().err


def test_a_model_of_sounds_is_refused_in_a_sentence():
    with pytest.raises(BadInput, match="reads pictures or sounds, not a corpus of text"):
        hs.atlas(hs.load(tiny_model("Wav2Vec2ForCTC"), tiny_tokenizer(), name="ears"), ["a cat"])


def test_a_comparison_is_saved_and_opened_with_its_examples(atlas, tiny_bert, corpus, tmp_path):
    other = hs.atlas(tiny_bert, corpus[:20], top=6, text=False, progress=False)
    found = hs.compare(atlas, other)
    found.save(tmp_path / "two.zip")
    again = type(found).load(tmp_path / "two.zip")
    pd.testing.assert_frame_equal(again.matches, found.matches, check_dtype=False)
    places = again.examples(1, 2)
    assert set(places["atlas"]) == {"first", "second"}
    assert (places.loc[places["atlas"] == "second", "text"] == "").all()  # it keeps none
    found.save(tmp_path / "two.csv")
    assert len(pd.read_csv(tmp_path / "two.csv")) == len(found.table)
    with pytest.raises(BadInput, match=r"written as \.zip"):
        found.save(tmp_path / "two.txt")
    (tmp_path / "bad.zip").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="holds no two atlases"):
        type(found).load(tmp_path / "bad.zip")


def test_a_head_is_matched_with_itself_not_with_a_stronger_one_of_its_kind():
    weak = np.array([0.5, -0.2, 0.1])
    heads = np.stack([3 * weak, weak, -weak])
    assert _likeness(heads, heads).argmax(1).tolist() == [0, 1, 2]
    np.testing.assert_allclose(np.diag(_likeness(heads, heads)), 1)


def test_an_atlas_shows_itself_in_a_notebook(atlas):
    assert atlas._repr_html_().startswith("<iframe") and atlas.title.startswith("Atlas of")
    assert atlas.plot("entropy").axes


def test_hostile_text_stays_text(tiny_bert, tmp_path):
    texts = ["<script>alert(1)</script> the cat", "]] >> </b> the dog & the mat"] * 4
    path = tmp_path / "x.atlas"
    hs.atlas(tiny_bert, texts, output=path, progress=False)
    again = hs.Atlas.load(path)
    assert "<script>" not in again._repr_html_()
    assert len(again.find(None, query="the")) > 0


def test_the_bundled_model_s_atlas_comes_with_the_package_and_fits_it():
    from headscope.atlas.bundled import FILE, bundled_atlas
    from headscope.runs import model_fingerprint

    atlas = bundled_atlas()
    assert FILE.stat().st_size <= 3_000_000
    assert atlas.description["weights"] == model_fingerprint(hs.load().model)
    assert atlas.label(2, 6) == "previous_word"
    places = atlas.examples(2, 6)
    assert (places["query"] - places["key"] == 1).all() and places["value"].min() > 0.9
