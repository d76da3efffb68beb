"""A corpus that is a treebank tells parts of speech and relations itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import headscope as hs
from headscope.atlas import find, search
from headscope.atlas import words as words_module
from headscope.atlas.find import find_heads
from headscope.atlas.treebank import TreebankTags, trees_of
from headscope.errors import BadInput, HeadscopeError

from .conftest import WORDS

SPEECH = dict(zip(WORDS, ["DET", "NOUN", "VERB", "ADP", "NOUN"] * 4, strict=True))


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    """Forty sentences of random words; each hangs on the one before it, but for the root."""
    chance = np.random.default_rng(5)
    lines = []
    for number in range(40):
        words = [str(word) for word in chance.choice(WORDS, 9)]
        lines += [f"# newdoc id = d{number}", "# text = " + " ".join(words).capitalize()]
        for place, word in enumerate(words):
            form = word.capitalize() if not place else word
            relation = "root" if not place else f"dep{place % 2}"
            cells = [place + 1, form, "_", SPEECH[word], "_", "_", place, relation, "_", "_"]
            lines.append("\t".join(map(str, cells)))
        lines.append("")
    path = tmp_path_factory.mktemp("trees") / "made.conllu"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def no_parser(monkeypatch):
    def told(texts):
        raise HeadscopeError("no parser")

    monkeypatch.setattr(words_module, "parsed", told)
    monkeypatch.setattr(search, "parts_of_speech", told)
    monkeypatch.setattr(find, "parts_of_speech", told)
    monkeypatch.setattr(find, "governors", told)


def test_profiles_by_speech_and_relation_are_counted_from_the_trees(tiny_bert, treebank, no_parser):
    atlas = hs.atlas(tiny_bert, treebank, progress=False, batch_tokens=1, distances=False)
    tags, relations = Counter(), Counter()
    texts = [line[9:] for line in treebank.read_text().splitlines() if line.startswith("# text")]
    for text in texts:
        words = text.lower().split()
        weights = tiny_bert.read(text).part().weights(1)[2]
        assert len(weights) == len(words) + 2  # [CLS] and [SEP] about them
        for i, word in enumerate(words):
            j = int(weights[i + 1].argmax()) - 1
            special = j < 0 or j >= len(words)
            tags[SPEECH[word], "special token" if special else SPEECH[words[j]]] += 1
            named = {0: "itself", -1: f"governor of dep{i % 2}", 1: f"its dep{j % 2}"}
            relations["special token" if special else named.get(j - i, "no direct relation")] += 1
    for profile, expected in (("speech", tags), ("relation", relations)):
        table = atlas.profiles(1, 2, profile)
        names = (
            zip(table["name"], table["other"], strict=True)
            if profile == "speech"
            else (table["name"])
        )
        found = dict(zip(names, table["count"], strict=True))
        assert found == {name: n for name, n in expected.items() if n >= 5} and len(found) > 3


def test_kept_examples_are_found_by_the_parts_of_speech_that_the_atlas_keeps(
    tiny_bert, treebank, no_parser, tmp_path
):
    path = tmp_path / "trees.atlas"
    hs.atlas(tiny_bert, treebank, progress=False, distances=False, output=path)
    atlas = hs.Atlas.load(path)
    every = atlas.find(None)
    expected = every[
        (every["query_token"].map(SPEECH) == "NOUN") & (every["key_token"].map(SPEECH) == "VERB")
    ]
    found = atlas.find(None, query_pos="noun", key_pos="VERB")
    assert len(found) > 10 and found.equals(expected.reset_index(drop=True))
    bare = hs.atlas(tiny_bert, ["the cat sat on the mat."] * 3, progress=False, distances=False)
    with pytest.raises(BadInput, match="of 0 of its 3 texts, and no parser is installed"):
        bare.find(query_pos="NOUN")
    with pytest.raises(BadInput, match="'THING' is not a part of speech"):
        atlas.find(query_pos="THING")


def test_heads_are_found_by_the_grammar_of_the_trees(tiny_bert, treebank, no_parser):
    found = find_heads(tiny_bert, treebank, "pos:NOUN", "governor", progress=False)
    scores = []
    texts = [line[9:] for line in treebank.read_text().splitlines() if line.startswith("# text")]
    for text in texts:
        words = text.lower().split()
        part = tiny_bert.read(text).part()
        weights = np.concatenate([part.weights(layer) for layer in part.numbers])
        asked = [i for i, word in enumerate(words) if i and SPEECH[word] == "NOUN"]
        if asked:  # each word hangs on the one before it; [CLS] stands before the first
            scores.append(np.mean([weights[:, i + 1, i] for i in asked], axis=0))
    expected = np.mean(scores, axis=0)
    at = found["layer"] * tiny_bert.heads["encoder"] + found["head"]
    np.testing.assert_allclose(found["score"], expected[at], atol=2e-5)


def test_a_text_is_found_in_its_treebank_without_case_accents_and_spaces(tmp_path):
    rows = [("Zoë", "PROPN", 2, "nsubj"), ("isn't", "AUX", 0, "root"), ("in", "ADP", 2, "obl")]
    lines = [
        "\t".join([str(n), word, "_", tag, "_", "_", str(head), relation, "_", "_"])
        for n, (word, tag, head, relation) in enumerate(rows, 1)
    ]
    path = tmp_path / "a.conllu"
    path.write_text("# text = Zoë isn't in\n" + "\n".join(lines) + "\n\n")
    grammar = TreebankTags(path).grammar(["zoe", "isn", "'", "t", "in"])
    assert grammar.speech == ["PROPN", "AUX", "AUX", "AUX", "ADP"]
    assert grammar.governor == [1, 1, 2, 3, 1]  # a root's is its own
    assert grammar.relation[0] == "nsubj"
    assert TreebankTags(path).grammar(["elsewhere"]) is None
    assert trees_of([str(path)]) is None and trees_of(tmp_path) is not None
    (tmp_path / "b.txt").write_text("plain")
    assert trees_of(tmp_path) is None


def test_a_text_is_looked_up_as_words_not_within_them(tmp_path):
    def sentence(*words):
        rows = [(n, w, "_", tag, "_", "_", n - 1, "dep", "_", "_") for n, (w, tag) in words]
        return "\n".join("\t".join(map(str, row)) for row in rows) + "\n\n"

    path = tmp_path / "short.conllu"
    every = (["long ADJ", "ago ADV"], ["left ADJ", "turn NOUN"], ["Go VERB"], ["Left VERB"])
    path.write_text(
        "".join(sentence(*enumerate((each.split() for each in words), 1)) for words in every)
    )
    trees = TreebankTags(path)
    for words, speech in (["go"], ["VERB"]), (["left"], ["VERB"]), (["turn"], ["NOUN"]):
        found = trees.grammar(words)
        assert found is not None and found.speech == speech
