"""The app's routes. Every answer to a mistake is JSON with one sentence."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from headscope.errors import BadInput, HeadscopeError
from headscope.surfaces.app.export import export
from headscope.surfaces.app.guard import LOOPBACK, Guard
from headscope.surfaces.app.models import Models
from headscope.surfaces.app.readings import ReadingGoneError
from headscope.surfaces.app.request import (
    fields,
    off_heads,
    read_request,
    reading_id,
    write_request,
)
from headscope.surfaces.app.session import Session, TooLongError
from headscope.surfaces.app.writing import WritingGoneError
from headscope.surfaces.bundle import bundle
from headscope.views import ViewData

_STYLE = ":root{color-scheme:light dark}html,body{margin:0;height:100%}"
_PAGE = f"""<!doctype html>
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


def create_app(models: Models, hosts: Collection[str] = LOOPBACK) -> Starlette:
    """The app over these models, answering to these hosts only."""
    session = Session(models)

    async def read(request: Request) -> Response:
        asked = read_request(await request.body())
        return _container(await run_in_threadpool(session.read, asked))

    async def predict(request: Request) -> Response:
        found = fields(await request.body())
        asked = reading_id(found), off_heads(found)
        return JSONResponse(await run_in_threadpool(session.predict, *asked))

    async def importance(request: Request) -> Response:
        found = fields(await request.body())
        asked = reading_id(found), off_heads(found)
        return JSONResponse(await run_in_threadpool(session.importance, *asked))

    async def write(request: Request) -> Response:
        asked = write_request(await request.body())
        return JSONResponse(await run_in_threadpool(session.write, asked))

    async def compare(request: Request) -> Response:
        found = fields(await request.body())
        asked = reading_id(found), reading_id(found, "other")
        return JSONResponse(await run_in_threadpool(session.compare, *asked))

    def welcome(request: Request) -> Response:
        return JSONResponse(session.welcome())

    def layer(request: Request) -> Response:
        place = request.path_params
        head = request.query_params.get("head", "")
        asked = int(head) if head.isdecimal() else None
        return _container(session.layer(place["id"], place["kind"], place["layer"], asked))

    def head(request: Request) -> Response:
        place = request.path_params
        return JSONResponse(session.head(place["id"], place["kind"], place["layer"], place["head"]))

    def export_reading(request: Request) -> Response:
        asked = dict(request.query_params)
        kept = session.readings.get(request.path_params["id"])
        other = session.readings.get(asked["other"]) if asked.get("other") else None
        data, kind, name = export(kept, asked, other)
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(data, media_type=kind, headers=disposition)

    reading = "/api/reading/{id:str}"
    routes = [
        Route("/", lambda request: HTMLResponse(_PAGE)),
        Route("/static/headscope.js", _script),
        Route("/api/models", welcome),
        Route("/api/read", read, methods=["POST"]),
        Route(reading + "/layer/{kind:str}/{layer:int}", layer),
        Route(reading + "/head/{kind:str}/{layer:int}/{head:int}", head),
        Route(reading + "/export", export_reading),
        Route("/api/predict", predict, methods=["POST"]),
        Route("/api/importance", importance, methods=["POST"]),
        Route("/api/write", write, methods=["POST"]),
        Route("/api/compare", compare, methods=["POST"]),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=hosts, headers=HEADERS)],
        exception_handlers={TooLongError: _too_long, **_sentences()},
    )


def _container(data: ViewData) -> Response:
    return Response(data.container(), media_type="application/octet-stream")


def _script(request: Request) -> Response:
    return Response(bundle(), media_type="text/javascript; charset=utf-8")


def _too_long(request: Request, error: Exception) -> Response:
    assert isinstance(error, TooLongError)
    body = {"error": str(error), "tokens": error.tokens, "limit": error.limit}
    return JSONResponse(body, status_code=413)


def _sentences() -> dict[Any, Callable[[Request, Exception], Response]]:
    """Statuses for each kind of mistake; an unforeseen one is not spelled out to the browser."""

    def answer(
        status: int, sentence: str | None = None
    ) -> Callable[[Request, Exception], Response]:
        def handler(request: Request, error: Exception) -> Response:
            return JSONResponse({"error": sentence or str(error)}, status_code=status)

        return handler

    return {
        ReadingGoneError: answer(404),
        WritingGoneError: answer(404),
        BadInput: answer(400),
        HeadscopeError: answer(500),
        404: answer(404, "There is nothing at this address."),
        405: answer(405, "This address does not take such requests."),
        Exception: answer(500, "Something went wrong in the app; its terminal says what."),
    }
