"""The atlas view: heads as points and as a table, and the texts behind every head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.atlas.atlas import Atlas
from headscope.errors import BadInput
from headscope.measures import find
from headscope.views.of_heads.ablations import (
    Ablations,
    described,
    listed,
    of_each_head,
    with_differences,
)
from headscope.views.of_heads.behaviours import pack_behaviours
from headscope.views.of_heads.examples import PER_HEAD, chosen_examples, pack_examples, pack_texts
from headscope.views.of_heads.head_page import head_pages
from headscope.views.of_heads.on_paper import draw_plane
from headscope.views.of_heads.plane import (
    PANELS,
    Pairs,
    labels_in,
    numbered,
    plane_state,
    plane_table,
)
from headscope.views.shared.labels import Label
from headscope.views.shared.numbers import Table
from headscope.views.shared.state import checked
from headscope.views.wire.container import Buffers, ViewData, view_data
from headscope.views.wire.frame import Sending

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "atlas"
NEEDS = "atlas"
BUNDLE = "heads"  # its script is only in pages that show it
HEIGHT = 720  # of a notebook's frame
SHOWS = "every head over a corpus: as points, as a table, and with the texts behind its numbers"
OPTIONS = {"x": str, "y": str, "colour": str, "size": str, "panels": PANELS, "chosen": list}
EXAMPLE = 'hs.open("…/wikitext.atlas")'
MEANINGS = {
    "source": "An atlas.",
    "heads": "Heads that are marked from the start: (layer, head) pairs; none by default.",
    "per_head": "How many examples of each head travel along, 200 by default.",
    "ablations": "What `hs.ablate` gave, shown on a head's page; nothing by default.",
}


def build(
    source: Any,
    layer: int | None = None,
    head: int | None = None,
    *,
    kind: str | None = None,
    x: str | None = None,
    y: str | None = None,
    colour: str | None = None,
    size: str | None = None,
    heads: Pairs = (),
    per_head: int = PER_HEAD,
    ablations: Ablations | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """source: an atlas. `heads` are marked from the start: (layer, head) pairs.

    `per_head` is the number of examples of each head in the page; with `ablations` (results of
    `hs.ablate`) a head's panel says what disabling it does.
    """
    if not isinstance(source, Atlas):
        raise BadInput("The atlas view needs an atlas: hs.Atlas.load(path) opens one.")
    sending = sending or Sending()
    table = plane_table(source, kind)
    disabled = listed(ablations, table)
    table = with_differences(table, disabled)
    labels = labels_in(source, sending.labels, table.kind)
    at = _opening(table.layers, table.heads, layer, head, labels)
    rows = chosen_examples(source, table.kind, len(table.layers) * table.heads, per_head)
    measures = sorted(set(rows["measure"]))
    buffers = Buffers()
    examples, documents = pack_examples(rows, measures, buffers)
    texts, key_texts = pack_texts(source, table.kind, rows, documents, buffers)
    pages = head_pages(source, table.kind, table.layers, table.heads)
    switched_off = of_each_head(disabled, table.layers, table.heads)
    found = source.behaviours
    behaviours = (
        None
        if found is None or found.kind != table.kind
        else pack_behaviours(found, table.layers, table.heads, buffers)
    )
    header: dict[str, Any] = {
        "view": NAME,
        "views": [NAME],
        "model": source.model,
        "caption": _caption(source, table.kind, rows),
        "theme": sending.theme,
        "state": {
            "view": NAME, "kind": table.kind, "layer": at[0], "head": at[1], "heads": [at[1]],
            **plane_state(table, x=x, y=y, colour=colour, size=size),
            **_panels(table, x or y or colour),
            **checked({"chosen": numbered(heads, table), **options}),
        },
        "parts": [],
        "table": table.header(buffers),
        "labels": [label.header() for label in labels],
        "atlas": {
            "tokens": source.description.get("tokens"),
            "measures": [{"name": name, "title": _title(name)} for name in measures],
            "ablations": described(disabled),
            "heads": [
                {**page, "off": off} for page, off in zip(pages, switched_off, strict=True)
            ],
            "counts": _counts(rows, table),
            "examples": examples,
            "texts": texts,
            "key_texts": key_texts,  # of cross attention, whose keys are in another text
            "kinds": list(source.kinds),
            "behaviours": behaviours,
        },
    }  # fmt: skip
    return view_data(header, buffers)


def _panels(table: Table, asked: str | None) -> dict[str, str]:
    """The opening panels: similar heads are close together, unless axes were requested."""
    return {} if asked or "group" not in table.columns else {"panels": "clusters"}


def _counts(rows: Any, table: Table) -> list[int]:
    """How many examples each head has, layer by layer."""
    found: Mapping[Any, int] = rows.groupby(["layer", "head"]).size().to_dict()
    return [int(found.get((n, head), 0)) for n in table.layers for head in range(table.heads)]


def _title(name: str) -> str:
    """A measure's title; examples may have a measure that the survey lacks."""
    measure = find(name)
    return name.replace("_", " ") if measure is None else measure.title


def _opening(
    layers: Sequence[int],
    heads: int,
    layer: int | None,
    head: int | None,
    labels: Sequence[Label],
) -> tuple[int, int]:
    """The requested head, else the best-labelled one that is not a mere sink."""
    if layer is not None or head is not None:
        at = (layers[0] if layer is None else layer, head or 0)
        if at[0] not in layers or not 0 <= at[1] < heads:
            raise BadInput(
                f"There is no head {at[0]}-{at[1]} in this atlas; it has layers {layers[0]} to "
                f"{layers[-1]} and heads 0 to {heads - 1}."
            )
        return at
    best = max(labels, key=lambda each: (not each.rests, each.score), default=None)
    return (layers[0], 0) if best is None else (best.layer, best.head)


def _caption(atlas: Atlas, kind: str, rows: Any) -> str:
    about, shown = atlas.description, len(rows)
    every: Any = atlas.frame("examples")
    kept = int((every["kind"] == kind).sum())
    part = "" if shown >= kept else f" of {kept:,}"
    tokens = f"{about['tokens']:,} tokens of " if about.get("tokens") else ""
    stopped = "" if atlas.complete else "; the corpus was not read to its end"
    corpus = about.get("corpus") or {}
    path = str(corpus.get("corpus", "") if isinstance(corpus, dict) else corpus)
    corpus = Path(path).name if path not in ("", "list") else "a corpus"
    heads = f", {kind} heads" if len(atlas.kinds) > 1 else ""
    return f"{atlas.model}{heads} over {tokens}{corpus}; {shown:,}{part} examples{stopped}"


def draw(source: Any, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """On paper: the planes of heads with the selected head marked, without its examples."""
    from headscope.figures.style import describe

    hand = (state.get("layer"), state.get("head"))
    marked = {(int(hand[0]), int(hand[1]))} if hand[0] is not None and hand[1] is not None else ()
    figure, shown = draw_plane(source, state, title=source.title, in_hand=marked)
    return describe(figure, view=NAME, layer=hand[0], head=hand[1], **shown)
