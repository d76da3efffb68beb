"""Screenshots of the app on dev/serve.mjs: python dev/look_app.py [--dark] [--width N] …"""

import argparse
from pathlib import Path

from playwright.sync_api import sync_playwright

folder = Path(__file__).resolve().parent.parent / "dist" / "dev"
parser = argparse.ArgumentParser()
parser.add_argument("--dark", action="store_true")
parser.add_argument("--width", type=int, default=1280)
parser.add_argument("--height", type=int, default=800)
parser.add_argument("--query", default="")
parser.add_argument("--tag", default="")
parser.add_argument("--click", action="append", default=[])
parser.add_argument("--port", type=int, default=8799)
arguments = parser.parse_args()

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page(
        viewport={"width": arguments.width, "height": arguments.height},
        color_scheme="dark" if arguments.dark else "light",
    )
    page.on("console", lambda message: print("console:", message.text[:300]))
    page.on("pageerror", lambda error: print("error:", error))
    page.goto(f"http://127.0.0.1:{arguments.port}/{arguments.query}")
    page.wait_for_timeout(5000)
    for selector in arguments.click:
        page.click(selector)
        page.wait_for_timeout(4500)
    page.screenshot(path=str(folder / f"app{arguments.tag}.png"))
    print(page.url)
    browser.close()
