"""The app's first screen on the bundled model, stored in the package and shown while torch is
imported.

`python -m headscope.surfaces.app.first` writes it from the model's own answers, and a test compares
the two. Reading it needs only the standard library.
"""

from __future__ import annotations

import json
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from headscope.surfaces.app.session import Session

FILE = Path(__file__).with_name("first_example.zip")
ID = "first-example"  # of its reading, which the model makes after it opens
PREDICT = "POST /api/predict"


@lru_cache
def stored() -> dict[str, bytes]:
    """The answers by method and address, and under "asked" the requested reading."""
    with zipfile.ZipFile(FILE) as file:
        return {name: file.read(name) for name in file.namelist()}


def answer(method: str, path: str, body: bytes) -> bytes | None:
    """The answer to a request of the first screen; None for any other."""
    name = f"{method} {path}"
    found = stored().get(name)
    if found is None or method == "GET":
        return found
    asked = {"id": ID} if name == PREDICT else json.loads(stored()["asked"])
    try:
        given = json.loads(body)
    except ValueError:
        return None
    if not isinstance(given, dict):
        return None
    said = {key: one for key, one in cast("dict[str, Any]", given).items() if one not in (None, [])}
    said.pop("ticket", None)
    return found if said == asked else None


def made(session: Session) -> dict[str, bytes]:
    """The same from the model, which stores the reading under this id."""
    import msgspec

    from headscope.surfaces.app.examples import EXAMPLES
    from headscope.surfaces.app.models import BUNDLED
    from headscope.surfaces.app.request import HeadAddress, HeadsOffRequest, ReadRequest

    example = EXAMPLES[session.models.entry(BUNDLED)["examples"][0]]
    request = ReadRequest(model=BUNDLED, text=example.text, text_pair=example.text_pair)
    data = session.read(request, ID)
    state = data.header["state"]
    at = HeadAddress(id=ID, kind=state["kind"], layer=state["layer"], head=state["head"])
    head = f"GET /api/reading/{ID}/head/{at.kind}/{at.layer}/{at.head}"
    asked = {"model": BUNDLED, "text": example.text, "text_pair": example.text_pair}
    return {
        "asked": msgspec.json.encode({key: one for key, one in asked.items() if one}),
        "GET /api/models": msgspec.json.encode(session.welcome()),
        "POST /api/read": data.container(),
        head: msgspec.json.encode(session.head(at)),
        PREDICT: msgspec.json.encode(session.predict(HeadsOffRequest(id=ID))),
    }


def write() -> None:
    from headscope.surfaces.app.models import BUNDLED, Models
    from headscope.surfaces.app.session import session_over

    models = Models([])
    models.open(BUNDLED)
    with zipfile.ZipFile(FILE, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in made(session_over(models)).items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    write()
