"""A reading's data for the page, field by field: buffers, layers, tokens, parts.

`schema.py` has the rest of the header, and explains how these descriptions are used.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from headscope.capture import Kind


def typescript(text: str) -> msgspec.Meta:
    """The page's type, if a Python annotation is not precise enough."""
    return msgspec.Meta(extra={"typescript": text})


class Wire(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An object in a header; other fields are errors."""


class BufferReference(Wire, kw_only=True):
    buffer: str


class BufferEntry(Wire, kw_only=True):
    dtype: Literal["uint16", "uint8", "int8", "float32", "bit"]
    shape: list[int]
    offset: int
    bytes: int
    """Length as stored, that is after compression."""
    codec: Literal["raw", "deflate"]
    """deflate: raw deflate (RFC 1951, zlib wbits=-15)."""
    scale: float = 1.0
    """value = code * scale."""
    planes: bool = False
    """Multi-byte items as planes: all low bytes, then all high bytes (before compression)."""


class Weighting(Wire, kw_only=True):
    """The drawn value is weight × factor, at most 1; factors: (layers, heads, keys) of a part."""

    title: str
    parts: dict[Kind, BufferReference]


class Rotary(Wire, kw_only=True):
    """Neurons of q and k rotate in pairs: i with i + dim/2 ("halves"), or 2i with 2i+1."""

    pairing: Literal["halves", "neighbours"]
    dim: int | None
    """null: all of them."""
    start: int


class Piece(Wire, kw_only=True):
    """Heads that share their keys: maps (heads, t, s), q (heads, t, dim), k and v (1, s, dim)."""

    heads: list[int]
    maps: BufferReference | None = None
    q: BufferReference | None = None
    k: BufferReference | None = None
    v: BufferReference | None = None


# with d = i + (s - t) - j: "causal": visible when d >= 0; a window: when 0 <= d < window if causal,
# else when |d| < window; a buffer: bits (t, s) or (heads, t, s), 1 = may attend, numpy's
# packbits(bitorder="little") of the whole array flattened, no padding at row ends
Mask = Annotated[
    Literal["none", "causal"] | dict[str, int | bool | str],
    typescript('"none" | "causal" | { window: number; causal: boolean } | { buffer: string }'),
]


class Bias(Wire, kw_only=True):
    """dense: (heads | 1, t, s). relative: (heads | 1, t + s - 1), at index j - i + t - 1."""

    buffer: str
    form: Literal["dense", "relative"]


class Layer(Wire, kw_only=True):
    """One layer of a part. If `maps`, `q` and `k` are all null, the host fetches it."""

    scaling: float
    mask: Mask
    bias: Bias | None = None
    """Added to the scaled score."""
    softcap: float | None = None
    """score = softcap * tanh(score / softcap), after scaling, before bias and mask."""
    sinks: BufferReference | None = None
    """float32 (heads,): one extra logit per head that takes mass and is not a key."""
    maps: BufferReference | None = None
    """uint16 | uint8 | float32 (heads, t, s), weight = code * scale. Preferred when both exist."""
    q: BufferReference | None = None
    """float32 (heads, t, dim), after rotary."""
    k: BufferReference | None = None
    """float32 (groups, s, dim), after rotary, not repeated."""
    v: BufferReference | None = None
    """float32 (groups, s, size), where values were kept."""
    pieces: list[Piece] = []
    """Some heads alone, where a page has a budget or the text is long."""


class PlacesHeader(Wire, kw_only=True):
    """The regions of positions in pictures and in a sound."""

    kinds: BufferReference
    rectangles: BufferReference
    seconds: BufferReference
    pictures: BufferReference


class PictureHeader(BufferReference, kw_only=True):
    name: str
    width: int
    height: int


class TimedWord(Wire, kw_only=True):
    text: str
    tokens: tuple[int, int]
    start: float
    end: float


class SoundHeader(BufferReference, kw_only=True):
    name: str
    seconds: float
    rate: int
    words: list[TimedWord]
    """The transcript, each word where dynamic time warping puts it."""


class Tokens(Wire, kw_only=True):
    """All arrays have one entry per token."""

    text: list[str]
    class_: list[int] = msgspec.field(name="class")
    """0 CLS, 1 SEP, 2 other special, 3 punctuation, 4 word."""
    segment: list[int]
    """0 sentence A, 1 sentence B."""
    word: list[int]
    """Word number, -1 for specials."""
    continues: list[int]
    """1: continues the word of the token before."""
    written: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Each token as it stands in the text, with all that stands between it and the token before."""
    boundary: int | msgspec.UnsetType = msgspec.UNSET
    """The first token that the model wrote itself; absent: none."""
    places: PlacesHeader | msgspec.UnsetType = msgspec.UNSET
    """Where positions lie in a picture or a sound; absent: they are words."""


class Label(Wire, kw_only=True):
    layer: int
    head: int
    text: str
    score: float
    evidence: str = ""
    """"12 of 13 queries of this text", or "over 400 texts"; empty where it is not known."""
    rests: bool = False
    """The head looks where nothing is to be learnt, and does nothing else that was found."""


class Thumbnails(BufferReference, kw_only=True):
    """uint8 (layers, heads, rows, columns), max-pooled, 255 = weight 1."""

    size: tuple[int, int]
    """rows = min(28, t), columns = min(28, s)."""


class TokenSpan(Wire, kw_only=True):
    """Tokens from start up to (not including) end that belong to one span of a conversation."""

    name: str
    """A span that others interrupt stands here several times."""
    start: int
    end: int


class Part(Wire, kw_only=True):
    """One kind of attention in a reading."""

    kind: Kind
    layers: list[int]
    """Layer numbers present; per_layer, thumbnails and maps follow this order."""
    heads: int
    groups: int
    """Key/value heads: query head h reads key head floor(h / (heads / groups))."""
    dim: int
    """Neurons per head; 0 when q and k are absent."""
    query: Tokens
    key: Tokens | None
    """null: the same tokens as query."""
    encoding: Literal["maps", "qk"]
    per_layer: list[Layer]
    thumbnails: Thumbnails | None = None
    labels: list[Label] = []
    opening: tuple[int, int] | msgspec.UnsetType = msgspec.UNSET
    """[layer, head] that a picture opens on unless it says otherwise."""
    why_no_qk: str | None = None
    """A sentence for the neuron view when q and k cannot be read."""
    rotary: Rotary | None = None
    spans: list[TokenSpan] = []
    """Of a conversation: the message, document or answer that each token belongs to."""
    answer: str | None = None
    """The name of the answer's span."""
