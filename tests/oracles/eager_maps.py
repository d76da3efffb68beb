"""transformers' own eager attention, asked for with `output_attentions=True`."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch

from tests.oracles.comparison import Comparison
from tests.oracles.subjects import every, read

TITLE = "transformers, eager attention"
PACKAGES = ("transformers",)
NAMES = {
    "encoder": "encoder_attentions",
    "decoder": "decoder_attentions",
    "cross": "cross_attentions",
}


def compare() -> Iterator[Comparison]:
    for name, scope in every():
        reading = read(scope)
        eager = copy.deepcopy(scope.model).eval()
        eager.set_attn_implementation("eager")
        first = reading.part("encoder" if "encoder" in reading.kinds else reading.kinds[0])
        inputs = {"input_ids": torch.from_numpy(first.query.ids)[None]}
        if first.query.segments.any():
            inputs["token_type_ids"] = torch.from_numpy(first.query.segments).long()[None]
        elif scope.accepts("token_type_ids") and not scope.encoder_decoder:
            inputs["token_type_ids"] = torch.zeros_like(inputs["input_ids"])
        if scope.encoder_decoder:
            inputs["decoder_input_ids"] = torch.from_numpy(reading.part("decoder").query.ids)[None]
        with torch.no_grad():
            output = eager(**inputs, output_attentions=True)
        for kind in reading.kinds:
            own = output[NAMES[kind] if scope.encoder_decoder else "attentions"]
            theirs = torch.stack(list(own))[:, 0].float().numpy()
            ours = reading.part(kind).attention.values
            yield Comparison.of(name, f"{kind} attention", ours, theirs, 5e-6)
