"""Access to the app: only this machine's own pages, in requests of a reasonable size.

A page from elsewhere, open in the same browser, can send requests to loopback addresses. It cannot
choose the Host its browser sends after a DNS trick, nor hide its Origin: both are checked. Beyond
loopback everyone on the network could send requests, so a token is needed too.

This needs only the standard library, so that the page opens before heavy imports.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scope = Any
Message = Any
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
MOST_BYTES = 1_048_576  # of one request
# a file of 12 MB as base64 in JSON; an atlas as bytes
LARGER = {
    "/api/media": 17_000_000,
    "/api/atlas": 2**26,
    "/api/atlas/build": 17_000_000,
    "/api/atlas/estimate": 17_000_000,
}
PATIENCE = 20.0  # seconds for a request's body to arrive
COOKIE = "headscope-token"
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::[0-9]{1,5})?", re.I)


class Guard:
    """ASGI middleware: checks Host, Origin and token, limits the body, sets protective headers."""

    def __init__(
        self,
        app: Application,
        hosts: Collection[str],
        headers: Mapping[str, str],
        token: str | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._app, self._patience = app, patience
        self._hosts = {bracketed(host.lower()) for host in hosts}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = list(self._headers)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *added]
            await send(message)

        headers = dict(scope["headers"])
        most = LARGER.get(scope["path"], MOST_BYTES)
        refusal = self._refusal(headers, most)
        if refusal is None and self._token is not None:
            refusal = self._without_token(scope, headers, added)
        if refusal is None:
            try:
                body = await asyncio.wait_for(_body(receive, most), self._patience)
            except TimeoutError:
                refusal = 408, f"The request did not arrive within {self._patience:.0f} seconds."
            else:
                if body is not None:
                    await self._app(scope, again(body, receive), send_with_headers)
                    return
                refusal = 413, _too_large(most)
        await answer(send_with_headers, refusal[0], {"error": refusal[1]})

    def _refusal(self, headers: Mapping[bytes, bytes], most: int) -> tuple[int, str] | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if _name(host) not in self._hosts:
            return 400, "The app answers only to the address it was started on; see app --host."
        origin = headers.get(b"origin")
        if origin is not None and _origin(origin) != host.lower():
            return 403, "Requests from other pages are not answered."
        length = headers.get(b"content-length", b"0")
        if not re.fullmatch(rb"[0-9]{1,12}", length) or int(length) > most:
            return 413, _too_large(most)
        return None

    def _without_token(
        self, scope: Scope, headers: Mapping[bytes, bytes], added: list[tuple[bytes, bytes]]
    ) -> tuple[int, str] | None:
        """Accept the token in the printed address once; then from a cookie."""
        assert self._token is not None
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if _same(asked, self._token):
            cookie = f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            added.append((b"set-cookie", cookie.encode()))
            return None
        if _same(_cookie(headers), self._token):
            return None
        return 401, "Open the address that the app printed when it started: it carries a token."


def _too_large(most: int) -> str:
    what = "shorten the text" if most == MOST_BYTES else "give a smaller file"
    return f"A request may hold at most {most:,} bytes; {what}."


async def answer(send: Send, status: int, body: Any) -> None:
    """JSON, with nothing but the standard library."""
    content = json.dumps(body).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _body(receive: Receive, most: int) -> bytes | None:
    """The whole body, or None if it exceeds the limit, regardless of its announced length."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return body


def again(body: bytes, receive: Receive) -> Receive:
    """Replay a body to the next application, then pass on the client's next messages."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def bracketed(host: str) -> str:
    """An IPv6 address as in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _name(host: str) -> str | None:
    """The host without its port; None if it is not a host."""
    found = _HOST.fullmatch(host)
    return found[1].lower() if found else None


def _origin(header: bytes) -> str | None:
    try:
        return urlsplit(header.decode("latin-1")).netloc.lower()
    except ValueError:
        return None


def _cookie(headers: Mapping[bytes, bytes]) -> str:
    try:
        found = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())
