"""What answers first: the page, its script, and how far the start has come.

A model takes seconds to import and open; the page is there at once and shows the progress.
Everything else waits until the app behind it is made, in a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable
from time import monotonic

from headscope.surfaces.app.guard import Application, Receive, Scope, Send, answer
from headscope.surfaces.bundle import bundle, further_script
from headscope.surfaces.html import digest, render

SCRIPT = b"text/javascript; charset=utf-8"
STARTING = "headscope start"  # the name of threads that open models and read behind the page

_STYLE = ":root{color-scheme:light dark}html,body{margin:0;height:100%}"
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self'; style-src {digest(_STYLE)}; "
        "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Stage:
    """What the start is busy with, in words; set by the thread that does it."""

    def __init__(self) -> None:
        self.begun = monotonic()
        self.doing: str | None = "importing torch and transformers"
        self.failed: str | None = None

    def seen(self) -> dict[str, object]:
        seconds = round(monotonic() - self.begun, 1)
        return {"doing": self.doing, "failed": self.failed, "seconds": seconds}


class Front:
    """ASGI: the page and the state of the start at once, the rest by the app once it is there."""

    def __init__(self, make: Callable[[Stage], Application]) -> None:
        self.stage = Stage()
        self._app: Application | None = None
        self._made = threading.Event()
        threading.Thread(target=self._start, args=(make,), name=STARTING, daemon=True).start()

    def _start(self, make: Callable[[Stage], Application]) -> None:
        try:
            self._app = make(self.stage)
        except Exception as error:  # the page says it; the terminal has the whole of it
            self.stage.failed = f"The app could not start: {error}"
            traceback.print_exc()
        self._made.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # uvicorn's start and end; nothing here speaks web sockets
            return
        path, method = scope["path"], scope["method"]
        if method in ("GET", "HEAD") and path == "/":
            await _text(
                send, render("surfaces/app/app.html", style=_STYLE), b"text/html; charset=utf-8"
            )
        elif method in ("GET", "HEAD") and path == "/static/headscope.js":
            await _text(send, bundle(), SCRIPT)
        elif method in ("GET", "HEAD") and path == "/static/headscope-heads.js":
            await _text(send, further_script("heads"), SCRIPT)
        elif method == "GET" and path == "/api/start":
            await answer(send, 200, self.stage.seen())
        else:
            while not self._made.is_set():
                await asyncio.sleep(0.02)
            if self._app is None:
                await answer(send, 503, {"error": self.stage.failed})
            else:
                await self._app(scope, receive, send)


async def _text(send: Send, text: str, kind: bytes) -> None:
    content = text.encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})
