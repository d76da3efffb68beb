"""An attribution: which parts of a model made a logit, as parts that sum to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.files import atomic_path

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PartName = Literal["embedding", "head", "attention", "mlp", "bias"]
Floats = NDArray[np.float64]


class PartOfLogit(NamedTuple):
    """One addend; `layer` and `head` are None where the part has none."""

    part: PartName
    kind: Kind | None
    layer: int | None
    head: int | None
    value: float

    @property
    def label(self) -> str:
        where = "" if self.kind in (None, "encoder", "decoder") else f"{self.kind} "
        if self.part == "head":
            return f"{where}{self.layer}-{self.head}"
        if self.layer is None:
            return self.part
        named = {"mlp": "MLP", "attention": "attention"}.get(self.part, self.part)
        return f"{where}{named} {self.layer}"


class Tokenwise(NamedTuple):
    """Tokens with how far something raises each of them."""

    tokens: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Attribution:
    """A logit, or the difference of two, as a sum over heads, MLPs, embeddings and biases."""

    model: str
    query: tuple[str, ...]  # the tokens the answering stack read
    key: tuple[str, ...]  # the encoder's, where there are two stacks
    position: int | None
    target: tuple[str, ...]  # one answer, or two to be told apart
    value: float  # the logit, or the first minus the second
    likeliest: tuple[tuple[str, float], ...]  # what the model says, with probabilities
    parts: tuple[PartOfLogit, ...]
    unexplained: float  # what the parts do not sum to
    note: str  # what was held fixed
    rows: NDArray[np.int64]  # the queries whose attention reaches the answer
    edges: Mapping[tuple[Kind, int], Floats] = field(repr=False)  # h r s: logit by head and key
    promotes: Mapping[tuple[Kind, int, int], tuple[Tokenwise, Tokenwise]] = field(
        default_factory=dict[Any, Any], repr=False
    )  # what a head raises and lowers here
    lens: tuple[Tokenwise, ...] = ()  # after every layer, the likeliest tokens
    target_by_layer: tuple[float, ...] = ()  # the logit the lens gives the target

    @property
    def table(self) -> pd.DataFrame:
        """One row per part."""
        import pandas as pd

        return pd.DataFrame(
            {
                "part": [one.part for one in self.parts],
                "kind": [one.kind for one in self.parts],
                "layer": pd.array([one.layer for one in self.parts], dtype="Int64"),
                "head": pd.array([one.head for one in self.parts], dtype="Int64"),
                "measure": "logit",
                "value": [one.value for one in self.parts],
            }
        )

    @property
    def total(self) -> float:
        return sum(one.value for one in self.parts)

    def map(self, name: str = "logit", kind: Kind | None = None) -> Floats:
        """layers × heads: what each head adds to the logit."""
        if name != "logit":
            raise BadInput(f"An attribution measures 'logit', not {name!r}.")
        heads = [p for p in self.parts if p.part == "head" and kind in (None, p.kind)]
        if not heads:
            raise BadInput(f"The heads of {self.model} cannot be told apart; see .table.")
        own = [p for p in heads if p.kind != "cross"]
        heads = own if kind is None and own else heads
        shape = (1 + max(p.layer or 0 for p in heads), 1 + max(p.head or 0 for p in heads))
        found = np.full(shape, np.nan)
        for one in heads:
            found[one.layer or 0, one.head or 0] = one.value
        return found

    def top(self, name: str = "logit", n: int = 10) -> list[PartOfLogit]:
        """The parts that matter most, up or down, largest first."""
        if name not in ("logit", "head", "mlp", "embedding", "bias", "attention"):
            raise BadInput(f"Choose the top of 'logit', or of one sort of part, not {name!r}.")
        chosen = [p for p in self.parts if name in ("logit", p.part)]
        return sorted(chosen, key=lambda p: -abs(p.value))[:n]

    def by_key(self, layer: int, head: int, kind: Kind | None = None) -> Floats:
        """s: from which tokens a head took what it added."""
        kind = kind or next(iter(self.edges))[0]
        found = self.edges.get((kind, layer))
        if found is None:
            raise BadInput(f"There are no edges of {kind} layer {layer}; heads were not read.")
        return found[head].sum(axis=0)

    def plot(self, name: str = "logit") -> Figure:
        """The heads that pushed the answer up and down, as bars."""
        from headscope.figures.attribution_bars import attribution_bars

        return attribution_bars(
            [(one.label, one.part, one.value) for one in self.top(name, 16)],
            title=self.title,
            rest=self.value - sum(one.value for one in self.top(name, 16)),
        )

    @property
    def title(self) -> str:
        named = " over ".join(f"“{one.strip()}”" for one in self.target)
        return f"What made {named} ({self.value:+.2f})"

    def _repr_html_(self) -> str:
        head = f"<p>{_escaped(self.title)}: {_escaped(self.note)}</p>"
        rows: Any = self.table.iloc[np.argsort([-abs(p.value) for p in self.parts])[:12]]
        return head + rows.to_html(index=False)

    def save(self, path: str | Path) -> None:
        """One safetensors file; everything but the edges is JSON in its metadata."""
        from safetensors.numpy import save_file

        arrays = {f"edges.{kind}.{layer}": np.ascontiguousarray(values)
                  for (kind, layer), values in self.edges.items()}  # fmt: skip
        facts = {
            "model": self.model, "query": self.query, "key": self.key, "position": self.position,
            "target": self.target, "value": self.value, "likeliest": self.likeliest,
            "parts": self.parts, "unexplained": self.unexplained, "note": self.note,
            "promotes": [[list(at), both] for at, both in self.promotes.items()],
            "lens": self.lens, "target_by_layer": self.target_by_layer,
        }  # fmt: skip
        with atomic_path(path) as temporary:
            save_file({"rows": self.rows, **arrays}, temporary, {"attribution": json.dumps(facts)})

    @staticmethod
    def load(path: str | Path) -> Attribution:
        from safetensors import safe_open

        try:
            with safe_open(path, "numpy") as file:
                facts = json.loads((file.metadata() or {})["attribution"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, KeyError, ValueError) as error:
            raise BadInput(f"{path} is not a saved attribution.") from error
        edges: dict[tuple[Kind, int], Floats] = {}
        for name, values in arrays.items():
            if name.startswith("edges."):
                _, kind, layer = name.split(".")
                edges[kind, int(layer)] = values  # pyright: ignore[reportArgumentType]
        facts["parts"] = tuple(PartOfLogit(*one) for one in facts["parts"])
        facts["promotes"] = {
            (at[0], at[1], at[2]): (_tokenwise(up), _tokenwise(down))
            for at, (up, down) in facts["promotes"]
        }
        facts["lens"] = tuple(_tokenwise(one) for one in facts["lens"])
        facts["likeliest"] = tuple((str(a), float(b)) for a, b in facts["likeliest"])
        for name in ("query", "key", "target", "target_by_layer"):
            facts[name] = tuple(facts[name])
        return Attribution(rows=arrays["rows"], edges=edges, **facts)


def _tokenwise(pair: Iterable[Any]) -> Tokenwise:
    tokens, values = pair
    return Tokenwise(tuple(tokens), tuple(values))


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)
