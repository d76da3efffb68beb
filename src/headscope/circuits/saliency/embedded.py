"""A text as vectors that gradients reach, and the answer as a function of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.circuits.logits.target import (
    Question,
    Target,
    difference,
    logits_of,
    question,
    target_ids,
)
from headscope.errors import BadInput
from headscope.models.limits import token_vectors

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Text
    from headscope.text.tokens import Tokens

AT_ONCE = 4096  # tokens run together


class Embedded:
    """`answers(embeddings)` is the asked logit for each of a batch of embedded texts."""

    def __init__(
        self, scope: Scope, text: Text, text_pair: Text | None, target: Target, position: int | None
    ) -> None:
        self.scope = scope
        self.asked: Question = question(scope, text, text_pair, position)
        self.tokens: Tokens = self.asked.key if scope.encoder_decoder else self.asked.query
        table: Any = scope.model.get_input_embeddings()
        with torch.no_grad():
            self.own: Tensor = table(self.asked.inputs["input_ids"])  # 1 t m
            every = token_vectors(scope.model)
            assert every is not None  # it has just given the text's own
            scale = self.own[0, 0].norm() / every[self.asked.inputs["input_ids"][0, 0]].norm()
            self.average: Tensor = every.float().mean(0).to(self.own) * scale  # m
        self.rest = {n: t for n, t in self.asked.inputs.items() if n != "input_ids"}
        logits = self._logits(self.own)[0]
        self.ids = target_ids(scope, self.asked, target, logits)
        self.value = float(difference(logits, self.ids))
        special = self.tokens.content
        self.free = torch.from_numpy(special.copy())  # tokens that may be taken away

    @property
    def baseline(self) -> Tensor:
        """1 t m: every word as the average word of the vocabulary; special tokens stay."""
        keep = self.free.to(self.own.device)[None, :, None]
        return torch.where(keep, self.average.expand_as(self.own), self.own)

    def answers(self, embeddings: Tensor) -> Tensor:
        """b: differentiable."""
        step = max(1, AT_ONCE // embeddings.shape[1])
        parts = [self._answers(some) for some in embeddings.split(step)]
        return torch.cat(parts)

    def _answers(self, embeddings: Tensor) -> Tensor:
        output = self._run(embeddings)
        rows = [difference(self._of(output, row), self.ids) for row in range(len(embeddings))]
        return torch.stack(rows)

    def _logits(self, embeddings: Tensor) -> Tensor:
        with torch.no_grad():
            output = self._run(embeddings)
        return torch.stack([self._of(output, row) for row in range(len(embeddings))])

    def _run(self, embeddings: Tensor) -> Any:
        batch = len(embeddings)
        rest = {name: tensor.expand(batch, *tensor.shape[1:]) for name, tensor in self.rest.items()}
        try:
            with self.scope.passes(gradients=torch.is_grad_enabled()) as run:
                return run({**rest, "inputs_embeds": embeddings})
        except (TypeError, NotImplementedError) as error:
            raise BadInput(
                f"{self.scope.name} takes no embedded text, so its inputs cannot be weighed."
            ) from error

    def _of(self, output: Any, row: int) -> Tensor:
        class One:
            logits = None if output.get("logits") is None else output["logits"][row : row + 1]
            prediction_logits = (
                None
                if output.get("prediction_logits") is None
                else output["prediction_logits"][row : row + 1]
            )

        words = self.asked.output_layer is not None
        return logits_of(self.scope, One, words, self.asked.position)
