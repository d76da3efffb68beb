"""What a caller gives has one meaning, and what would go unread is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer


def test_a_tuple_of_two_texts_is_a_pair_wherever_texts_are_taken(tiny_bert: hs.Scope) -> None:
    expected = tiny_bert.read("the cat", "he sat")
    for found in (
        tiny_bert.read(("the cat", "he sat")),
        tiny_bert.read((["the", "cat"], ["he", "sat"])),
        tiny_bert.read_batch([("the cat", "he sat")])[0],
    ):
        assert found.part().query.segments.tolist() == expected.part().query.segments.tolist()
        np.testing.assert_allclose(found.attention, expected.attention, atol=1e-6)
    assert tiny_bert.read(["the", "cat"]).part().query.segments.max() == 0  # words
    survey = hs.survey(tiny_bert, [("the cat", "he sat")] * 2, ["cross_sentence"])
    listed = hs.survey(tiny_bert, [{"text": "the cat", "text_pair": "he sat"}] * 2)
    np.testing.assert_allclose(
        survey.map("cross_sentence"), listed.map("cross_sentence"), atol=1e-7
    )


def test_pairs_that_could_mean_two_things_are_refused(tiny_bert: hs.Scope) -> None:
    with pytest.raises(BadInput, match="A tuple is a pair of two texts, and this one holds 3"):
        tiny_bert.read(("a", "b", "c"))
    with pytest.raises(BadInput, match="a pair already; leave text_pair out"):
        tiny_bert.read(("a cat", "b"), "c")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"text": 3}, "this is of type int"),
        ({"text": b"the cat"}, "bytes, which have to be decoded"),
        ({"text": {"a": 1}}, "this is of type dict"),
        ({"text": ["the", 3]}, "one of these is of type int"),
        ({"text": "the cat", "layers": 1}, "layers= is a list, not 1"),
        ({"text": "the cat", "layers": ["1"]}, "whole numbers"),
        ({"text": "the cat", "layers": [7]}, "There is no layer 7"),
        ({"text": "the cat", "keep": ("weight",)}, "has no 'weight'"),
        ({"text": "the cat", "keep": "weights"}, "a list of names"),
        ({"text": "the cat", "target": "he sat"}, "has no decoder beside its encoder"),
    ],
    ids=str,
)
def test_arguments_that_cannot_be_meant_are_refused(
    given: dict, sentence: str, tiny_bert: hs.Scope
) -> None:
    with pytest.raises(BadInput, match=sentence):
        tiny_bert.read(**given)


def test_nothing_is_no_text(tiny_bert: hs.Scope) -> None:
    with pytest.raises(BadInput, match="Give a text"):
        tiny_bert.read(None)  # pyright: ignore
    with pytest.raises(BadInput, match="texts= is a list, not None"):
        tiny_bert.read_batch(None)  # pyright: ignore


def test_a_decoders_text_is_given_once(tiny_t5: hs.Scope) -> None:
    with pytest.raises(BadInput, match="either as target or as text_pair"):
        tiny_t5.read("the cat", "he sat", target="she ran")
    one, other = tiny_t5.read("the cat", "he sat"), tiny_t5.read("the cat", target="he sat")
    np.testing.assert_array_equal(one.decoder, other.decoder)


def test_other_calls_refuse_what_cannot_be_meant(tiny_bert: hs.Scope) -> None:
    reading = tiny_bert.read("the cat")
    with pytest.raises(BadInput, match="mode= is 'mean' or 'first'"):
        reading.words("last")  # pyright: ignore
    with pytest.raises(BadInput, match="n= is at least 1, not 0"):
        tiny_bert.fill("the [MASK]", n=0)
    with pytest.raises(BadInput, match="An edit is a function"):
        tiny_bert.edited(3)  # pyright: ignore
    with pytest.raises(BadInput, match="There is no dtype 'floaty'"):
        hs.load(tiny_bert.model, tiny_bert.tokenizer, dtype="floaty")
    with pytest.raises(BadInput, match="There is no dtype 'floaty'"):
        hs.load(dtype="floaty")
    with pytest.raises(BadInput, match="theme= is 'auto'"):
        hs.head_view(reading, theme="blue")
    assert hs.head_view(reading, 1, 3).state["heads"] == [3]


def test_tokens_can_be_selected_by_name(tiny_bert: hs.Scope) -> None:
    attention = tiny_bert.read("the cat sat on the mat").attention
    np.testing.assert_array_equal(attention.sel(query="cat", key=3), attention[:, :, 2, 3])
    assert attention.sel(key="the").shape[-1] == 2  # it is there twice
    np.testing.assert_array_equal(attention.sel(key=["cat", "mat"]), attention[..., [2, 6]])
    later = attention.isel(query=slice(3, None))
    np.testing.assert_array_equal(later.sel(query="mat"), attention[:, :, 6])
    np.testing.assert_array_equal(attention.sel(query=2), attention[:, :, 2])
    with pytest.raises(BadInput, match=r"no token 'dog' along query; .*'cat'.*words\(\)"):
        attention.sel(query="dog")


# ids of readings that were not made from text


def test_ids_and_names_come_from_the_inputs_a_model_was_given(tiny_gpt2: hs.Scope) -> None:
    read = tiny_gpt2.read("the cat sat on the mat")
    ids = torch.from_numpy(read.part().query.ids)[None]
    found = tiny_gpt2.read_inputs({"input_ids": ids})
    assert found.part().query.ids.tolist() == read.part().query.ids.tolist()
    assert found.tokens == read.tokens
    named = tiny_gpt2.read_inputs({"input_ids": ids}, list("abcdefgh"))
    assert named.part().query.ids.tolist() == read.part().query.ids.tolist()
    assert named.tokens == tuple("abcdefgh")


def test_given_tokens_are_the_same_when_they_are_spelled_alike(tiny_gpt2: hs.Scope) -> None:
    """Induction attends to what followed the same token before: only ids can tell."""
    from headscope.patterns.labels import quick_labels, quick_table

    text = "the cat sat on the cat sat on the cat"
    read = tiny_gpt2.read(text)
    given = hs.Reading.from_attention(read.attention.values, list(read.tokens))
    one, other = quick_table(read), quick_table(given)
    columns = ["layer", "head", "measure"] if "measure" in one else ["layer", "head", "pattern"]
    value = "value" if "value" in one else "score"
    both = one.merge(other, on=columns, suffixes=("", "_given"))
    rows = both[both[columns[-1]].isin(["same_word", "previous_word", "sink"])]
    assert len(rows)
    np.testing.assert_allclose(rows[value], rows[f"{value}_given"], atol=1e-6)
    assert quick_labels(given) is not None


def test_positions_nobody_named_are_never_the_same() -> None:
    scope = tiny_scope("BertModel")
    vectors = torch.randn(1, 5, 32)
    tokens = scope.read_inputs({"inputs_embeds": vectors}).part().query
    assert (tokens.ids == -1).all()
    assert len(set(tokens.comparable_ids.tolist())) == 5


def test_a_model_in_train_mode_is_read_surveyed_probed_and_edited_without_dropout() -> None:
    model = tiny_model("BertForMaskedLM", hidden_dropout_prob=0.5)
    texts = ["the cat sat on the mat .", "he said that it was red ."]
    asked = {
        "reading": lambda s: s.read(texts[0]).attention.values,
        "survey": lambda s: hs.survey(s, texts).map("entropy"),
        "edit": lambda s: s.without([(0, 1)]).read(texts[0]).attention.values,
        "prediction": lambda s: s.forward(s.encode(texts)).logits.numpy(),
    }
    expected = {name: ask(hs.load(model.eval(), tiny_tokenizer())) for name, ask in asked.items()}
    model.train()
    model.bert.encoder.layer[0].eval()  # a mixture, as some training recipes leave it
    modes = [module.training for module in model.modules()]
    for name, ask in asked.items():
        np.testing.assert_array_equal(ask(hs.load(model, tiny_tokenizer())), expected[name])
        assert [module.training for module in model.modules()] == modes


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"keep": None}, "keep= is 'auto' or a list chosen from weights, q, k, v"),
        ({"keep": (name for name in ["q"])}, "keep= is 'auto' or a list chosen from"),
        ({"layers": []}, "layers is a list of at least one layer number"),
        ({"memory": float("inf")}, "memory= is a string or a whole number, not inf"),
    ],
)
def test_what_is_kept_and_where_is_said_in_numbers_and_names(
    tiny_bert: hs.Scope, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        tiny_bert.read("the cat", **options)
