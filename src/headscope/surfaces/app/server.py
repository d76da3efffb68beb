"""The app's routes. Every answer to a mistake is JSON with one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headscope.atlas.atlas import Atlas
from headscope.atlas.bundled import bundled_atlas
from headscope.errors import BadInput, HeadscopeError
from headscope.reading.collecting.interrupting import Interrupted
from headscope.surfaces.app.atlas import OpenedAtlas
from headscope.surfaces.app.attributions import target_of, weighting_of
from headscope.surfaces.app.export import export
from headscope.surfaces.app.front import HEADERS, Front, Stage
from headscope.surfaces.app.guard import LOOPBACK, Application, Guard
from headscope.surfaces.app.models import BUNDLED, Models
from headscope.surfaces.app.readings import ReadingGoneError
from headscope.surfaces.app.request import (
    fields,
    media_request,
    off_heads,
    read_request,
    reading_id,
    ticket,
    write_request,
)
from headscope.surfaces.app.session import Session, TooLongError
from headscope.surfaces.app.writing import WritingGoneError
from headscope.views import ViewData
from headscope.views.wire.address import whole


def create_app(models: Models, hosts: Collection[str] = LOOPBACK) -> Application:
    """The app over these models, answering to these hosts only."""

    def make(stage: Stage) -> Application:
        stage.doing = None
        return routes_over(session_over(models))

    return Guard(Front(make), hosts=hosts, headers=HEADERS)


def session_over(models: Models, atlas: Atlas | None = None) -> Session:
    """With the atlas given, or with the one that comes with the bundled model."""
    if atlas is None and models.default == BUNDLED:
        atlas = bundled_atlas()
    return Session(models, opened_atlas=None if atlas is None else OpenedAtlas(atlas, models))


def routes_over(session: Session) -> Starlette:
    """Everything that needs a model."""

    async def read(request: Request) -> Response:
        asked = read_request(await request.body())
        return _container(await run_in_threadpool(session.read, asked))

    async def media(request: Request) -> Response:
        asked = await run_in_threadpool(media_request, await request.body())
        return _container(await run_in_threadpool(session.read, asked))

    async def tokens(request: Request) -> Response:
        asked = read_request(await request.body())
        return _json(await run_in_threadpool(session.tokens, asked))

    async def predict(request: Request) -> Response:
        found = fields(await request.body())
        asked = reading_id(found), off_heads(found)
        return _json(await run_in_threadpool(session.predict, *asked))

    async def attribute(request: Request) -> Response:
        found = fields(await request.body())
        asked = reading_id(found), target_of(found)
        return _container(await run_in_threadpool(session.attribute, *asked))

    async def weigh(request: Request) -> Response:
        found = fields(await request.body())
        asked = reading_id(found), weighting_of(found), target_of(found)
        return _container(await run_in_threadpool(session.weigh, *asked))

    async def importance(request: Request) -> Response:
        found = fields(await request.body())
        asked = reading_id(found), off_heads(found)
        return _json(await run_in_threadpool(session.importance, *asked))

    async def write(request: Request) -> Response:
        asked = write_request(await request.body())
        return _json(await run_in_threadpool(session.write, asked))

    async def compare(request: Request) -> Response:
        found = fields(await request.body())
        asked = reading_id(found), reading_id(found, "other")
        return _json(await run_in_threadpool(session.compare, *asked))

    async def cancel(request: Request) -> Response:
        return _json(session.cancel(ticket(fields(await request.body()))))

    async def place(request: Request) -> Response:
        return _json(session.place(request.path_params["ticket"]))

    def welcome(request: Request) -> Response:
        return _json(session.welcome())

    def atlas_page(request: Request) -> Response:
        return _container(session.atlas().page())

    async def open_atlas(request: Request) -> Response:
        return _json(await run_in_threadpool(session.open_atlas, await request.body()))

    def atlas_text(request: Request) -> Response:
        number = whole(request.path_params["document"], "document")
        return _json(session.atlas().text(number))

    def layer(request: Request) -> Response:
        place = request.path_params
        head = request.query_params.get("head")
        asked = None if head is None else whole(head, "head")
        number = whole(place["layer"], "layer")
        return _container(session.layer(place["id"], place["kind"], number, asked))

    def head(request: Request) -> Response:
        place = request.path_params
        layer, head = whole(place["layer"], "layer"), whole(place["head"], "head")
        return _json(session.head(place["id"], place["kind"], layer, head))

    def export_reading(request: Request) -> Response:
        asked = dict(request.query_params)
        kept = session.readings.get(request.path_params["id"])
        other = session.readings.get(asked["other"]) if asked.get("other") else None
        data, kind, name = export(kept, asked, other)
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(data, media_type=kind, headers=disposition)

    reading = "/api/reading/{id:str}"
    routes = [
        Route("/api/models", welcome),
        Route("/api/atlas", atlas_page),
        Route("/api/atlas", open_atlas, methods=["POST"]),
        Route("/api/atlas/text/{document:str}", atlas_text),
        Route("/api/read", read, methods=["POST"]),
        Route("/api/media", media, methods=["POST"]),
        Route("/api/queue/{ticket:str}", place),
        Route("/api/cancel", cancel, methods=["POST"]),
        Route("/api/tokens", tokens, methods=["POST"]),
        Route(reading + "/layer/{kind:str}/{layer:str}", layer),
        Route(reading + "/head/{kind:str}/{layer:str}/{head:str}", head),
        Route(reading + "/export", export_reading),
        Route("/api/predict", predict, methods=["POST"]),
        Route("/api/importance", importance, methods=["POST"]),
        Route("/api/write", write, methods=["POST"]),
        Route("/api/compare", compare, methods=["POST"]),
        Route("/api/attribute", attribute, methods=["POST"]),
        Route("/api/weigh", weigh, methods=["POST"]),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={TooLongError: _too_long, **_sentences()},
    )


def _container(data: ViewData) -> Response:
    return Response(data.container(), media_type="application/octet-stream")


def _json(body: Any) -> Response:
    return JSONResponse(_finite(body))


def json_answer(body: Any) -> bytes:
    """As it is sent."""
    return bytes(_json(body).body)


def _finite(body: Any) -> Any:
    """JSON knows no such number as NaN: what could not be measured is null."""
    if isinstance(body, float):
        return body if math.isfinite(body) else None
    if isinstance(body, dict):
        return {key: _finite(value) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [_finite(value) for value in body]
    return body


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
        Interrupted: answer(409),
        BadInput: answer(400),
        HeadscopeError: answer(422),
        404: answer(404, "There is nothing at this address."),
        405: answer(405, "This address does not take such requests."),
        Exception: answer(500, "Something went wrong in the app; its terminal says what."),
    }
