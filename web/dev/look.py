"""Screenshots of the development pages: python dev/look.py [case ...] [--dark] [--wide] …"""

import argparse
from pathlib import Path

from playwright.sync_api import sync_playwright

folder = Path(__file__).resolve().parent.parent / "dist" / "dev"
parser = argparse.ArgumentParser()
parser.add_argument("cases", nargs="*")
parser.add_argument("--dark", action="store_true")
parser.add_argument("--wide", action="store_true")
parser.add_argument("--hover", type=int, help="query token to look at")
parser.add_argument("--set", default="", help="JavaScript object: state to set")
parser.add_argument("--tag", default="")
arguments = parser.parse_args()

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    size = {"width": 1920, "height": 1080} if arguments.wide else {"width": 1280, "height": 800}
    page = browser.new_page(viewport=size, color_scheme="dark" if arguments.dark else "light")
    page.on("console", lambda message: print("console:", message.text[:300]))
    page.on("pageerror", lambda error: print("error:", error))
    page.on(
        "request",
        lambda request: request.url.startswith("file:") or print("request:", request.url[:80]),
    )
    for case in arguments.cases or [path.stem for path in sorted(folder.glob("*.html"))]:
        page.goto(f"file://{folder}/{case}.html")
        page.wait_for_selector("[data-headscope].hs-ready", state="attached")
        if arguments.set:
            page.evaluate(
                f"document.querySelector('[data-headscope]').headscope.set({arguments.set})"
            )
        if arguments.hover is not None:
            page.hover(f'[data-side="query"][data-token="{arguments.hover}"] .text')
        page.evaluate("document.querySelector('[data-headscope]').headscope.painted()")
        name = (
            case
            + ("-dark" if arguments.dark else "")
            + ("-wide" if arguments.wide else "")
            + arguments.tag
        )
        page.screenshot(path=str(folder / f"{name}.png"))
        print(name, page.evaluate("document.querySelector('[data-headscope]').headscope.status"))
    browser.close()
