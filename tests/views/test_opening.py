"""Which head a picture opens on: one rule, in Python."""

from __future__ import annotations

import numpy as np

import headscope as hs
from headscope.views.shared.labels import Label
from headscope.views.shared.opening import opening_head

TOKENS = ["<s>", "the", "cat", "sat", "on", "it"]


def decoder(*heads):
    return hs.Reading.from_attention(np.array([heads], np.float32), TOKENS)


def sink():
    rows = np.zeros((6, 6))
    rows[:, 0] = 1
    return rows


def previous():
    rows = np.zeros((6, 6))
    rows[0, 0] = 1
    rows[np.arange(1, 6), np.arange(5)] = 0.8
    rows[np.arange(1, 6), np.arange(1, 6)] = 0.2
    return rows


def test_a_decoder_does_not_open_on_a_first_token_sink_however_sharp_or_well_labelled():
    part = decoder(sink(), previous(), sink()).part()
    assert part.kind == "decoder"
    labels = [
        Label(0, 0, "first-token sink", 1.0, "decoder"),
        Label(0, 2, "first-token sink", 0.99, "decoder"),
    ]
    assert opening_head(part) == (0, 1)
    assert opening_head(part, labels) == (0, 1)
    named = [*labels, Label(0, 1, "previous word", 0.5, "decoder")]
    assert opening_head(part, named) == (0, 1)


def test_the_page_is_sent_the_head_that_was_chosen():
    reading = decoder(sink(), previous())
    for view in (hs.head_view(reading), hs.model_view(reading), hs.matrix_view(reading)):
        assert view.data.header["parts"][0]["opening"] == [0, 1]


def test_the_bundled_model_opens_on_a_head_that_does_not_rest():
    reading = hs.load().read("I went to the store.", "At the store, I bought strawberries.")
    header = hs.head_view(reading).data.header
    layer, head = header["parts"][0]["opening"]
    label = [
        one for one in header["parts"][0]["labels"] if (one["layer"], one["head"]) == (layer, head)
    ]
    assert label and "delimiter" not in label[0]["text"]
    assert (header["state"]["layer"], header["state"]["head"]) == (layer, head)
