"""The app under requests that nobody meant well: a sentence and a 4xx, headers always, no 500."""

from __future__ import annotations

import json
import random
import socket
import threading
import time

import pytest
import uvicorn
from starlette.testclient import TestClient

from headscope.cli.app import _listen, settings
from headscope.surfaces.app import Models, create_app
from headscope.surfaces.app.front import HEADERS, Front
from headscope.surfaces.app.guard import LOOPBACK, Guard
from tests.views.decoding import Container

ODD = [
    "", "-1", "²", "٣", "9" * 5000, "1e999", "nan", "inf", "-0", "0x10", "1.5", "null", "[]", "{}",
    "\ud800", "\x00", "a" * 3000, "../..", "<script>", "'; --", "0.0.0.0.0", "all", "true", " 1 ",
]  # fmt: skip
VALUES = [*ODD, None, True, -1, 10**30, 1.5, [], {}, [[]], ["encoder", 0, 0], {"a": {"b": []}}]
NAMES = [
    "view", "kind", "layer", "heads", "head", "query", "key", "columns", "marked", "minimum",
    "filter", "unit", "scale", "sort", "column", "find", "wrap", "theme", "reading", "other",
]  # fmt: skip

# every address that takes a body, and what else it is asked with
POSTED: dict[str, dict[str, object]] = {
    "read": {}, "mask": {}, "predict": {}, "importance": {}, "tokens": {}, "compare": {},
    "attribute": {"target": "cat"}, "weigh": {"by": "norm", "target": "cat"}, "write": {"count": 2},
    "cancel": {"ticket": "x" * 9},
    "media": {"media": "image", "name": "a.png", "data": "iVBORw0KGgo="},
    "wanted": {"answer": "cat", "edits": ["emphasis-decoder-1-2-4", "weight-decoder-0.1-2-1-0.5"]},
    "writers": {"kind": "encoder", "layer": 0, "head": 0, "query": 1, "key": 2},
    "score": {"kind": "encoder", "layer": 0, "head": 0, "query": 1, "key": 2},
    "atlas/nearest": {"kind": "encoder", "layer": 0, "head": 0, "query": 1},
    "atlas/estimate": {"model": "nosuch"}, "atlas/build": {"model": "nosuch"},  # else it builds
}  # fmt: skip

ATLAS = ("atlas", "atlas/file", "atlas/text")


@pytest.fixture(scope="module")
def models(request):
    return Models(
        ["tiny", "writer"],
        scopes={
            "bundled": request.getfixturevalue("tiny_bert"),
            "tiny": request.getfixturevalue("tiny_bert"),
            "writer": request.getfixturevalue("tiny_llama"),
        },
    )


@pytest.fixture(scope="module")
def client(models):
    return TestClient(
        create_app(models), base_url="http://localhost:8311", raise_server_exceptions=False
    )


def kept(client) -> str:
    asked = {"model": "tiny", "text": "the cat sat", "text_pair": None, "off": []}
    return Container(client.post("/api/read", json=asked).content).header["id"]


def requests(name: str, count: int, seed: int = 7):
    """Method, address, body and headers, by chance but always the same."""
    chance = random.Random(seed)

    def odd() -> str:
        text = chance.choice(ODD)
        return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))

    for _ in range(count):
        where = chance.choice([*POSTED, "layer", "head", "export", "queue", *ATLAS])
        headers = {}
        if chance.random() < 0.15:
            name_of = chance.choice(["host", "origin", "content-length", "cookie", "content-type"])
            headers[name_of] = chance.choice(
                ["[::1].evil.com", "http://[", "évil", "-5", "x" * 900]
            )
        if where in ("layer", "head"):
            parts = [chance.choice([name, odd()]), chance.choice(["encoder", odd()]), odd()]
            tail = f"/{odd()}" if where == "head" else f"?head={odd()}"
            address = f"/api/reading/{parts[0]}/{where}/{parts[1]}/{parts[2]}{tail}"
            yield chance.choice(["GET", "GET", "PUT"]), address, None, headers
        elif where == "export":
            query = "&".join(f"{one}={odd()}" for one in chance.sample(NAMES, 3))
            kind = chance.choice(["svg", "png", "html", odd()])
            yield "GET", f"/api/reading/{name}/export?format={kind}&{query}", None, headers
        elif where in ("queue", *ATLAS):
            tail = f"/{odd()}" if where in ("queue", "atlas/text") else ""
            model = chance.choice(["tiny", odd()])
            yield "GET", f"/api/{where}{tail}?model={model}&kind={odd()}", None, headers
        else:
            model = chance.choice(["tiny", "writer"])
            body = {"model": model, "text": "the cat", "text_pair": None, "off": [], "id": name,
                    "edits": [], "other": name, **POSTED[where]}  # fmt: skip
            for one in chance.sample([*body, "layer", "truncate", "ticket"], 2):
                body[one] = chance.choice(VALUES)
            content = json.dumps(body).encode()
            if chance.random() < 0.2:
                content = content[: chance.randrange(len(content))] + chance.choice([b"", b"\xff"])
            yield "POST", f"/api/{where}", content, headers


@pytest.mark.parametrize(
    ("count", "seed"), [(700, 7), pytest.param(1600, 26, marks=pytest.mark.slow)]
)
def test_odd_requests_get_no_500_and_always_the_policy(client, count, seed):
    name = kept(client)
    worst = []
    for method, address, body, headers in requests(name, count, seed):
        plain = {key: value.encode("latin-1") for key, value in headers.items()}
        reply = client.request(method, address, content=body, headers=plain)
        if reply.status_code >= 500:
            worst.append((reply.status_code, method, address[:200], body, headers))
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        if reply.status_code >= 400:
            sentence = reply.json()["error"]
            assert sentence.endswith((".", "?")) and "\n" not in sentence, (address, sentence)
    assert worst == []


def test_every_address_of_the_app_is_among_the_odd_requests(client):
    """A route that nobody listed is one that nobody tried."""
    from headscope.surfaces.app.server import routes_over
    from headscope.surfaces.app.session import session_over

    asked = {one[1].split("?")[0] for one in requests("x", 700)}
    for route in routes_over(session_over(Models([]))).routes:
        path = route.path
        if path == "/api/models":  # nothing is handed over
            continue
        fixed = [part for part in path.split("/") if part and "{" not in part]
        assert any(all(part in one.split("/") for part in fixed) for one in asked), path


@pytest.mark.parametrize(
    "host",
    ["[::1].evil.com", "[::1]evil", "localhost:x", "localhost:1:2", "evil.com", "", "[", "é"],
)
def test_only_the_app_s_own_host_is_answered(client, host):
    reply = client.get("/", headers={"host": host.encode("latin-1")})
    assert reply.status_code == 400


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8311", "LOCALHOST:1"])
def test_loopback_is_answered_by_any_of_its_names(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


def test_an_app_beyond_loopback_asks_for_its_token_and_keeps_it_in_a_cookie(models):
    def make(stage):
        from headscope.surfaces.app.server import routes_over
        from headscope.surfaces.app.session import session_over

        stage.doing = None
        return routes_over(session_over(models))

    app = Guard(Front(make), {*LOOPBACK, "192.168.0.7"}, HEADERS, token="secret")
    client = TestClient(app, base_url="http://192.168.0.7:8311")
    assert client.get("/").status_code == 401
    assert client.get("/api/models", headers={"cookie": "headscope-token=wrong"}).status_code == 401
    first = client.get("/?token=secret")
    assert first.status_code == 200
    assert (
        "HttpOnly" in first.headers["set-cookie"]
        and "SameSite=Strict" in first.headers["set-cookie"]
    )
    assert client.get("/api/models").status_code == 200


def half_sent(models, patience: float) -> tuple[socket.socket, uvicorn.Server, threading.Thread]:
    """A request to a running app whose body does not come."""
    listening = _listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(models, patience=patience), **settings()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    held = socket.create_connection(listening.getsockname())
    held.sendall(b"POST /api/read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    return held, server, thread


def test_a_half_sent_request_does_not_last(models):
    held, server, thread = half_sent(models, patience=0.4)
    with held:
        assert b" 408 " in held.recv(400)
    server.should_exit = True
    thread.join(40)
    assert not thread.is_alive()


def test_a_half_sent_request_does_not_hold_up_the_end(models):
    held, server, thread = half_sent(models, patience=60)
    with held:
        time.sleep(0.2)
        begun = time.monotonic()
        server.should_exit = True
        thread.join(40)
        assert not thread.is_alive() and time.monotonic() - begun < 40, "it waited its patience out"
