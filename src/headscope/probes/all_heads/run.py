"""Probes over all heads at once, beside what can be had without them.

After Clark et al. 2019, Table 3. Maps are stored once and serve every probe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import pandas as pd
import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.corpus.bad_data import Choice, Fault, Faults
from headscope.corpus.treebanks.conllu import Sentence
from headscope.errors import BadInput, HeadscopeError
from headscope.probes.all_heads.attention_probe import AttentionProbe
from headscope.probes.all_heads.distances_probe import DistancesProbe
from headscope.probes.all_heads.maps import MapStore, store_maps
from headscope.probes.all_heads.training import EPOCHS, Score, carried, fit, right_branching, score
from headscope.probes.all_heads.vectors import embedding_vectors, glove_vectors
from headscope.probes.all_heads.words_probe import WordsProbe
from headscope.probes.passes import PAPER_LENGTH, self_attention
from headscope.probes.random_weights import with_random_weights
from headscope.probes.word_level import Mode
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    from headscope.reading import Scope

PROBES = ("right-branching", "distances+words", "random weights+words", "random weights",
          "attention", "attention+words")  # fmt: skip
VectorSource = Literal["glove", "embeddings"]


@dataclass(frozen=True)
class AllHeadsResult(HeadResult):
    """UAS of each probe, and how much each head carries."""

    summary: pd.DataFrame  # probe, uas, low, high, words, epochs
    heads: pd.DataFrame  # probe, layer, head, direction, gain
    vectors: str
    sentences: dict[str, int]
    faults: Faults = field(repr=False)
    kind: Kind = "encoder"

    holds: ClassVar[tuple[type, ...]] = (Faults, Fault)

    @property
    def title(self) -> str:
        return "Probes over all heads"

    @property
    def table(self) -> pd.DataFrame:
        """What each head adds to the right governor's score, by probe and direction."""
        of = self.heads.rename(columns={"gain": "value"})
        named = of["probe"] + " " + of["direction"] if len(of) else ""
        return tidy(of, kind=self.kind, measure=named, count=self.sentences.get("dev", 0))


def probe_all_heads(
    scope: Scope,
    train: Iterable[Sentence],
    dev: Iterable[Sentence],
    test: Iterable[Sentence],
    *,
    probes: Iterable[str] = PROBES,
    vectors: VectorSource = "glove",
    glove: str | Path | None = None,
    mode: Mode = "mean",
    max_length: int | None = PAPER_LENGTH,
    epochs: int = EPOCHS,
    seed: int = 0,
    bad: Choice = "skip",
    progress: Callable[[str], None] | None = None,
) -> AllHeadsResult:
    """Train on `train`, stop early by `dev`, score on `test`."""
    wanted = tuple(probes)
    unknown = [name for name in wanted if name not in PROBES]
    if unknown:
        raise BadInput(f"There is no probe {unknown[0]!r}; choose among {', '.join(PROBES)}.")
    say = progress or (lambda message: None)
    faults = Faults(bad)
    vocabulary: dict[str, int] = {"": 0}
    parts = {"train": train, "dev": dev, "test": test}

    def stores(of: Scope) -> dict[str, MapStore]:
        say(f"reading all maps of {of.name}")
        found = faults if of is scope else Faults(bad)  # the control meets the same faults again
        return {
            name: store_maps(
                of, part, found, mode=mode, max_length=max_length, vocabulary=vocabulary
            )
            for name, part in parts.items()
        }

    rows: list[dict[str, object]] = []
    carriers: list[pd.DataFrame] = []
    kind = self_attention(scope)
    shape = scope.layers[kind], scope.heads[kind]
    maps = shape[0] * shape[1]

    def record(name: str, reached: Score, ran: int | None = None) -> None:
        rows.append({"probe": name, **vars(reached), "epochs": ran})

    def learn(name: str, probe: torch.nn.Module, on: dict[str, MapStore]) -> None:
        def tell(epoch: int, uas: float) -> None:
            say(f"{name}: epoch {epoch}, dev UAS {uas:.3f}")

        ran = fit(probe, on["train"], on["dev"], seed=seed, epochs=epochs, progress=tell)
        record(name, score(probe, on["test"], seed=seed), ran)
        if hasattr(probe, "contributions") and not name.startswith("random"):
            carriers.append(_carriers(name, carried(probe, on["dev"]), shape))

    real = stores(scope)
    torch.manual_seed(seed)
    words, described = _vectors(scope, list(vocabulary), vectors, glove)
    if "right-branching" in wanted:
        record("right-branching", score(right_branching, real["test"], seed=seed))
    if "distances+words" in wanted:
        learn("distances+words", DistancesProbe(words), real)
    if "attention" in wanted:
        learn("attention", AttentionProbe(maps), real)
    if "attention+words" in wanted:
        learn("attention+words", WordsProbe(maps, words), real)
    sentences = {name: store.sentences for name, store in real.items()}
    for store in real.values():
        store.close()
    if any(name.startswith("random") for name in wanted):
        control = stores(with_random_weights(scope, seed))
        if "random weights" in wanted:
            learn("random weights", AttentionProbe(maps), control)
        if "random weights+words" in wanted:
            learn("random weights+words", WordsProbe(maps, words), control)
        for store in control.values():
            store.close()
    table = pd.DataFrame(rows).astype({"epochs": "Int64"})
    order = {name: place for place, name in enumerate(PROBES)}
    table = table.sort_values("probe", key=lambda names: names.map(order), ignore_index=True)
    empty = pd.DataFrame(columns=["probe", "direction", "layer", "head", "gain"])
    heads = pd.concat(carriers, ignore_index=True) if carriers else empty
    return AllHeadsResult(table, heads, described, sentences, faults, kind)


def _vectors(
    scope: Scope, vocabulary: list[str], source: VectorSource, glove: str | Path | None
) -> tuple[Tensor, str]:
    if source == "glove":
        try:
            return glove_vectors(vocabulary, glove)
        except HeadscopeError:
            if glove is not None:
                raise
    return embedding_vectors(scope, vocabulary)


def _carriers(name: str, gain: Tensor, shape: tuple[int, int]) -> pd.DataFrame:
    layers, heads = shape
    numbers = pd.MultiIndex.from_product(
        [["dep→head", "head→dep"], range(layers), range(heads)],
        names=["direction", "layer", "head"],
    ).to_frame(index=False)
    numbers.insert(0, "probe", name)
    return numbers.assign(gain=gain.numpy())
