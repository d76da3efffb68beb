"""The app's routes. Every answer to a mistake is JSON with one sentence."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Collection
from typing import Any

import torch
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headscope.atlas.atlas import Atlas
from headscope.atlas.bundled import bundled_atlas
from headscope.errors import BadInput, HeadscopeError
from headscope.reading.collecting.collector import Interrupted
from headscope.surfaces.app.atlas import OpenedAtlas
from headscope.surfaces.app.attributions import target_of, weighting_of
from headscope.surfaces.app.front import HEADERS, Front, Stage
from headscope.surfaces.app.guard import LOOPBACK, Application, Guard
from headscope.surfaces.app.models import BUNDLED, Models
from headscope.surfaces.app.readings import ReadingGoneError
from headscope.surfaces.app.request import (
    fields,
    media_request,
    off_heads,
    place_in_reading,
    read_request,
    reading_id,
    ticket,
    write_request,
)
from headscope.surfaces.app.session import Session, TooLongError
from headscope.surfaces.app.writing import WritingGoneError
from headscope.views import ViewData
from headscope.views.wire.address import whole

NO_MEMORY = "The GPU has not enough memory for this; give a shorter text."


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
    return Starlette(
        routes=[*_of_models(session), *_of_texts(session), *_of_reading(session)],
        exception_handlers={TooLongError: _too_long, **_sentences()},
    )


def _of_models(session: Session) -> list[Route]:
    """What can be opened, the atlas, and work that waits or is called off."""

    def welcome(request: Request) -> Response:
        return _json(session.welcome())

    def atlas_page(request: Request) -> Response:
        return _container(session.atlas().page(request.query_params.get("kind")))

    def atlas_text(request: Request) -> Response:
        number = whole(request.path_params["document"], "document")
        return _json(session.atlas().text(number))

    async def cancel(request: Request) -> Response:
        return _json(session.cancel(ticket(fields(await request.body()))))

    def place(request: Request) -> Response:
        return _json(session.place(request.path_params["ticket"]))

    def place_on_screen(body: bytes) -> tuple[Any, ...]:
        found = fields(body)
        return reading_id(found), *place_in_reading(found)

    return [
        Route("/api/models", welcome),
        Route("/api/atlas", atlas_page),
        _posted("/api/atlas", _whole_body, session.open_atlas, _json),
        _posted("/api/atlas/nearest", place_on_screen, session.nearest, _json),
        Route("/api/atlas/text/{document:str}", atlas_text),
        Route("/api/queue/{ticket:str}", place),
        Route("/api/cancel", cancel, methods=["POST"]),
    ]


def _of_texts(session: Session) -> list[Route]:
    """What is asked of a text, or of a reading by its number, and takes the model's time."""

    def one_reading(body: bytes) -> tuple[Any, ...]:
        found = fields(body)
        return reading_id(found), off_heads(found)

    def target(body: bytes) -> tuple[Any, ...]:
        found = fields(body)
        return reading_id(found), target_of(found)

    def weighting(body: bytes) -> tuple[Any, ...]:
        found = fields(body)
        return reading_id(found), weighting_of(found), target_of(found)

    def two_readings(body: bytes) -> tuple[Any, ...]:
        found = fields(body)
        return reading_id(found), reading_id(found, "other")

    return [
        _posted("/api/read", lambda body: (read_request(body),), session.read, _container),
        _posted("/api/media", lambda body: (media_request(body),), session.read, _container),
        _posted("/api/tokens", lambda body: (read_request(body),), session.tokens, _json),
        _posted("/api/write", lambda body: (write_request(body),), session.write, _json),
        _posted("/api/predict", one_reading, session.predict, _json),
        _posted("/api/importance", one_reading, session.importance, _json),
        _posted("/api/compare", two_readings, session.compare, _json),
        _posted("/api/attribute", target, session.attribute, _container),
        _posted("/api/weigh", weighting, session.weigh, _container),
    ]


def _of_reading(session: Session) -> list[Route]:
    """What is fetched of a reading when it is looked at."""

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
        data, kind, name = session.export(request.path_params["id"], asked)
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(data, media_type=kind, headers=disposition)

    reading = "/api/reading/{id:str}"
    return [
        Route(reading + "/layer/{kind:str}/{layer:str}", layer),
        Route(reading + "/head/{kind:str}/{layer:str}/{head:str}", head),
        Route(reading + "/export", export_reading),
    ]


def _posted(
    address: str,
    parse: Callable[[bytes], tuple[Any, ...]],
    work: Callable[..., Any],
    reply: Callable[[Any], Response],
) -> Route:
    """An address that takes a body; what it asks for is done in a thread, so that others go on."""

    async def endpoint(request: Request) -> Response:
        body = await request.body()
        return reply(await run_in_threadpool(lambda: work(*parse(body))))

    return Route(address, endpoint, methods=["POST"])


def _whole_body(body: bytes) -> tuple[bytes]:
    return (body,)


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


def _no_memory(request: Request, error: Exception) -> Response:
    """The terminal says what it was wanted for; what torch keeps unused is given back."""
    traceback.print_exception(error, limit=-6)
    torch.cuda.empty_cache()
    return JSONResponse({"error": NO_MEMORY}, status_code=507)


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
        torch.OutOfMemoryError: _no_memory,
        404: answer(404, "There is nothing at this address."),
        405: answer(405, "This address does not take such requests."),
        Exception: answer(500, "Something went wrong in the app; its terminal says what."),
    }
