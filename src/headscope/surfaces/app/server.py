"""The app's routes. Every answer to a mistake is JSON with one sentence."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import torch
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headscope.errors import BadInput, HeadscopeError
from headscope.reading.collecting.collector import Interrupted
from headscope.surfaces.app import request as asked
from headscope.surfaces.app.front import HEADERS, Front, Stage
from headscope.surfaces.app.guard import LOOPBACK, PATIENCE, Application, Guard
from headscope.surfaces.app.kept import GoneError
from headscope.surfaces.app.models import Models
from headscope.surfaces.app.session import Session, TooLongError, session_over
from headscope.surfaces.app.turns import ABANDONED
from headscope.surfaces.tour import Step
from headscope.views import ViewData

NO_MEMORY = "The GPU has not enough memory for this; give a shorter text."
Answer = Callable[[Request, Exception], Response]


def create_app(
    models: Models,
    tour: Sequence[Step] = (),
    patience: float = PATIENCE,
) -> Application:
    """The app over these models, for this machine only, with an optional tour."""

    def make(stage: Stage) -> Application:
        stage.doing = None
        return routes_over(session_over(models, tour=tour))

    return Guard(Front(make), hosts=LOOPBACK, headers=HEADERS, patience=patience)


def routes_over(session: Session) -> Starlette:
    """The routes that need a model."""
    return Starlette(
        routes=[*_posted_routes(session), *_of_models(session), *_of_reading(session)],
        exception_handlers={TooLongError: _too_long, **_sentences()},
    )


def _posted_routes(session: Session) -> list[Route]:
    """Routes that run the model, and so wait for their turn."""
    table: list[tuple[str, type[msgspec.Struct], Callable[..., Any], Callable[[Any], Response]]] = [
        ("read", asked.ReadRequest, session.read, _container),
        ("media", asked.MediaReadRequest, session.read, _container),
        ("tokens", asked.ReadRequest, session.tokens, _json),
        ("write", asked.WriteRequest, session.write, _json),
        ("predict", asked.HeadsOffRequest, session.predict, _json),
        ("wanted", asked.WantedRequest, session.wanted, _json),
        ("importance", asked.HeadsOffRequest, session.importance, _json),
        ("compare", asked.CompareRequest, session.compare, _json),
        ("attribute", asked.AttributeRequest, session.attribute, _container),
        ("writers", asked.WritersRequest, session.writers, _json),
        ("score", asked.WritersRequest, session.score, _container),
        ("mask", asked.MaskRequest, session.mask, _json),
        ("weigh", asked.WeighRequest, session.weigh, _container),
        ("atlas/nearest", asked.NearestRequest, session.nearest, _json),
        ("atlas/estimate", asked.BuildRequest, session.atlas_estimate, _json),
        ("atlas/build", asked.BuildRequest, session.build_atlas, _json),
    ]
    return [
        _posted(f"/api/{name}", lambda _, body, m=model: asked.decoded(body, m), work, reply)
        for name, model, work, reply in table
    ] + [
        _posted(
            "/api/atlas",
            lambda query, body: (asked.addressed(query, asked.AtlasAddress).model, body),
            lambda given: session.open_atlas(*given),
            _json,
        )
    ]


def _of_models(session: Session) -> list[Route]:
    """Models, the atlas, and the queue, which answers even while all threads wait."""

    def welcome(request: Request) -> Response:
        return _json(session.welcome())

    def atlas_of(request: Request) -> asked.AtlasAddress:
        return asked.addressed(dict(request.query_params), asked.AtlasAddress)

    def atlas_page(request: Request) -> Response:
        asked_for = atlas_of(request)
        return _container(session.atlas(asked_for.model).page(asked_for.kind))

    def atlas_file(request: Request) -> Response:
        data = session.atlas(atlas_of(request).model).file()
        disposition = {"Content-Disposition": 'attachment; filename="built.atlas"'}
        return Response(data, media_type="application/zip", headers=disposition)

    def atlas_text(request: Request) -> Response:
        given = {**request.query_params, **request.path_params}
        found = asked.addressed(given, asked.TextAddress)
        return _json(session.atlas(found.model).text(found.document))

    async def cancel(request: Request) -> Response:
        ticket = asked.decoded(await request.body(), asked.CancelRequest).ticket
        return _json({"cancelled": session.models.take_back(ticket)})

    async def queue(request: Request) -> Response:
        return _json(session.models.queued(request.path_params["ticket"]))

    return [
        Route("/api/models", welcome),
        Route("/api/atlas", atlas_page),
        Route("/api/atlas/file", atlas_file),
        Route("/api/atlas/text/{document:str}", atlas_text),
        Route("/api/queue/{ticket:str}", queue),
        Route("/api/cancel", cancel, methods=["POST"]),
    ]


def _of_reading(session: Session) -> list[Route]:
    """Routes for parts of a reading, fetched when shown."""

    def at(request: Request) -> asked.HeadAddress:
        head = request.query_params.get("head")
        given = {} if head is None else {"head": head}
        return asked.addressed({**given, **request.path_params}, asked.HeadAddress)

    def layer(request: Request) -> Response:
        return _container(session.layer(at(request)))

    def head(request: Request) -> Response:
        return _json(session.head(at(request)))

    def export_reading(request: Request) -> Response:
        data, kind, name = session.export(request.path_params["id"], dict(request.query_params))
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
    parse: Callable[[dict[str, str], bytes], Any],
    work: Callable[[Any], Any],
    reply: Callable[[Any], Response],
) -> Route:
    """A route with a body; a thread does the work, which is cancelled if the client leaves."""

    async def endpoint(request: Request) -> Response:
        wanted = parse(dict(request.query_params), await request.body())
        abandoned = threading.Event()
        ABANDONED.set(abandoned)  # for this request alone, which has its own context
        working = asyncio.ensure_future(run_in_threadpool(work, wanted))
        leaving = asyncio.ensure_future(_left(request))
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            abandoned.set()
        leaving.cancel()
        return reply(await working)

    return Route(address, endpoint, methods=["POST"])


async def _left(request: Request) -> None:
    """Ends when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _container(data: ViewData) -> Response:
    return Response(data.container(), media_type="application/octet-stream")


def _json(body: Any) -> Response:
    """JSON knows no NaN: a number that could not be measured is null."""
    return Response(msgspec.json.encode(body), media_type="application/json")


def _too_long(request: Request, error: Exception) -> Response:
    assert isinstance(error, TooLongError)
    body = {"error": str(error), "tokens": error.tokens, "limit": error.limit}
    return JSONResponse(body, status_code=413)


def _no_memory(request: Request, error: Exception) -> Response:
    """Print the traceback to the terminal; torch frees unused memory."""
    traceback.print_exception(error, limit=-6)
    torch.cuda.empty_cache()
    return JSONResponse({"error": NO_MEMORY}, status_code=507)


def _sentences() -> dict[Any, Answer]:
    """A status for each kind of error; the browser gets no details of an unforeseen one."""

    def answer(status: int, sentence: str | None = None) -> Answer:
        def handler(request: Request, error: Exception) -> Response:
            return JSONResponse({"error": sentence or str(error)}, status_code=status)

        return handler

    return {
        GoneError: answer(404),
        Interrupted: answer(409),
        BadInput: answer(400),
        HeadscopeError: answer(422),
        torch.OutOfMemoryError: _no_memory,
        404: answer(404, "There is nothing at this address."),
        405: answer(405, "This address does not take such requests."),
        Exception: answer(500, "Something went wrong in the app; its terminal says what."),
    }
