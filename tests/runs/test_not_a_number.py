"""Attention that is not a number is refused, though every weight of the model is one."""

from __future__ import annotations

import pytest
import torch

import headscope as hs
from headscope.corpus.sample import STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.errors import HeadscopeError
from tests.tiny import tiny_scope

TREES = list(Treebank(STORIES, limit=6))
LONG = 8  # tokens
TEXTS = [" ".join(sentence.words) for sentence in TREES]


@pytest.fixture
def overflowing() -> hs.Scope:
    """A model whose layer 1 overflows on longer texts only, as half precision does."""
    scope = tiny_scope("BertForPreTraining")

    def overflow(module: object, given: object, output: torch.Tensor) -> torch.Tensor:
        return output * float("nan") if output.shape[1] > LONG else output

    scope.model.bert.encoder.layer[1].attention.self.query.register_forward_hook(overflow)
    return scope


@pytest.mark.parametrize(
    "measure",
    [
        lambda scope: hs.survey(scope, TEXTS, ["entropy"], progress=False),
        lambda scope: hs.survey(scope, TEXTS, ["self_word"], progress=False),
        lambda scope: hs.probe.dependency(scope, TREES, minimum=1, progress=False),
        lambda scope: hs.probe.features(scope, TREES, progress=False),
    ],
)
def test_attention_that_is_not_a_number_is_refused(overflowing, measure):
    with pytest.raises(HeadscopeError, match="attention of layer 1 is NaN"):
        measure(overflowing)
