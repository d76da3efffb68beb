from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from typing_extensions import Unpack

from headscope import circuits as circuits
from headscope import emphasis as emphasis
from headscope import monitor as monitor
from headscope import probe as probe
from headscope import results as results
from headscope import studies as studies
from headscope.atlas.atlas import Atlas as Atlas
from headscope.atlas.behaviours.make import behaviours as behaviours
from headscope.atlas.make import atlas as atlas
from headscope.budgets.exports import press_of as press_of
from headscope.budgets.result import Budget as Budget
from headscope.budgets.run import budget as budget
from headscope.capture import Kind
from headscope.checkpoints.run import over_checkpoints as over_checkpoints
from headscope.circuits.followed import Traced
from headscope.circuits.graph.result import Edges
from headscope.circuits.logits.attribute import attribute as attribute
from headscope.circuits.logits.attribution import Attribution
from headscope.circuits.patching.patch import patch as patch
from headscope.circuits.scores.result import Score
from headscope.edits.ablate import ablate as ablate
from headscope.edits.importance import importance as importance
from headscope.errors import BadInput as BadInput
from headscope.errors import HeadscopeError as HeadscopeError
from headscope.errors import Stopped as Stopped
from headscope.finetuning.compare import compare as compare
from headscope.finetuning.finetune import finetune as finetune
from headscope.grounding.ground import ground as ground
from headscope.grounding.learned import HeadWeights as HeadWeights
from headscope.grounding.learned import fit_head_weights as fit_head_weights
from headscope.grounding.result import Grounding as Grounding
from headscope.live.page import live_page as live_page
from headscope.patterns.as_statistics import pattern_measures as pattern_measures
from headscope.patterns.bundled_labels import bundled_labels as bundled_labels
from headscope.patterns.explain.explanation import explain as explain
from headscope.patterns.kinds.classify import map_kinds as map_kinds
from headscope.patterns.labels import labels as labels
from headscope.patterns.labels import pattern_table as pattern_table
from headscope.patterns.labels import quick_labels as quick_labels
from headscope.patterns.result import patterns as patterns
from headscope.patterns.stability import label_stability as label_stability
from headscope.reading import Reading as Reading
from headscope.reading import Scope as Scope
from headscope.reading import load as load
from headscope.reading.word_times import word_times as word_times
from headscope.roles.find import find_heads as find_heads
from headscope.roles.result import FoundHeads as FoundHeads
from headscope.saved import open as open
from headscope.statistics.pointing import pointing_game as pointing_game
from headscope.surfaces.view import View as View
from headscope.surveys.run import survey as survey
from headscope.surveys.table import Survey as Survey
from headscope.views.of_heads.ablations import Ablations
from headscope.views.shared.labels import Labels
from headscope.views.text import Words

__version__: str

# below: python -m tests.front_door_stub
class _Shared(TypedDict, total=False):
    theme: Literal["auto", "light", "dark"]
    labels: Labels | None
    neurons: bool | None
    budget: str | int | None
    layers: Collection[int] | None
    queries: tuple[int, int] | None
    filter: Literal["all", "aa", "ab", "ba", "bb"] | None
    specials: Literal["shown", "hidden", "renormalised"] | None
    first: Literal["shown", "hidden"] | None
    unit: Literal["tokens", "words"] | None
    minimum: float | None
    scale: Literal["linear", "sqrt"] | None
    orientation: Literal["vertical", "horizontal"] | None
    direction: Literal["auto", "ltr", "rtl"] | None
    thumbnails: Literal["maps", "lines"] | None
    order: Literal["number", "label"] | None
    find: str | None
    sort: Literal["number", "contribution"] | None
    wrap: bool | None
    marked: Sequence[Any] | None

def atlas_view(
    source: Any,
    layer: int | None = None,
    head: int | None = None,
    *,
    kind: str | None = None,
    x: str | None = None,
    y: str | None = None,
    colour: str | None = None,
    size: str | None = None,
    heads: Sequence[tuple[int, int]] = (),
    per_head: int = 200,
    ablations: Ablations | None = None,
    column: str | None = None,
    panels: Literal["heads", "clusters", "layers"] | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """Every head over a corpus: as points, as a table, and with the texts behind its numbers."""

def graph_view(
    source: Traced | Edges | Mapping[str, Any] | str | Path,
    *,
    reading: Reading | None = None,
    n: int = 40,
    column: str | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """A traced prediction or a circuit as a graph: layers from below, an arrow for each part."""

def grounding_view(
    source: Grounding,
    *,
    reading: Reading | None = None,
    method: str | None = None,
    sentence: int | None = None,
    column: str | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """An answer beside its documents, shaded by what each sentence took from where."""

def head_view(
    reading: Reading,
    layer: int | None = None,
    heads: Sequence[int] | int | None = None,
    *,
    kind: Kind | None = None,
    query: int | None = None,
    key: int | None = None,
    head: int | None = None,
    column: str | None = None,
    weighting: Literal["weight", "norm", "logit"] | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """Tokens on two sides, a line for every weight, a colour for every head."""

def head_map(
    source: Any,
    column: str | None = None,
    *,
    kind: str | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """Layers × heads coloured by a number: of a survey's statistics, or of one reading."""

def head_scatter(
    source: Any,
    x: str | None = None,
    y: str | None = None,
    colour: str | None = None,
    size: str | None = None,
    *,
    kind: str | None = None,
    heads: Sequence[tuple[int, int]] = (),
    column: str | None = None,
    panels: Literal["heads", "clusters", "layers"] | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """Every head as a point: any measure on x, y, colour and size; brush to choose heads."""

def image_view(
    reading: Reading,
    layer: int | None = None,
    heads: Sequence[int] | int | None = None,
    *,
    kind: Kind | None = None,
    query: int | None = None,
    key: int | None = None,
    head: int | None = None,
    column: str | None = None,
    side: Literal["query", "key"] | None = None,
    also: Sequence[Any] | None = None,
    smoothing: Literal["nearest", "smooth"] | None = None,
    opacity: Literal["0.8", "0.5", "1"] | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """The picture, shaded by what the selected patch or word looks at, or what looks there."""

def matrix_view(
    reading: Reading,
    layer: int | None = None,
    head: int | None = None,
    *,
    kind: Kind | None = None,
    other: Reading | None = None,
    heads: Sequence[int] | int | None = None,
    column: str | None = None,
    weighting: Literal["weight", "norm", "logit"] | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """One head's map with tokens on both axes, or the difference of two readings."""

def model_view(
    reading: Reading,
    heads: Sequence[int] | int | None = None,
    *,
    kind: Kind | None = None,
    head: int | None = None,
    column: str | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """Every head of every layer as a thumbnail; a click opens one."""

def neuron_view(
    reading: Reading,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    *,
    kind: Kind | None = None,
    heads: Sequence[int] | int | None = None,
    column: str | None = None,
    shows: Literal["scores", "values"] | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """Q, k, q×k, q·k, scaled score, bias, mask and softmax of one query, neuron by neuron."""

def prediction_view(
    source: Attribution | Reading,
    *,
    reading: Reading | None = None,
    kind: Any = None,
    layer: int | None = None,
    head: int | None = None,
    heads: Sequence[int] | int | None = None,
    column: str | None = None,
    target: str | None = None,
    rather: str | None = None,
    token: str | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """The heads that pushed a predicted token up and down, and from which words they did."""

def score_view(
    source: Score,
    *,
    reading: Reading | None = None,
    column: str | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """Who wrote what a query asks for × who wrote what the key offers, with the words behind."""

def sound_view(
    reading: Reading,
    layer: int | None = None,
    heads: Sequence[int] | int | None = None,
    *,
    kind: Kind | None = None,
    query: int | None = None,
    key: int | None = None,
    head: int | None = None,
    column: str | None = None,
    side: Literal["query", "key"] | None = None,
    also: Sequence[Any] | None = None,
    smoothing: Literal["nearest", "smooth"] | None = None,
    opacity: Literal["0.8", "0.5", "1"] | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """The spectrogram, shaded by the moments that the selected word or frame attends to."""

def text_view(
    reading: Reading,
    layer: int | None = None,
    heads: Sequence[int] | int | None = None,
    *,
    kind: Kind | None = None,
    query: Words = None,
    key: Words = None,
    head: int | None = None,
    column: str | None = None,
    weighting: Literal["weight", "norm", "logit"] | None = None,
    side: Literal["query", "key"] | None = None,
    also: Sequence[Any] | None = None,
    combine: Literal["mean", "sum"] | None = None,
    merge: Literal["mean", "strongest"] | None = None,
    **shared: Unpack[_Shared],
) -> View:
    """The running text, words shaded by attention from or to the selected words."""
