"""What the model predicts of one input: the answers, the heads that matter to them, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headscope.edits.live import Asked, Change, Effect, effect, important_heads
from headscope.errors import BadInput, HeadscopeError
from headscope.reading import Scope
from headscope.surfaces.app.kept import KeptReading
from headscope.views import ViewData
from headscope.views.prediction import build
from headscope.views.wire.container import Buffers, view_data

if TYPE_CHECKING:
    from headscope.circuits import Attribution


COUNT = 5
IMPORTANT = 12  # heads listed
_LEANS: dict[Asked, str] = {
    "masked words": "the likeliest word at the mask leans",
    "next token": "the likeliest word next leans",
    "classes": "the likeliest class leans",
    "next sentence": "saying whether the second sentence follows the first leans",
    "nothing": "the model's output as a whole leans",
}


def predictions(scope: Scope, off: Sequence[Change], kept: KeptReading) -> dict[str, Any]:
    """Before and after, wherever the model speaks; a note where it predicts no word.

    The text is cut as its reading was: a text that was too long was only read to be cut.
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
    """The heads this input's answer leans on most, and what the answer is."""
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
    """An answer attributed to the heads that are switched on, set against another where asked.

    In a decoder `token` was predicted by the one before it, in an encoder at its own position.
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
    """What is kept, with a weighting of its attention more."""
    from headscope.circuits.weightings import weigh

    try:
        reading = weigh(kept.scope, kept.reading, kept.text, kept.text_pair, by=by, target=target)
    except HeadscopeError as error:
        raise BadInput(str(error)) from error
    return replace(kept, reading=reading)
