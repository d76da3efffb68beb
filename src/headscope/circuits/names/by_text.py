"""Heads named by where they look in texts: positional and rare-word heads; massive activations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.capture import Call
from headscope.circuits.wiring import wiring
from headscope.edits.sweep.layers import hidden_of
from headscope.errors import BadInput
from headscope.interrupts import stopped_safely

if TYPE_CHECKING:
    from headscope.reading import Scope

Floats = NDArray[np.float64]
OFFSETS = 8  # relative positions looked at on either side


def positional_and_rare(scope: Scope, texts: Sequence[str]) -> tuple[Floats, Floats, float]:
    """Positional score, rare-word score (layers × heads each), and chance of the second.

    Voita et al. 2019. Positional: the share of queries whose strongest key lies at the head's
    commonest relative position. Rare word: the share of texts in which the rarest word (by these
    texts' own counts) is the key most often strongest.
    """
    if len(texts) < 2:
        raise BadInput("Named heads are scored over several texts; give more than one.")
    kind = "decoder" if "decoder" in scope.kinds else "encoder"
    encoded = [scope.encode([text], truncate=True) for text in texts]
    counts = Counter(int(one) for batch in encoded for one in batch.tokens[0].ids)
    shape = (scope.layers[kind], scope.heads[kind], 2 * OFFSETS + 1)
    offsets, rare, chance = np.zeros(shape), np.zeros(shape[:2]), []
    total = 0
    for batch in encoded:
        content = np.flatnonzero(batch.tokens[0].content)
        if len(content) < 3:
            continue
        rarest = int(min(content, key=lambda at: (counts[int(batch.tokens[0].ids[at])], -at)))
        chance.append(1 / len(content))

        def look(call: Call, content: NDArray[np.intp] = content, rarest: int = rarest) -> None:
            if call.kind != kind:
                return
            seen = call.weights[0][:, content][:, :, content].argmax(-1).cpu().numpy()  # h q
            away = content[seen] - content[None, :]
            for offset in range(-OFFSETS, OFFSETS + 1):
                offsets[call.layer, :, offset + OFFSETS] += (away == offset).sum(1)
            for head, places in enumerate(content[seen]):
                rare[call.layer, head] += np.bincount(places).argmax() == rarest

        scope.forward(batch, look)
        total += len(content)
    return offsets.max(-1) / max(total, 1), rare / max(len(chance), 1), float(np.mean(chance))


@stopped_safely()
def massive_activations(scope: Scope, text: str) -> Floats:
    """layers: the largest hidden value over the median one (Sun et al. 2024).

    Thousands: a few numbers dwarf all others from that layer on, mostly at the first token.
    """
    found: dict[int, float] = {}
    handles = []
    for number, layer in enumerate(wiring(scope).stack.layers):

        def note(module: object, given: object, output: object, number: int = number) -> None:
            size = hidden_of(output).detach().abs().float()
            found[number] = float(size.max() / size.median().clamp(min=1e-9))

        handles.append(layer.register_forward_hook(note))
    try:
        with torch.no_grad():
            scope.forward(scope.encode([text], truncate=True))
    finally:
        for handle in handles:
            handle.remove()
    return np.array([found[number] for number in sorted(found)])
