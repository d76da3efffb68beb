"""The text view: what it shades is what the heads attend to, and the text is the text."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.figures.running_text import Word, running_text
from headscope.text.tokens import Tokens
from headscope.text.written import written
from headscope.views.shared.shading import shade, spread, units_of
from headscope.views.text import sentence

PAIR = ("I went to the store.", "At the store, I bought  fresh strawberries.")


@pytest.fixture(scope="module")
def reading(tiny_bert):
    return tiny_bert.read(*PAIR)


def test_what_is_written_is_the_text_with_all_that_stands_between(reading):
    tokens = reading.part().query
    pieces = written(tokens)
    for number, text in enumerate(PAIR):
        mine = tokens.content & (tokens.segments == number)
        assert "".join(piece for piece, own in zip(pieces, mine, strict=True) if own) == text


def test_given_tokens_are_written_as_words_with_spaces():
    tokens = hs.Reading.from_attention(
        [np.full((1, 1, 6, 6), 1 / 6, dtype=np.float32)],
        ["[CLS]", "straw", "##berries", ",", "fresh", "[SEP]"],
    ).part()
    assert "".join(written(tokens.query)[1:-1]) == " strawberries, fresh"
    assert "".join(written(Tokens.plain(["今日", "は", "天気", "。"]))) == "今日は天気。"


def words_by_hand(part, layer, head):
    """Words × words of one head, by loops: the mean over a query's pieces, the sum over a key's."""
    weights = part.weights(layer)[head].astype(np.float64)
    units = units_of(part.query, {"unit": "words"}, keys=False)
    table = np.zeros((len(units), len(units)))
    for i in range(len(units)):
        for j in range(len(units)):
            block = weights[units.start[i] : units.end[i], units.start[j] : units.end[j]]
            table[i, j] = block.sum() / (units.end[i] - units.start[i])
    return table


def test_words_are_shaded_by_what_the_words_in_hand_attend_to(reading):
    part = reading.part()
    table = words_by_hand(part, 1, 2)
    state = {"layer": 1, "heads": [2], "unit": "words", "query": 3, "also": [5, 6]}
    units = units_of(part.query, state, keys=False)
    rows = table[units.holding([3, 5, 6])]
    assert shade(part, state).weights == pytest.approx(rows.mean(axis=0), abs=1e-6)
    assert shade(part, state | {"combine": "sum"}).weights == pytest.approx(rows.sum(0), abs=1e-6)
    whole = shade(part, state | {"query": None, "also": []})
    assert whole.sampled == len(units)
    assert whole.weights == pytest.approx(table.mean(axis=0), abs=1e-6)


def test_words_are_shaded_by_who_attends_to_the_words_in_hand(reading):
    part = reading.part()
    state = {"layer": 0, "heads": [1], "unit": "words", "side": "key", "key": 4, "also": []}
    table = words_by_hand(part, 0, 1)
    assert shade(part, state).weights == pytest.approx(table[:, 4], abs=1e-6)


def test_specials_and_the_first_token_are_left_out_and_rows_made_whole_again(reading):
    part = reading.part()
    weights = part.weights(0)[3].astype(np.float64)
    state = {"layer": 0, "heads": [3], "query": 4, "also": [], "specials": "renormalised"}
    kept = np.flatnonzero(part.key.content)
    expected = weights[4, kept] / weights[4, kept].sum()
    assert shade(part, state).weights == pytest.approx(expected, abs=1e-6)
    state = {"layer": 0, "heads": [3], "query": 4, "also": [], "first": "hidden"}
    assert shade(part, state).weights == pytest.approx(weights[4, 1:], abs=1e-6)
    state = {"layer": 0, "heads": [3], "query": 4, "also": [], "filter": "ab"}
    other = np.where(part.key.segments == 1, weights[4], 0.0)
    assert shade(part, state).weights == pytest.approx(other, abs=1e-6)


def test_several_heads_give_their_mean_or_the_strongest(reading):
    part = reading.part()
    rows = part.weights(1)[:, 5].astype(np.float64)
    state = {"layer": 1, "heads": None, "query": 5, "also": []}
    assert shade(part, state).weights == pytest.approx(rows.mean(axis=0), abs=1e-6)
    strongest = shade(part, state | {"merge": "strongest"})
    assert strongest.weights == pytest.approx(rows.max(axis=0), abs=1e-6)
    assert strongest.heads.tolist() == rows.argmax(axis=0).tolist()


@pytest.mark.parametrize("side", ["query", "key"])
def test_a_reading_of_q_and_k_alone_shades_alike(tiny_llama, side):
    part = tiny_llama.read(PAIR[1]).part()
    lean = tiny_llama.read(PAIR[1], keep=("q", "k")).part()
    state = {"kind": "decoder", "layer": 1, "heads": None, "side": side, side: 4, "also": [6]}
    assert shade(lean, state).weights == pytest.approx(shade(part, state).weights, abs=1e-5)


def test_a_sample_of_queries_is_the_one_the_page_takes():
    # as web/tests/text.test.ts
    assert spread(1000, 32, 256_000) == [62, 187, 312, 437, 562, 687, 812, 937]
    assert spread(5, 1) == [0, 1, 2, 3, 4]


def test_the_view_opens_on_words_given_or_on_one_that_looks_far(reading):
    state = hs.text_view(reading, layer=1, heads=[0], key=[3, 4]).state
    assert (state["side"], state["key"], state["also"], state["query"]) == ("key", 3, [4], None)
    assert hs.text_view(reading).state["query"] is not None
    with pytest.raises(BadInput, match="not both"):
        hs.text_view(reading, query=1, key=2)
    with pytest.raises(BadInput, match="There is no"):
        hs.text_view(reading, query=[1, 99])


def test_the_figure_says_what_is_shaded(reading):
    view = hs.text_view(reading, layer=1, heads=[0, 1], query=[2, 5], unit="words")
    part = reading.part()
    assert sentence(part, view.state, shade(part, view.state)) == (
        "Shaded: what “went” and “store” attend to, on average (mean of the heads)"
    )
    drawn = {text.get_text() for axes in view.figure().axes for text in axes.texts}
    assert {"strawberries", "went", "[CLS]"} <= drawn


def test_a_long_text_is_drawn_as_the_passages_that_matter():
    def noted(count: int) -> list[str]:
        """What the figure of so many words, the first of them strong, says of lines left out."""
        words = [Word("word ", "word", False, 0, float(at < 20), float(at < 20), None, False)
                 for at in range(count)]  # fmt: skip
        figure = running_text(words, title="", caption="", largest=1.0)
        return [one.get_text() for one in figure.axes[0].texts if "not shown" in one.get_text()]

    assert noted(200) == []
    (left_out,) = noted(2_000)
    assert left_out.startswith("⋯ ")
