"""`headscope app`, and `headscope` alone: open the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.console import err
from headscope.errors import BadInput, HeadscopeError

if TYPE_CHECKING:
    import socket

LOOPBACK = "127.0.0.1"
PORT = 8311


def register(app: typer.Typer) -> None:
    app.command("app")(open_app)


def open_app(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="A model the app may open; may be given several times."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; loopback unless told.")
    ] = LOOPBACK,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = PORT,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name by which others reach this machine, when --host is not loopback."
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Open the app: type a sentence or two, look at every head.

    Examples:

      headscope app

      headscope app --model bert-base-uncased --port 8400
    """
    listening = _listen(host, port)
    where = f"http://{'localhost' if host == LOOPBACK else host}:{listening.getsockname()[1]}"
    err.print(f"headscope is starting at {where}  (Ctrl-C stops it)", highlight=False)
    serve(listening, host, model or [], allow_host or [], device, where if browser else None)


def serve(
    listening: socket.socket,
    host: str,
    models: list[str],
    allowed: list[str],
    device: str | None,
    open_at: str | None,
) -> None:
    import threading

    import uvicorn

    from headscope.surfaces.app import Models, create_app
    from headscope.surfaces.app.guard import LOOPBACK as LOCAL_NAMES

    known = Models(models, device)
    threading.Thread(target=known.open_all, daemon=True).start()
    hosts = {*LOCAL_NAMES, host, *allowed} - {"0.0.0.0", "::"}
    config = uvicorn.Config(create_app(known, hosts), log_level="warning", access_log=False)
    if open_at is not None:
        import webbrowser

        threading.Timer(0.5, webbrowser.open, [open_at]).start()
    uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """Take the port now, so that a taken one is said in a sentence."""
    import socket

    if not 0 <= port <= 65535:
        raise BadInput(f"A port is a number from 0 to 65535, not {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        reason = error.strerror or str(error)
        raise HeadscopeError(
            f"{host}:{port} cannot be used ({reason}); choose another with --port."
        ) from error
    listening.listen(128)
    return listening
