"""The text view: the running text, words shaded by attention from or to the selected words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.arguments import need_list
from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.reading import Part, Reading
from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens
from headscope.text.written import written
from headscope.views.shared.caption import heading
from headscope.views.shared.labels import Label, as_labels
from headscope.views.shared.opening import chosen_heads
from headscope.views.shared.selection import is_right_to_left
from headscope.views.shared.shading import Shading, Units, rows_of, shade, units_of
from headscope.views.shared.state import check_token, checked, open_heads
from headscope.views.shared.weighting import OPTION, drawn_caption, weighting_of
from headscope.views.wire.container import ViewData
from headscope.views.wire.encoding import sample
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headscope.figures.running_text import Word

NAME = "text"
SHOWS = "the running text, words shaded by attention from or to the selected words"
OPTIONS = {
    **OPTION,
    "side": ("query", "key"),  # whether the selected words are queries or keys
    "also": list,  # tokens selected beside the pinned one
    "combine": ("mean", "sum"),  # how several words combine
    "merge": ("mean", "strongest"),  # how several heads combine
}
MEANINGS = {
    "query": "The selected words that attend, one or several; by default one that looks far.",
    "key": "The selected words that are attended to, in place of `query`.",
    "combine": 'What several words give together: their "mean" (the default) or "sum".',
    "merge": 'What several heads give together: their "mean" (the default) or the "strongest".',
}
MOST_DESCRIBED = 24  # words that a figure's description lists
LOOKED_AT = 200  # candidates for the opening query
Words = int | Sequence[int] | None


def build(
    reading: Reading,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    *,
    kind: Kind | None = None,
    query: Words = None,
    key: Words = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """`query` or `key`: the selected word, or several; by default one that attends far away."""
    sending = sending or Sending()
    part = reading.part(kind)
    if query is not None and key is not None:
        raise BadInput("Select a query or a key: give query= or key=, not both.")
    layer, heads = chosen_heads(part, as_labels(sending.labels, part.kind), layer, heads)
    side = "query" if key is None else "key"
    options.setdefault("side", side)
    hand = _listed(query if key is None else key, part, side)
    if not hand and query is None and key is None and options["side"] == "query":
        hand = [telling_query(part, layer, *heads)]
    weighting_of(part, options)
    state = {
        **open_heads(part, layer, heads),
        "query": hand[0] if hand and side == "query" else None,
        "key": hand[0] if hand and side == "key" else None,
        "also": hand[1:],
        **_scale(part),
        **checked(options),
    }
    return frame(NAME, reading, state, sending)


def rows(parts: Sequence[Mapping[str, Any]]) -> int:
    """The text's approximate lines in a notebook."""
    return max(4 + len(part["query"]["text"]) // 14 for part in parts)


def _listed(words: Words, part: Part, side: str) -> list[int]:
    if words is not None and not isinstance(words, int):
        need_list(words, side, "[0, 3]")
    given = [] if words is None else [words] if isinstance(words, int) else list(words)
    for token in given:
        check_token(len(part.query if side == "query" else part.key), token, side)
    return given


def _scale(part: Part) -> dict[str, str]:
    """The scale: in a long text many keys share the mass, and a linear scale would be too pale."""
    return {"scale": "sqrt"} if len(part.key) > 64 else {}


def telling_query(part: Part, layer: int, *heads: int) -> int:
    """The word that attends most to distant, informative tokens."""
    words = np.flatnonzero(part.query.classes == TokenClass.WORD)
    rows = words[sample(words.size, LOOKED_AT)] if words.size else np.arange(1)
    weights = rows_of(part.layer(layer), list(heads) or [0], rows).mean(axis=0)  # r s
    telling = np.broadcast_to(part.key.content[None, :], weights.shape).copy()
    telling[:, 0] = False
    if part.kind != "cross":
        telling &= np.abs(rows[:, None] - np.arange(weights.shape[1])[None, :]) > 2
    farthest = (weights * telling).max(axis=1)
    return int(rows[farthest.argmax()]) if farthest.max() > 0.1 else int(rows[rows.size // 2])


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same picture on paper; of a long text the selected words and those they attend to."""
    from headscope.figures.running_text import running_text
    from headscope.figures.style import describe

    part = reading.part(state["kind"])
    shading = shade(part, state)
    heads = list(range(part.heads)) if state.get("heads") is None else list(state["heads"])
    title = heading(part.kind, state["layer"], heads, part.heads, labels)
    direction = state.get("direction", "auto")
    figure = running_text(
        words(part, state, shading),
        title=f"{title}\n{sentence(part, state, shading)}",
        caption=drawn_caption(reading, part, state),
        largest=max(state.get("largest", 0.0), float(shading.weights.max(initial=0.0))) or 1.0,
        square_root=state.get("scale") == "sqrt",
        of_heads=part.heads,
        by_head=shading.heads is not None,
        right_to_left=direction == "rtl" or (direction == "auto" and is_right_to_left(part.key)),
    )
    near, far = (
        (shading.query, shading.key) if shading.side == "query" else (shading.key, shading.query)
    )
    return describe(
        figure,
        view=NAME,
        kind=part.kind,
        layer=state["layer"],
        heads=heads,
        side=shading.side,
        hand=[int(near.start[at]) for at in shading.hand],
        filter=state.get("filter", "all"),
        scale=state.get("scale", "linear"),
        largest=float(shading.weights.max(initial=0.0)),
        weights=[float(weight) for weight in shading.weights[:MOST_DESCRIBED]],
        starts=[int(start) for start in far.start[:MOST_DESCRIBED]],
    )


def words(part: Part, state: Mapping[str, Any], shading: Shading) -> list[Word]:
    """The shown text, each word with its share of the strongest."""
    same = part.kind != "cross" and part.query.spellings == part.key.spellings
    if same:
        shown = units_of(part.query, state, keys=False)
        return _words(part.query, shown, state, shading, query=True, key=True)
    return [
        *_words(part.query, shading.query, state, shading, query=True, key=False),
        *_words(part.key, shading.key, state, shading, query=False, key=True),
    ]


def _words(
    tokens: Tokens,
    units: Units,
    state: Mapping[str, Any],
    shading: Shading,
    *,
    query: bool,
    key: bool,
) -> list[Word]:
    from headscope.figures.running_text import Word

    pieces = written(tokens)
    far = shading.key if shading.side == "query" else shading.query
    own = shading.query if shading.side == "query" else shading.key
    shaded = key if shading.side == "query" else query
    held = query if shading.side == "query" else key
    pieces_at = {int(end): at for at, end in enumerate(far.end)} if shaded else {}
    hand = {int(own.end[at]) for at in shading.hand} if held else set[int]()
    largest = float(shading.weights.max(initial=0.0)) or 1.0
    found: list[Word] = []
    for start, end in zip(units.start.tolist(), units.end.tolist(), strict=True):
        at = pieces_at.get(end)
        weight = 0.0 if at is None else float(shading.weights[at])
        share = weight / largest  # no minimum: averages over many words are small
        found.append(
            Word(
                written="".join(pieces[start:end]),
                label=tokens.labels[start],
                special=not bool(tokens.content[start]),
                segment=int(tokens.segments[start]),
                weight=weight,
                share=float(np.sqrt(share)) if state.get("scale") == "sqrt" else share,
                head=None if shading.heads is None or at is None else int(shading.heads[at]),
                in_hand=end in hand,
            )
        )
    if found and not (query and key):
        found[0].starts = True
    return found


def sentence(part: Part, state: Mapping[str, Any], shading: Shading) -> str:
    """The meaning of the shading, in words."""
    several = len(shading.hand) > 1
    heads = part.heads if state.get("heads") is None else len(state["heads"])
    strongest = (
        "the strongest head of each word" if shading.heads is not None else "mean of the heads"
    )
    merged = f" ({strongest})" if heads > 1 else ""
    if not shading.hand:
        whole = shading.sampled == len(shading.query)
        who = "all words" if whole else f"{shading.sampled} words spread over the text"
        return f"Shaded: what {who} attend to, on average{merged}"
    tokens = part.query if shading.side == "query" else part.key
    own = shading.query if shading.side == "query" else shading.key
    pieces = written(tokens)
    named = [
        "“" + "".join(pieces[int(own.start[at]) : int(own.end[at])]).strip() + "”"
        for at in shading.hand
    ]
    who = f"{len(named)} words" if len(named) > 3 else " and ".join(named)
    verbs = {"query": ("attends to", "attend to"), "key": ("is attended to by",) * 2}
    verb = (
        "are attended to by" if several and shading.side == "key" else verbs[shading.side][several]
    )
    how = (", summed" if state.get("combine") == "sum" else ", on average") if several else ""
    return f"Shaded: what {who} {verb}{how}{merged}"
