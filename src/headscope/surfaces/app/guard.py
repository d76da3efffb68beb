"""Who may talk to the app: this machine's own pages, in requests of a reasonable size.

A page from elsewhere, open in the same browser, can send requests to loopback addresses. It cannot
choose the Host its browser sends after a DNS trick, nor hide its Origin: both are checked.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
MOST_BYTES = 1_048_576  # of one request
TOO_LARGE = f"A request may hold at most {MOST_BYTES:,} bytes; shorten the text."


class Guard:
    """ASGI middleware: checks Host and Origin, limits the body, sets protective headers."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], headers: dict[str, str]) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        refusal = self._refusal(dict(scope["headers"]))
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        body = await _body(receive)
        if body is None:
            await _refuse(413, TOO_LARGE)(scope, receive, send_with_headers)
            return
        await self._app(scope, _once(body, receive), send_with_headers)

    def _refusal(self, headers: dict[bytes, bytes]) -> JSONResponse | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if _name(host) not in self._hosts:
            return _refuse(
                400,
                "The app answers only to the address it was started on; see app --host.",
            )
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin.decode("latin-1")).netloc != host:
            return _refuse(403, "Requests from other pages are not answered.")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > MOST_BYTES:
            return _refuse(413, TOO_LARGE)
        return None


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None once it grows past the limit, whatever length it announced."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return body


def _once(body: bytes, receive: Receive) -> Receive:
    """Hand the body on, then wait for what the client does next."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host[: host.find("]") + 1].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _refuse(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status_code=status)
