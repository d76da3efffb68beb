"""Statistics that need more than one map of one text: gradients, norms, repeats, variability."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.corpus.text.batches import Encoder
from headscope.corpus.text.segments import Segment
from headscope.errors import BadInput
from headscope.statistics import rollout
from headscope.statistics.features.grid import grids
from headscope.statistics.features.repeats import repeated_batch
from headscope.statistics.kernels.gradients import _masked, _next_tokens
from headscope.text.spelling import TokenClass
from tests.statistics.plain import eager_copy, maps_of
from tests.tiny import tiny_scope

TEXT = "I went to the store. The cat sat on the mat, and the dog ran to the red house."


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_gpt2", "tiny_llama", "tiny_t5"])
def test_gradients_are_those_of_the_maps_transformers_returns(family, request):
    scope = request.getfixturevalue(family)
    table = hs.survey(scope, [TEXT], ["gradient_all", "gradient_sep"], progress=False).table
    batch = next(Encoder.of(scope, most_tokens=999).batches([Segment(0, 0, TEXT)]))
    on, inputs = grids(scope, batch), batch.on(scope.device)
    if "decoder" in on:
        labels = _next_tokens(on["decoder"])
    else:
        inputs, labels, on = _masked(scope, inputs, on, seed=0)
    model = eager_copy(scope)
    out = model(**scope.accepted(inputs), output_attentions=True)
    logits = getattr(out, "prediction_logits", getattr(out, "logits", None))
    loss = torch.nn.functional.cross_entropy(logits[0], labels[0], ignore_index=-100)
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions"}
    for kind in on:
        if kind == "cross":
            maps = out.cross_attentions
        else:
            maps = getattr(out, names[kind], None) if scope.encoder_decoder else out.attentions
        grad = torch.autograd.grad(loss, maps, retain_graph=True)
        size = torch.stack([g[0].abs() for g in grad]).double()  # L H t s
        classes = on[kind].key.classes[0]
        keys = (classes != TokenClass.SPECIAL) & (classes >= 0)
        expected = size[..., keys].mean((-1, -2)).numpy()
        rows = table[(table["kind"] == kind) & (table["measure"] == "gradient_all")]
        np.testing.assert_allclose(
            rows["value"].to_numpy().reshape(expected.shape), expected, rtol=1e-3, atol=1e-7
        )


def test_masking_follows_berts_training_and_the_document(tiny_bert):
    segments = [Segment(n, n, TEXT) for n in range(200)]
    batch = next(Encoder.of(tiny_bert, most_tokens=10**6).batches(segments))
    on = grids(tiny_bert, batch)
    inputs, labels, masked = _masked(tiny_bert, batch.on(tiny_bert.device), on, seed=1)
    content = (on["encoder"].query.classes >= TokenClass.PUNCTUATION).sum()
    chosen = labels != -100
    assert abs(float(chosen.sum() / content) - 0.15) < 0.02
    shown = inputs["input_ids"][chosen]
    assert abs(float((shown == tiny_bert.tokenizer.mask_token_id).float().mean()) - 0.8) < 0.05
    hidden = chosen & (inputs["input_ids"] == tiny_bert.tokenizer.mask_token_id)
    of_no_class = masked["encoder"].key.classes == TokenClass.SPECIAL
    # a token drawn at random may be the mask itself, one time in the vocabulary
    assert float(of_no_class[hidden].float().mean()) > 0.98 and not of_no_class[~hidden].any()
    assert len({tuple(row.tolist()) for row in chosen}) > 100  # each document by its own draw


def test_a_model_without_a_word_head_has_no_gradient_importance(make_scope):
    with pytest.raises(BadInput, match="no output layer of words"):
        hs.survey(make_scope("BertModel"), [TEXT], ["gradient_all"], progress=False)


def bert_projections(model):
    for layer in model.bert.encoder.layer:
        yield layer.attention.self.value, layer.attention.output.dense.weight, 4


def deberta_projections(model):
    for layer in model.deberta.encoder.layer:
        yield layer.attention.self.value_proj, layer.attention.output.dense.weight, 4


def llama_projections(model):
    for layer in model.model.layers:
        yield layer.self_attn.v_proj, layer.self_attn.o_proj.weight, 2


@pytest.mark.parametrize(
    ("family", "projections"),
    [
        ("tiny_bert", bert_projections),
        ("tiny_deberta", deberta_projections),
        ("tiny_llama", llama_projections),
    ],
)
def test_norms_are_those_of_the_vectors_a_head_moves(family, projections, request):
    """‖α_ij (x_j W_V + b_V) W_O‖ written out with the model's own matrices."""
    scope = request.getfixturevalue(family)
    model, values = eager_copy(scope), []
    for value, _, _ in projections(model):
        value.register_forward_hook(lambda module, args, out: values.append(out.detach()))
    maps = next(iter(maps_of(scope, model, TEXT, None).values()))
    expected = []
    for layer, (_, weight, groups) in enumerate(projections(model)):
        v = values[layer][0].view(maps.n, groups, 8)  # s g d
        for head in range(4):
            moved = v[:, head // (4 // groups)] @ weight[:, head * 8 : head * 8 + 8].T  # s hidden
            length = moved.norm(dim=-1).detach().double().numpy()
            sep = length * (maps.key.classes == TokenClass.SEP)
            alpha = maps.alpha[layer, head]
            expected.append([(alpha * length).sum(-1).mean(), (alpha * sep).sum(-1).mean()])
    found = hs.survey(scope, [TEXT], ["norm_all", "norm_sep"], progress=False)
    got = np.stack([found.map(name).values.ravel() for name in ("norm_all", "norm_sep")], axis=1)
    np.testing.assert_allclose(got, np.array(expected), rtol=1e-4, atol=1e-6)


def test_values_that_cannot_be_read_give_no_norms():
    sparse = tiny_scope(
        "BigBirdForMaskedLM", attention_type="block_sparse", block_size=4, num_random_blocks=1
    )
    text = " ".join([TEXT] * 3)  # longer than what is read by full attention
    with pytest.raises(BadInput, match="cannot be read"):
        hs.survey(sparse, [text], ["norm_sep"], progress=False)
    found = hs.survey(sparse, [text], "all", progress=False)
    assert "norm_sep" in found.metadata["not measured"]


@pytest.mark.parametrize("family", ["tiny_gpt2", "tiny_llama"])
def test_repeat_scores_follow_earlier_copies(family, request):
    scope = request.getfixturevalue(family)
    names = ["induction", "duplicate_token", "repeat_previous"]
    found = hs.survey(scope, [TEXT], names, progress=False)
    batch, on = repeated_batch(scope, seed=0)
    period = on["decoder"].period
    model = eager_copy(scope)
    with torch.no_grad():
        maps = model(**batch.inputs, output_attentions=True).attentions
    alpha = torch.stack(maps, 1).double().numpy()  # b L H t t
    ids = batch.inputs["input_ids"].numpy()
    sums = {name: [] for name in names}
    for t in range(period + 1, ids.shape[1]):
        copies = [s for s in range(1, t) if (t - s) % period == 0]
        assert (ids[:, copies] == ids[:, [t]]).all()
        sums["induction"].append(alpha[..., t, [s + 1 for s in copies]].sum(-1))
        sums["duplicate_token"].append(alpha[..., t, copies].sum(-1))
        sums["repeat_previous"].append(alpha[..., t, t - 1])
    for name in names:
        np.testing.assert_allclose(found.map(name), np.mean(sums[name], 0).mean(0), atol=1e-5)


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_gpt2"])
def test_variability_compares_the_first_ten_tokens_with_their_mean(family, request):
    scope = request.getfixturevalue(family)
    words = "the cat sat on red mat and dog ran".split()
    texts = [" ".join(words[(i * k) % 9] for i in range(14)) for k in (1, 2, 4, 5, 7)]
    texts.append("a cat")
    found = hs.survey(scope, texts, ["variability"], progress=False)
    model = eager_copy(scope)
    maps = [next(iter(maps_of(scope, model, text, None).values())).alpha for text in texts[:-1]]
    corner = np.stack([alpha[..., 1:10, 1:10] for alpha in maps])  # texts L H 9 9
    moved = np.abs(corner - corner.mean(0)).sum((0, -1, -2))
    np.testing.assert_allclose(
        found.map("variability"), moved / (2 * corner.sum((0, -1, -2))), atol=1e-5
    )
    assert (found.table["count"] == 5).all()  # a text of fewer than ten tokens has no say


def test_rollout_mixes_attention_and_residual_layer_by_layer(tiny_bert):
    reading = tiny_bert.read(TEXT)
    attention = np.asarray(reading.attention, dtype=float)
    flow = np.eye(attention.shape[-1])
    for layer, found in zip(attention, rollout(reading), strict=True):
        flow = (0.5 * layer.mean(0) + 0.5 * np.eye(len(flow))) @ flow
        np.testing.assert_allclose(found, flow, atol=1e-12)
    np.testing.assert_allclose(flow.sum(-1), 1, atol=1e-5)


def test_rollout_needs_one_text(tiny_t5):
    with pytest.raises(BadInput, match="cross-attention connects two texts"):
        rollout(tiny_t5.read("the cat sat", target="the dog"), "cross")
