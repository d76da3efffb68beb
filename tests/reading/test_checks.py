"""A reading says by itself what may be wrong with it, and most readings have nothing to say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

import headscope as hs
from headscope.errors import HeadscopeError
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer


def test_an_unknown_token_is_shown_as_the_text_it_stands_for(tiny_bert):
    reading = tiny_bert.read("the Ωmega sat", "東京 the")
    part = reading.part()
    assert "[UNK]" in part.query.spellings, "as the vocabulary has it"
    assert part.query.labels[:5] == ("[CLS]", "the", "Ωmega", "sat", "[SEP]")
    assert "[UNK]" not in part.query.labels and "東" in "".join(part.query.labels)


def test_a_sound_reading_has_no_warnings(tiny_bert: hs.Scope, tiny_t5: hs.Scope) -> None:
    assert tiny_bert.read("the cat sat", "he said that").warnings == ()
    assert tiny_t5.read("the cat sat", target="he said").warnings == ()
    assert "warning" not in repr(tiny_bert.read("the cat"))


def test_a_text_of_unknown_tokens_is_warned_of(tiny_bert: hs.Scope) -> None:
    reading = tiny_bert.read("мама мыла раму the")
    assert reading.warnings[0].startswith("3 of 4 tokens are unknown to the tokenizer")
    assert "warning: 3 of 4 tokens" in repr(reading)
    assert tiny_bert.read("мама the cat").warnings == ()


def test_a_second_sentence_is_read_by_a_model_that_knows_one_type_and_told() -> None:
    scope = tiny_scope("RobertaForMaskedLM", type_vocab_size=1)
    reading = scope.read("the cat", "he sat")
    assert "knows only one, so both were read alike" in reading.warnings[0]
    assert scope.read("the cat he sat").warnings == ()
    ids = scope.encode(["the cat"], ["he sat"]).inputs["input_ids"]
    scope.model.set_attn_implementation("eager")
    own = scope.model(input_ids=ids, output_attentions=True).attentions
    for layer in range(2):
        np.testing.assert_allclose(reading.part().weights(layer), own[layer][0].detach(), atol=1e-5)
    hs.survey(scope, ["the cat sat"], ["entropy"])  # is tried on pairs first


def test_warnings_are_kept_with_a_saved_reading(tiny_bert: hs.Scope, tmp_path: Path) -> None:
    reading = tiny_bert.read("мама мыла")
    reading.save(tmp_path / "reading.safetensors")
    assert hs.Reading.load(tmp_path / "reading.safetensors").warnings == reading.warnings
    assert reading.words().warnings == reading.warnings


def test_warnings_travel_in_the_header_of_every_view(tiny_bert: hs.Scope) -> None:
    from headscope.views import head

    reading = tiny_bert.read("мама мыла")
    assert head.build(reading).header["warnings"] == list(reading.warnings)


def test_rows_that_do_not_sum_to_one_are_told() -> None:
    half = np.full((1, 1, 2, 2), 0.25)
    reading = hs.Reading.from_attention(half, ["a", "b"])
    assert "rows that sum to 0.5 … 0.5 instead of 1" in reading.warnings[0]
    broken = np.array([[[[np.nan, 1], [0.5, 0.5]]]])
    assert "not finite" in hs.Reading.from_attention(broken, ["a", "b"]).warnings[0]


def test_a_text_longer_than_in_training_is_warned_of() -> None:
    scope = tiny_scope("T5ForConditionalGeneration", n_positions=16)
    assert "trained on at most 16" in scope.read("cat " * 20).warnings[0]
    assert scope.read("cat " * 10).warnings == ()


def test_token_types_the_model_was_not_trained_with_are_told() -> None:
    assert (
        "adds to the text as if they were words"
        in (tiny_scope("GPT2LMHeadModel").read("the cat").warnings[0])
    )
    without = PreTrainedTokenizerFast(
        tokenizer_object=tiny_tokenizer().backend_tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "attention_mask"],
    )
    bert = hs.load(tiny_model("BertModel"), without)
    assert "both were read as the first" in bert.read("the cat", "he said").warnings[0]
    assert bert.read("the cat").warnings == ()
    assert hs.load(tiny_model("GPT2LMHeadModel"), without).read("the cat").warnings == ()


def test_a_model_whose_output_layer_is_new_says_so(tmp_path: Path) -> None:
    tiny_model("MPNetModel").save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(file.read_text().replace('"MPNetModel"', '"MPNetForMaskedLM"'))
    scope = hs.load(tmp_path)
    assert "lm_head" in scope.warnings[0]
    assert scope.read("the cat").warnings == scope.warnings


def test_a_model_of_no_numbers_is_refused() -> None:
    model = tiny_model("BertModel")
    with torch.no_grad():
        model.encoder.layer[1].attention.self.query.weight[0, 0] = torch.nan
    scope = hs.load(model, tiny_tokenizer())
    with pytest.raises(HeadscopeError, match="NaN even on a few tokens"):
        hs.survey(scope, ["the cat sat", "he said that"])


def test_a_scope_is_one_line(tiny_bert: hs.Scope) -> None:
    _ = tiny_bert.layers
    assert repr(tiny_bert) == (
        "<Scope of BertForPreTraining: BertForPreTraining, 2 encoder layers × 4 heads, cpu>"
    )
    edited = tiny_bert.without([(0, 1)])
    assert repr(edited).endswith("cpu, 1 edits>") and len(repr(edited)) < 120


def test_summaries_of_an_encoder_decoder_say_which_part_a_head_is_in(tiny_t5: hs.Scope) -> None:
    reading = tiny_t5.read("the cat sat", target="the dog")
    for said in (repr(reading), repr(tiny_t5)):
        assert all(kind in said for kind in ("encoder", "decoder", "cross"))
    texts = ["the cat sat on the mat", "the dog ran"]
    best = hs.survey(tiny_t5, texts, progress=False).top("entropy", 3)
    assert set(best["kind"]) <= {"encoder", "decoder", "cross"}


def test_an_encoder_that_is_not_read_is_told() -> None:
    from transformers import LongT5Config, LongT5ForConditionalGeneration

    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2}
    config = LongT5Config(vocab_size=64, local_radius=2, decoder_start_token_id=0, **sizes)
    scope = hs.load(LongT5ForConditionalGeneration(config).eval(), tiny_tokenizer())
    reading = scope.read("the cat sat", target="the dog")
    assert reading.kinds == ("decoder", "cross")
    assert reading.warnings[0].startswith("The encoder of LongT5ForConditionalGeneration attends")
