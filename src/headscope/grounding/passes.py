"""Log-probabilities of one answer after many prompts with a common beginning.

The first prompt is read whole and its keys and values are cached. Every other prompt reuses the
cache of their common beginning and computes only the rest, with logits at the answer alone. Prompts
with rests of similar length are read together, padded in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture.call import Sink
from headscope.errors import BadInput
from headscope.grounding.prompts import Prompt, common_prefix
from headscope.reading.predict import word_logits

if TYPE_CHECKING:
    from headscope.reading import Scope

Floats = NDArray[np.float64]
WASTE = 1.2  # most computed tokens per needed one when prompts are read together
AT_ONCE = {"cpu": 512, "cuda": 16_384}  # tokens computed together


class AnswerPasses:
    """Passes over one answer; `log_probabilities` are the first prompt's, by token.

    `tell` is called with the number of prompts after they are read.
    """

    def __init__(
        self,
        scope: Scope,
        first: Prompt,
        sink: Sink | None = None,
        tell: Callable[[int], None] = lambda prompts: None,
    ) -> None:
        self.scope, self.first, self._tell = scope, first, tell
        self.computed = 0  # tokens, to compare with plain passes
        self._kept: list[tuple[Tensor, Tensor]] | None = None
        cache = _new_cache(scope)
        given = {"past_key_values": cache, "use_cache": True} if cache is not None else {}
        ids = first.ids[None, :-1]
        output = self._run(ids, torch.ones_like(ids), first.said, sink, **given)
        self.log_probabilities = _chosen(output, first.ids[first.answer :])[0]
        if cache is not None:
            self._kept = _kept(cache, ids.shape[1])
        tell(1)

    def of(self, prompts: Sequence[Prompt]) -> Floats:
        """prompts × tokens of the answer, natural logarithms."""
        said = self.first.ids[self.first.answer :]
        found = np.full((len(prompts), self.first.said), np.nan)
        for prompt in prompts:
            if not torch.equal(prompt.ids[prompt.answer :], said):
                raise BadInput(
                    "The tokenizer splits the answer differently in another context; begin the "
                    "answer with a letter."
                )
        for group in self._groups(prompts):
            found[group] = self._together([prompts[at] for at in group])
            self._tell(len(group))
        return found

    def shared(self, prompt: Prompt) -> int:
        """How many tokens come from the first prompt's cache."""
        if self._kept is None:
            return 0
        return min(common_prefix(self.first.ids, prompt.ids), prompt.answer - 1)

    def again(self, rows: int, sink: Sink) -> Floats:
        """rows × tokens of the answer: the first prompt's answer read again, under a sink."""
        ids = self.first.ids[None, :-1].expand(rows, -1)
        start = self.first.answer - 1 if self._kept is not None else 0
        output = self._rest(ids[:, start:], [start] * rows, None, sink)
        return _chosen(output, self.first.ids[self.first.answer :])

    def _groups(self, prompts: Sequence[Prompt]) -> Iterator[list[int]]:
        """Prompts to read together: sorted by the length of their rest, with little padding."""
        rest = [len(one.ids) - 1 - self.shared(one) for one in prompts]
        most = AT_ONCE.get(self.scope.device.type, AT_ONCE["cpu"]) if self._pads() else 0
        group: list[int] = []
        for at in sorted(range(len(prompts)), key=lambda one: rest[one]):
            longest, real = rest[at], sum(rest[one] for one in group) + rest[at]
            padded = longest * (len(group) + 1)
            if group and (padded > most or padded > WASTE * real):
                yield group
                group = []
            group.append(at)
        if group:
            yield group

    def _pads(self) -> bool:
        """Whether prompts may be padded in the middle: windows and ALiBi count positions."""
        config = self.scope.model.config.get_text_config(decoder=True)
        return (
            self._kept is not None
            and self.scope.accepts("position_ids")
            and getattr(config, "sliding_window", None) is None
            and not self.scope.edits
        )

    def _together(self, prompts: Sequence[Prompt]) -> Floats:
        shared = [self.shared(one) for one in prompts]
        rests = [one.ids[start:-1] for one, start in zip(prompts, shared, strict=True)]
        longest = max(map(len, rests))
        ids = torch.stack([_padded(rest, longest) for rest in rests])
        output = self._rest(ids, shared, [len(rest) for rest in rests], None)
        return _chosen(output, self.first.ids[self.first.answer :])

    def _rest(
        self, ids: Tensor, shared: Sequence[int], lengths: Sequence[int] | None, sink: Sink | None
    ) -> Any:
        """A pass over the rests (b t, at the right) after the shared beginnings."""
        rows, left = ids.shape
        if self._kept is None:
            return self._run(ids, torch.ones_like(ids), self.first.said, sink)
        most = max(shared)
        mask = torch.ones(rows, most + left, dtype=torch.long, device=ids.device)
        positions = torch.zeros_like(ids)
        for row, start in enumerate(shared):
            real = left if lengths is None else lengths[row]
            mask[row, start : most + left - real] = 0
            positions[row, left - real :] = torch.arange(start, start + real)
        options: dict[str, Any] = {"past_key_values": _cut(self._kept, most, rows)}
        if rows > 1 and self.scope.accepts("position_ids"):
            options["position_ids"] = positions
        return self._run(ids, mask, self.first.said, sink, use_cache=True, **options)

    def _run(self, ids: Tensor, mask: Tensor, keep: int, sink: Sink | None, **options: Any) -> Any:
        self.computed += ids.numel()
        if self.scope.accepts("logits_to_keep"):
            options["logits_to_keep"] = keep
        given = {"input_ids": ids, "attention_mask": mask}
        output = self.scope.forward(given, sink, lazy=True, **options)
        return word_logits(self.scope, output, range(-keep, 0))


def _new_cache(scope: Scope) -> Any:
    """A cache for every position, also of windowed layers; None if the model has no such cache."""
    from transformers import DynamicCache

    if not scope.accepts("past_key_values") or len(scope.layer_numbers.get("decoder", ())) != int(
        getattr(scope.model.config.get_text_config(decoder=True), "num_hidden_layers", 0)
    ):
        return None  # layers that do not attend have states of their own
    return DynamicCache()


def _kept(cache: Any, length: int) -> list[tuple[Tensor, Tensor]] | None:
    """The cache as pairs, if it holds every position of every layer."""
    found: list[tuple[Tensor, Tensor]] = []
    for layer in cache.layers:
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        if not isinstance(keys, Tensor) or not isinstance(values, Tensor):
            return None
        if keys.dim() != 4 or keys.shape[2] != length:
            return None
        found.append((keys, values))
    return found or None


def _cut(kept: Sequence[tuple[Tensor, Tensor]], length: int, rows: int) -> Any:
    """A cache of the first positions, for several prompts at once; nothing is copied here."""
    from transformers import DynamicCache

    cache = DynamicCache()
    for number, (keys, values) in enumerate(kept):
        cache.update(
            keys[:, :, :length].expand(rows, -1, -1, -1),
            values[:, :, :length].expand(rows, -1, -1, -1),
            number,
        )
    return cache


def _padded(ids: Tensor, length: int) -> Tensor:
    """Pad at the left, masked, so that the answers end together."""
    return torch.cat([ids.new_zeros(length - len(ids)), ids])


def _chosen(logits: Tensor, said: Tensor) -> Floats:
    """rows × tokens: the log-probability of the answer's tokens. logits: b t vocabulary."""
    scores = logits.log_softmax(-1)
    chosen = scores.gather(-1, said[None, :, None].expand(len(logits), -1, -1))[..., 0]
    return chosen.double().cpu().numpy()
