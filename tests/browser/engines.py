"""Firefox and WebKit, driven by what they speak themselves: WebDriver BiDi, and WebDriver."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 60.0


class Absent(Exception):
    """The engine, or what drives it, is not installed."""


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Firefox:
    """One window of Firefox over WebDriver BiDi."""

    def __init__(self, port: int) -> None:
        import websocket

        self._last, self.errors = 0, list[str]()
        end = time.monotonic() + PATIENCE
        while True:
            try:
                address = f"ws://127.0.0.1:{port}/session"
                # Firefox answers only who comes from nowhere in particular
                self._socket = websocket.create_connection(
                    address, timeout=PATIENCE * 3, suppress_origin=True
                )
                break
            except (OSError, websocket.WebSocketException):
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        self._ask("session.new", {"capabilities": {}})
        self._window = self._ask("browsingContext.getTree", {})["contexts"][0]["context"]
        self._ask("session.subscribe", {"events": ["log.entryAdded"]})

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            reply = json.loads(self._socket.recv())
            if reply.get("method") == "log.entryAdded" and reply["params"]["level"] == "error":
                self.errors.append(reply["params"]["text"])
            if reply.get("id") == self._last:
                assert reply["type"] == "success", reply
                return reply["result"]

    def resize(self, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", {"context": self._window, "viewport": viewport})

    def open(self, url: str) -> None:
        asked = {"context": self._window, "url": url, "wait": "complete"}
        self._ask("browsingContext.navigate", asked)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression that may promise it; it travels as JSON."""
        asked = {
            "expression": f"(async () => JSON.stringify(await ({expression})) ?? 'null')()",
            "target": {"context": self._window},
            "awaitPromise": True,
        }
        found = self._ask("script.evaluate", asked)
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    def close(self) -> None:
        self._socket.close()


@contextlib.contextmanager
def firefox() -> Iterator[Firefox]:
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        raise Absent("Firefox is not installed; requirements/install-browser.sh all installs it")
    port = _free_port()
    with tempfile.TemporaryDirectory() as profile:
        command = [path, "--headless", "--no-remote", "--profile", profile]
        command += ["--remote-debugging-port", str(port)]
        environment = {**os.environ, "MOZ_DISABLE_CONTENT_SANDBOX": "1", "HOME": profile}
        running = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            window = Firefox(port)
            yield window
            window.close()
        finally:
            running.terminate()
            running.wait(20)


class WebKit:
    """One window of WebKitGTK's MiniBrowser over WebDriver."""

    def __init__(self, port: int) -> None:
        self.errors: list[str] = []
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE * 3)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._client.get("/status")
                break
            except httpx.TransportError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        wanted = {"capabilities": {"alwaysMatch": {}}}
        reply = self._client.post("/session", json=wanted).json()["value"]
        if "sessionId" not in reply:
            raise Absent(f"WebKit could not be started: {reply.get('message', reply)}")
        self._home = f"/session/{reply['sessionId']}"
        timeouts = {"script": int(PATIENCE * 3000), "pageLoad": int(PATIENCE * 1000)}
        self._ask("/timeouts", timeouts)

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        reply = self._client.post(self._home + path, json=body).json()["value"]
        assert not (isinstance(reply, dict) and "error" in reply), reply
        return reply

    def resize(self, width: int, height: int) -> None:
        self._ask("/window/rect", {"width": width, "height": height})

    def open(self, url: str) -> None:
        self._ask("/url", {"url": url})

    def evaluate(self, expression: str) -> Any:
        script = (
            "const done = arguments[arguments.length - 1];"
            f"(async () => JSON.stringify(await ({expression})) ?? 'null')()"
            ".then(done, error => done(JSON.stringify({failed: String(error)})));"
        )
        found = json.loads(self._ask("/execute/async", {"script": script, "args": []}))
        assert not (isinstance(found, dict) and "failed" in found), found
        return found

    def close(self) -> None:
        self._client.delete(self._home)


@contextlib.contextmanager
def webkit() -> Iterator[WebKit]:
    path = shutil.which("WebKitWebDriver")
    if path is None:
        raise Absent("WebKit is not installed; requirements/install-browser.sh all installs it")
    with contextlib.ExitStack() as stack:
        environment = {**os.environ, "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"}
        environment |= {"WEBKIT_DISABLE_COMPOSITING_MODE": "1", "NO_AT_BRIDGE": "1"}
        if not os.environ.get("DISPLAY"):
            screen = shutil.which("Xvfb")
            if screen is None:
                raise Absent("WebKit needs a display, and Xvfb is not installed")
            number = 90 + os.getpid() % 500
            command = [screen, f":{number}", "-screen", "0", "1600x1200x24"]
            stack.enter_context(_running(command, {}))
            end = time.monotonic() + 20
            while not Path(f"/tmp/.X11-unix/X{number}").exists() and time.monotonic() < end:
                time.sleep(0.1)
            environment["DISPLAY"] = f":{number}"
        port = _free_port()
        stack.enter_context(_running([path, f"--port={port}"], environment))
        window = WebKit(port)
        yield window
        window.close()


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    quiet = subprocess.DEVNULL
    running = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=quiet, stderr=quiet
    )
    try:
        yield
    finally:
        running.terminate()
        running.wait(20)


ENGINES = {"firefox": firefox, "webkit": webkit}
