"""Times what a user waits for on the development pages: python dev/time.py [case ...]."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

folder = Path(__file__).resolve().parent.parent / "dist" / "dev"
measure = """async (change) => {
  const view = document.querySelector('[data-headscope]').headscope;
  await view.painted();
  const start = performance.now();
  view.set(change);
  await view.painted();
  return performance.now() - start;
}"""
hover = """async (token) => {
  const host = document.querySelector('[data-headscope]');
  const target = host.shadowRoot.querySelector(`[data-side="query"][data-token="${token}"] .text`);
  await host.headscope.painted();
  const start = performance.now();
  const pointer = {bubbles: true, composed: true, clientX: 400, clientY: 300};
  target.dispatchEvent(new MouseEvent('mousemove', pointer));
  await host.headscope.painted();
  return performance.now() - start;
}"""


def report(name: str, times: list[float]) -> None:
    print(f"  {name}: first {times[0]:.0f} ms, best {min(times):.0f} ms, worst {max(times):.0f} ms")


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    for case in sys.argv[1:]:
        page.goto(f"file://{folder}/{case}.html", wait_until="commit")
        page.wait_for_selector("[data-headscope].hs-ready", state="attached")
        load = page.evaluate("performance.getEntriesByName('headscope painted')[0].startTime")
        print(f"{case}: load to painted {load:.0f} ms")
        if case.startswith(("head", "gqa")):
            layers = [page.evaluate(measure, {"layer": layer}) for layer in (0, 1) * 6]
            report("layer change", layers)
            report("hover", [page.evaluate(hover, token) for token in range(3, 15)])
            page.evaluate(measure, {"heads": None})
            report("hover, all heads", [page.evaluate(hover, token) for token in range(3, 15)])
    browser.close()
