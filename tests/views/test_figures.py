"""Figures: every script, every size, nothing clipped, colours as on the page."""

from __future__ import annotations

import io
import logging
import warnings

import numpy as np
import pytest
from PIL import Image

import headscope as hs
from headscope.figures import fonts, layer_head_map, layer_head_maps, save, scatter_by_layer
from headscope.figures.colour import head_colours, oklab_from_rgb, seen_by_all, sequential, shaded
from headscope.figures.fonts import FontWarning, drawable

TEXTS = {
    "chinese": list("我去商店买草莓。"),
    "hebrew": ["הלכתי", "לחנות", "וקניתי", "תותים"],
    "arabic": ["ذهبت", "إلى", "المتجر"],
    "emoji": ["a", "😀", "👩‍🚀", "\U0001faf6"],
    "hostile": ["</script>", "$x^2$", "\\frac", "a\nb", "\x00", "", "   ", "x" * 200],
    "combining": ["e\u0301", "n\u0303", "\u200b"],
}


def reading_of(tokens: list[str], layers: int = 2, heads: int = 3):
    weights = np.random.default_rng(0).dirichlet(np.ones(len(tokens)), (layers, heads, len(tokens)))
    return hs.Reading.from_attention(weights.astype(np.float32), tokens)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("orientation", ["vertical", "horizontal"])
def test_tokens_of_any_script_are_drawn_without_a_warning(text, orientation):
    view = hs.head_view(reading_of(TEXTS[text]), orientation=orientation, labels=())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FontWarning)  # ours, once for a script no font here has
        save(view.figure(), io.BytesIO(), "png")
        save(hs.matrix_view(reading_of(TEXTS[text]), labels=()).figure(), io.BytesIO(), "pdf")


def test_what_no_font_can_draw_becomes_a_box_and_controls_become_visible():
    assert drawable("a\nb") == "a␊b"
    assert drawable("x\U0010ffff") == "x"
    assert "\u25a1" in drawable("\U00012000\U0001f9ff") or drawable("\U00012000") == "\U00012000"


def test_chinese_and_japanese_are_drawn_where_a_font_for_them_is_installed():
    installed = {"Droid Sans Fallback", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "IPAGothic"}
    if not installed & set(fonts.families()):
        pytest.skip("needs a font for Chinese and Japanese")
    assert drawable("草莓 いちご") == "草莓 いちご"


def test_a_script_that_no_font_draws_is_told_once(monkeypatch):
    monkeypatch.setattr(fonts, "_faces", lambda: ())
    fonts._drawable.cache_clear()
    fonts._tell.cache_clear()
    with pytest.warns(FontWarning, match="cjk characters") as told:
        assert drawable("草莓") == "□□"
    assert len(told) == 1
    fonts._drawable.cache_clear()


@pytest.mark.parametrize("count", [1, 8, 21, 128])
@pytest.mark.parametrize("name", ["head_view", "matrix_view", "model_view"])
def test_no_token_is_clipped_at_any_length(count, name):
    """All tokens are written, and no ink touches the edge of the saved picture."""
    from matplotlib.image import imread

    tokens = [f"token{i}" for i in range(count)]
    figure = getattr(hs, name)(reading_of(tokens), labels=()).figure()
    written = {text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))}
    thinned = name == "model_view" or (name == "matrix_view" and count > 21)
    assert thinned or set(tokens) <= written
    saved = io.BytesIO()
    save(figure, saved, "png")
    saved.seek(0)
    pixels = imread(saved)[..., :3]
    edges = [pixels[:4], pixels[-4:], pixels[:, :4], pixels[:, -4:]]
    assert all(np.ptp(edge.reshape(-1, 3), axis=0).max() < 0.02 for edge in edges)
    assert np.ptp(pixels) > 0.5  # and there is ink


def test_a_very_long_text_is_drawn_coarser_rather_than_not_at_all():
    tokens = [f"t{i}" for i in range(1200)]
    weights = np.zeros((1, 1, 1200, 1200), dtype=np.float32)
    weights[..., 0] = 1.0
    view = hs.head_view(hs.Reading.from_attention(weights, tokens), labels=(), minimum=0.5)
    figure = view.figure()
    figure.set_size_inches(3, 400)
    written = io.BytesIO()
    save(figure, written, "png")
    assert written.getvalue().startswith(b"\x89PNG")


def test_the_caption_holds_both_texts_of_an_encoder_and_a_decoder(tiny_t5):
    from headscope.views.shared.caption import caption

    assert caption(tiny_t5.read("the cat sat", "a dog ran")).endswith("“the cat sat” · “a dog ran”")


def test_words_specials_and_filters_change_what_is_drawn(tiny_bert):
    from headscope.views.shared.selection import select

    part = tiny_bert.read("I went to the store.", "Fresh strawberries.").part()
    tokens = select(part, 0, {})
    words = select(part, 0, {"unit": "words"})
    assert len(words.query) < len(tokens.query)
    assert np.allclose(words.weights.sum(-1), 1, atol=1e-5)
    hidden = select(part, 0, {"specials": "hidden"})
    assert not any(hidden.query.line.special(at) for at in range(len(hidden.query)))
    assert (hidden.weights.sum(-1) < 1).all()
    again = select(part, 0, {"specials": "renormalised"})
    assert np.allclose(again.weights.sum(-1), 1, atol=1e-5)
    across = select(part, 0, {"filter": "ab"})
    assert not across.allowed[part.query.segments == 1].any()
    assert not across.allowed[:, part.key.segments == 0].any()
    assert across.allowed.any()


def test_up_to_32_heads_have_colours_of_their_own_that_neighbours_do_not_share():
    for heads in (8, 12, 16, 25, 32):
        colours = head_colours(heads)
        assert len(set(colours)) == heads
        rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
        sights = [
            np.linalg.norm(np.diff(oklab_from_rgb(seen), axis=0), axis=1).min()
            for seen in seen_by_all(rgb)
        ]
        assert sights[0] > 0.1, heads
        assert min(sights[1:]) > 0.03, heads  # the number travels with the colour, always


def test_a_head_has_the_same_hue_on_light_and_on_dark_ground():
    for heads in (1, 8, 12, 32):
        with shaded("dark"):
            dark = head_colours(heads)
        hues = [
            np.angle(oklab_from_rgb(rgb) @ (0, 1, 1j))
            for rgb in (
                np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
                for colours in (head_colours(heads), dark)
            )
        ]
        assert np.abs(np.angle(np.exp(1j * (hues[0] - hues[1])))).max() < 0.05  # radians


def test_the_sequential_scale_darkens_in_equal_steps():
    lightness = oklab_from_rgb(np.asarray(sequential().colors))[:, 0]
    steps = np.diff(lightness[1:])
    assert (steps < 0.001).all()
    assert lightness[0] > 0.99 and lightness[-1] < 0.3


def test_maps_and_scatters_take_missing_numbers_and_any_size():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape in ((1, 1), (12, 12), (48, 64)):
            values = np.random.default_rng(0).normal(size=shape)
            values.flat[0] = np.nan
            save(layer_head_map(values, "t", "l", diverging=True), io.BytesIO(), "png")
            save(scatter_by_layer(values, "l", reference={"even": 0.1}), io.BytesIO(), "png")
        save(layer_head_map(np.full((2, 2), np.nan), "t", "l"), io.BytesIO(), "png")
    with pytest.raises(ValueError, match="layers × heads"):
        layer_head_map(np.zeros(3), "t", "l")
    with pytest.raises(ValueError, match="layers × heads"):
        scatter_by_layer(np.zeros(3), "l")


def test_maps_side_by_side_share_one_scale():
    small, large = np.array([[0.0, 1.0]]), np.array([[0.0, 4.0], [2.0, 1.0]])
    figure = layer_head_maps({"small": small, "large": large}, "points")
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title(loc="left") for axes in panels] == ["small", "large"]
    limits = {axes.images[0].get_clim() for axes in panels}
    assert limits == {(0.0, 4.0)}
    signed = layer_head_maps({"one": small}, "points", diverging=True, limits=(-5, 5))
    assert signed.axes[0].images[0].get_clim() == (-5.0, 5.0)


def test_harm_has_one_colour_whether_more_or_less_is_better():
    values = np.array([[-1.0, 1.0]])
    scores, losses = (
        layer_head_map(values, "t", "l", True, less_is_better=less).axes[0].images[0]
        for less in (False, True)
    )
    worse_score, worse_loss = scores.cmap(scores.norm(-1.0)), losses.cmap(losses.norm(1.0))
    np.testing.assert_allclose(worse_score, worse_loss, atol=0.01)
    assert worse_score[0] > worse_score[2]  # orange, not blue


def test_a_fallback_font_that_has_no_bold_costs_no_line(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("matplotlib.font_manager")
    sentence = "findfont: Failed to find font weight %s for %s, now using %s."
    logger.warning(sentence, "bold", "IPAGothic", 400)
    assert caplog.messages == []
    logger.warning(sentence, "bold", "Own", 400)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("view", ["head_view", "matrix_view"])
def test_a_long_title_is_broken_so_that_the_figure_fits_a_column(view, tmp_path):
    reading = hs.load().read("The old dog chased the cat, but it was too slow.")
    figure = getattr(hs, view)(reading, layer=2, heads=[6]).figure()
    assert "13 of 13 queries" in figure.texts[0].get_text()
    figure.savefig(tmp_path / "column.png", width=3.3, dpi=100)
    with Image.open(tmp_path / "column.png") as picture:
        assert abs(picture.width - 330) <= 3
    assert "\n" in figure.texts[0].get_text()
