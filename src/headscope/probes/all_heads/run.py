"""Probes over all heads at once, beside baselines without them.

After Clark et al. 2019, Table 3. Maps are stored once and serve every probe.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd
import torch
from torch import Tensor

from headscope.checked import checked
from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.identity import data_identity
from headscope.corpus.treebanks.conllu import Sentence
from headscope.errors import BadInput, HeadscopeError
from headscope.probes.all_heads.maps import MapBatch, MapStore, store_maps
from headscope.probes.all_heads.networks import AttentionProbe, DistancesProbe, WordsProbe
from headscope.probes.all_heads.training import EPOCHS, Score, carried, fit, right_branching, score
from headscope.probes.all_heads.vectors import embedding_vectors, glove_vectors
from headscope.probes.data import Data, Trees, trees
from headscope.probes.passes import PAPER_LENGTH, self_attention
from headscope.probes.probe_run import probe_run
from headscope.probes.random_weights import with_random_weights
from headscope.probes.result import ProbeResult
from headscope.probes.word_level import Mode
from headscope.results import tidy
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback, Run, State
from headscope.runs.torch_state import packed, unpacked

if TYPE_CHECKING:
    from headscope.reading import Scope

PROBES = ("right-branching", "distances+words", "random weights+words", "random weights",
          "attention", "attention+words")  # fmt: skip
VectorSource = Literal["glove", "embeddings"]


@dataclass(frozen=True, eq=False, repr=False)
class AllHeadsResult(ProbeResult):
    """UAS of each probe, and each head's contribution."""

    summary: pd.DataFrame  # probe, uas, low, high, words, epochs
    heads: pd.DataFrame  # probe, layer, head, direction, gain
    vectors: str
    sentences: dict[str, int]

    @property
    def title(self) -> str:
        return "Probes over all heads"

    @property
    def table(self) -> pd.DataFrame:
        """What each head adds to the right governor's score, by probe and direction."""
        of = self.heads.rename(columns={"gain": "value"})
        named = of["probe"] + " " + of["direction"] if len(of) else ""
        return tidy(of, kind=self.kind, measure=named, count=self.sentences.get("dev", 0))


@checked
def all_heads(
    scope: Scope,
    train: Trees,
    dev: Trees,
    test: Trees,
    *,
    probes: Iterable[str] | None = None,
    vectors: VectorSource = "glove",
    glove: str | Path | None = None,
    mode: Mode = "mean",
    max_tokens: int | None = PAPER_LENGTH,
    epochs: int = EPOCHS,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> AllHeadsResult:
    """What a learned combination of all heads knows of syntax.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    train, dev, test
        Treebanks to train on, to stop early by, and to score on.
    probes
        Which probes to train; all if left out.
    vectors
        Word vectors from "glove", or the model's own "embeddings".
    glove
        A GloVe text file.
    epochs
        The most passes over `train`.
    mode, max_tokens, seed, bad_data, limit, output, restart, progress
        As for `dependency`.

    Returns
    -------
    AllHeadsResult
        The accuracy of every probe, and what each learned of every head.

    Examples
    --------
    >>> import headscope as hs
    >>> trees = "train.conllu", "dev.conllu", "test.conllu"
    >>> found = hs.probe.all_heads(hs.load(), *trees, vectors="embeddings")  # doctest: +SKIP
    """
    wanted = PROBES if probes is None else tuple(probes)
    unknown = [name for name in wanted if name not in PROBES]
    if unknown:
        raise BadInput(f"There is no probe {unknown[0]!r}; choose among {', '.join(PROBES)}.")
    parts = {name: Data(trees(part, bad_data), limit) for name, part in
             (("train", train), ("dev", dev), ("test", test))}  # fmt: skip
    settings = [wanted, vectors, data_identity(glove), mode, max_tokens, epochs, seed]
    with probe_run(scope, parts.values(), settings, title="All heads",
                   output=output, restart=restart, progress=progress) as run:  # fmt: skip
        work = _Work(run, parts, Faults(bad_data), mode, max_tokens, epochs, seed)
        real = work.stores(scope, "maps")
        torch.manual_seed(seed)
        words, described = _vectors(scope, list(work.vocabulary), vectors, glove)
        kind = self_attention(scope)
        work.layers, work.heads = scope.layer_numbers[kind], scope.heads[kind]
        work.judge("right-branching", right_branching, real, wanted)
        work.learn("distances+words", lambda maps: DistancesProbe(words), real, wanted)
        work.learn("attention", AttentionProbe, real, wanted)
        work.learn("attention+words", lambda maps: WordsProbe(maps, words), real, wanted)
        sentences = {name: store.sentences for name, store in real.items()}
        _close(real)
        if any(name.startswith("random") for name in wanted):
            control = work.stores(with_random_weights(scope, seed), "random-maps")
            work.learn("random weights", AttentionProbe, control, wanted)
            work.learn(
                "random weights+words", lambda maps: WordsProbe(maps, words), control, wanted
            )
            _close(control)
        found = AllHeadsResult(
            work.table(), work.carriers(), described, sentences, faults=work.faults, kind=kind
        )
        if output is not None:
            write_output(found, output, found.summary, heads=found.heads)
    return found


class _Work:
    """The stored maps, and each probe's score on them."""

    def __init__(
        self,
        run: Run,
        parts: dict[str, Data[Sentence]],
        faults: Faults,
        mode: Mode,
        max_tokens: int | None,
        epochs: int,
        seed: int,
    ) -> None:
        self._run, self._parts, self.faults = run, parts, faults
        self._mode: Mode = mode
        self._max_tokens, self._epochs, self._seed = max_tokens, epochs, seed
        self.vocabulary: dict[str, int] = {"": 0}
        self.layers: tuple[int, ...] = ()  # those that attend
        self.heads = 0
        self._rows: list[dict[str, object]] = []
        self._carriers: list[pd.DataFrame] = []

    def stores(self, scope: Scope, name: str) -> dict[str, MapStore]:
        """All maps of a model; the control finds the same faults again, which count once."""
        found = self.faults if name == "maps" else Faults(self.faults.choice)
        self._run.title = f"Reading all maps of {scope.name}"
        return {
            part: store_maps(
                scope, data, found, mode=self._mode, max_tokens=self._max_tokens,
                vocabulary=self.vocabulary, run=self._run, name=f"{name}-{part}",
            )
            for part, data in self._parts.items()
        }  # fmt: skip

    def judge(
        self,
        name: str,
        rule: Callable[[MapBatch], Tensor],
        on: dict[str, MapStore],
        wanted: tuple[str, ...],
    ) -> None:
        """Score a rule that learns nothing."""
        if name in wanted:

            def reached() -> State:
                return State({"epochs": None, **vars(score(rule, on["test"], seed=self._seed))})

            self._record(name, self._once(name, reached))

    def _once(self, name: str, compute: Callable[[], State]) -> State:
        """A probe's score, computed unless the checkpoint has it."""
        part = self._run.part(f"reached-{name}")
        state = part.recall()
        if state is None:
            state = compute()
            part.put(state)
        return state

    def _record(self, name: str, state: State) -> None:
        numbers = (*(f.name for f in dataclasses.fields(Score)), "epochs")
        self._rows.append({"probe": name, **{one: state.position[one] for one in numbers}})

    def learn(
        self,
        name: str,
        make: Callable[[int], torch.nn.Module],
        on: dict[str, MapStore],
        wanted: tuple[str, ...],
    ) -> None:
        """Train and score a probe, or resume it from a checkpoint."""
        if name not in wanted:
            return
        probe = make(len(self.layers) * self.heads)
        has_shares = hasattr(probe, "contributions") and not name.startswith("random")

        def show(epoch: int, uas: float) -> None:
            note = f"dev score {uas:.3f}"
            self._run.tell(epoch, self._epochs, title=f"Training {name}", note=note)

        def reached() -> State:
            training = self._run.part(f"training-{name}")
            ran = fit(probe, on["train"], on["dev"], seed=self._seed, epochs=self._epochs,
                      part=training, progress=show)  # fmt: skip
            found = score(probe, on["test"], seed=self._seed)
            lift = carried(probe, on["dev"]) if has_shares else torch.zeros(0)
            return State({"epochs": ran, **vars(found)}, packed(lift=lift))

        state = self._once(name, reached)
        lift = unpacked(state.arrays)["lift"]  # the next probe's first weights are drawn as ever
        self._record(name, state)
        if has_shares:
            self._carriers.append(_carriers(name, lift, self.layers, self.heads))

    def table(self) -> pd.DataFrame:
        table = pd.DataFrame(self._rows).astype({"epochs": "Int64"})
        order = {name: place for place, name in enumerate(PROBES)}
        return table.sort_values("probe", key=lambda names: names.map(order), ignore_index=True)

    def carriers(self) -> pd.DataFrame:
        if not self._carriers:
            return pd.DataFrame(columns=["probe", "direction", "layer", "head", "gain"])
        return pd.concat(self._carriers, ignore_index=True)


def _close(stores: dict[str, MapStore]) -> None:
    for store in stores.values():
        store.close()


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


def _carriers(name: str, gain: Tensor, layers: tuple[int, ...], heads: int) -> pd.DataFrame:
    numbers = pd.MultiIndex.from_product(
        [["dep→head", "head→dep"], layers, range(heads)],
        names=["direction", "layer", "head"],
    ).to_frame(index=False)
    numbers.insert(0, "probe", name)
    return numbers.assign(gain=gain.numpy())
