"""From starting the app to its first picture, as a newcomer waits for it.

    python benchmarks/app.py

Budget: within 10 s of the server's start on a machine without a GPU. The clock runs from starting
the process `headscope app` until the tokens of the first text are painted in Chromium; `import
torch` in a fresh process is timed beside it, since it is most of the wait.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

BUDGET = 10.0


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Install Chromium first: make bench does.")
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch, transformers"], check=True)
    imports = time.perf_counter() - start
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        start = time.perf_counter()
        headscope = str(Path(sys.executable).with_name("headscope"))
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
        finally:
            server.terminate()
            server.wait(20)
            browser.close()
    print(f"import torch and transformers   {imports:6.2f} s")
    print(f"started → listening             {listening:6.2f} s")
    print(
        f"started → first picture         {picture:6.2f} s   ({picture / imports:.2f}× the imports)"
    )
    print(f"listening → first picture       {picture - listening:6.2f} s   (budget {BUDGET:.0f} s)")


if __name__ == "__main__":
    main()
