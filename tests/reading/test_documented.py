"""What docs/how-to/reading.md shows is there."""

from __future__ import annotations

import re
from pathlib import Path

import headscope as hs

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "reading.md"


def test_every_name_the_page_uses_exists(tiny_bert: hs.Scope) -> None:
    text = PAGE.read_text()
    reading = tiny_bert.read("the cat", keep=("weights", "q", "k", "v"))
    seen = {"hs": hs, "scope": tiny_bert, "reading": reading}
    used = set(re.findall(r"\b(hs|scope|reading)\.([A-Za-z_]+)", text))
    parts = {"encoder", "decoder", "cross"}  # of a reading that has them
    missing = [
        f"{owner}.{name}"
        for owner, name in used
        if name not in parts and not hasattr(seen[owner], name)
    ]
    assert used
    assert missing == []


def test_every_name_of_a_call_the_page_uses_exists(tiny_bert: hs.Scope) -> None:
    names = set(re.findall(r"\bcall\.([a-z_]+)", PAGE.read_text()))
    looked: list[bool] = []
    batch = tiny_bert.encode(["the cat"])

    def sink(call) -> None:
        looked.append(all(hasattr(call, name) for name in names))

    tiny_bert.forward(batch, sink)
    assert names
    assert looked
    assert all(looked)
