"""The model's predictions for one input: the answers, the important heads, and why.

Also the writers behind a head's query and key, for following an answer backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from headscope.edits.live import Asked, Change, Effect, effect, important_heads
from headscope.errors import BadInput, HeadscopeError
from headscope.reading import Scope
from headscope.surfaces.app.heads import counted_keys
from headscope.surfaces.app.kept import KeptReading
from headscope.surfaces.app.request import WritersRequest
from headscope.views import Sending, ViewData
from headscope.views.prediction import build
from headscope.views.score import build as build_score
from headscope.views.score import writer
from headscope.views.shared.state import check_heads, check_token
from headscope.views.wire.container import Buffers, view_data

if TYPE_CHECKING:
    from headscope.circuits import Attribution
    from headscope.circuits.scores.result import Score
    from headscope.circuits.scores.writers import Writer

COUNT = 5
IMPORTANT = 12  # heads listed
WRITERS = 4  # of a query, and of a key
_LEANS: dict[Asked, str] = {
    "masked words": "the likeliest word at the mask leans",
    "next token": "the likeliest word next leans",
    "classes": "the likeliest class leans",
    "next sentence": "saying whether the second sentence follows the first leans",
    "nothing": "the model's output as a whole leans",
}


def predictions(scope: Scope, off: Sequence[Change], kept: KeptReading) -> dict[str, Any]:
    """Predictions before and after, at every predicted position; a note if there are none.

    The text is cut like its reading.
    """
    found = effect(scope, kept.text, kept.text_pair, off, n=COUNT, truncate=True)
    said = zip(_titles(found), found.before, found.after, strict=True)
    return {
        "places": [
            {
                "title": title,
                "position": position,
                "before": [one._asdict() for one in before],
                "after": [one._asdict() for one in after],
            }
            for (title, position), before, after in said
        ],
        "note": found.note,
    }


def _titles(found: Effect) -> list[tuple[str, int | None]]:
    if found.asked == "masked words":
        return [(f"token {position}", position) for position in found.positions]
    return [(found.asked, position) for position in found.positions or (None,) * len(found.before)]


def importance(scope: Scope, kept: KeptReading) -> dict[str, Any]:
    """The answer, and the heads it depends on most."""
    found = important_heads(scope, kept.text, kept.text_pair, truncate=True)
    return {
        "heads": [
            {"kind": w.kind, "layer": w.layer, "head": w.head, "importance": w.importance}
            for w in found.heads[:IMPORTANT]
        ],
        "note": f"How strongly {_LEANS[found.asked]} on the head, to first order.",
    }


def attribution(
    kept: KeptReading,
    target: str | None,
    rather: str | None = None,
    token: int | None = None,
) -> Attribution:
    """An answer attributed to the heads that are on, or its difference from another answer.

    In a decoder, the token before predicts `token`; in an encoder, its own position does.
    """
    from headscope.circuits.logits.attribute import attribute, of_question
    from headscope.circuits.logits.target import question_at, word_layer

    answer: Any = target if rather is None else (target, rather)
    scope, position = kept.scope, token
    writes = "decoder" in scope.kinds and word_layer(scope) is not None
    if writes and token is not None:
        tokens = kept.reading.part("decoder").query
        if not 1 <= token <= len(tokens):
            raise BadInput(f"Tokens 1 to {len(tokens)} of this text can be explained, not {token}.")
        position = token - 1
        if target is None and token < len(tokens):
            own = int(tokens.ids[token])
            answer = own if rather is None else (own, rather)
    if not writes or scope.encoder_decoder:
        return attribute(
            scope, kept.text, kept.text_pair, target=answer, position=position, lens=False
        )
    tokens = kept.reading.part("decoder").query
    asked = question_at(scope, tokens, len(tokens) - 1 if position is None else position)
    return of_question(scope, asked, answer, lens=False)


def masked(kept: KeptReading, token: int) -> dict[str, str | None]:
    """The text and its pair with the whole word of a token masked."""
    mask = getattr(kept.scope.tokenizer, "mask_token", None)
    tokens = kept.reading.part().query
    if mask is None or not 0 <= token < len(tokens) or tokens.spans[token, 0] < 0:
        raise BadInput(f"Token {token} of this text cannot be masked; choose a word of it.")
    of_word = np.flatnonzero(tokens.word_ids == tokens.word_ids[token])
    of_word = of_word[tokens.segments[of_word] == tokens.segments[token]]
    start, stop = tokens.spans[of_word, 0].min(), tokens.spans[of_word, 1].max()
    texts = [kept.text, kept.text_pair or ""]
    at = int(tokens.segments[token])
    texts[at] = texts[at][:start] + mask + texts[at][stop:]
    return {"text": texts[0], "text_pair": texts[1] or None}


def attributed(
    kept: KeptReading, target: str | None, rather: str | None = None, token: int | None = None
) -> ViewData:
    """The prediction view's own data; a text without a prediction is answered with the reason."""
    try:
        return build(attribution(kept, target, rather, token))
    except HeadscopeError as error:
        header = {"view": "prediction", "model": kept.reading.model, "parts": []}
        return view_data({**header, "why_no_prediction": str(error)}, Buffers())


def weighed(kept: KeptReading, by: Literal["norm", "logit"], target: str | None) -> KeptReading:
    """The stored reading with one more weighting."""
    from headscope.circuits.weightings import weigh

    try:
        reading = weigh(kept.scope, kept.reading, kept.text, kept.text_pair, by=by, target=target)
    except HeadscopeError as error:
        raise BadInput(str(error)) from error
    return replace(kept, reading=reading)


def scored(kept: KeptReading, request: WritersRequest) -> Score:
    """A head's score of a query and a key, relative to the mean key if there are others.

    The tokens are the reading's; with two stacks the text is read again.
    """
    from headscope.circuits.logits.target import question_at
    from headscope.circuits.scores.score import Read, score_of, tokens_of
    from headscope.circuits.unrolled import unrolled

    if kept.has_media:
        raise BadInput("Scores are decomposed for texts, not for pictures and sounds.")
    part = kept.reading.part(request.kind)
    layer, head, query = request.layer, request.head, request.query
    check_token(len(part.query), query, "query")
    check_heads(part.heads, head)
    scope = unrolled(kept.scope)
    if request.kind == "decoder" and not scope.encoder_decoder:
        asked = question_at(scope, part.query, query)
        read = Read(request.kind, asked.inputs, part.query, part.key)
    else:
        read = Read(request.kind, *tokens_of(scope, kept.text, kept.text_pair, request.kind))
        if read.queries.labels != part.query.labels or read.keys.labels != part.key.labels:
            raise BadInput(
                "The text was truncated, so its scores cannot be decomposed; shorten it."
            )
    row = part.layer(layer).head_weights(slice(head, head + 1), slice(query, query + 1))[0, 0]
    listed = np.where(counted_keys(part), row, 0.0)
    key = int((listed if listed.any() else row).argmax()) if request.key is None else request.key
    alone = request.kind == "decoder" and query == 0
    found = score_of(scope, read, layer, head, query, key, None if alone else "mean")
    return cast("Score", found)


def score_page(kept: KeptReading, request: WritersRequest) -> ViewData:
    """The score view of these writers; the reading's layers stay with the app."""
    data = build_score(scored(kept, request), reading=kept.reading, sending=Sending(only=()))
    return ViewData({**data.header, "views": ["score"]}, data.buffers)


def writers(kept: KeptReading, request: WritersRequest) -> dict[str, Any]:
    """The strongest writers of a query and of a key."""
    found = scored(kept, request)
    query, key = found.query, found.key
    whole = found.value - found.positional_bias

    def strongest(every: Sequence[Writer], parts: Any, tokens: Sequence[str], at: int) -> list[Any]:
        chosen = np.argsort(-np.abs(parts))[:WRITERS]
        return [
            {
                **writer(every[n], parts[n], tokens, at, kept.reading),
                "share": float(parts[n] / whole) if whole else None,
            }
            for n in chosen
        ]

    parts = found.parts
    return {
        "key": key,
        "weight": found.weight,
        "value": found.value,
        "asks": strongest(found.query_writers, parts.sum(1), found.query_tokens, query),
        "offers": strongest(found.key_writers, parts.sum(0), found.key_tokens, key),
    }
