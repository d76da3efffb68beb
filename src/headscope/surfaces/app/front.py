"""What answers first: the page, its script, and how far the start has come.

A model takes seconds to import and open; the page is there at once and says what is going on.
Everything else waits until the app behind it is made, in a thread of its own; only the first
screen, where the last start left its answers, is there at once too.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
import traceback
from collections.abc import Callable
from time import monotonic

from headscope.surfaces.app.guard import Application, Receive, Scope, Send, answer, body_again
from headscope.surfaces.app.start.kept import FirstScreen
from headscope.surfaces.bundle import bundle, further_script

SCRIPT = b"text/javascript; charset=utf-8"
STARTING = "headscope start"  # the name of threads that open models and read behind the page
PATIENCE = 1.5  # seconds for a page to ask for the kept first screen before torch is imported

_STYLE = ":root{color-scheme:light dark}html,body{margin:0;height:100%}"
PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>headscope</title>
<link rel="icon" href="data:,">
<style>{_STYLE}</style>
</head>
<body>
<div data-headscope-app></div>
<noscript>The app is drawn by a script of its own; allow it to run.</noscript>
<script type="module" src="/static/headscope.js"></script>
</body>
</html>
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self'; style-src 'sha256-{_STYLE_HASH}'; "
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

    def __init__(
        self, make: Callable[[Stage], Application], kept: FirstScreen | None = None
    ) -> None:
        """kept: the answers of the last start, given until the app is made."""
        self.stage = Stage()
        self._kept = kept
        self._shown = threading.Event()
        self._app: Application | None = None
        self._made = threading.Event()
        threading.Thread(target=self._start, args=(make,), name=STARTING, daemon=True).start()

    def _start(self, make: Callable[[Stage], Application]) -> None:
        if self._kept is not None:
            self._shown.wait(PATIENCE)  # an import holds up every answer beside it
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
            await _text(send, PAGE, b"text/html; charset=utf-8")
        elif method in ("GET", "HEAD") and path == "/static/headscope.js":
            await _text(send, bundle(), SCRIPT)
        elif method in ("GET", "HEAD") and path == "/static/headscope-heads.js":
            await _text(send, further_script("heads"), SCRIPT)
        elif method == "GET" and path == "/api/start":
            await answer(send, 200, self.stage.seen())
        else:
            if self._kept is not None and not self._made.is_set():
                body = await _body(receive)
                found = self._kept.answer(method, path, body)
                if found is not None:
                    await _content(send, found[1], found[0])
                    if path == "/api/predict":  # the last of the first screen's questions
                        self._shown.set()
                    return
                receive = body_again(body, receive)
            while not self._made.is_set():
                await asyncio.sleep(0.02)
            if self._app is None:
                await answer(send, 503, {"error": self.stage.failed})
            else:
                await self._app(scope, receive, send)


async def _body(receive: Receive) -> bytes:
    """Guard hands it over in one piece."""
    return (await receive()).get("body", b"")


async def _text(send: Send, text: str, kind: bytes) -> None:
    await _content(send, text.encode(), kind)


async def _content(send: Send, content: bytes, kind: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})
