"""A page keeps to its budget: every head as a thumbnail, some in full, the rest named."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.views import Sending, discover
from headscope.views.wire import budget
from headscope.views.wire.frame import layer_data
from tests.views.decoding import Container

TEXT = "the cat sat on the mat . a dog ran to the store . " * 4


@pytest.fixture
def long_reading(tiny_llama: hs.Scope) -> hs.Reading:
    """58 tokens that are kept as a text of thousands would be."""
    return tiny_llama.read(TEXT, keep=("q", "k"))


def build(reading: hs.Reading, most: int | None, first=(), **options):
    sending = Sending(labels={(1, 2): ("previous token", 0.9)}, budget=most, first=first)
    return discover()["head"].build(reading, layer=0, heads=[3], sending=sending, **options)


def heads_in_full(data) -> set[tuple[int, int]]:
    part = data.header["parts"][0]
    return {
        (number, head)
        for number, layer in zip(part["layers"], part["per_layer"], strict=True)
        for piece in layer.get("pieces", ())
        for head in piece["heads"]
    }


def budget_of(heads: int) -> int:
    """A page with thumbnails, and so many bytes of heads."""
    return int(budget.SCRIPT + (400 * 8 + heads) * 4 / 3 + 120 * 116 + 400 * 2)


def test_what_fits_travels_whole(long_reading: hs.Reading) -> None:
    data = build(long_reading, None)
    assert "left_out" not in data.header
    assert all(layer["q"] for layer in data.header["parts"][0]["per_layer"])


def test_the_head_asked_for_and_the_labelled_one_come_first(long_reading: hs.Reading) -> None:
    most = budget_of(8_000 * 3 // 4)  # a few heads
    data = build(long_reading, most)
    there = heads_in_full(data)
    assert {(0, 3), (1, 2)} <= there < {(layer, head) for layer in range(2) for head in range(4)}
    assert len(hs.head_view(long_reading, 0, [3], labels=(), budget=most).html()) < most + 100_000
    assert data.header["left_out"].startswith(f"{len(there)} of 8 heads are here in full")
    thumbnails = data.header["parts"][0]["thumbnails"]["buffer"]
    assert data.header["buffers"][thumbnails]["shape"][:2] == [2, 4]
    for layer, head in there:
        np.testing.assert_allclose(
            Container(data.container()).head(layer, head),
            long_reading.attention.sel(layer=layer, head=head),
            atol=1e-3,
        )


def test_heads_that_a_view_lists_come_before_labelled_ones(long_reading: hs.Reading) -> None:
    most = budget_of(6_000)
    assert heads_in_full(build(long_reading, most)) == {(0, 3), (1, 2)}
    assert heads_in_full(build(long_reading, most, first=[(1, 0), (7, 0)])) == {(0, 3), (1, 0)}


def test_a_live_surface_fetches_a_large_layer_head_by_head(long_reading: hs.Reading) -> None:
    data = layer_data(long_reading, "decoder", 1, head=2, most=1_000)
    assert heads_in_full(data) == {(1, 2)}
    expected = long_reading.attention.sel(layer=1, head=2)
    np.testing.assert_allclose(Container(data.container()).head(1, 2), expected, atol=1e-3)
    sending = Sending(only=(1,), budget=1_000)
    opened = discover()["head"].build(long_reading, layer=1, heads=[0], sending=sending)
    assert heads_in_full(opened) == {(1, 0)}


@pytest.mark.parametrize("fixture", ["tiny_llama", "tiny_gemma", "tiny_t5", "tiny_bert"])
def test_a_reading_can_be_narrowed_to_layers_and_queries(fixture: str, request) -> None:
    scope: hs.Scope = request.getfixturevalue(fixture)
    whole = scope.read("the cat sat on the mat . a dog ran .", target=None)
    part = whole.part()
    for keep in (("weights",), ("q", "k")):
        narrow = scope.read("the cat sat on the mat . a dog ran .", keep=keep).narrowed([1], (4, 9))
        found = narrow.part()
        assert found.query.spellings == part.query.spellings[4:9]
        keys = 9 if part.causal else len(part.key)
        np.testing.assert_allclose(
            found.attention.values[0], part.attention.values[1, :, 4:9, :keys], atol=1e-5
        )


def test_narrowing_says_what_there_is(tiny_bert: hs.Scope) -> None:
    reading = tiny_bert.read("the cat sat")
    with pytest.raises(BadInput, match=r"layers= names some of the layers 0, 1"):
        hs.model_view(reading, layers=[7])
    with pytest.raises(BadInput, match=r"queries= is a range such as \(0, 5\)"):
        hs.head_view(reading, queries=(3, 99))
    with pytest.raises(BadInput, match="A size is a number of bytes"):
        hs.head_view(reading, budget="small")
    view = hs.matrix_view(reading, layers=[1], queries=(1, 4))
    assert view.data.header["parts"][0]["layers"] == [1]
    assert view.figure() is not None
