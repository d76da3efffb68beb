"""`headscope app`, and `headscope` alone: open the app."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.shared import options
from headscope.cli.shared.console import err
from headscope.errors import BadInput, HeadscopeError
from headscope.surfaces.tour import read_tour

if TYPE_CHECKING:
    import socket

    from headscope.surfaces.app.models import Models

LOOPBACK = "127.0.0.1"
LOCAL = frozenset({LOOPBACK, "localhost", "::1"})
EVERYWHERE = ("0.0.0.0", "::")
PORT = 8311
UNTIL_SEEN = 1.0  # seconds in which an open page reads why the app could not start


def register(app: typer.Typer) -> None:
    app.command("app")(open_app)


def open_app(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model the app may open; of several the first is opened, of two both, compared.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on, such as 0.0.0.0 for other machines.")
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = PORT,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name by which others reach this machine, when --host is not loopback."
        ),
    ] = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    atlas: Annotated[
        str | None, typer.Option(help="An atlas of the first model, to go to and back.")
    ] = None,
    tour: Annotated[
        str | None,
        typer.Option(help="A file of saved states to show one by one; bundled: a first lesson."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Open the app: type a sentence or two, look at every head.

    Examples:

      headscope app

      headscope app --model bert-base-uncased --port 8400

      headscope app --model bert-base-uncased --model bert-base-cased
    """
    if atlas is not None and not Path(atlas).exists():
        raise BadInput(f"There is no atlas {atlas}; make one with `headscope atlas`.")
    if tour is not None:
        read_tour(tour)
    listening = _listen(host, port)
    token = None if host in LOCAL else secrets.token_urlsafe(16)
    where = _address(host, listening.getsockname()[1], token)
    err.print(
        f"headscope is starting at {where}  (Ctrl-C stops it)", highlight=False, soft_wrap=True
    )
    hosts = {*LOCAL, host, *_own_names(host), *(allow_host or [])} - set(EVERYWHERE)
    serve(
        listening,
        hosts,
        model or [],
        token,
        where if browser else None,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        atlas=atlas,
        tour=tour,
    )


def serve(
    listening: socket.socket,
    hosts: set[str],
    models: list[str],
    token: str | None,
    open_at: str | None,
    *,
    device: str | None = None,
    dtype: str | None = None,
    trust_remote_code: bool = False,
    atlas: str | None = None,
    tour: str | None = None,
) -> None:
    """The page answers at once; torch and the models load in the background."""
    import threading

    import uvicorn

    from headscope.cli.shared.console import say_error
    from headscope.surfaces.app.front import HEADERS, STARTING, Front, Stage
    from headscope.surfaces.app.guard import Application, Guard

    failures: list[Exception] = []
    plain = not models and atlas is None and tour is None and device is None and dtype is None

    def make(stage: Stage) -> Application:
        from headscope.atlas.atlas import Atlas
        from headscope.surfaces.app.first import made
        from headscope.surfaces.app.models import Models
        from headscope.surfaces.app.server import routes_over
        from headscope.surfaces.app.session import session_over

        known = Models(models, device, dtype, trust_remote_code=trust_remote_code)
        stage.doing = f"opening {known.default}"
        steps = () if tour is None else read_tour(tour)
        try:
            known.scope(known.default)
            session = session_over(known, None if atlas is None else Atlas.load(atlas), steps)
            session.against = known.second
        except (HeadscopeError, OSError) as error:  # the command fails with it
            failures.append(error)
            threading.Timer(UNTIL_SEEN, stop).start()
            raise
        if plain:
            with contextlib.suppress(HeadscopeError):  # the page shows it at its next request
                made(session)
        stage.doing = None
        threading.Thread(target=open_others, args=(known,), name=STARTING, daemon=True).start()
        return routes_over(session)

    def open_others(known: Models) -> None:
        for name in known:
            if error := known.open(name):
                say_error(f"{name} cannot be opened: {error}")

    def stop() -> None:
        server.should_exit = True

    app = Guard(Front(make, with_first=plain), hosts, HEADERS, token)
    server = uvicorn.Server(uvicorn.Config(app, **settings()))
    if open_at is not None:
        import webbrowser

        threading.Timer(0.1, webbrowser.open, [open_at]).start()
    server.run(sockets=[listening])
    if failures:
        raise failures[0]


def settings() -> dict[str, Any]:
    """How uvicorn serves the app; a half-sent request must not hold up Ctrl-C."""
    return {
        "log_level": "warning",
        "access_log": False,
        "lifespan": "off",
        "timeout_graceful_shutdown": 2,
        "timeout_keep_alive": 15,
    }


def _address(host: str, port: int, token: str | None) -> str:
    """The address to open: one of this machine's, with the token if one is needed."""
    import socket

    name = "localhost" if host == LOOPBACK else socket.gethostname() if host in EVERYWHERE else host
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}" + ("" if token is None else f"/?token={token}")


def _own_names(host: str) -> set[str]:
    """The names and addresses by which others reach this machine when it listens everywhere."""
    import socket

    if host not in EVERYWHERE:
        return set()
    name = socket.gethostname()
    found = {name.lower()}
    with contextlib.suppress(OSError):  # if its own name cannot be resolved, use --allow-host
        found |= {str(entry[4][0]).split("%")[0] for entry in socket.getaddrinfo(name, None)}
    return found


def _listen(host: str, port: int) -> socket.socket:
    """Open the port now, so that a taken one raises an error of one sentence."""
    import socket

    if not host.strip():
        raise BadInput("--host is an address to listen on, such as 127.0.0.1 or 0.0.0.0.")
    if not 0 <= port <= 65535:
        raise BadInput(f"A port is a number from 0 to 65535, not {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise HeadscopeError(
            f"{host}:{port} cannot be used ({reason}); choose another with --port."
        ) from error
    listening.listen(128)
    return listening
