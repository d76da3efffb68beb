"""The atlas's page at full size: bytes, time to paint, time of a brush, in Chromium.

    python -m benchmarks.atlas_page

12 × 12 heads with 200 examples each over texts made by chance; budgets: 10 MB, 1 s, 50 ms.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

import headscope as hs

LAYERS, HEADS, EXAMPLES, TEXTS, LENGTH, KEYS = 12, 12, 200, 3000, 128, 8
BRUSH = """() => {
  const root = document.querySelector('[data-headscope]').shadowRoot;
  const plot = root.querySelector('.sc-plot'), box = plot.getBoundingClientRect();
  const send = (name, x, y) => plot.dispatchEvent(new PointerEvent(name, {
    bubbles: true, pointerId: 1, button: 0, buttons: 1,
    clientX: box.left + x * box.width, clientY: box.top + y * box.height }));
  plot.setPointerCapture = () => undefined;
  const took = [];
  send('pointerdown', 0.1, 0.1);
  for (let i = 1; i <= 40; i++) {
    const start = performance.now();
    send('pointermove', 0.1 + 0.02 * i, 0.1 + 0.02 * i);
    plot.getBoundingClientRect();
    took.push(performance.now() - start);
  }
  const start = performance.now();
  send('pointerup', 0.9, 0.9);
  root.querySelector('.at-table').getBoundingClientRect();
  return {moves: took, last: performance.now() - start,
          chosen: root.querySelectorAll('circle.in').length};
}"""


def made_atlas(chance: np.random.Generator) -> hs.Atlas:
    """Tables of the size a real run gives; only their shape matters here."""
    heads = pd.MultiIndex.from_product([range(LAYERS), range(HEADS)], names=["layer", "head"])
    of_head = heads.to_frame(index=False).assign(kind="encoder")
    measures = ("entropy", "confidence", "focus", "previous_word", "same_word")
    table = pd.concat([of_head.assign(measure=name, value=chance.random(len(of_head)))
                       for name in measures])  # fmt: skip
    rows = of_head.loc[of_head.index.repeat(EXAMPLES)].reset_index(drop=True)
    count = len(rows)
    at = np.tile(np.arange(EXAMPLES), len(of_head))
    weights = -np.sort(-chance.dirichlet(np.ones(KEYS), count).astype(np.float32), axis=1)
    rows = rows.assign(
        measure=np.array(measures)[at // 40],
        decile=np.where(at % 40 < 20, -1, (at % 40 - 20) // 2),
        rank=at % 20, value=chance.random(count), document=chance.integers(0, TEXTS, count),
        query=chance.integers(0, LENGTH, count), weights=list(weights),
        keys=list(chance.integers(0, LENGTH, (count, KEYS))),
    )  # fmt: skip
    words = np.array([f"word{number}" for number in range(20_000)])
    documents = pd.DataFrame({
        "kind": "encoder", "document": range(TEXTS),
        "tokens": list(words[(20_000 * chance.random((TEXTS, LENGTH)) ** 3).astype(int)]),
        "classes": [np.full(LENGTH, 4)] * TEXTS, "segments": [np.zeros(LENGTH)] * TEXTS,
        "continues": [np.zeros(LENGTH, bool)] * TEXTS,
    })  # fmt: skip
    labels = of_head.assign(pattern="previous_word", label="previous word", score=0.5, uniform=0.1,
                            lift=5.0, null=0.1, error=0.01, p=1e-9, documents=TEXTS,
                            labelled=chance.random(len(of_head)) < 0.3)  # fmt: skip
    offsets = pd.concat([of_head.assign(profile="offset", name=str(offset), count=9)
                         for offset in range(-64, 65)])  # fmt: skip
    tokens = pd.concat([of_head.assign(profile=name, name=words[rank], count=50 - rank)
                        for name in ("key_token", "query_token", "pair")
                        for rank in range(10)])  # fmt: skip
    profiles = pd.concat([offsets, tokens]).assign(other="", expected=5.0, lift=2.0, p=1e-9,
                                                   weight=0.5, focus=0.5)  # fmt: skip
    deciles = pd.concat([of_head.assign(measure=name, decile=n, low=n / 10, high=(n + 1) / 10)
                         for name in measures for n in range(10)])  # fmt: skip
    tables: dict[str, Any] = {"heads": table, "labels": labels, "examples": rows,
                              "deciles": deciles, "documents": documents,
                              "profiles": profiles}  # fmt: skip
    return hs.Atlas({"model": "made by chance", "tokens": TEXTS * LENGTH}, tables)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = made_atlas(np.random.default_rng(0)).page(Path(folder) / "atlas.html")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        painted: list[float] = []
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(path.as_uri())
            page.wait_for_selector(".hs-ready")
            painted.append(page.evaluate(
                "performance.getEntriesByName('headscope painted')[0].startTime"
            ))  # fmt: skip
        brushed = page.evaluate(BRUSH)  # pyright: ignore[reportPossiblyUnboundVariable]
        browser.close()
        print(f"page      {path.stat().st_size / 1e6:6.2f} MB  (≤ 10)")
    print(f"painted   {statistics.median(painted):6.0f} ms  (≤ 1000; median of 5)")
    print(f"brushing  {max(brushed['moves']):6.1f} ms  (≤ 50; slowest of 40 moves)")
    print(f"choosing  {brushed['last']:6.1f} ms  ({brushed['chosen']} heads, table and all)")


if __name__ == "__main__":
    main()
