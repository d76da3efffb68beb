"""The live notebook widget: selection in both directions, layers sent as they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anywidget
import traitlets

from headscope.errors import HeadscopeError
from headscope.surfaces.bundle import PATH, bundle
from headscope.surfaces.page import needed
from headscope.views import Sending, discover
from headscope.views.wire.frame import layer_data


class Widget(anywidget.AnyWidget):
    """`widget.state` is the state on screen; assign a dict with the changes."""

    _esm = PATH
    container = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(
        self, name: str, source: Any, sending: Sending, selection: Mapping[str, Any]
    ) -> None:
        build = discover()[name].build
        # the first layer is included once the view has chosen it
        empty = build(source, sending=replace(sending, only=()), **selection)
        layer = empty.header["state"].get("layer")
        only = () if layer is None else (layer,)
        first = build(source, sending=replace(sending, only=only), **selection)
        if further := needed([first]):
            self._esm = bundle(*further)
        super().__init__(container=first.container(), state=dict(first.header["state"]))
        self._source = source
        self.on_msg(self._answer)

    def _answer(self, _: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict) or content.get("type") != "layer":
            return
        try:
            data = layer_data(self._source, content["kind"], content["layer"], content.get("head"))
            self.send({"type": "layer", "id": content["id"]}, [data.container()])
        except HeadscopeError as error:
            self.send({"type": "error", "id": content["id"], "message": str(error)})
