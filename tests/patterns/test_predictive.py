"""The leave-two-out measure is what masking and hiding words by hand gives."""

from __future__ import annotations

import pytest
import torch

from headscope.errors import BadInput
from headscope.patterns.leave_two_out import helpfulness, predictive

TEXT = "the cat sat on the mat ."


def test_masked_models_lose_what_the_second_mask_takes_away(tiny_bert) -> None:
    found = helpfulness(tiny_bert, TEXT)
    batch = tiny_bert.encode([TEXT])
    mask = tiny_bert.tokenizer.mask_token_id

    def log_p(word: int, *masked: int) -> float:
        ids = batch.inputs["input_ids"].clone()
        ids[0, list(masked)] = mask
        output = tiny_bert.model(input_ids=ids).prediction_logits[0, word]
        return float(output.log_softmax(-1)[batch.inputs["input_ids"][0, word]])

    with torch.no_grad():
        for i, j in [(1, 2), (3, 1), (6, 2)]:
            assert found[i, j].item() == pytest.approx(log_p(i, i) - log_p(i, i, j), abs=1e-4)


def test_causal_models_lose_what_hiding_an_earlier_word_takes_away(tiny_llama) -> None:
    found = helpfulness(tiny_llama, TEXT)
    ids = tiny_llama.encode([TEXT]).inputs["input_ids"]

    def log_p(word: int, hidden: int | None) -> float:
        seen = torch.ones_like(ids)
        if hidden is not None:
            seen[0, hidden] = 0
        # positions are given, or hiding a token would also move those after it
        places = torch.arange(ids.shape[1])[None]
        out = tiny_llama.model(input_ids=ids, attention_mask=seen, position_ids=places)
        return float(out.logits[0, word - 1].log_softmax(-1)[ids[0, word]])

    with torch.no_grad():
        for i, j in [(3, 1), (5, 4), (6, 2)]:
            assert found[i, j].item() == pytest.approx(log_p(i, None) - log_p(i, j), abs=1e-4)
    assert torch.triu(found).abs().max() == 0


def test_every_head_gets_a_score_with_its_yardsticks(tiny_bert) -> None:
    frame = predictive(tiny_bert, [TEXT, ("i went to the store .", "he bought a cat .")])
    heads = tiny_bert.layers["encoder"] * tiny_bert.heads["encoder"]
    assert (frame.groupby("measure").size() == heads).all()
    assert set(frame["measure"]) == {
        "predictive", "predictive:uniform", "predictive:null", "predictive:excess",
        "predictive:variance",
    }  # fmt: skip
    assert frame["count"].eq(2).all()


def test_a_model_that_guesses_no_words_says_so(make_scope) -> None:
    with pytest.raises(BadInput, match="no output layer of words"):
        helpfulness(make_scope("BertModel"), TEXT)
