"""The first screen of a session: what its page will ask, and the answers."""

from __future__ import annotations

import contextlib
import json
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headscope.errors import HeadscopeError
from headscope.surfaces.app.examples import EXAMPLES
from headscope.surfaces.app.request import ReadRequest
from headscope.surfaces.app.server import json_answer
from headscope.surfaces.app.session import Session
from headscope.surfaces.app.start.kept import FirstScreen


def first_request(session: Session) -> ReadRequest | None:
    """The example that the page opens on; None where it opens on a picture, a sound or writing."""
    model = session.models.default
    entry = session.models.entry(model)
    if entry["sees"] or entry["hears"] or not entry["examples"]:
        return None
    example = EXAMPLES[entry["examples"][0]]
    if example.writes:
        return None
    return ReadRequest(model, example.text, example.text_pair, off=(), layer=None)


def _fields(request: ReadRequest) -> dict[str, Any]:
    """As JSON has them."""
    return json.loads(json.dumps(asdict(request)))


def first_screen(session: Session, name: str | None = None) -> FirstScreen | None:
    """Read what the page will ask for, under `name`, so that it is there when it is asked about."""
    request = first_request(session)
    if request is None:
        return None
    data = session.read(request, name or secrets.token_urlsafe(18))
    found, state = str(data.header["id"]), data.header["state"]
    at = state["kind"], state["layer"], state["head"]
    head = "/".join(str(part) for part in at)
    answers = {
        "GET /api/models": json_answer(session.welcome()),
        "POST /api/read": data.container(),
        f"GET /api/reading/{found}/head/{head}": json_answer(session.head(found, *at)),
        "POST /api/predict": json_answer(session.predict(found, ())),
    }
    return FirstScreen(found, _fields(request), answers)


def keep_screen(session: Session, path: Path) -> None:
    """For the next start; a model that cannot be opened says so to the page."""
    with contextlib.suppress(HeadscopeError, OSError):
        found = first_screen(session)
        if found is not None:
            found.save(path)


def taken_up(session: Session, kept: FirstScreen) -> bool:
    """The reading behind a kept screen is there now, and is the one that was shown.

    Where the model reads otherwise than it did, the kept id leads nowhere, and the page, told so
    at its next question, reads the text again.
    """
    request = first_request(session)
    if request is None or _fields(request) != kept.asked:
        return False
    shown = session.read(request, kept.id).container()
    if shown == kept.answers["POST /api/read"]:
        return True
    session.readings.let_go(kept.id)
    return False
