"""The page's requests as typed models; an invalid body is answered with one sentence.

The page's own types are generated from these (`make types`).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec

from headscope.capture import Kind
from headscope.edits.live import Change
from headscope.errors import BadInput
from headscope.views.shared.state import Whole, Words

MOST_CHARACTERS = 200_000
MOST_MEDIA = 12_000_000  # bytes of a picture or a sound

OffHead = tuple[Kind, Whole, Whole]  # a head that is switched off: kind, layer, head
OffHeads = Annotated[tuple[OffHead, ...], msgspec.Meta(max_length=4096)]
Edits = Annotated[tuple[Words, ...], msgspec.Meta(max_length=256)]
Ticket = Annotated[str, msgspec.Meta(min_length=8, max_length=64)]
Target = Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
Asked = TypeVar("Asked", bound=msgspec.Struct)


class GivenDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A document for a question or, with a role, a message before it."""

    text: str
    title: str = ""
    role: Literal["system", "user", "assistant"] | None = None


Given = Annotated[tuple[GivenDocument, ...], msgspec.Meta(max_length=200)]


class ReadRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/read and /api/tokens. The answer is a container; status 413 for too long a text."""

    model: Words
    text: str
    text_pair: str | None = None
    off: OffHeads = ()
    edits: Edits = ()
    """Emphasis and weights set by hand, as the address spells them."""
    layer: Whole | None = None
    """The layer that travels along; the others are fetched."""
    truncate: bool = False
    """Read only as many tokens as the model takes."""
    writing: Words | None = None
    """A text the model wrote, by its id, in place of the text."""
    ticket: Ticket | None = None
    """By which the page asks for its rank in the queue, or cancels the request."""
    documents: Given = ()
    """With these the text is a question, and the second text its answer, if any."""

    def __post_init__(self) -> None:
        whole = "".join(one.text for one in self.documents)
        check_length(self.text, self.text_pair or "", whole)


class MediaReadRequest(ReadRequest, kw_only=True, frozen=True):
    """POST /api/media: an example by its name, or a file as base64; the text may be empty."""

    media: Literal["image", "audio", "example"]
    name: Words
    data: str = ""


class WriteRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/write: begin a text, or continue the one of that id."""

    count: Whole
    writing: Words | None = None
    model: Words = ""
    text: str = ""
    off: OffHeads = ()
    edits: Edits = ()
    """Emphasis and weights set by hand, as the address spells them."""

    def __post_init__(self) -> None:
        check_length(self.text)


class HeadsOffRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/predict and /api/importance."""

    id: Words
    off: OffHeads = ()
    edits: Edits = ()
    """Emphasis and weights set by hand, as the address spells them."""


class WantedRequest(HeadsOffRequest, kw_only=True, frozen=True):
    """POST /api/wanted: the probability of an answer after the text, with and without the edits."""

    answer: Target


class AttributeRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/attribute."""

    id: Words
    target: Target | None = None
    """null: the likeliest token; with `token`, the one that stands there."""
    rather: Target | None = None
    """The answer it is set against."""
    token: Whole | None = None
    """The token that is explained; null: what the model says next, or at its first mask."""


class MaskRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/mask: the text with the word of a token masked."""

    id: Words
    token: Whole


class WeighRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/weigh."""

    id: Words
    target: Target | None = None
    """null: the likeliest token."""
    by: Literal["norm", "logit"]


class CompareRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/compare."""

    id: Words
    other: Words


class NearestRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/atlas/nearest: a head's query in a reading."""

    id: Words
    kind: Kind
    layer: Whole
    head: Whole
    query: Whole


class WritersRequest(NearestRequest, kw_only=True, frozen=True):
    """POST /api/writers and /api/score: the writers of a head's query and of a key."""

    key: Whole | None = None
    """null: the key that the query looks at most, special tokens and a decoder's first left out."""


class BuildRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/atlas/estimate and /api/atlas/build."""

    model: Words
    text: str = ""
    """A text a line; "": the novels in the package."""
    ticket: Ticket | None = None


class CancelRequest(msgspec.Struct, kw_only=True, frozen=True):
    """POST /api/cancel."""

    ticket: Ticket


class HeadAddress(msgspec.Struct, kw_only=True, frozen=True):
    """GET /api/reading/{id}/layer/{kind}/{layer}?head= and …/head/{kind}/{layer}/{head}."""

    id: Words
    kind: Kind
    layer: Whole
    head: Whole | None = None


class AtlasAddress(msgspec.Struct, kw_only=True, frozen=True):
    """GET /api/atlas?model=&kind= and /api/atlas/file?model=."""

    model: Words
    kind: str | None = None
    """null: the first kind of its heads."""


class TextAddress(msgspec.Struct, kw_only=True, frozen=True):
    """GET /api/atlas/text/{document}?model=."""

    model: Words
    document: Whole


def changes_of(request: ReadRequest | WriteRequest | HeadsOffRequest) -> tuple[Change, ...]:
    """The heads that are off, and the other edits."""
    return (*request.off, *request.edits)


def check_length(*texts: str) -> None:
    for text in texts:
        if len(text) > MOST_CHARACTERS:
            raise ValueError(
                f"The app reads texts of up to {MOST_CHARACTERS:,} characters; this one has "
                f"{len(text):,}. Use headscope view for longer ones."
            )


def decoded(body: bytes, model: type[Asked]) -> Asked:
    """Decode a JSON body, or raise an error of one sentence."""
    try:
        return msgspec.json.decode(body, type=model)
    except msgspec.ValidationError as error:
        raise _malformed(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput("The request is not valid JSON.") from error


def addressed(given: dict[str, str], model: type[Asked]) -> Asked:
    """Decode the parts of an address, which are all text."""
    try:
        return msgspec.convert(given, model, strict=False)
    except msgspec.ValidationError as error:
        raise _malformed(error) from error


def _malformed(error: msgspec.ValidationError) -> BadInput:
    if isinstance(error.__cause__, ValueError):  # an error of headscope
        return BadInput(str(error.__cause__))
    said = " ".join(str(error).replace(" - at `$.", " at `").replace(" - at `$`", "").split())
    return BadInput(f"The request is malformed: {said[0].lower()}{said[1:300]}.")
