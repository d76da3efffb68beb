"""An atlas as its users see it: kept, opened, searched, compared, stopped."""

from __future__ import annotations

import re
import zipfile

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.atlas.collecting.reducer import AtlasReducer
from headscope.atlas.compare import _likeness
from headscope.cli import run
from headscope.errors import BadInput
from tests.atlas.alike import check_alike
from tests.tiny import tiny_model, tiny_tokenizer


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
    assert path.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no atlas"),
        (b"abc", "neither a zip"),
        ("a.txt", "has no atlas.json"),
        ("atlas.json", "has no version"),
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


def test_a_stopped_run_resumes_to_the_same_atlas(tiny_bert, corpus, tmp_path):
    whole = hs.atlas(tiny_bert, corpus, chunk=7, progress=False)
    calls, stopped = [], tmp_path / "stopped.atlas"

    def stop(progress):
        calls.append(progress)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(hs.Stopped):
        hs.atlas(tiny_bert, corpus, output=stopped, chunk=7, progress=stop)
    assert not stopped.exists()
    check_alike(whole, hs.atlas(tiny_bert, corpus, output=stopped, chunk=7, progress=False))


@pytest.mark.parametrize("asked", [{"chunk": 4}, {"batch_tokens": 1}, {"workers": 2, "chunk": 4}])
def test_other_portions_batches_and_processes_give_the_same_atlas(tiny_bert, corpus, asked):
    whole = hs.atlas(tiny_bert, corpus, progress=False)
    check_alike(whole, hs.atlas(tiny_bert, corpus, progress=False, **asked))


def test_reducers_merge_in_any_order_and_through_their_states(tiny_bert, corpus):
    """Ten portions, the last merged first, each sent as arrays as from another process."""
    made = hs.atlas(tiny_bert, corpus, chunk=3, progress=False)
    merge, waiting = AtlasReducer.merge, []

    def last_first(reducer, other):
        sent = AtlasReducer(reducer.settings, reducer._vocabulary)
        sent.restore({name: array.copy() for name, array in other.state().items()})
        waiting.insert(0, sent)
        if len(waiting) == 11:  # one of repeated tokens comes first, and is empty
            for part in waiting:
                merge(reducer, part)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(AtlasReducer, "merge", last_first)
        again = hs.atlas(tiny_bert, corpus, chunk=3, progress=False)
    assert len(waiting) == 11
    check_alike(made, again)


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


def test_find_names_examples_by_token_word_offset_weight_and_head(atlas):
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
    with pytest.raises(BadInput, match="not a regular expression"):
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
    assert found.matches["same_head"].all() and (found.table["value"] == 0).all()
    assert found.matches["likeness"].min() > 0.999
    assert set(found.examples(0, 0, 2)["atlas"]) == {"first", "second"}
    with pytest.raises(BadInput, match="Give two atlases to compare"):
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
    assert "have no standard errors" in capfd.readouterr().err
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
    with pytest.raises(BadInput, match="does not hold a comparison"):
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
