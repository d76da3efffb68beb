"""An app behind a real server on loopback, for as long as somebody looks at it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from headscope.cli.app import _listen


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of the app."""
    listening = _listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://localhost:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
