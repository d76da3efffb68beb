"""Kinds of maps: the trained network's probabilities, for readings and for corpora.

Maps of any length become images of one size. Two channels describe a map of any length: the square
root of the weight, which shows strong lines, and the logarithm of weight × keys, which is 0 for
uniform attention. Long maps are pooled by their maximum, so that a thin line does not fade.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import adaptive_max_pool2d, interpolate

from headscope.runs import State

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Reading

KINDS = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
SIZE = 64
CHANNELS = 2
WIDTHS = (8, 8, 16, 16, 32, 32, 64, 64)
SPAN = 6.0  # binary orders of magnitude around uniform that are distinguished


def picture(weights: NDArray[np.floating] | Tensor) -> Tensor:
    """One map (t s), cropped to its real tokens, as channels × SIZE × SIZE."""
    values = torch.as_tensor(weights, dtype=torch.float32).clamp(0, 1)
    keys = values.shape[1]
    lift = torch.log2((values * keys).clamp(min=2**-SPAN, max=2**SPAN)) / SPAN
    both = torch.stack([values.sqrt(), lift])[None]
    if max(values.shape) > SIZE:
        return adaptive_max_pool2d(both, SIZE)[0]
    return interpolate(both, (SIZE, SIZE), mode="nearest")[0]


class MapClassifier(nn.Module):
    """Pictures (n, CHANNELS, SIZE, SIZE) to scores (n, kinds): eight convolutions, mean and largest
    over the picture, one linear layer."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = CHANNELS
        for index, width in enumerate(WIDTHS):
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            if index % 2 == 1 and index + 1 < len(WIDTHS):
                layers.append(nn.MaxPool2d(2))
            before = width
        self.body = nn.Sequential(*layers)
        # the mean says how much of a feature there is, the largest that there is one line of it
        self.head = nn.Linear(2 * before, len(KINDS))

    def forward(self, pictures: Tensor) -> Tensor:
        found = self.body(pictures)
        pooled = torch.cat([found.mean((2, 3)), found.amax((2, 3))], dim=1)
        return self.head(pooled)


WEIGHTS = "weights.safetensors"
AT_ONCE = 64


def classify(maps: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
    """Calibrated probabilities (maps × KINDS) of maps of any length."""
    network, temperature = trained()
    if not maps:
        return np.zeros((0, len(KINDS)), np.float32)
    parts: list[torch.Tensor] = []
    with torch.inference_mode():
        for start in range(0, len(maps), AT_ONCE):
            batch = torch.stack([picture(one) for one in maps[start : start + AT_ONCE]])
            parts.append((network(batch) / temperature).softmax(1))
    return torch.cat(parts).numpy()


def map_kinds(reading: Reading) -> pd.DataFrame:
    """The kind of every head's map in a reading: vertical, diagonal, block and so on.

    Parameters
    ----------
    reading
        What the model read.

    Returns
    -------
    pandas.DataFrame
        A row per head: the probability of every kind, and the likeliest in `map`.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.map_kinds(hs.load().read("The cat sat on the mat because it was tired."))
    >>> "map" in found
    True
    """
    import pandas as pd

    rows: list[pd.DataFrame] = []
    for kind, part in reading.parts.items():
        if kind == "cross":
            continue  # diagonals and blocks need queries and keys of one text
        for one in part.layers:
            found = classify(list(part.weights(one.layer)))
            frame = pd.DataFrame(found, columns=list(KINDS))
            frame.insert(0, "kind", kind)
            frame.insert(1, "layer", one.layer)
            frame.insert(2, "head", np.arange(len(found)))
            frame["map"] = [KINDS[best] for best in found.argmax(1)]
            rows.append(frame)
    return pd.concat(rows, ignore_index=True)


def shares(readings: Iterable[Reading]) -> pd.DataFrame:
    """Per head the share of texts on which its map is of each kind, over many readings."""
    counts = KindCounts()
    for reading in readings:
        counts.add(reading)
    return counts.table()


class KindCounts:
    """On how many texts a head's map is of each kind; can be saved in a run's checkpoint."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int, int], NDArray[np.float64]] = {}
        self.texts = 0

    def add(self, reading: Reading) -> None:
        found: Any = map_kinds(reading)
        for row in found.itertuples():
            of_head = (str(row.kind), int(row.layer), int(row.head))
            tally = self._counts.setdefault(of_head, np.zeros(len(KINDS)))
            tally[KINDS.index(row.map)] += 1
        self.texts += 1

    def state(self) -> State:
        heads = [list(of_head) for of_head in self._counts]
        counts = np.array(list(self._counts.values())).reshape(-1, len(KINDS))
        return State({"texts": self.texts, "heads": heads}, {"counts": counts})

    def restore(self, state: State) -> None:
        heads = (tuple(of_head) for of_head in state.position["heads"])
        self._counts = dict(zip(heads, state.arrays["counts"], strict=True))
        self.texts = int(state.position["texts"])

    def table(self) -> pd.DataFrame:
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for (kind, layer, head), tally in sorted(self._counts.items()):
            share = tally / tally.sum()
            rows.append(
                {
                    "kind": kind, "layer": layer, "head": head, "documents": int(tally.sum()),
                    **dict(zip(KINDS, share, strict=True)), "map": KINDS[int(tally.argmax())],
                }
            )  # fmt: skip
        return pd.DataFrame(rows)


@cache
def trained() -> tuple[MapClassifier, float]:
    """The shipped network, and the temperature that divides its scores."""
    from safetensors import safe_open

    network = MapClassifier()
    file = resources.files("headscope.patterns.kinds") / WEIGHTS
    with resources.as_file(file) as path, safe_open(path, "pt") as stored:
        metadata = stored.metadata() or {}
        state = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    own = network.state_dict()
    network.load_state_dict({name: value.to(own[name].dtype) for name, value in state.items()})
    return network.eval(), float(json.loads(metadata["headscope"])["temperature"])
