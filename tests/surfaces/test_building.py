"""The app builds the atlas of a model that has none, says before how long it takes, and stops."""

from __future__ import annotations

import threading
import time

import pytest
from starlette.testclient import TestClient

import headscope as hs
from headscope.surfaces.app import Models
from headscope.surfaces.app.building import estimate, texts_of
from headscope.surfaces.app.server import routes_over
from headscope.surfaces.app.session import session_over

SENTENCES = ["the cat sat on the mat because it was tired", "a dog ran to the red house"]
TEXTS = [f"{one} and {two}" for one in SENTENCES for two in SENTENCES] * 5


@pytest.fixture
def client(tiny_bert, tiny_llama) -> TestClient:
    models = Models(["tiny", "writer"], scopes={"tiny": tiny_bert, "writer": tiny_llama})
    return TestClient(routes_over(session_over(models)), base_url="http://localhost")


def test_no_atlas_is_promised_that_is_not_there_and_the_built_one_is_the_command_s(
    client, tiny_llama, tmp_path
):
    assert client.get("/api/models").json()["atlases"] == []
    page = {"model": "writer"}
    none = client.get("/api/atlas", params=page)
    assert none.status_code == 400 and "No atlas of writer is open" in none.json()["error"]
    asked = {"model": "writer", "text": "\n\n".join(TEXTS)}
    said = client.post("/api/atlas/estimate", json=asked).json()
    assert said["texts"] == len(TEXTS) and said["seconds"] > 0
    built = client.post("/api/atlas/build", json=asked)
    assert built.json() == {"atlases": ["writer"]}
    assert client.get("/api/models").json()["atlases"] == ["writer"]
    assert client.get("/api/atlas", params=page).status_code == 200
    assert client.get("/api/atlas/text/0", params=page).json()["text"]
    path = tmp_path / "saved.atlas"
    path.write_bytes(client.get("/api/atlas/file", params=page).content)
    saved, made = hs.Atlas.load(path), hs.atlas(tiny_llama, TEXTS, segments="documents")
    assert saved.table.equals(made.table)


def test_a_build_reports_its_progress_and_is_cancelled(tiny_llama):
    models = Models(["writer"], scopes={"writer": tiny_llama})
    client = TestClient(routes_over(session_over(models)), base_url="http://localhost")
    asked = {"model": "writer", "text": "\n".join(TEXTS * 200), "ticket": "x" * 9}
    found: list = []
    building = threading.Thread(
        target=lambda: found.append(client.post("/api/atlas/build", json=asked))
    )
    building.start()
    shares: list[float] = []
    limit = time.monotonic() + 60
    while len(shares) < 3 and building.is_alive() and time.monotonic() < limit:
        done = models.queued("x" * 9).done
        if done and done not in shares:
            shares.append(done)
        time.sleep(0.01)
    assert shares == sorted(shares) and len(shares) == 3 and shares[-1] < 1
    assert models.take_back("x" * 9)
    building.join(60)
    assert found[0].status_code == 409
    assert client.get("/api/models").json()["atlases"] == []


def test_an_estimate_is_within_a_factor_of_three(tiny_llama):
    texts = "\n".join(TEXTS * 20)
    said = estimate(tiny_llama, texts)["seconds"]
    begun = time.monotonic()
    hs.atlas(tiny_llama, texts_of(texts), segments="documents", progress=False)
    taken = time.monotonic() - begun
    assert said / 3 < taken < 3 * said


def test_without_a_text_the_novels_of_the_package_are_read():
    assert len(texts_of("\n \n")) == 209
