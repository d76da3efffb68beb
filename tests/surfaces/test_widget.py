"""The live widget: one layer at first, the others when asked for, the selection in both hands."""

from __future__ import annotations

import numpy as np

import headscope as hs
from tests.views.decoding import Container

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")


def test_the_widget_starts_with_one_layer_and_sends_the_others_on_request(tiny_bert):
    reading = tiny_bert.read(*PAIR)
    widget = hs.head_view(reading, layer=1, heads=[0]).widget()
    first, second = Container(widget.container).header["parts"][0]["per_layer"]
    assert first["q"] is None and first["maps"] is None
    assert second["q"] is not None or second["maps"] is not None
    sent = []
    widget.send = lambda content, buffers=None: sent.append((content, buffers))
    widget._answer(widget, {"type": "layer", "id": 7, "kind": "encoder", "layer": 0}, [])
    widget._answer(widget, {"type": "layer", "id": 8, "kind": "encoder", "layer": 9}, [])
    (answer, buffers), (refusal, _) = sent
    assert answer == {"type": "layer", "id": 7}
    assert np.allclose(Container(buffers[0]).weights(0, 0), reading.part().weights(0), atol=1e-3)
    assert refusal["type"] == "error" and "Layer 9" in refusal["message"]


def test_the_selection_can_be_read_and_set(tiny_bert):
    widget = hs.neuron_view(tiny_bert.read(*PAIR), layer=0, head=3, query=2).widget()
    assert (widget.state["layer"], widget.state["head"], widget.state["query"]) == (0, 3, 2)
    widget.state = {**widget.state, "head": 1}
    assert widget.get_state()["state"]["head"] == 1
