"""Models whose weights lie in several places, or come for each pass, are read as whole ones are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.runs.identity import model_fingerprint
from tests.contracts.test_handing_over import FIRST, SECOND, assert_read_as, needs, saved, truth
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer


def partly_on_disk(folder: Path) -> Any:
    """A tiny BERT, its encoder offloaded to the disk."""
    from transformers import BertForMaskedLM

    saved(folder / "model")
    places = {"bert.embeddings": "cpu", "bert.encoder": "disk", "cls": "cpu"}
    return BertForMaskedLM.from_pretrained(
        folder / "model", device_map=places, offload_folder=folder / "disk"
    )


@pytest.mark.parametrize("way", ["cpu_offload", "disk_offload"])
def test_a_model_whose_weights_come_for_each_pass_is_read_and_taken_apart(
    way: str, tmp_path: Path
) -> None:
    """All of its weights, the table of token vectors too, are elsewhere between passes."""
    needs("accelerate")
    import accelerate

    whole = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    where = [tmp_path] if way == "disk_offload" else []
    model = tiny_model("LlamaForCausalLM", num_key_value_heads=2)
    here = torch.device("cpu")
    scope = hs.load(
        getattr(accelerate, way)(model, *where, execution_device=here), tiny_tokenizer()
    )
    assert all(one.is_meta for one in scope.model.parameters())
    text = "the cat sat on the mat"
    np.testing.assert_allclose(scope.read(text).attention, whole.read(text).attention, atol=1e-6)
    copying = hs.circuits.copying(scope).map("copying")
    np.testing.assert_allclose(copying, hs.circuits.copying(whole).map("copying"), atol=1e-6)
    assert model_fingerprint(scope.model) == model_fingerprint(whole.model)


def test_a_model_spread_over_devices_and_disk_is_read(tmp_path: Path) -> None:
    needs("accelerate")
    spread = partly_on_disk(tmp_path)
    assert any(parameter.is_meta for parameter in spread.parameters())
    assert_read_as(hs.load(spread, tiny_tokenizer()), truth(tiny_model("BertForMaskedLM")))


def test_a_model_on_disk_is_surveyed_and_edited_too(tmp_path: Path) -> None:
    needs("accelerate")
    spread = partly_on_disk(tmp_path)
    one, other = hs.load(spread, tiny_tokenizer()), hs.load(tmp_path / "model")
    np.testing.assert_allclose(
        hs.survey(one, [FIRST, SECOND]).map("entropy"),
        hs.survey(other, [FIRST, SECOND]).map("entropy"),
        atol=1e-6,
    )
    assert one.fill("the [MASK] sat")[0][0].token == other.fill("the [MASK] sat")[0][0].token


def test_a_decoder_in_two_places_is_edited_and_goes_on_writing(tmp_path: Path) -> None:
    """Half of its layers in memory, half on disk: accelerate's hooks bring them as they are run."""
    needs("accelerate")
    from transformers import GPT2LMHeadModel

    tiny_model("GPT2LMHeadModel").save_pretrained(tmp_path / "model")
    tiny_tokenizer().save_pretrained(tmp_path / "model")
    places = {"transformer.wte": "cpu", "transformer.wpe": "cpu", "transformer.h.0": "cpu",
              "transformer.h.1": "disk", "transformer.ln_f": "cpu", "lm_head": "cpu"}  # fmt: skip
    model = GPT2LMHeadModel.from_pretrained(
        tmp_path / "model", device_map=places, offload_folder=tmp_path / "disk"
    )
    assert any(parameter.is_meta for parameter in model.parameters())
    spread, whole = hs.load(model, tiny_tokenizer()), hs.load(tmp_path / "model")
    disabled = [(0, 1)]
    for one, other in ((spread, whole), (spread.without(disabled), whole.without(disabled))):
        np.testing.assert_allclose(
            one.read(FIRST).attention, other.read(FIRST).attention, atol=1e-6
        )
        assert (
            one.generate(FIRST, max_new_tokens=3).tokens
            == other.generate(FIRST, max_new_tokens=3).tokens
        )
    surveys = [hs.survey(scope, [FIRST, SECOND], progress=False) for scope in (spread, whole)]
    np.testing.assert_allclose(*(one.map("entropy") for one in surveys), atol=1e-6)
    assert any(parameter.is_meta for parameter in model.parameters()), "left where it was"
