"""The first part to answer: the page, its script, and the progress of the start.

A model takes seconds to import and open; the page opens at once and shows the progress. Everything
else waits until another thread has made the app; only the bundled model's first example is in the
package and shown at once.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable
from time import monotonic

from headscope.errors import HeadscopeError
from headscope.surfaces.app import first
from headscope.surfaces.app.guard import Application, Receive, Scope, Send, again, answer
from headscope.surfaces.bundle import app_script, further_script
from headscope.surfaces.html import digest, render

SCRIPT = b"text/javascript; charset=utf-8"
PATIENCE = 1.5  # seconds for a page to request the first example before torch is imported
# views that the app loads when they are asked for
FURTHER = {f"/static/headscope-{name}.js": name for name in ("heads", "score")}
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
    """The current step of the start, in words; set by the thread that does it."""

    def __init__(self) -> None:
        self.begun = monotonic()
        self.doing: str | None = "importing torch and transformers"
        self.failed: str | None = None

    def seen(self) -> dict[str, object]:
        seconds = round(monotonic() - self.begun, 1)
        return {"doing": self.doing, "failed": self.failed, "seconds": seconds}


class Front:
    """ASGI: the page and the start's progress at once, the rest by the app once it is made."""

    def __init__(self, make: Callable[[Stage], Application], with_first: bool = False) -> None:
        """with_first: the first example in the package is shown until the app is made."""
        self.stage = Stage()
        self._with_first = with_first
        self._shown = threading.Event()
        self._app: Application | None = None
        self._made = threading.Event()
        threading.Thread(target=self._start, args=(make,), name=STARTING, daemon=True).start()

    def _start(self, make: Callable[[Stage], Application]) -> None:
        if self._with_first:
            self._shown.wait(PATIENCE)  # an import blocks every other answer
        try:
            self._app = make(self.stage)
        except Exception as error:  # the page shows the sentence, the terminal the traceback
            self.stage.failed = f"The app could not start: {error}"
            if not isinstance(error, HeadscopeError):
                traceback.print_exc()
        self._made.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # uvicorn's start and end; there are no web sockets
            return
        path, method = scope["path"], scope["method"]
        if method in ("GET", "HEAD") and path == "/":
            await _text(
                send, render("surfaces/app/app.html", style=_STYLE), b"text/html; charset=utf-8"
            )
        elif method in ("GET", "HEAD") and (module := _module(path)) is not None:
            await _text(send, module, SCRIPT)
        elif method in ("GET", "HEAD") and path in FURTHER:
            await _text(send, further_script(FURTHER[path]), SCRIPT)
        elif method == "GET" and path == "/api/start":
            await answer(send, 200, self.stage.seen())
        else:
            if self._with_first and not self._made.is_set():
                body = (await receive()).get("body", b"")  # Guard passes it in one piece
                found = first.answer(method, path, body)
                if found is not None:
                    is_reading = path == "/api/read"
                    kind = b"application/octet-stream" if is_reading else b"application/json"
                    await _content(send, found, kind)
                    if path == "/api/predict":  # the last request of the first screen
                        self._shown.set()
                    return
                receive = again(body, receive)
            while not self._made.is_set():
                await asyncio.sleep(0.02)
            if self._app is None:
                await answer(send, 503, {"error": self.stage.failed})
            else:
                await self._app(scope, receive, send)


def _module(path: str) -> str | None:
    """A script of the app itself."""
    folder, _, name = path.rpartition("/")
    return app_script(name) if folder == "/static/app" else None


async def _text(send: Send, text: str, kind: bytes) -> None:
    await _content(send, text.encode(), kind)


async def _content(send: Send, content: bytes, kind: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})
