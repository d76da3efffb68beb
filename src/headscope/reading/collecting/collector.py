"""A sink that keeps attention and turns it into readings."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence

import torch
from torch import Tensor

from headscope.capture.call import Call, Kind, allowed
from headscope.capture.softmax import attention_scores, weights_of_scores
from headscope.errors import BadInput, HeadscopeError
from headscope.reading.collecting.keeping import Keep, Keeping, Layer
from headscope.reading.collecting.to_host import ToHost
from headscope.reading.part import Part
from headscope.reading.reading import Reading
from headscope.reading.rotary import Rotary, rotary_of
from headscope.reading.weights.held import Bias, Mask
from headscope.reading.weights.layer import LayerAttention
from headscope.text.tokens import Tokens

Way = tuple[Kind, int, tuple[bool, bool, bool] | None, bool]
CANCELLED = "The reading was cancelled."
TESTED = 6  # queries of each layer whose weights are computed both ways
NO_QK = (
    "This model computes its attention outside the interface that hands over q and k, so only "
    "its weights can be read."
)


class Collector:
    """Keeps, per input of a batch, the real rows and columns of every wanted layer.

    `queries` and `keys` are how many real tokens each input has on the query side (the decoder's,
    for cross attention) and on the key side; None keeps everything. `layers` is the number of
    layers of each kind, `whole` the layers whose maps must be kept, `proven` the ways of computing
    weights that were tested before.
    """

    def __init__(
        self,
        queries: Sequence[int] | None,
        keys: Sequence[int] | None,
        keeping: Keeping,
        wanted: Collection[int] | None,
        layers: Mapping[Kind, int],
        whole: Collection[Layer] = (),
        proven: Collection[Way] = (),
    ) -> None:
        self._queries = queries
        self._keys = keys
        self.sizes: dict[Kind, tuple[int, int]] = {}  # each kind's numbers of queries and keys
        self._keeping = keeping
        self._wanted = None if wanted is None else frozenset(wanted)
        self._layers, self._whole = layers, frozenset(whole)
        self._proven = proven
        self.tested: set[Way] = set()
        self._found: dict[Kind, list[list[LayerAttention]]] = defaultdict(list)
        self._causal: dict[Kind, bool] = {}
        self._no_qk: set[Kind] = set()
        self._rotary: dict[Kind, Rotary | None] = {}
        self._positional = Positional()
        self._host = ToHost()
        self._apart: dict[Layer, list[Tensor]] = defaultdict(list)
        self._rows: dict[tuple[int, torch.device], Tensor] = {}
        self._bytes = 0
        self._calls = 0

    def __call__(self, call: Call) -> None:
        check_stop("pass", self._calls / max(1, sum(self._layers.values())))
        self._calls += 1
        self._causal[call.kind] = call.causal
        if call.kind not in self._rotary:
            self._rotary[call.kind] = rotary_of(call)
        if call.q is None:
            self._no_qk.add(call.kind)
        if self._wanted is None or call.layer in self._wanted:
            batch, _, *size = _shape(call)
            rows = [self._one(call, row, *size) for row in range(batch)]
            self._found[call.kind].append(rows)
            self._bytes += sum(one.nbytes for one in rows)
            self._keeping.check(self._bytes, 0, started=True)

    def _one(self, call: Call, row: int, queries: int, keys: int) -> LayerAttention:
        t, s = self._real(call.kind, row, queries, keys)
        size = (queries, keys)
        if t > queries or s > keys or self.sizes.setdefault(call.kind, size) != size:
            raise BadInput(
                f"Layer {call.layer} of this model attends with {queries} × {keys} positions, "
                "which are not the tokens of the text (it pools them); use scope.capture."
            )
        readable = call.q is not None and not call.edited  # an edit's weights come from no q and k
        bias, mask = self._positional.of(call, row, t, s)
        by_pair = bias is not None and not bias.relative  # as large as the map it would make
        maps = self._keeps_maps(call, readable and not by_pair, t, s)
        kept: dict[Keep, Tensor | None] = {
            "weights": call.weights[row, :, :t, :s] if maps else None,
            "q": call.q[row, :, :t] if call.q is not None and self._keeps("q", readable) else None,
            "k": call.k[row, :, :s] if call.k is not None and self._keeps("k", readable) else None,
            "v": call.v[row, :, :s] if call.v is not None and self._keeps("v", True) else None,
        }
        one = LayerAttention(
            call.layer,
            **{name: self._host(tensor, name == "weights") for name, tensor in kept.items()},
            scaling=call.scaling,
            bias=bias if kept["q"] is not None else None,
            mask=mask,
            window=call.window,
            softcap=call.softcap,
            sinks=self._host(None if call.sinks is None else call.sinks.reshape(-1), True),
        )
        if self._keeping.auto and not maps and _way(call, one) not in self._proven:
            self._test(call, row, one, t, s)
        return one

    def _keeps(self, name: Keep, readable: bool) -> bool:
        return readable and name in self._keeping.names

    def _keeps_maps(self, call: Call, readable: bool, t: int, s: int) -> bool:
        if not self._keeping.auto:
            return "weights" in self._keeping.names
        if not readable or call.q is None or call.k is None:
            return True
        if (call.kind, call.layer) in self._whole or call.scaling is None:
            return True
        count = self._layers.get(call.kind, 1)
        dim, item = call.q.shape[-1], call.q.element_size()
        neurons = (call.heads * t + call.groups * s) * dim * item
        return self._keeping.maps(count * call.heads * t * s * 4, count * neurons)

    def _test(self, call: Call, row: int, one: LayerAttention, t: int, s: int) -> None:
        """Compute a few queries' weights as the reading will, to compare with the model's own."""
        assert call.q is not None and call.k is not None and call.scaling is not None
        rows = self._tested_rows(t, call.q.device)
        own = call.weights_of(rows)
        if own is None:
            self._apart[call.kind, call.layer].append(torch.tensor(torch.inf, device=call.q.device))
            return
        bias, mask = one.bias_held, one.mask_held
        visible = None if mask is None else mask.rows(rows, call.q.device)
        scores = attention_scores(
            call.q[row][None, :, rows].float(),
            call.k[row][None, :, :s].float(),
            call.scaling,
            softcap=call.softcap,
            bias=None if bias is None else bias.rows(chosen=rows.cpu()).to(call.q.device),
        )
        allowed = _tolerance(scores[0], visible, call.q.dtype)
        sinks = None if call.sinks is None else call.sinks.reshape(-1)
        made = weights_of_scores(scores, visible=visible, sinks=sinks)[0]
        self.tested.add(_way(call, one))
        apart = (made - own[row, :, :, :s].float()).abs().amax(-1)
        self._apart[call.kind, call.layer].append((apart / allowed).max())

    def _tested_rows(self, t: int, device: torch.device) -> Tensor:
        """Queries spread over the text; made once, so that no layer waits for the GPU."""
        if (t, device) not in self._rows:
            rows = sorted({round(at * (t - 1) / (TESTED - 1)) for at in range(TESTED)})
            self._rows[t, device] = torch.tensor(rows).to(device)
        return self._rows[t, device]

    def not_rebuilt(self) -> frozenset[Layer]:
        """Layers whose weights from q and k differ from the model's own."""
        if not self._apart:
            return frozenset()
        most = [torch.stack(apart).max() for apart in self._apart.values()]
        together = torch.stack([one.to(most[0].device) for one in most]).tolist()
        return frozenset(
            at for at, apart in zip(self._apart, together, strict=True) if not apart <= 1
        )

    def _real(self, kind: Kind, row: int, queries: int, keys: int) -> tuple[int, int]:
        if self._queries is None or self._keys is None:
            return queries, keys
        t = self._keys[row] if kind == "encoder" else self._queries[row]
        s = self._queries[row] if kind == "decoder" else self._keys[row]
        return t, s

    def readings(self, query: Sequence[Tokens], key: Sequence[Tokens], model: str) -> list[Reading]:
        """One reading per input; `query` are the decoder's tokens, `key` the encoder's."""
        self._host.finish()
        readings: list[Reading] = []
        order: tuple[Kind, ...] = ("encoder", "decoder", "cross")
        for row in range(len(query)):
            parts: dict[Kind, Part] = {}
            for kind in order:
                if kind not in self._found:
                    continue
                parts[kind] = Part(
                    kind=kind,
                    query=key[row] if kind == "encoder" else query[row],
                    key=query[row] if kind == "decoder" else key[row],
                    layers=tuple(layer[row] for layer in self._found[kind]),
                    causal=self._causal[kind],
                    rotary=self._rotary[kind],
                    why_no_qk=NO_QK if kind in self._no_qk else None,
                )
            readings.append(Reading(parts, model))
        return readings


def _shape(call: Call) -> tuple[int, ...]:
    """b h t s, without asking a lazy call for its weights."""
    if call.q is None or call.k is None:
        return tuple(call.weights.shape)
    return (*call.q.shape[:3], call.k.shape[2])


def _way(call: Call, one: LayerAttention) -> Way:
    """How a layer's weights are computed; one test is valid for every text."""
    mask, bias = one.mask_held, one.bias_held
    shape = None if mask is None else (mask.window is None, mask.causal, mask.bits is None)
    return call.kind, call.layer, shape, bias is None or bias.relative


def _tolerance(scores: Tensor, visible: Tensor | None, dtype: torch.dtype) -> Tensor | float:
    """The tolerance for weights against the model's own, by head and query (h r).

    Half precision rounds its scores, before and after they are scaled: two of size s that compete
    move a weight by half of s times the precision at most. A wrong mask or bias moves weights much
    more.
    """
    if dtype in (torch.float32, torch.float64):
        return 5e-6
    sizes = scores.abs() if visible is None else scores.abs().masked_fill(~visible, 0)
    return (sizes.amax(-1) * (torch.finfo(dtype).eps / 2)).clamp(3e-2, 0.25)


# The mask and the positional bias of a call, found once for all layers that share them.

Found = tuple[Bias | None, Mask | None]


class Positional:
    """Layers of a pass share tensors, so what is derived from them is computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[list[Tensor], Found]] = {}

    def of(self, call: Call, row: int, t: int, s: int) -> Found:
        mask = call.given_mask
        if mask is None and call.bias is None:
            return None, Mask((t, s)) if call.implied_causal and t > 1 else None
        sources = [one for one in (mask, call.bias) if one is not None]
        # the tensors are kept, so that no other tensor gets the same address
        at = (*(id(one) for one in sources), call.bias is None, row, t, s)
        if at not in self._known:
            self._known[at] = (sources, _find(call, mask, row, t, s))
        bias, found = self._known[at][1]
        if mask is None and call.implied_causal:
            found = Mask((t, s))
        return bias, found


def _find(call: Call, mask: Tensor | None, row: int, t: int, s: int) -> Found:
    added = None if call.bias is None else _of(call.bias, row, t, s)
    found = None
    if mask is not None:
        given = _of(mask, row, t, s)
        seen = allowed(given)
        found = Mask.of(seen[0])
        if given.dtype != torch.bool:
            # an additive mask with finite values in it (ALiBi) is a bias too
            finite = torch.where(seen, given, torch.zeros_like(given))
            if bool(finite.any()):
                added = finite if added is None else added + finite
    return None if added is None else Bias.of(added.expand(call.heads, t, s)), found


def _of(tensor: Tensor, row: int, t: int, s: int) -> Tensor:
    return tensor[min(row, tensor.shape[0] - 1), :, :t, :s]


# Work that another thread may stop, between the layers of a pass.


class Interrupted(HeadscopeError):
    """The work was cancelled."""


Report = Callable[[str, float], None]


class _Watched(threading.local):
    stop: threading.Event | None = None
    report: Report | None = None


_watched = _Watched()


@contextlib.contextmanager
def interruptible(stop: threading.Event, report: Report | None = None) -> Generator[None]:
    """Readings inside raise `Interrupted` once the event is set.

    report: called with the stage of the work and the share of that stage that is done.
    """
    before = _watched.stop, _watched.report
    _watched.stop, _watched.report = stop, report
    try:
        if stop.is_set():
            raise Interrupted(CANCELLED)
        yield
    finally:
        _watched.stop, _watched.report = before


def check_stop(stage: str, done: float) -> None:
    """Raise `Interrupted` if the event is set; `done`: the finished share of the stage."""
    if _watched.stop is not None and _watched.stop.is_set():
        raise Interrupted(CANCELLED)
    if _watched.report is not None:
        _watched.report(stage, done)
