"""Start what people put views into, each in a folder and on a port of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "notebooks.md"
READ = """import numpy as np, headscope as hs
weights = np.zeros((2, 4, 3, 3), dtype="float32"); weights[..., 0] = 1
reading = hs.Reading.from_attention(weights, ["the", "cat", "sat"])"""
VIEW = "hs.head_view(reading, layer=0, heads=[1], labels=())"


def example(title: str) -> str:
    """The code that the page of notebooks and apps shows under a heading."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.S | re.M)
    assert section, f"The page has no heading {title}"
    code = re.search(r"```python\n(.*?)```", section[1], re.S)
    assert code, f"{title} has no example"
    return code[1]


def needed(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: make test-hosts brings it")


@contextlib.contextmanager
def served(
    arguments: Sequence[str], home: Path, alive: str, settings: dict[str, str] | None = None
) -> Iterator[str]:
    """`python` with these arguments ({port} is put in), until its address answers and after."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {name: value.format(port=port) for name, value in (settings or {}).items()}
    log = home / "server.log"
    with log.open("wb") as written:
        server = subprocess.Popen(
            [sys.executable, *(each.format(port=port) for each in arguments)],
            cwd=home,
            env={**os.environ, "HOME": str(home), **own},
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(480):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}{alive}", timeout=2)
                break
            assert server.poll() is None, log.read_text("utf-8", "replace")
            time.sleep(0.25)
        yield address
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:  # it is not ours, and what it showed was seen
            server.kill()
            server.wait()
