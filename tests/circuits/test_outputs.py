"""What heads write, held to what the model's own projection gives."""

from __future__ import annotations

import pytest
import torch

from headscope.capture import capture
from headscope.capture.softmax import weight_rows
from headscope.circuits.outputs import outputs_of
from headscope.reading import Scope
from tests.contracts.families import FAMILIES
from tests.contracts.family_models import build, inputs

NAMES = (
    "BERT", "DistilBERT", "ModernBERT", "GPT-2", "OPT", "GPT-NeoX", "Llama", "Qwen2", "Gemma 2",
    "Gemma 3", "gpt-oss", "DeepSeek-V3", "T5", "BART",
    # read at their softmax
    "MPNet", "DeBERTa-v2", "GPT-J", "BLOOM", "Falcon, rotary",
)  # fmt: skip
BY_NAME = {family.name: family for family in FAMILIES}


def one_example(name: str) -> tuple[Scope, dict[str, torch.Tensor]]:
    given = {key: value[:1] for key, value in inputs(BY_NAME[name]).items()}
    return Scope(build(BY_NAME[name]), None, name), given


@pytest.mark.parametrize("name", NAMES)
def test_heads_and_keys_sum_to_what_the_projection_writes(name: str) -> None:
    scope, given = one_example(name)
    found = outputs_of(scope, given)
    assert set(found) == {(k, n) for k in scope.kinds for n in range(scope.layers[k])}
    for layer in found.values():
        by_edge = torch.zeros_like(layer.written)
        if layer.bias is not None:
            by_edge += layer.bias
        heads, queries, keys = layer.weights.shape
        for head in range(heads):
            for query in range(queries):
                for key in range(keys):
                    by_edge[query] += layer.edge(head, query, key)
        scale = layer.written.abs().max()
        assert torch.all((layer.total - layer.written).abs() <= 1e-5 * scale)
        assert torch.all((by_edge - layer.written).abs() <= 2e-5 * scale)


def test_a_norm_weight_is_the_length_of_the_edge() -> None:
    scope, given = one_example("Llama")
    for layer in outputs_of(scope, given).values():
        for head, query, key in ((0, 3, 1), (3, 5, 5), (2, 7, 0)):
            length = layer.edge(head, query, key).norm()
            assert torch.isclose(layer.norm_weighted[head, query, key], length, rtol=1e-4)


@pytest.mark.parametrize("name", ["BERT", "Qwen2", "Gemma 2", "gpt-oss", "T5", "BART"])
def test_rows_of_weights_are_the_models_own(name: str) -> None:
    scope, _ = one_example(name)
    given = inputs(BY_NAME[name])
    rows = torch.tensor([2, 5])

    def compare(call) -> None:
        made = weight_rows(call, rows)
        assert not call.lazy_weights.made
        real = call.valid_queries[:, rows]
        off = (made - call.weights[:, :, rows]).abs().amax(dim=(1, 3))
        assert float(off[real].max()) < 1e-6

    with torch.no_grad(), capture(scope.model, compare, lazy=True):
        scope.model(**given)
