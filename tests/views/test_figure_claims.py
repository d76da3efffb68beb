"""What figures say and show whatever is drawn: titles, names, frames, whole layers, omissions."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb

import headscope as hs
from headscope.figures import scatter_by_layer
from headscope.figures.colour import oklab_from_rgb
from headscope.figures.tokens import TALLEST
from headscope.statistics.distances.clusters import cluster
from tests.tiny import tiny_scope


def lightness(colour) -> float:
    return float(oklab_from_rgb(np.array(to_rgb(colour)))[0])


def texts(figure) -> list:
    return [one for one in figure.findobj(lambda each: hasattr(each, "get_text")) if one.get_text()]


def test_a_map_of_heads_has_a_title_and_names_that_can_be_read():
    heads = [(layer, head) for layer in range(3) for head in range(3)]
    points = np.random.default_rng(0).normal(size=(9, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    figure = cluster(heads, distances, n=2, seed=0).plot()
    ground = lightness(figure.get_facecolor())
    shown = {one.get_text(): one for one in texts(figure)}
    assert "9 heads, near where they attend alike" in shown
    assert {f"{layer}-{head}" for layer, head in heads} & shown.keys()
    for one in shown.values():
        assert abs(lightness(one.get_color()) - ground) > 0.35, one.get_text()


def test_a_matrix_has_a_frame(tiny_bert):
    figure = hs.matrix_view(tiny_bert.read("the cat sat"), labels=()).figure()
    assert all(spine.get_visible() for spine in figure.axes[0].spines.values())


def test_a_long_head_view_keeps_to_a_page_and_says_what_it_left_out():
    weights = np.full((1, 1, 600, 600), 1 / 600, dtype=np.float32)
    reading = hs.Reading.from_attention(weights, [f"t{i}" for i in range(600)])
    figure = hs.head_view(reading, labels=()).figure()
    assert figure.get_size_inches()[1] <= TALLEST
    said = " ".join(one.get_text() for one in texts(figure))
    assert "every 5th token is named" in said and "of 360,000 lines" in said


def test_layers_are_counted_in_whole_numbers():
    figure = scatter_by_layer(np.random.default_rng(0).random((4, 3)), "entropy")
    figure.canvas.draw()
    ticks = figure.axes[0].get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


def test_a_long_matrix_has_cells_that_can_be_seen_each_the_largest_of_its_weights():
    from headscope.figures.matrix import MOST_CELLS, matrix, strongest_of_blocks
    from headscope.figures.tokens import TokenLine

    numbers = np.random.default_rng(0).normal(size=(2500, 1200)).astype(np.float32)
    cells, joined = strongest_of_blocks(numbers)
    assert joined == (3, 2) and cells.shape == (834, 600)
    for row, column in [(0, 0), (500, 17), (833, 599)]:
        block = numbers[3 * row : 3 * row + 3, 2 * column : 2 * column + 2]
        assert cells[row, column] == block.flat[np.abs(block).argmax()]
    lines = [TokenLine(["word"] * count) for count in numbers.shape]
    figure = matrix(numbers, *lines, title="long", caption="", difference=True)
    assert max(figure.get_size_inches()) <= 12.01
    image = figure.axes[0].images[0].get_array()
    assert image is not None and max(image.shape) <= MOST_CELLS
    assert figure.axes[0].get_xlim() == (-0.5, 1199.5)


def test_a_long_neuron_view_is_drawn_in_a_few_pieces():
    scope = tiny_scope("LlamaForCausalLM", max_position_embeddings=512)
    reading = scope.read(" ".join(["the cat sat"] * 120))
    figure = hs.neuron_view(reading, layer=1, head=1, labels=()).figure()
    axes = figure.axes[0]
    assert len(axes.images) == 3  # q, k, and q × k: each a single image
    assert len(axes.texts) < 4 * 140 + 20  # as many names and numbers as fit on it
    assert len(axes.patches) == 0
