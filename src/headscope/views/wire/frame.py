"""What every view of a reading has in common: the header around its parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headscope.reading import Reading
from headscope.views.caption import caption
from headscope.views.labels import Labels, as_labels
from headscope.views.opening import opening_head
from headscope.views.table import Table
from headscope.views.wire.container import Buffers, ViewData, view_data
from headscope.views.wire.part import encode_part


@dataclass(frozen=True)
class Sending:
    """How a view travels, whatever it shows."""

    theme: str = "auto"
    labels: Labels | None = None
    neurons: bool | None = None  # q and k: always, never, or where they are cheap
    only: Collection[int] | None = None  # layers sent now; None: all


def frame(
    view: str,
    reading: Reading,
    state: Mapping[str, Any],
    sending: Sending,
    other: Reading | None = None,
    table: Table | None = None,
) -> ViewData:
    buffers = Buffers()
    labels = as_labels(sending.labels, reading.part().kind)

    def encoded(of: Reading, prefix: str) -> list[dict[str, Any]]:
        own = labels if of is reading else ()
        return [
            encode_part(
                part,
                buffers,
                neurons=sending.neurons,
                only=sending.only,
                labels=own,
                prefix=prefix,
            )
            | {"opening": list(opening_head(part, own))}
            for part in of.parts.values()
        ]

    header: dict[str, Any] = {
        "view": view,
        "model": reading.model,
        "caption": caption(reading),
        "warnings": list(reading.warnings),
        "theme": sending.theme,
        "state": {"view": view, **state},
        "parts": encoded(reading, ""),
    }
    if table is not None:
        header["table"] = table.header(buffers)
    if other is not None:
        header["other"] = {
            "model": other.model,
            "caption": caption(other),
            "parts": encoded(other, "o"),
        }
    return view_data(header, buffers)
