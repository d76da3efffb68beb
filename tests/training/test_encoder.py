from __future__ import annotations

import torch
from transformers import BertConfig, BertForPreTraining

from training.encoder import Encoder, Shape


def pair() -> tuple[Encoder, BertForPreTraining]:
    torch.manual_seed(0)
    shape = Shape(vocabulary=97, layers=3, heads=4, hidden=32, inner=64, positions=40)
    ours = Encoder(shape).eval()
    with torch.no_grad():  # larger than at the start, so that differences would show
        for parameter in ours.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    config = BertConfig(**shape.to_bert())
    config._attn_implementation = "eager"
    theirs = BertForPreTraining(config).eval()
    theirs.load_state_dict(ours.to_bert(), strict=False)
    theirs.tie_weights()
    return ours, theirs


def test_the_encoder_computes_what_bert_for_pretraining_computes() -> None:
    ours, theirs = pair()
    tokens = torch.randint(0, 97, (5, 40))
    segments = (torch.arange(40) > 17).long().expand(5, -1)
    seen: list[torch.Tensor] = []
    with torch.no_grad():
        expected = theirs(input_ids=tokens, token_type_ids=segments, output_attentions=True)
        everywhere = torch.arange(40).expand(5, -1)
        x = ours.encode(tokens, segments)
        looked = ours.encode(tokens, segments, lambda _, attention: seen.append(attention))
        logits = ours.word_logits(x, everywhere).view(5, 40, -1)
    torch.testing.assert_close(looked, x, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(logits, expected.prediction_logits, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(
        ours.next_logits(x), expected.seq_relationship_logits, rtol=1e-4, atol=1e-4
    )
    for attention, truth in zip(seen, expected.attentions, strict=True):
        torch.testing.assert_close(attention, truth, rtol=1e-4, atol=1e-5)


def test_weights_come_back_from_bert_names_unchanged() -> None:
    ours, _ = pair()
    again = Encoder(ours.shape)
    again.from_bert(ours.to_bert())
    for name, value in ours.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name
