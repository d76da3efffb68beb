"""Attribute: a prediction decomposed into what each head, MLP and embedding added to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from headscope.arguments import need_number, need_scope
from headscope.circuits.logits.attribution import Attribution
from headscope.circuits.logits.attributions import Attributions
from headscope.circuits.logits.lens import logit_lens, promoted
from headscope.circuits.logits.many import attribute_many, held_fixed
from headscope.circuits.logits.parts import parts_of
from headscope.circuits.logits.solve import Solved, solve
from headscope.circuits.logits.target import Question, Target, answer_labels, question
from headscope.circuits.patching.pairs import Pairs
from headscope.circuits.prompts import is_table
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import wiring
from headscope.errors import BadInput
from headscope.reading.predict import likeliest
from headscope.runs import ProgressCallback

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

SPEAKING = 12  # heads whose raised and lowered tokens are computed
SHOWN = 5  # likeliest answers to keep


@overload
def attribute(
    scope: Scope,
    text: str | tuple[Any, Any],
    text_pair: Any = None,
    *,
    target: Target = None,
    position: int | None = None,
    tokens: int = 8,
    lens: bool = True,
) -> Attribution: ...
@overload
def attribute(
    scope: Scope,
    text: list[Any] | Mapping[str, Any] | Pairs | pd.DataFrame,
    text_pair: Any = None,
    *,
    target: Any = None,
    position: int | str | None = None,
    tokens: int = 8,
    lens: bool = True,
    progress: bool | ProgressCallback = True,
    seed: int = 0,
) -> Attributions: ...
def attribute(
    scope: Scope,
    text: Any,
    text_pair: Any = None,
    *,
    target: Any = None,
    position: int | str | None = None,
    tokens: int = 8,
    lens: bool = True,
    progress: bool | ProgressCallback = True,
    seed: int = 0,
) -> Attribution | Attributions:
    """Which heads, MLPs, embeddings and biases made a logit; their values sum to it.

    Decoders answer after the last token, masked-word models at their mask, classifiers for the
    whole text.

    Parameters
    ----------
    scope
        The model.
    text
        One text; or many prompts: a list of texts, a table (a data frame, columns by name, or rows)
        with a column `prompt`, or pairs, of which the clean prompts are used. A table's texts may
        be templates: `{S2}` is filled from the column `S2` and names that position.
    text_pair
        The second text, or what the decoder of an encoder–decoder reads; for a list, one each.
    target
        A token (or class), or two whose difference is explained: `("Paris", "London")`; the
        likeliest answer if left out. For many prompts: one for all, a list with one each, or the
        names of columns; the default is a table's columns `answer` and `wrong`.
    position
        The token whose answer is explained, by number; in a table also by a position's name.
    tokens
        How many tokens to name that the strongest heads raise and lower; for one text only.
    lens
        Whether to add what the model would answer after every layer; for one text only.
    progress
        Whether to show progress over many prompts, or a function that is called with it.
    seed
        Seed of the sign flips behind p-values over many prompts.

    Returns
    -------
    Attribution
        For one text.
    Attributions
        For many: means with intervals, and every prompt's own values.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load()
    >>> made = hs.attribute(scope, "Paris is the [MASK] of France.", target="capital")
    >>> made.strongest(3)  # doctest: +SKIP
    >>> both = hs.attribute(scope, ["I went to the [MASK].", "She [MASK] it."], progress=False)
    >>> both.value.shape
    (2,)
    """
    need_scope(scope)
    scope = unrolled(scope)
    if isinstance(text, list | Pairs) or is_table(text):
        return attribute_many(scope, text, text_pair, target, position, progress, seed)
    if isinstance(position, str):
        raise BadInput(
            f"{position!r} is the name of a position, and a single text has no names; give its "
            f"number, or a table with a template."
        )
    need_number(tokens, "tokens=")
    if tokens < 0:
        raise BadInput(f"tokens= is at least 0, not {tokens}.")
    asked = question(scope, text, text_pair, position)
    return of_question(scope, asked, target, tokens=tokens, lens=lens)


def of_question(
    scope: Scope, asked: Question, target: Target, *, tokens: int = 8, lens: bool = True
) -> Attribution:
    """The attribution of inputs that exist already, such as a text that the model wrote."""
    scope = unrolled(scope)
    found = wiring(scope)
    solved = solve(scope, found, [asked], [target])
    added = parts_of(found, solved)
    added.check_sums(scope, solved, [asked])
    strongest = sorted((p for p in added.parts if p.part == "head"), key=lambda p: -abs(p.value))
    speaks = asked.output_layer is not None
    heads = strongest[:SPEAKING] if tokens and speaks else []
    raised = promoted(scope, found, solved.traced, solved.logits, heads, tokens)
    seen, by_layer = logit_lens(scope, found, asked, solved) if lens else ((), ())
    value = float(solved.answer[0].detach())
    return Attribution(
        model=scope.name,
        query=tuple(asked.query.labels),
        key=tuple(asked.key.labels),
        position=asked.position,
        target=answer_labels(scope, asked, solved.ids[0]),
        value=value,
        likeliest=_likeliest(scope, asked, solved),
        parts=added.parts,
        unexplained=value - float(added.values.sum()),
        note=held_fixed(speaks, "decoder" in scope.kinds, solved.capped),
        rows_read=solved.rows[0].cpu().numpy(),
        edges={name: edge[0] for name, edge in added.edges.items()},
        promotes=raised,
        lens=seen,
        target_by_layer=by_layer,
    )


def _likeliest(scope: Scope, asked: Question, solved: Solved) -> tuple[tuple[str, float], ...]:
    shares = solved.shown[0].float().softmax(-1)
    if asked.output_layer is not None:
        return tuple((one.token, one.probability) for one in likeliest(scope, shares, SHOWN))
    order = shares.argsort(descending=True)[:SHOWN].tolist()
    names = answer_labels(scope, asked, order)
    return tuple((name, float(shares[at])) for name, at in zip(names, order, strict=True))
