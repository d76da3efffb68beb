"""The header of a view's data, field by field: its only description, with `reading_schema.py`.

Views build these objects as plain dictionaries; `web/generate_types.py` writes the page's types
from them, and a test decodes every view's header by them. A field with a default may be absent.
Layers and heads count from 0. Buffers hold numbers; `BufferReference` names one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from headscope.capture import Kind
from headscope.views.shared.state import Theme
from headscope.views.wire.reading_schema import (
    BufferEntry,
    BufferReference,
    Label,
    Part,
    PictureHeader,
    SoundHeader,
    Weighting,
    Wire,
    typescript,
)


class TableColumn(BufferReference, kw_only=True):
    """float32 (layers, heads); NaN = not measured."""

    name: str
    title: str | msgspec.UnsetType = msgspec.UNSET
    """What the menu shows; default: name with spaces."""
    scale: Literal["sequential", "diverging"]
    range: tuple[float, float] | msgspec.UnsetType = msgspec.UNSET
    """Ends of the colour scale; absent: the data's own."""
    unit: str | msgspec.UnsetType = msgspec.UNSET
    note: str | msgspec.UnsetType = msgspec.UNSET
    """One sentence of what the number means."""


class HeadTable(Wire, kw_only=True):
    """Layers × heads of numbers for the head map."""

    kind: Kind
    layers: list[int]
    heads: int
    columns: list[TableColumn]


class PredictionPart(Wire, kw_only=True):
    part: Literal["embedding", "head", "mlp", "bias", "rest"]
    kind: Kind | None
    layer: int | None
    head: int | None
    label: str
    value: float
    """What it adds to the logit."""


class PredictionFlow(Wire, kw_only=True):
    parts: list[PredictionPart]
    edges: list[tuple[str, int, float]]
    shown: float
    rest: float


class PredictionHeader(Wire, kw_only=True):
    """The parts that made a predicted token."""

    target: list[str]
    """The token explained, and the one it is compared with, if any."""
    value: float
    position: int | None
    query: list[str]
    key: list[str] | None
    """The encoder's tokens, where there are two stacks."""
    likeliest: list[tuple[str, float]]
    """The model's predictions, with probabilities."""
    parts: list[PredictionPart]
    """Strongest first."""
    rest: float
    unexplained: float
    note: str
    words: list[str]
    """Heads ("decoder.3.1") whose words are known: the rows of `by_key`, (heads, tokens)."""
    by_key: BufferReference
    promotes: dict[str, tuple[list[str], list[str]]]
    """Tokens that a head raises and lowers."""
    lens: list[tuple[list[str], list[float]]]
    """Layer by layer: the likeliest tokens and their probabilities."""
    flow: PredictionFlow


class Evidence(Wire, kw_only=True):
    label: str
    pattern: str
    score: float
    holds: bool
    sentence: str


class HeadPage(Wire, kw_only=True):
    """An atlas's data about one head."""

    evidence: list[Evidence]
    shown: str
    """The measure whose examples come first."""
    profiles: Annotated[
        dict[str, list[list[float | str | None]]],
        typescript(
            "Record<string, [number | string, number | string, number, number | null, "
            "number | null][]>"
        ),
    ]
    """offset, position, length: [value, count, expected, weight]; others: [name, other, count, lift, weight]."""  # noqa: E501
    deciles: Annotated[
        dict[str, list[list[float | None]]],
        typescript("Record<string, [number, number, number, number][]>"),
    ]
    """Of each measure: decile, least and largest value, share of the positions drawn."""
    near: list[tuple[int, int, float]]
    """[layer, head, distance], nearest first."""
    off: list[tuple[float, float | None, float | None, float | None] | None]
    """What disabling it does, as the header's `ablations`: [score, low, high, p]; low, high and p are of the difference."""  # noqa: E501


class AblatedTask(Wire, kw_only=True):
    """A task scored with every head disabled in turn; the differences are a column of the table."""

    column: str
    task: str
    metric: str
    mode: str
    baseline: float
    examples: int
    higher_is_better: bool


class NamedMeasure(Wire, kw_only=True):
    name: str
    title: str


class ExamplesHeader(Wire, kw_only=True):
    """An atlas's examples as columns."""

    width: int
    numbers: list[int]
    measure: BufferReference
    decile: BufferReference
    document: BufferReference
    query: BufferReference
    keys: BufferReference
    value: BufferReference
    weights: BufferReference


class TextsHeader(Wire, kw_only=True):
    words: list[str]
    starts: list[int]
    lengths: list[int]
    tokens: BufferReference
    positions: BufferReference
    flags: BufferReference


class BehaviourHeader(Wire, kw_only=True):
    """One of the things that a head does."""

    share: float
    """Of the head's positions."""
    label: str
    score: float | None
    lift: float | None
    """Attention to the label's targets, over that of uniform attention."""
    weight: float | None
    keys: list[str]
    """The most frequent ones."""


class BehaviourTexts(Wire, kw_only=True):
    """The tokens about each position, which all heads share."""

    starts: list[int]
    tokens: BufferReference
    """Twice the word's number, plus 1 where a token continues a word."""
    document: BufferReference
    query: BufferReference
    start: BufferReference


class BehavioursHeader(Wire, kw_only=True):
    """Every head's positions in one plane of queries and keys, in clusters."""

    axes: str
    total: int
    """Positions that were clustered; fewer may be in the page."""
    heads: list[list[BehaviourHeader]]
    """Layer by layer; empty: the head was not clustered."""
    counts: list[int]
    """How many points each head has; they stand in that order."""
    position: BufferReference
    behaviour: BufferReference
    key: BufferReference
    key_token: BufferReference
    plane: BufferReference
    """Query x and y, key x and y, and weight of each point."""
    texts: BehaviourTexts
    words: list[str]


class AtlasHeader(Wire, kw_only=True):
    """Examples and profiles of every head."""

    tokens: int | None
    measures: list[NamedMeasure]
    ablations: list[AblatedTask]
    heads: list[HeadPage]
    """Layer by layer."""
    counts: list[int]
    """How many examples each head has; they stand in that order."""
    examples: ExamplesHeader
    texts: TextsHeader | None
    key_texts: TextsHeader | None
    """Of cross attention: its keys stand in another text than its queries."""
    kinds: list[Kind]
    """The kinds of attention that the atlas has; this page shows one."""
    behaviours: BehavioursHeader | None = None


class OtherReading(Wire, kw_only=True):
    model: str
    caption: str
    parts: list[Part]


class GroundedSource(Wire, kw_only=True):
    """A span of a document, in characters."""

    name: str
    document: int
    start: int
    stop: int


class GroundedSentence(Wire, kw_only=True):
    """A sentence of the answer, in characters, and its verdict in words."""

    start: int
    stop: int
    verdict: str
    gain: float
    by_chance: float
    """With the letters of the documents' words shuffled."""
    least_expected: float
    """The share of its surprise that their least expected word loses."""


class GroundedHead(Wire, kw_only=True):
    layer: int
    head: int
    attention: float
    copied: float
    """Share of the answer's tokens that are the head's strongest key in the source."""
    lost: float
    """Of the answer's log-probability, with the head's attention to the source cut."""


class GroundingMethod(Wire, kw_only=True):
    name: str
    title: str


class GroundingHeader(Wire, kw_only=True):
    question: str
    answer: str
    titles: list[str]
    documents: list[str]
    sources: list[GroundedSource]
    sentences: list[GroundedSentence]
    """The first is the whole answer."""
    methods: list[GroundingMethod]
    scores: BufferReference
    """(methods, sentences, sources), NaN where a source was not measured."""
    heads: list[GroundedHead]
    source: str
    """That the heads' attention goes to."""
    together: float | None
    """Lost with all of these heads cut at once."""


class ScoreWriter(Wire, kw_only=True):
    """A writer of a query or key; layer and head are a head's."""

    name: str
    kind: Kind | None
    layer: int | None
    head: int | None
    value: float
    """What it adds to the score, with all writers of the other side."""
    word: str
    """Its token, or the one that the head read most; empty: not known."""
    read: tuple[int, float] | None
    """The key that the head read most, and the weight."""


class RemovedWriter(Wire, kw_only=True):
    """The change of weight without a writer."""

    side: Literal["query", "key"]
    writer: str
    predicted: float
    rescaled: float
    measured: float


class ScoreHeader(Wire, kw_only=True):
    """One attention score as writers of the query × writers of the key."""

    title: str
    value: float
    weight: float
    bias: float
    rest: float
    """What pairs that are not shown add."""
    query: list[ScoreWriter]
    key: list[ScoreWriter]
    at: tuple[int, int]
    """Positions of the query and the key."""
    tokens: tuple[str, str]
    parts: BufferReference
    """(query, key) writers."""
    removed: list[RemovedWriter]


class GraphNode(Wire, kw_only=True):
    """A node of a trace or of a circuit; layer and head are a head's or an MLP's."""

    name: str
    part: str
    x: float
    """In nodes, from the left."""
    y: float
    """In layers, from below."""
    token: str
    position: int | None
    layer: int | None
    head: int | None
    kind: Kind | None


class GraphLink(Wire, kw_only=True):
    """An arrow between two nodes, by their index."""

    source: int
    target: int
    through: str
    value: float
    text: str


class GraphHeader(Wire, kw_only=True):
    """A trace or a circuit, laid out."""

    title: str
    caption: str
    nodes: list[GraphNode]
    links: list[GraphLink]


class Header(Wire, kw_only=True):
    """A container's contents beside its buffers."""

    version: Literal[1]
    view: str
    views: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Tabs offered beside `view`; absent: every view the data can fill."""
    model: str
    caption: str | msgspec.UnsetType = msgspec.UNSET
    """One line under the picture: model, text, what was asked."""
    warnings: list[str] = msgspec.field(default_factory=list[str])
    """What may be wrong with the reading, a sentence each."""
    theme: Theme = "auto"
    state: Annotated[dict[str, Any], typescript("Partial<State>")] = msgspec.field(
        default_factory=dict[str, Any]
    )
    """Initial selection; anything absent takes its default."""
    parts: list[Part]
    prompt_tokens: int | msgspec.UnsetType = msgspec.UNSET
    """Tokens of the decoder that were given to it; those after them it wrote itself."""
    other: OtherReading | None = None
    """A second reading of equal shape: the matrix view shows this one, the other or the difference."""  # noqa: E501
    table: HeadTable | None = None
    """What the head map colours by; absent: only the pooled thumbnails' labels."""
    labels: list[Label] = msgspec.field(default_factory=list[Label])
    """Names of heads of a table that comes without a reading."""
    atlas: AtlasHeader | None = None
    prediction: PredictionHeader | None = None
    grounding: GroundingHeader | None = None
    score: ScoreHeader | None = None
    graph: GraphHeader | None = None
    why_no_prediction: str | msgspec.UnsetType = msgspec.UNSET
    """A sentence for the prediction view when the model predicts nothing of this text."""
    weightings: dict[str, Weighting] = msgspec.field(default_factory=dict[str, Weighting])
    """What may be drawn in place of the weight, by name."""
    left_out: str | msgspec.UnsetType = msgspec.UNSET
    """A sentence about what a page with a budget leaves out."""
    pictures: list[PictureHeader] = msgspec.field(default_factory=list[PictureHeader])
    sound: SoundHeader | msgspec.UnsetType = msgspec.UNSET
    buffers: dict[str, BufferEntry]
