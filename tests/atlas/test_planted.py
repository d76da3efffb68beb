"""What was put into a model's attention is named; where nothing was, nothing is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.atlas.find import find_heads

from .conftest import texts

SHARE = 0.8  # of the attention of a planted row


@pytest.fixture(scope="module")
def corpus():
    # so many that "it", whose largest weight is raised by a sixth, passes for all names at once
    return texts(150, seed=3)


@pytest.fixture(scope="module")
def random_scope(tiny_bert):
    """All attention drawn at random, knowing nothing of the text."""
    return tiny_bert.edited(_Drawn())


@pytest.fixture(scope="module")
def planted_scope(tiny_bert):
    """Random attention, but head 0-1 looks from "it" to the first "the", 1-2 at the next token."""
    ids = tiny_bert.tokenizer.convert_tokens_to_ids(["it", "the"])
    seen: dict[str, torch.Tensor] = {}

    def remember(module, given, named):
        seen["ids"] = named["input_ids"]

    handle = tiny_bert.model.register_forward_pre_hook(remember, with_kwargs=True)
    yield tiny_bert.edited(_Drawn()).edited(_Planted(seen, ids))
    handle.remove()


class _Drawn:
    def __init__(self):
        self.chance = torch.Generator().manual_seed(0)

    def __call__(self, call):
        drawn = 3 * torch.randn(call.weights.shape, generator=self.chance)
        return drawn.masked_fill(call.weights == 0, -torch.inf).softmax(-1)

    def __repr__(self):
        return "attention drawn at random"


class _Planted:
    def __init__(self, seen, ids):
        self.seen, self.it, self.the = seen, *ids

    def __call__(self, call):
        weights, ids = call.weights.clone(), self.seen["ids"]
        for row in range(len(ids)):
            if call.layer == 0:
                keys = (ids[row] == self.the).nonzero()[:, 0]
                for query in (ids[row] == self.it).nonzero()[:, 0] if len(keys) else ():
                    weights[row, 1, query] *= 1 - SHARE
                    weights[row, 1, query, keys[0]] += SHARE
            if call.layer == 1:
                for query in range(int((ids[row] != 0).sum()) - 1):
                    weights[row, 2, query] *= 1 - SHARE
                    weights[row, 2, query, query + 1] += SHARE
        return weights

    def __repr__(self):
        return "attention planted by hand"


def planted_lift(atlas, corpus):
    """How much larger the largest weight of "it" is than that of all queries, by construction: in
    texts with a "the" at least the planted share, else what a head that draws its weights has."""
    words = [f"{text} {pair}".replace(".", "").split() for text, pair in corpus]
    asked = [("the" in text) for text in words for word in text if word == "it"]
    drawn, planted = (
        np.average(rows["weight"], weights=rows["count"])
        for rows in (atlas.profiles(0, head, "position") for head in (0, 1))
    )
    answered = np.mean(asked)
    return (answered * SHARE + (1 - answered) * drawn) / planted


def test_profiles_and_labels_name_what_was_planted(planted_scope, corpus):
    atlas = hs.atlas(planted_scope, corpus, distances=False, progress=False)
    first = atlas.profiles(0, 1, "pair").iloc[0]
    assert (first["name"], first["other"], bool(first["clear"])) == ("it", "the", True)
    assert first["lift"] > 5
    asking = atlas.profiles(0, 1, "query_token").iloc[0]
    assert (asking["name"], bool(asking["clear"])) == ("it", True)
    assert asking["lift"] > 1 + (planted_lift(atlas, corpus) - 1) / 2  # half of what was put in
    ahead = atlas.profiles(1, 2, "offset").sort_values("count").iloc[-1]
    assert ahead["name"] == "1" and ahead["clear"]
    assert atlas.label(1, 2) == "next_word"
    assert set(atlas.examples(1, 2)["measure"]) == {"next_word"}
    assert atlas.examples(1, 2)["value"].min() > SHARE
    places = atlas.find(None, query="it", key="the", weight=0.3)
    assert (places["layer"] * 4 + places["head"]).value_counts().idxmax() == 1


def test_find_ranks_the_planted_head_first_and_no_other_is_clear(planted_scope, corpus):
    found = find_heads(planted_scope, corpus, "it", "the", progress=False)
    assert tuple(found.loc[0, ["layer", "head"]]) == (0, 1)
    assert found["clear"].tolist() == [True] + [False] * 7


def test_nothing_is_named_on_random_attention(random_scope, corpus):
    atlas = hs.atlas(random_scope, corpus, distances=False, progress=False)
    assert atlas.labels.empty
    named = atlas.frame("profiles").query("clear")
    assert named.empty, named[["profile", "name", "other", "count", "expected", "p"]].to_string()
    assert not find_heads(random_scope, corpus, "it", "the", progress=False)["clear"].any()
    assert {atlas.shown_measure(layer, head) for layer in range(2) for head in range(4)} == {
        "confidence"
    }
