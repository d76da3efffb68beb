"""TransformerLens on SmolLM2: head outputs, attribution, copying, composition and patching.

The bridge runs the same weights under its own names. Where definitions agree numbers agree to
1e-4; its composition and copying take raw weights without the norm's gain, so ours are compared
with that gain set to one.
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

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bridge(smollm2):
    """The same model under TransformerLens."""
    try:
        from transformer_lens.model_bridge import TransformerBridge

        return TransformerBridge.boot_transformers(
            "HuggingFaceTB/SmolLM2-135M",
            hf_model=copy.deepcopy(smollm2.model),  # it changes the model it is given
            tokenizer=smollm2.tokenizer,
            device="cpu",
            dtype=torch.float32,
        )
    except Exception as error:
        pytest.skip(f"TransformerLens cannot open this model without a network: {error}")


def ids(scope):
    return scope.encode([TEXT]).inputs["input_ids"]


@pytest.fixture(scope="module")
def cache(bridge, smollm2):
    with torch.no_grad():
        return bridge.run_with_cache(ids(smollm2), prepend_bos=False)


def test_heads_give_what_the_bridge_gives(cache, smollm2) -> None:
    _, kept = cache
    found = hs.circuits.head_outputs(smollm2, TEXT)
    for layer in (0, 11, 29):
        z = kept[f"blocks.{layer}.attn.hook_z"][0]
        ours = found["decoder", layer].mixed.transpose(0, 1)
        z = z.reshape(ours.shape)
        assert torch.allclose(ours, z, atol=1e-4 * float(z.abs().max()))


def test_attribution_is_the_bridges_residual_times_the_unembedding(cache, smollm2, bridge) -> None:
    _, kept = cache
    found = hs.attribute(smollm2, TEXT, target=("Mary", "John"), tokens=0, lens=False)
    mary, john = (smollm2.tokenizer(w)["input_ids"][0] for w in (" Mary", " John"))
    model = smollm2.model
    final = kept["blocks.29.hook_resid_post"][0, -1] if (
        "blocks.29.hook_resid_post" in kept
    ) else kept["blocks.29.hook_out"][0, -1]  # fmt: skip
    scale = (final.square().mean() + model.model.norm.variance_epsilon).sqrt()
    towards = (model.lm_head.weight[mary] - model.lm_head.weight[john]) * model.model.norm.weight
    towards = (towards / scale).detach()
    ours = found.map("logit")
    for layer in (5, 23, 29):
        z = kept[f"blocks.{layer}.attn.hook_z"][0, -1].reshape(9, 64)
        weight = model.model.layers[layer].self_attn.o_proj.weight.T.reshape(9, 64, -1)
        theirs = torch.einsum("hd,hdm,m->h", z, weight, towards).detach().numpy()
        assert np.allclose(ours[layer], theirs, atol=1e-4)


def test_a_patched_head_changes_the_logits_as_under_the_bridge(cache, smollm2, bridge) -> None:
    _, kept = cache
    pair = (smollm2.tokenizer(w)["input_ids"][0] for w in (" Mary", " John"))
    mary, john = pair
    found = hs.circuits.patch(smollm2, TEXT, OTHER, ("Mary", "John"))
    other = smollm2.encode([OTHER]).inputs["input_ids"]

    def difference(logits):
        return float(logits[0, -1, mary] - logits[0, -1, john])

    base = difference(bridge(other, prepend_bos=False))
    clean = difference(cache[0])
    for layer, head in ((23, 3), (29, 1)):
        name = f"blocks.{layer}.attn.hook_z"

        def put(z, hook, head=head, name=name):
            z = z.clone()
            apart = z.reshape(*z.shape[:2], 9, 64)
            apart[:, :, head] = kept[name].reshape(*z.shape[:2], 9, 64)[:, :, head]
            return apart.reshape(z.shape)

        with torch.no_grad():
            patched = difference(
                bridge.run_with_hooks(other, prepend_bos=False, fwd_hooks=[(name, put)])
            )
        share = (patched - base) / (clean - base)
        assert found.map("patch")[layer, head] == pytest.approx(share, abs=1e-4)


def test_composition_and_copying_are_those_of_plain_matrices(smollm2) -> None:
    """TransformerLens's FactoredMatrix on this model's matrices, norms' gains included."""
    from transformer_lens import FactoredMatrix

    from headscope.circuits.weights.matrices import head_weights, vocabulary

    weights, (into, out) = head_weights(smollm2), vocabulary(smollm2)
    copied, composed = hs.circuits.copying(smollm2), hs.circuits.composition(smollm2, ("k",))
    for early, a, late, b in ((3, 1, 7, 4), (11, 2, 23, 3)):
        one, two = weights.layers[early], weights.layers[late]
        ov = FactoredMatrix(one.v[a], one.o[a])
        qk = FactoredMatrix(two.q[b], two.k[b].T)
        theirs = (ov @ qk.T).norm() / (ov.norm() * qk.norm())
        assert composed.scores["k"][early, a, late, b] == pytest.approx(float(theirs), abs=1e-4)
        values = FactoredMatrix(into @ one.v[a], one.o[a] @ out.T).eigenvalues
        score = float(values.real.sum() / values.abs().sum())
        assert copied.map("copying")[early, a] == pytest.approx(score, abs=1e-3)
