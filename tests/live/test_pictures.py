"""A vision model's graph, and the processors whose steps a page can take."""

from __future__ import annotations

import numpy as np
import pytest
import transformers

import headscope as hs
from headscope.live.graph import Graph, write_graph
from headscope.live.pictures import steps
from headscope.surfaces.app.media import FOLDER
from tests.reading.media import vision_models


def test_the_graph_reads_a_picture_with_heads_on_and_off(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    scope, off = vision_models.vit(), [(0, 1), (1, 3)]
    path = tmp_path / "model.onnx"
    write_graph(Graph(scope), scope, path)
    picture = hs.media.picture.open_picture(FOLDER / "seven.png")
    pixels = scope.processor(images=picture.image(), return_tensors="np")["pixel_values"]
    session = runtime.InferenceSession(str(path))
    for switched in ([], off):
        switches = np.ones((2, 4), np.float32)
        for head in switched:
            switches[head] = 0
        (found,) = session.run(["attention"], {"pixels": pixels, "switches": switches})
        part = scope.without(heads=switched).read(image=picture).part() if switched else None
        part = part or scope.read(image=picture).part()
        truth = np.stack([part.weights(number) for number in part.numbers])
        np.testing.assert_allclose(found, truth, atol=1e-5)


def test_a_processor_that_keeps_the_shape_is_refused_before_anything_is_written(tmp_path):
    square = vision_models.SQUARE
    processor = transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=square)
    scope = vision_models.scope_of(vision_models.vit().model, processor)
    with pytest.raises(hs.BadInput, match="does more than a live page can"):
        hs.live_page(scope, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("make", [vision_models.vit, vision_models.deit])
def test_the_steps_are_those_of_the_processor(make):
    found = steps(make())
    assert found["crop"] == [32, 32] and found["resample"] in (2, 3)


def test_windows_are_refused(tmp_path):
    with pytest.raises(hs.BadInput, match="of the family swin"):
        hs.live_page(vision_models.swin(), tmp_path / "page.html")
