"""Feeds: where a corpus is cut and measured. Each yields the remaining portions, measured.

- `Here`: this process cuts, tokenises and measures.
- `Helped`: helper processes cut and tokenise, this process measures: a GPU reads faster than one
  process prepares text.
- `Spread`: workers (processes or Ray actors) cut and measure, and hand back merged states.
"""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headscope.corpus.text.batches import Amount
from headscope.corpus.text.documents import Shard
from headscope.errors import BadInput, first_line
from headscope.reading import Scope
from headscope.surveys.corpus import (
    Corpus,
    Cutter,
    Helper,
    Portion,
    Prepared,
    ShardReader,
    Taken,
)
from headscope.surveys.loop import Measured, Measurer, SoFar
from headscope.surveys.options import Options
from headscope.surveys.pools import Pool, Processes, Ray, Task, spread
from headscope.surveys.reducer import Arrays, Reducer

MOST_HELPERS = 16
SHARDS_EACH = 4  # fewest shards per helper that make starting it worthwhile
ANSWER_EVERY = 5.0  # seconds after which a worker answers, even within a shard


class Feed(Protocol):
    @property
    def note(self) -> str:
        """The workers, for the progress bar."""
        ...

    def measured(self, so_far: SoFar) -> Iterator[Measured]:
        """The remaining portions, measured."""
        ...

    def close(self) -> None: ...


def feed_for(scope: Scope, corpus: Corpus, reducers: Sequence[Reducer], options: Options) -> Feed:
    """The feed that suits the options, the device and the corpus."""
    measurer = Measurer(scope, reducers, options.seed)
    if options.engine == "ray":
        return _on_ray(scope, corpus, measurer, options)
    if options.spreads:
        return _on_processes(scope, corpus, measurer, options)
    on_gpu = scope.device.type == "cuda"
    count = min(helpers(), len(corpus.shards) // SHARDS_EACH) if on_gpu else 0
    needs_text = scope.encoder_decoder or any(reducer.texts for reducer in reducers)
    if count and not needs_text:
        return _helped(measurer, corpus, count)
    return Here(measurer, corpus, ahead=on_gpu)


def _helped(measurer: Measurer, corpus: Corpus, count: int) -> Feed:
    """Helpers, or this process alone if none can be started."""
    try:
        return Helped(measurer, corpus, count)
    except Exception as error:  # no more processes, or a tokenizer that cannot be pickled
        warnings.warn(
            f"No process for preparing text could be started ({type(error).__name__}: "
            f"{first_line(error)}); the main process prepares it, so the GPU waits for it.",
            RuntimeWarning,
            stacklevel=2,
        )
        return Here(measurer, corpus, ahead=True)


class Here:
    """This process. For a GPU, a thread prepares the next portion meanwhile."""

    note = ""

    def __init__(self, measurer: Measurer, corpus: Corpus, ahead: bool = False) -> None:
        self._measurer, self._corpus, self._ahead = measurer, corpus, ahead

    def measured(self, so_far: SoFar) -> Iterator[Measured]:
        prepared = self._prepared(so_far)
        yield from self._measurer.portions(_ahead(prepared) if self._ahead else prepared)

    def _prepared(self, so_far: SoFar) -> Iterator[Prepared]:
        cutter = self._corpus.cutter
        for shard, taken in so_far.left(self._corpus.shards):
            for portion in cutter.portions(shard, taken):
                yield cutter.prepared(portion)

    def close(self) -> None:
        pass


def _ahead(stream: Iterator[Prepared]) -> Iterator[Prepared]:
    """The same items, each prepared while the one before is used."""
    with ThreadPoolExecutor(1, "headscope-ahead") as thread:
        following = thread.submit(next, stream, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, stream, None)
            yield item


class Helped:
    """Helper processes, each with a tokenizer, beside this one with the model."""

    def __init__(self, measurer: Measurer, corpus: Corpus, count: int) -> None:
        from joblib.externals.loky.backend.reduction import dumps  # pyright: ignore

        self._measurer, self._corpus = measurer, corpus
        self.note = f"{count} processes prepare text"
        # once for all of them; a tokenizer that cannot be sent raises here
        packed = bytes(dumps(corpus.cutter))
        self._pool = Processes(Helper, [(packed,)] * count)

    def measured(self, so_far: SoFar) -> Iterator[Measured]:
        tasks = (Task("prepare", one) for one in so_far.left(self._corpus.shards))
        yield from self._measurer.portions(spread(self._pool, tasks))

    def close(self) -> None:
        self._pool.close()


def helpers() -> int:
    """How many processes can prepare text, leaving one core for the GPU."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(0, min(MOST_HELPERS, (cores or 1) - 2))


@dataclass(frozen=True)
class Sent:
    """A worker's results, ready to send."""

    portions: list[Portion]
    amount: Amount
    states: list[Arrays]


class Worker(ShardReader):
    """Cuts, tokenises and measures with its own model."""

    def __init__(
        self, scope: Scope, reducers: Sequence[Reducer], cutter: Cutter, device: str, cores: int
    ) -> None:
        import torch

        super().__init__(cutter)
        torch.set_num_threads(cores)
        if device != "cpu":
            scope.model.to(torch.device(device))
        self._measurer = Measurer(scope, reducers, cutter.options.seed)

    def measure_shard(self, shard: Shard, taken: Taken) -> tuple[Sent, tuple[Shard, Taken] | None]:
        """Measure portions of a shard for some seconds."""
        stream = self.at(shard, taken)
        sent, done = self._measure(_for_seconds(stream))
        return sent, self.then(shard, taken, stream, done)

    def measure(self, portion: Portion) -> tuple[Sent, None]:
        """Measure a portion that was cut elsewhere."""
        return self._measure([portion])[0], None

    def _measure(self, portions: Any) -> tuple[Sent, list[Portion]]:
        into, amount, done = self._measurer.fresh(), Amount(), []
        for measured in self._measurer.portions(map(self._cutter.prepared, portions)):
            amount += measured.amount
            done += measured.portions
            for mine, other in zip(into, measured.reducers, strict=True):
                mine.merge(other)
        bare = [Prepared(portion, []).without_text().portion for portion in done]
        return Sent(bare, amount, [reducer.state() for reducer in into]), done


def _for_seconds(stream: Iterator[Portion]) -> Iterator[Portion]:
    end = time.monotonic() + ANSWER_EVERY
    for portion in stream:
        yield portion
        if portion.is_last or time.monotonic() > end:
            return


class Spread:
    """Workers that measure shards that they read, or portions that are cut here."""

    def __init__(self, pool: Pool, measurer: Measurer, corpus: Corpus) -> None:
        self._pool, self._measurer, self._corpus = pool, measurer, corpus
        self.note = f"{pool.count} workers"

    def measured(self, so_far: SoFar) -> Iterator[Measured]:
        left = so_far.left(self._corpus.shards)
        if self._corpus.is_divided:
            answers = spread(self._pool, (Task("measure_shard", one) for one in left))
        else:
            portions = (p for one in left for p in self._corpus.cutter.portions(*one))
            answers = spread(self._pool, (Task("measure", (p,)) for p in portions), ahead=2)
        for sent in answers:
            into = self._measurer.fresh()
            for reducer, state in zip(into, sent.states, strict=True):
                # copies, because arrays from Ray's object store are read-only
                reducer.restore({name: array.copy() for name, array in state.items()})
            yield Measured(sent.portions, sent.amount, into)

    def close(self) -> None:
        self._pool.close()


def _on_processes(scope: Scope, corpus: Corpus, measurer: Measurer, options: Options) -> Spread:
    """Several processes on this machine, each with its own GPU if there are several."""
    import torch

    assert options.workers is not None
    gpus = torch.cuda.device_count() if scope.device.type == "cuda" else 0
    cores = max(1, torch.get_num_threads() // options.workers)
    given = (_shipped(scope), measurer.fresh(), _light(corpus))
    devices = [f"cuda:{worker % gpus}" if gpus else "cpu" for worker in range(options.workers)]
    pool = Processes(Worker, [(*given, device, cores) for device in devices])
    return Spread(pool, measurer, corpus)


def _on_ray(scope: Scope, corpus: Corpus, measurer: Measurer, options: Options) -> Spread:
    """One model per worker, each with a core or a GPU of its own."""
    on_gpu = scope.device.type == "cuda"
    pool = Ray(
        # Ray shows each worker its own GPU alone
        Worker, _shipped(scope), measurer.fresh(), _light(corpus), "cuda:0" if on_gpu else "cpu", 1,
        on_gpu=on_gpu, address=options.address, workers=options.workers,
    )  # fmt: skip
    return Spread(pool, measurer, corpus)


def _light(corpus: Corpus) -> Cutter:
    """The cutter, without a corpus that only this process reads."""
    return replace(corpus.cutter, whole=None)


def _shipped(scope: Scope) -> Scope:
    """The scope in a form that can be sent: its model in main memory."""
    if len(set(getattr(scope.model, "hf_device_map", {}).values())) > 1:
        raise BadInput(
            f"{scope.name} is spread over several devices, so one process runs it; leave workers= "
            "(--workers) and engine= out."
        )
    if scope.device.type == "cpu":
        return scope
    return Scope(copy.deepcopy(scope.model).to("cpu"), scope.tokenizer, scope.name, scope.edits)
