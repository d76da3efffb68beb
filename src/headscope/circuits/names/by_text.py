"""Heads named by where they look in texts: positional and rare-word heads; massive activations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.capture import Call
from headscope.capture.stack import hidden_of
from headscope.circuits.logits.attribute import attribute
from headscope.circuits.patching.ready import task
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import wiring
from headscope.errors import BadInput
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import only_here

if TYPE_CHECKING:
    from headscope.reading import Scope


Floats = NDArray[np.float64]
OFFSETS = 8  # relative positions on either side
DRAWN = 200  # random heads behind a positional head's chance


@dataclass(frozen=True)
class Looks:
    """Scores of where heads look in texts (layers × heads each), and the scores by chance."""

    positional: Floats
    rare: Floats
    positional_chance: float
    rare_chance: float


def where_heads_look(scope: Scope, texts: Sequence[str], seed: int = 0) -> Looks:
    """Positional and rare-word scores (Voita et al. 2019).

    Positional: the share of queries whose strongest key lies at the head's commonest relative
    position; by chance, the same with a random key that the query sees. Rare word: the share of
    texts in which the rarest word (by these texts' own counts) is the key most often strongest; by
    chance, one word of the text.
    """
    if len(texts) < 2:
        raise BadInput("Named heads are scored over several texts; give more than one.")
    kind = "decoder" if "decoder" in scope.kinds else "encoder"
    encoded = [scope.encode([text], truncate=True) for text in texts]
    counts = Counter(int(one) for batch in encoded for one in batch.tokens[0].ids)
    shape = (scope.layers[kind], scope.heads[kind], 2 * OFFSETS + 1)
    offsets, rare, lengths = np.zeros(shape), np.zeros(shape[:2]), list[int]()
    for batch in encoded:
        content = np.flatnonzero(batch.tokens[0].content)
        if len(content) < 3:
            continue
        rarest = int(min(content, key=lambda at: (counts[int(batch.tokens[0].ids[at])], -at)))

        def look(call: Call, content: NDArray[np.intp] = content, rarest: int = rarest) -> None:
            if call.kind != kind:
                return
            seen = call.weights[0][:, content][:, :, content].argmax(-1).cpu().numpy()  # h q
            offsets[call.layer] += _by_offset(content[seen] - content[None, :])
            for head, positions in enumerate(content[seen]):
                rare[call.layer, head] += np.bincount(positions).argmax() == rarest

        scope.forward(batch, look)
        lengths.append(len(content))
    return Looks(
        offsets.max(-1) / max(sum(lengths), 1),
        rare / max(len(lengths), 1),
        _random_looks(lengths, kind == "decoder", seed),
        float(np.mean([1 / length for length in lengths])),
    )


def _by_offset(away: NDArray[np.intp]) -> Floats:
    """h 2·OFFSETS+1: how often each head's strongest key lies at each relative position."""
    near = range(-OFFSETS, OFFSETS + 1)
    return np.stack([(away == offset).sum(1) for offset in near], axis=-1).astype(float)


def _random_looks(lengths: Sequence[int], causal: bool, seed: int) -> float:
    """The positional score of heads that look at random keys."""
    chance = np.random.default_rng(seed)
    found = np.zeros((DRAWN, 2 * OFFSETS + 1))
    for length in lengths:
        at = np.arange(length)
        seen = np.floor(chance.random((DRAWN, length)) * ((at + 1) if causal else length))
        found += _by_offset(seen.astype(np.intp) - at)
    return float(found.max(-1).mean() / max(sum(lengths), 1))


@stopped_safely()
def massive_activations(scope: Scope, text: str) -> Floats:
    """layers: the size of the largest hidden value over that of the median one (Sun et al. 2024).

    A ratio in the thousands means that a few numbers dwarf all others from that layer on, mostly at
    the first token.
    """
    scope = unrolled(scope)
    found: dict[int, float] = {}
    handles = []
    for number, layer in enumerate(wiring(scope).stack.layers):

        def note(module: object, given: object, output: object, number: int = number) -> None:
            size = hidden_of(output).detach().abs().float()
            found[number] = float(size.max() / size.median().clamp(min=1e-9))

        handles.append(layer.register_forward_hook(only_here(note)))
    try:
        with torch.no_grad():
            scope.forward(scope.encode([text], truncate=True))
    finally:
        for handle in handles:
            handle.remove()
    return np.array([found[number] for number in sorted(found)])


def gaussian_activations(scope: Scope, text: str, seed: int = 0) -> float:
    """`massive_activations` by chance: of as many numbers from a normal distribution."""
    width = int(scope.model.get_input_embeddings().weight.shape[-1])
    tokens = len(scope.encode([text], truncate=True).tokens[0])
    size = np.abs(np.random.default_rng(seed).standard_normal((tokens, width)))
    return float(size.max() / np.median(size))


# Name movers raise the right name; negative name movers lower it.


def name_mover(scope: Scope, n: int = 16, seed: int = 0) -> tuple[Floats, Floats]:
    """n × layers × heads: what each head adds to right − wrong name, taken from the right name.

    Wang et al. 2022: on the names task, the edge from the answer's position to the right name.
    Positive: a name mover; negative: a negative name mover. The second array is the baseline: the
    same from a word that is no name, drawn for each text.
    """
    if "decoder" not in scope.kinds or scope.encoder_decoder:
        raise BadInput(
            f"Name movers are found in models that continue text; {scope.name} does not."
        )
    chance = np.random.default_rng(seed)
    found: list[Floats] = []
    null: list[Floats] = []
    for pair in task("names", n, seed).fitting(scope).pairs:
        one = attribute(
            scope, pair.clean, target=(pair.answer, pair.wrong or 0), tokens=0, lens=False
        )
        if not one.edges:
            raise BadInput(f"{scope.name} does not expose its values, so names cannot be followed.")
        by_key = np.stack([edges.sum(1) for edges in one.edges.values()])  # l h s
        named = [at for at, token in enumerate(one.query) if token.strip() == pair.answer]
        names = {str(pair.answer), str(pair.wrong)}
        other = [at for at, token in enumerate(one.query[1:-1], 1) if token.strip() not in names]
        found.append(by_key[:, :, named].sum(-1))
        null.append(by_key[:, :, chance.choice(other)])
    return np.stack(found), np.stack(null)
