"""Our lines and the canvas's own, best of 25 runs each: python dev/strokes.py"""

import subprocess
from pathlib import Path

from playwright.sync_api import sync_playwright

web = Path(__file__).resolve().parent.parent
out = web / "dist" / "strokes.js"
build = ["npx", "esbuild", "dev/strokes.ts", "--bundle", f"--outfile={out}", "--log-level=error"]
subprocess.run(build, cwd=web, check=True, capture_output=True)
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page()
    page.add_script_tag(path=str(out))
    for count in (500, 2500, 10000):
        runs = [page.evaluate("count => strokes(count)", count) for _ in range(25)]
        canvas, raster = (min(run[name] for run in runs) for name in ("canvas", "raster"))
        ratio = canvas / raster
        print(f"{count:>6} lines: canvas {canvas:.0f} ms, raster {raster:.0f} ms, {ratio:.1f}x")
    browser.close()
