"""Which functions work for a model: each that some families lack is tried once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headscope.arguments import need_scope
from headscope.circuits.graph.stream import STREAMED
from headscope.circuits.outputs import WRITTEN
from headscope.circuits.patching.path import PATHS_PATCHED
from headscope.circuits.patching.swept import HEADS_PATCHED, PATCHED
from headscope.circuits.saliency.inputs import EMBEDDED
from headscope.circuits.unrolled import unrolled
from headscope.circuits.weights.matrices import AS_MATRICES
from headscope.circuits.wiring import DECOMPOSED
from headscope.edits.disable import DISABLED
from headscope.edits.importance import WEIGHED
from headscope.reading.ability import Ability
from headscope.statistics.kernels.verified import SURVEYED

if TYPE_CHECKING:
    from headscope.reading import Scope

OF_MODELS: tuple[Ability[Any], ...] = (
    DISABLED, WEIGHED, WRITTEN, DECOMPOSED, AS_MATRICES, PATCHED, HEADS_PATCHED, PATHS_PATCHED,
    STREAMED, EMBEDDED,
)  # fmt: skip


def capabilities(scope: Scope) -> dict[str, str | None]:
    """Which functions a model's family allows, tried on a few tokens and remembered.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.

    Returns
    -------
    dict
        By function name: None if it works, else the sentence of the error it raises. Functions that
        are not listed work for every model that can be read.

    Examples
    --------
    >>> import headscope as hs
    >>> hs.circuits.capabilities(hs.load())["patch"] is None
    True
    """
    need_scope(scope)
    layered = unrolled(scope)
    text = scope.tokenizer is not None and scope.accepts("input_ids")
    found: dict[str, str | None] = {}
    for ability in (*([SURVEYED] if text else []), *OF_MODELS):
        refusal = ability.refusal(scope if ability in (SURVEYED, DISABLED, WEIGHED) else layered)
        found |= {name: found.get(name) or refusal for name in ability.functions}
    return found
