"""From starting the app to its first picture, as a newcomer waits and as one who comes back.

    python benchmarks/app.py

Budget: 3 s from starting the process `headscope app` until the tokens of the first text are painted
in Chromium, 8 s the first time; the bundled model's first example is in the package. `import torch`
in a fresh process is timed beside it, and when everything else is answered too.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

BUDGET = {"first": 8.0, "second": 3.0}


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Install Chromium first: make bench does.")
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch, transformers"], check=True)
    print(f"import torch and transformers                 {time.perf_counter() - start:6.2f} s")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for which in ("first", "second"):
            listening, picture, all_there = started(browser)
            print(f"{which} start → listening                    {listening:6.2f} s")
            budget = f"   (budget {BUDGET[which]:.0f} s)"
            print(f"{which} start → first picture                {picture:6.2f} s{budget}")
            print(f"{which} start → every question answered      {all_there:6.2f} s")
        browser.close()


def started(browser: Browser) -> tuple[float, float, float]:
    """Seconds until the port is open, the first tokens are painted, and the model is there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    page = browser.new_page()
    headscope = str(Path(sys.executable).with_name("headscope"))
    start = time.perf_counter()
    command = [headscope, "app", "--no-browser", "--port", str(port)]
    server = subprocess.Popen(command)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                time.sleep(0.02)
        listening = time.perf_counter() - start
        page.goto(f"http://localhost:{port}", timeout=120_000)
        page.locator('[data-side="query"][data-token="1"]').wait_for(timeout=120_000)
        picture = time.perf_counter() - start
        while page.evaluate("async () => (await (await fetch('api/start')).json()).doing"):
            time.sleep(0.05)
        all_there = time.perf_counter() - start
    finally:
        server.terminate()
        server.wait(20)
        page.close()
    return listening, picture, all_there


if __name__ == "__main__":
    main()
