"""Search over the kept examples of an atlas: what is a word, and what cannot be asked."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from headscope.atlas.atlas import Atlas
from headscope.atlas.excerpt import DocumentTokens, excerpt, surrounded
from headscope.errors import BadInput

# "In June 1955 it was It." and "<unk> [SEP] <unk> [SEP]", as vocabularies show them
TOKENS = (
    ["[CLS]", "In", "June", "␣", "19", "55", "it", "was", "It", "[SEP]"],
    ["[CLS]", "[UNK]", "[SEP]", "[UNK]", "\\xe5\\xa5", "\\x88", "[SEP]"],
)
CONTINUES = ([4, 5], [5])  # tokens that continue the word before


@pytest.fixture(scope="module")
def small():
    """One head that looks from every token of two texts at every other, all alike."""
    documents = pd.DataFrame(
        {
            "kind": "encoder",
            "document": [0, 1],
            "tokens": [np.array(tokens, dtype=object) for tokens in TOKENS],
            "continues": [
                np.isin(np.arange(len(tokens)), on)
                for tokens, on in zip(TOKENS, CONTINUES, strict=True)
            ],
            "segments": [np.zeros(len(tokens), np.int8) for tokens in TOKENS],
            "classes": [
                np.array([{"[CLS]": 0, "[SEP]": 1}.get(token, 4) for token in tokens], np.int8)
                for tokens in TOKENS
            ],
        }
    )
    rows = [
        (number, query, np.delete(np.arange(len(tokens)), query))
        for number, tokens in enumerate(TOKENS)
        for query in range(len(tokens))
    ]
    examples = pd.DataFrame(rows, columns=["document", "query", "keys"]).assign(
        kind="encoder", layer=1, head=2, weights=[np.full(len(keys), 0.1) for *_, keys in rows]
    )
    heads = pd.DataFrame({"kind": ["encoder"], "layer": [1], "head": [2], "measure": ["focus"]})
    return Atlas({"text": True}, {"heads": heads, "examples": examples, "documents": documents})


def test_the_same_word_is_one_of_the_text_however_it_is_capitalised(small):
    found = small.find(None, same_word=True)
    pairs = set(zip(found["query_token"], found["key_token"], strict=True))
    assert pairs == {("it", "It"), ("It", "it")}  # no special token, and none that is not known


def test_a_number_is_found_without_the_space_before_it_and_letters_that_were_cut(small):
    assert set(small.find(None, query="1955")["query_token"]) == {"␣", "19", "55"}
    assert set(small.find(None, key="奈")["key_token"]) == {"\\xe5\\xa5", "\\x88"}


def test_words_of_an_excerpt_are_spelled_as_in_the_text_but_where_a_mark_cuts_them():
    on = np.isin(np.arange(len(TOKENS[0])), CONTINUES[0])
    text = DocumentTokens(0, tuple(TOKENS[0]), np.zeros(len(on), np.int8), on)
    assert excerpt(text, 7, [2]) == "[CLS] In <<June>> 1955 it [[was]] It [SEP]"
    assert excerpt(text, 4, [5], around=3) == "… In June [[19]]<<55>> it was …"
    assert excerpt(text, 3, [0], around=3) == "<<[CLS]>> In June [[␣]]1955 it …"
    assert surrounded(text, 2, 12) == ("[CLS] In ", "June", " 1955 it was It [SEP]")
    assert surrounded(text, 4, 2) == ("… June ", "19", "55 it …")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"head": (9, 9)}, "no head 9-9 in this atlas"),
        ({"head": (9, 9), "kind": "encoder"}, "no encoder head 9-9 in this atlas"),
        ({"head": 3}, "head is (layer, head)"),
        ({"head": "12"}, "head is (layer, head)"),
        ({"layer": 5}, "no layer 5 in this atlas"),
        ({"kind": "decoder"}, "no decoder attention; it has encoder"),
        ({"offset": (1, 2, 3)}, "offset is key position"),
        ({"offset": (2, -2)}, "2 is more than -2"),
        ({"weight": 50}, "weight is the least weight, 0 to 1, not 50"),
        ({"weight": "0.5"}, "weight is the least weight"),
        ({"n": 0}, "at least 1, not 0"),
        ({"n": "it"}, "n= is a whole number, not 'it'"),
        ({"query": ""}, "Give the query"),
        ({"key": 3}, "key is a token"),
        ({"pos": "NOUN"}, "find has no option pos; it has query, key"),
        ({"query_pos": "NOON"}, "not a part of speech"),
    ],
)
def test_what_cannot_be_asked_is_told_not_answered_with_nothing(small, asked, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        small.find(**asked)


def test_numbers_may_be_numpy_s(small):
    one = small.find(
        None, offset=np.int64(1), head=(np.int64(1), np.int64(2)), weight=np.float32(0)
    )
    assert len(one) and (one["key"] - one["query"] == 1).all()


def test_a_decile_is_one_of_ten_and_an_atlas_says_what_it_is(atlas):
    for decile, sentence in ((10, "decile is 0"), (-2, "decile is 0"), ("x", "whole number")):
        with pytest.raises(BadInput, match=sentence):
            atlas.examples(0, 0, decile=decile)
    assert re.fullmatch(
        r"<Atlas of .+: encoder: \d+ layers × \d+ heads, [\d,]+ tokens>", repr(atlas)
    )
