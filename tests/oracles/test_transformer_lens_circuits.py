"""TransformerLens on SmolLM2: head outputs, attribution, copying, composition and patching.

The bridge runs the same weights under its own names, with the gain of every norm folded into the
matrices that read through it, as ours has it: definitions agree, so numbers agree to 1e-4.
Two of its habits are switched off because ours leaves the model as it is: centring the output
layer (which takes from every logit what is common to all of them, and so changes eigenvalues) and
centring what is written (which an RMS norm does not undo).
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import headscope as hs

lens = pytest.importorskip("transformer_lens")
TEXT = "When Mary and John went to the store, John gave a drink to"
OTHER = "When Mary and John went to the store, Mary gave a drink to"
HEADS, GROUPS, WIDTH = 9, 3, 64
CLOSE = 1e-4

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bridge(smollm2):
    """The same model under TransformerLens."""
    from transformer_lens.model_bridge import TransformerBridge

    made = TransformerBridge.boot_transformers(  # of a given model, so no network is needed
        "HuggingFaceTB/SmolLM2-135M",
        hf_model=copy.deepcopy(smollm2.model),  # it changes the model it is given
        tokenizer=smollm2.tokenizer,
        device="cpu",
        dtype=torch.float32,
    )
    made.enable_compatibility_mode(
        disable_warnings=True, center_unembed=False, center_writing_weights=False
    )
    return made


@pytest.fixture(scope="module")
def cache(bridge, smollm2):
    with torch.no_grad():
        return bridge.run_with_cache(ids(smollm2, TEXT), prepend_bos=False)


@pytest.fixture(scope="module")
def names(smollm2) -> tuple[int, int]:
    mary, john = (smollm2.tokenizer(word)["input_ids"][0] for word in (" Mary", " John"))
    return mary, john


def ids(scope, text):
    return scope.encode([text]).inputs["input_ids"]


def test_heads_give_what_the_bridge_gives(cache, smollm2) -> None:
    _, kept = cache
    found = hs.circuits.head_outputs(smollm2, TEXT)
    for layer in range(30):
        ours = found["decoder", layer].mixed.transpose(0, 1)
        z = kept[f"blocks.{layer}.attn.hook_z"][0].reshape(ours.shape)
        assert torch.allclose(ours, z, atol=CLOSE * float(z.abs().max()))


# ours: what TransformerLens calls it, and how its axes (token, head, size) become ours
NAMED = {
    "stream.before": ("hook_resid_pre", None),
    "stream.after": ("hook_resid_post", None),
    "attention.q": ("attn.hook_rot_q", (1, 0, 2)),
    "attention.k": ("attn.hook_rot_k", (1, 0, 2)),
    "attention.v": ("attn.hook_v", (1, 0, 2)),
    "attention.weights": ("attn.hook_pattern", None),
    "attention.heads": ("attn.hook_z", None),
    "attention.output": ("hook_attn_out", None),
    "mlp.inner": ("mlp.hook_post", None),
    "mlp.output": ("hook_mlp_out", None),
}


@pytest.mark.parametrize("name", NAMED)
def test_an_activation_has_the_value_of_the_bridges_name(name, cache, smollm2) -> None:
    _, kept = cache
    its, axes = NAMED[name]
    for layer in (0, 15, 29):
        ours = smollm2.activations(TEXT, [f"{name}.{layer}"])[f"{name}.{layer}"].to_numpy()
        theirs = kept[f"blocks.{layer}.{its}"][0].numpy()
        theirs = theirs.transpose(axes) if axes else theirs
        np.testing.assert_allclose(
            ours.reshape(theirs.shape), theirs, atol=CLOSE * np.abs(theirs).max()
        )


def test_attribution_is_the_bridges_stack_of_head_results(cache, smollm2, bridge, names) -> None:
    _, kept = cache
    found = hs.attribute(smollm2, TEXT, target=("Mary", "John"), tokens=0, lens=False)
    with torch.no_grad():
        stack = kept.stack_head_results(layer=-1, pos_slice=-1)
        scaled = kept.apply_ln_to_stack(stack, layer=-1, pos_slice=-1)[:, 0]
        theirs = scaled @ (bridge.W_U[:, names[0]] - bridge.W_U[:, names[1]])
    assert np.allclose(found.map("logit"), theirs.reshape(30, HEADS).numpy(), atol=CLOSE)


def test_a_patched_head_changes_the_logits_as_under_the_bridge(
    cache, smollm2, bridge, names
) -> None:
    _, kept = cache
    found = hs.circuits.patch(smollm2, TEXT, OTHER, ("Mary", "John"), progress=False)

    @torch.no_grad()
    def difference(hooks=()) -> float:
        logits = bridge.run_with_hooks(
            ids(smollm2, OTHER), prepend_bos=False, fwd_hooks=list(hooks)
        )
        return float(logits[0, -1, names[0]] - logits[0, -1, names[1]])

    base = difference()
    clean = float(cache[0][0, -1, names[0]] - cache[0][0, -1, names[1]])
    for layer, head in ((0, 4), (11, 2), (20, 0), (23, 3), (29, 1)):
        name = f"blocks.{layer}.attn.hook_z"

        def put(z, hook, head=head, name=name):
            apart = z.clone().reshape(*z.shape[:2], HEADS, WIDTH)
            apart[:, :, head] = kept[name].reshape(apart.shape)[:, :, head]
            return apart.reshape(z.shape)

        share = (difference([(name, put)]) - base) / (clean - base)
        assert found.map("patch")[layer, head] == pytest.approx(share, abs=CLOSE)


def circuits_of(bridge, layer: int):
    """OV and QK of a layer's heads as the bridge factors them, in float64."""
    from transformer_lens import FactoredMatrix

    attention = bridge.blocks[layer].attn
    q, k, v, o = (getattr(attention, f"W_{one}").detach().double() for one in "QKVO")
    k, v = (one.repeat_interleave(HEADS // GROUPS, dim=0) for one in (k, v))
    return FactoredMatrix(v, o), FactoredMatrix(q, k.transpose(1, 2))


def test_composition_is_the_bridges_between_all_heads_of_four_pairs_of_layers(
    bridge, smollm2
) -> None:
    from transformer_lens.utilities.matrix import composition_scores

    found = hs.circuits.composition(smollm2)
    for early, late in ((0, 1), (3, 7), (11, 23), (20, 29)):
        (ov, _), (later_ov, qk) = circuits_of(bridge, early), circuits_of(bridge, late)
        for name, reads in (("q", qk), ("k", qk.T), ("v", later_ov)):
            theirs = composition_scores(ov, reads, broadcast_dims=True).numpy()
            assert np.allclose(found.scores[name][early, :, late], theirs, atol=CLOSE)


def test_copying_is_that_of_the_bridges_eigenvalues(bridge, smollm2) -> None:
    found = hs.circuits.copying(smollm2).map("copying")
    into, out = bridge.W_E.detach().double(), bridge.W_U.detach().double()
    for layer in (11, 29):
        ov, _ = circuits_of(bridge, layer)
        for head in range(HEADS):
            values = (into @ ov[head] @ out).eigenvalues
            score = float(values.real.sum() / values.abs().sum())
            assert found[layer, head] == pytest.approx(score, abs=CLOSE)
