"""`hs.find_heads`: which heads carry a labelled relation between positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_scope
from headscope.capture import Call, Kind
from headscope.checked import checked
from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.links.linked import Linked, of_fields, read_jsonl
from headscope.errors import BadInput
from headscope.probes.data import Data
from headscope.probes.passes import check_finite, check_nonempty, length_limit, self_attention
from headscope.probes.probe_run import probe_run
from headscope.results import tidy
from headscope.results.storage import write_output
from headscope.roles.encoded import Encoded, batches
from headscope.roles.examples import example_maps, examples
from headscope.roles.fields import BY_CHANCE, LINKS, LOWER, OF_MAPS, Field
from headscope.roles.kept import Kept
from headscope.roles.maps import UnitBatch, unit_batch
from headscope.roles.result import FoundHeads
from headscope.roles.scores import picks, precision
from headscope.roles.together import map_score, together
from headscope.roles.totals import Totals
from headscope.runs import ProgressCallback, Run, State
from headscope.statistics.significance import FEWEST, holm, warn_few

if TYPE_CHECKING:
    from headscope.reading import Scope

REPLICATES = 400  # of intervals: all heads, directions and measures are replicated side by side
Pairs = str | Path | Iterable[Linked | Mapping[str, Any]]
Lists = Mapping[str, Sequence[tuple[int, int]]]


class Documents(Iterable[Linked]):
    """A reader's documents, read again in each pass; `faults` are those of the last one."""

    def __init__(self, read: Callable[[Faults], Iterator[Linked]], bad_data: Choice) -> None:
        self._read = read
        self.faults = Faults(bad_data)

    def __iter__(self) -> Iterator[Linked]:
        self.faults = Faults(self.faults.choice)  # a second pass must not count twice
        return self._read(self.faults)


def linked(given: Pairs, bad_data: Choice) -> Documents:
    """Documents of a .jsonl file, or of dictionaries with the same fields."""
    if isinstance(given, (str, Path)):
        path = given
        return Documents(lambda faults: read_jsonl(path, faults), bad_data)
    listed = list(given)

    def read(faults: Faults) -> Iterator[Linked]:
        for number, one in enumerate(listed):
            if isinstance(one, Mapping):
                made = of_fields(one, f"document {number}", faults)
                if made is not None:
                    yield made
            else:
                yield one

    return Documents(read, bad_data)


@checked
def find_heads(
    scope: Scope,
    pairs: Pairs,
    *,
    kind: Kind | None = None,
    most_heads: int = 4,
    lists: Lists | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> FoundHeads:
    """Find the heads that attend from one labelled position to another.

    Every head is scored in three directions: from the query to its target, back, and both added.
    A p-value compares each score with shuffled labels, corrected over all heads and directions.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    pairs
        A .jsonl file of documents with links by character, such as
        `{"text": "The cat sat.", "pairs": [[[8, 11], [4, 7]]]}`, or such dictionaries. The query
        of a pair comes first. With `other`, a second text or what a decoder reads, queries lie
        there. `candidates` lists the possible targets; every token if left out.
    kind
        "encoder", "decoder" or "cross"; cross attention where documents have `other` and the
        model is an encoder–decoder, else the model's self-attention.
    most_heads
        The most heads that are chosen together.
    lists
        Lists of (layer, head) by name, such as published ones, to score beside the chosen heads.
    max_tokens
        Longer documents are left out and counted.
    seed
        Seed of everything drawn at random.
    bad_data
        "skip" and count links that cannot be used, or "refuse" them.
    limit
        Only the first documents.
    output
        A .csv or .parquet file to write; a stopped run resumes from it.
    restart
        Whether to start over instead of resuming.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    FoundHeads
        Every head's scores with intervals and p-values, the best heads together, examples.

    Examples
    --------
    >>> import headscope as hs
    >>> text = "Ann met Bob. Bob smiled."
    >>> links = [{"text": text, "pairs": [[[13, 16], [8, 11]]]} for _ in range(6)]
    >>> found = hs.find_heads(hs.load(), links, progress=False)
    >>> found.cases
    6
    """
    return search(
        scope, linked(pairs, bad_data), LINKS, kind=kind, most_heads=most_heads, lists=lists,
        max_tokens=max_tokens, seed=seed, bad_data=bad_data, limit=limit, output=output,
        restart=restart, progress=progress,
    )  # fmt: skip


def search(
    scope: Scope,
    documents: Iterable[Linked],
    field: Field,
    *,
    kind: Kind | None = None,
    most_heads: int = 4,
    lists: Lists | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> FoundHeads:
    """Find heads as one field scores them; the arguments of `find_heads`."""
    need_scope(scope)
    if most_heads < 1:
        raise BadInput(f"most_heads= is at least 1, not {most_heads}.")
    faults, data = Faults(bad_data), Data(documents, limit)
    kind = _kind(scope, data, kind)
    named = _checked_lists(scope, kind, lists or {})
    longest = length_limit(scope, max_tokens) if max_tokens or scope.max_tokens else None
    settings = [
        kind,
        most_heads,
        {name: list(of) for name, of in named.items()},
        longest,
        seed,
        repr(field),
    ]
    with probe_run(scope, [data], settings, title=f"Heads for {field.name}", output=output,
                   restart=restart, progress=progress) as run:  # fmt: skip
        passed = _Pass(scope, field, kind, seed)
        passed.over(batches(scope, data, kind, field, faults, longest), run, len(data))
        data.faults_into(faults)
        check_nonempty(passed.totals.cases, "links", faults)
        found = passed.result(data, faults, most_heads, named)
        if output is not None:
            write_output(found, output, found.table, together=found.together)
    return found


class _Pass:
    """One pass over the documents: totals of all heads, and a sample of whole documents."""

    def __init__(self, scope: Scope, field: Field, kind: Kind, seed: int) -> None:
        self.scope, self.field, self.seed = scope, field, seed
        self.kind: Kind = kind
        shape = scope.layers[kind], scope.heads[kind]
        self.totals = Totals(field, *shape, seed, REPLICATES)
        self.first_half = Totals(field, *shape, seed, 1)  # heads are chosen by it
        self.kept = Kept((len(field.directions), *shape), seed)

    def over(self, source: Iterable[Encoded], run: Run, total: int) -> None:
        part = run.part("heads")
        done = 0
        before: dict[str, Any] = {}
        if (state := part.recall()) is not None:
            done, before = int(state.position["batches"]), state.arrays
            self.totals.restore(before)
            half = {n.removeprefix("half."): a for n, a in before.items() if n.startswith("half.")}
            self.first_half.restore(half)

        def now() -> State:
            half = {f"half.{name}": array for name, array in self.first_half.arrays().items()}
            return State({"batches": done},
                         {**self.totals.arrays(), **half, **self.kept.arrays()})  # fmt: skip

        for number, encoded in enumerate(source):
            if number < done:  # read again, so that faults are found again
                self.kept.restore(encoded.plans, before)
                continue
            with part.step(now):
                self._through(encoded)
                done = number + 1
            run.tell(encoded.documents, total)
        part.keep()

    def _through(self, encoded: Encoded) -> None:
        batch: UnitBatch | None = None
        shape: tuple[int, ...] = ()
        self.totals.begin(tuple(encoded.plans))
        even = [row for row, one in enumerate(encoded.plans) if one.number % 2 == 0]
        self.first_half.begin(tuple(encoded.plans[row] for row in even))
        self.kept.begin(encoded.plans)

        def sink(call: Call) -> None:
            nonlocal batch, shape
            if call.kind != self.kind:
                return
            weights = call.weights.detach().float()[encoded.rows]
            check_finite(weights, call.layer)
            if batch is None:
                shape = queries, keys = tuple(weights.shape[-2:])
                batch = unit_batch(encoded.plans, queries, keys, weights.device)
            elif tuple(weights.shape[-2:]) != shape:
                raise BadInput(
                    f"Layer {call.layer} of {self.scope.name} does not attend among the tokens of "
                    "the text (it pools them), so no links can be found in it."
                )
            there, back = batch.maps(
                weights, self.kind == "cross", call.valid_queries[encoded.rows]
            )
            self._layer(call.layer, self.field.directed(there, back), batch, even)

        with torch.inference_mode():
            # the encoder below cross attention then makes no maps
            self.scope.forward(encoded.inputs, sink, lazy=self.scope.encoder_decoder)
        self.totals.end()
        self.first_half.end()
        self.kept.end()

    def _layer(
        self, layer: int, directed: dict[str, Tensor], batch: UnitBatch, even: Sequence[int]
    ) -> None:
        for number, (way, maps) in enumerate(directed.items()):
            chosen = picks(maps, batch)
            for metric in self.field.tested:
                mean, variance = BY_CHANCE[metric](batch, chosen)
                self.totals.add_null(metric, way, layer, mean.cpu(), variance.cpu())
            for metric in self.field.metrics:
                tally = (
                    precision(batch, chosen)
                    if metric == "precision"
                    else OF_MAPS[metric](maps, batch)
                )
                sums, counts = tally.sums.cpu().numpy(), tally.counts.cpu().numpy()
                self.totals.add(metric, way, layer, sums, counts)
                self.first_half.add(metric, way, layer, sums[even], counts[even])
            self.kept.add(number, layer, maps)

    def result(self, data: Data[Linked], faults: Faults, k: int, lists: Lists) -> FoundHeads:
        field, totals = self.field, self.totals
        if totals.documents < FEWEST:
            warn_few(totals.documents, "documents")
        alone = self.first_half.scores(field.metric)
        attending = list(self.scope.layer_numbers[self.kind])
        out = np.ones(alone.shape, bool)
        out[:, attending] = False
        alone[out] = np.nan
        baseline, offset = totals.by_position
        table = _table(totals, self.kind, attending)
        whole = totals.scores(field.metric)
        whole[out] = np.nan
        first = int(np.nanargmin(whole) if field.lower else np.nanargmax(whole))
        direction, layer, head = (int(i) for i in np.unravel_index(first, whole.shape))
        best = direction, layer, head
        return FoundHeads(
            table=table,
            together=together(self.kept, field, alone, k, lists, map_score(field), self.seed),
            examples=examples(self.kept, data, best, field.directions),
            maps=example_maps(self.kept, data, best),
            role=field.name, metric=field.metric, lower=field.metric in LOWER,
            documents=totals.documents, cases=totals.cases, baseline=baseline, offset=offset,
            model=self.scope.name, faults=faults, kind=self.kind,
        )  # fmt: skip


def _table(totals: Totals, kind: Kind, attending: list[int]) -> pd.DataFrame:
    """A row per head, measure and direction."""
    field = totals.field
    null, p = totals.by_chance()
    corrected = np.full(p.shape, np.nan)
    for own, of_metric in zip(corrected, p, strict=True):
        own[:, attending] = holm(of_metric[:, attending].ravel()).reshape(own[:, attending].shape)
    frames: list[pd.DataFrame] = []
    for metric in field.metrics:
        values, ends = totals.scores(metric), totals.intervals(metric)
        tested = field.tested.index(metric) if metric in field.tested else None
        even = np.full(values.shape, 0.5) if metric == "auc" else None
        chance = even if tested is None else null[tested]
        for at, way in enumerate(field.directions):
            layer, head = np.meshgrid(*map(np.arange, values.shape[1:]), indexing="ij")

            def of(array: NDArray[Any] | None, at: int = at) -> Any:
                return np.nan if array is None else array[at][attending].ravel()

            frames.append(
                pd.DataFrame(
                    {
                        "layer": layer[attending].ravel(),
                        "head": head[attending].ravel(),
                        "measure": f"{metric} {way}",
                        "value": of(values),
                        "count": totals.cases,
                        "low": of(ends[0]),
                        "high": of(ends[1]),
                        "null": of(chance),
                        "p": of(None if tested is None else p[tested]),
                        "p_holm": of(None if tested is None else corrected[tested]),
                        "baseline": totals.baseline(metric),
                    }
                )
            )
    return tidy(pd.concat(frames, ignore_index=True), kind=kind)


def _kind(scope: Scope, data: Data[Linked], kind: Kind | None) -> Kind:
    if kind is None:
        first = next(iter(data), None)
        two = first is not None and (
            getattr(first, "other", None) is not None or getattr(first, "sound", None) is not None
        )
        return "cross" if two and scope.encoder_decoder else self_attention(scope)
    if kind not in scope.kinds:
        raise BadInput(f"{scope.name} has no {kind} attention; it has {', '.join(scope.kinds)}.")
    if kind == "decoder" and scope.encoder_decoder:
        raise BadInput(
            "Links within the decoder of an encoder-decoder are not measured; choose kind='cross'."
        )
    return kind


def _checked_lists(scope: Scope, kind: Kind, lists: Lists) -> dict[str, list[tuple[int, int]]]:
    made: dict[str, list[tuple[int, int]]] = {}
    for name, heads in lists.items():
        made[name] = [(int(layer), int(head)) for layer, head in heads]
        for layer, head in made[name]:
            if layer not in scope.layer_numbers[kind] or not 0 <= head < scope.heads[kind]:
                raise BadInput(
                    f"The list {name!r} names head {layer}-{head}, which the model does not have."
                )
    return made
