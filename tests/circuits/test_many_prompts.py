"""Many prompts at once: what a batch gives is what each prompt gives by itself."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import headscope as hs
from headscope.errors import BadInput, FewUnits
from tests.circuits.test_attribute import scope_of
from tests.tiny import tiny_scope

FAMILIES = ("GPT-2", "Llama", "Gemma 3", "BERT")
WORDS = ("the cat sat on the", "a dog ran to the red", "i went to the store and bought the",
         "she said that it was in the", "one two three", "he sat on the green mat")  # fmt: skip


@pytest.fixture(params=[(name, side) for name in FAMILIES for side in ("left", "right")],
                ids=lambda one: " ".join(one))  # fmt: skip
def asked(request: Any) -> tuple[hs.Scope, list[str]]:
    """A scope whose tokenizer pads on one side, and prompts of unequal length that fit it."""
    name, side = request.param
    masked = name == "BERT"
    scope = tiny_scope("BertForMaskedLM") if masked else scope_of(name)
    before = scope.tokenizer.padding_side
    scope.tokenizer.padding_side = side
    request.addfinalizer(lambda: setattr(scope.tokenizer, "padding_side", before))
    return scope, [f"{text} [MASK] ." if masked else text for text in WORDS]


def test_batched_attribution_is_that_of_one_prompt_after_another(asked) -> None:
    scope, prompts = asked
    many = hs.attribute(scope, prompts, target=("house", "tree"), progress=False)
    assert many.values.shape[1] == len(prompts) and many.prompts == tuple(prompts)
    for number, prompt in enumerate(prompts):
        alone = hs.attribute(scope, prompt, target=("house", "tree"), tokens=0, lens=False)
        assert [(p.part, p.layer, p.head) for p in many.parts] == [
            (p.part, p.layer, p.head) for p in alone.parts
        ]
        np.testing.assert_allclose(
            many.values[:, number], [p.value for p in alone.parts], atol=1e-5
        )
        assert many.value[number] == pytest.approx(alone.value, abs=1e-5)
        assert many.unexplained[number] == pytest.approx(alone.unexplained, abs=1e-5)


@pytest.mark.parametrize("what", ["heads", "weights", "values", "mlps", "layers"])
def test_batched_patching_is_that_of_one_pair_after_another(asked, what) -> None:
    scope, clean = asked
    swap = {"cat": "dog", "dog": "cat", "store": "house", "said": "went", "two": "one", "he": "she"}
    corrupted = [" ".join(swap.get(word, word) for word in text.split()) for text in clean]
    answers = ("house", "tree")
    method = "both" if what in ("heads", "mlps", "layers") else "exact"
    many = hs.patch(scope, clean, corrupted, answers, what=what, method=method, progress=False)
    for number, pair in enumerate(zip(clean, corrupted, strict=True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewUnits)
            alone = hs.patch(scope, *pair, answers, what=what, method=method, progress=False)
        assert many.clean[number] == pytest.approx(alone.clean[0], abs=1e-5)
        for name, effects in alone.effects.items():
            np.testing.assert_allclose(many.effects[name][:, number], effects[:, 0], atol=1e-5)


def test_routed_experts_are_attributed_one_prompt_at_a_time() -> None:
    scope = scope_of("Mixtral")
    many = hs.attribute(scope, list(WORDS[:3]), target="house", progress=False)
    for number, prompt in enumerate(WORDS[:3]):
        alone = hs.attribute(scope, prompt, target="house", tokens=0, lens=False)
        np.testing.assert_allclose(
            many.values[:, number], [p.value for p in alone.parts], atol=1e-5
        )


def test_means_have_t_intervals_and_few_prompts_have_none(tiny_gpt2) -> None:
    many = hs.attribute(tiny_gpt2, list(WORDS), target="house", progress=False)
    values = many.of(1, 2)
    row = many.rows("logit").query("layer == 1 and head == 2").iloc[0]
    low, high = stats.t.interval(0.95, 5, values.mean(), stats.sem(values))
    assert (row["value"], row["low"], row["high"]) == pytest.approx((values.mean(), low, high))
    assert row["count"] == 6 and 0 < row["p"] <= 1
    of_prompt = many.by_prompt.query("layer == 1 and head == 2")
    np.testing.assert_allclose(of_prompt["value"], values)
    with pytest.warns(FewUnits, match="5 prompts are too few"):
        few = hs.attribute(tiny_gpt2, list(WORDS[:5]), target="house", progress=False)
    assert few.rows("logit")[["low", "p"]].isna().all(axis=None)


TABLE = {
    "prompt": ["the {A} sat and the {B} ran to a", "i bought a red {A} and at the {B} a"] * 3,
    "A": ["cat", "house", "dog", "mat", "tree", "store"],
    "B": ["dog", "tree", "cat", "store", "house", "cat"],
    "first": [1, 2, 1, 2, 1, 2],
}


def test_a_marker_and_a_column_name_positions_that_heads_read_from(tiny_llama) -> None:
    many = hs.attribute(tiny_llama, TABLE, target=("A", "B"), progress=False)
    assert set(many.names) == {"first", "A", "B"}
    for number, (a, b) in enumerate(zip(TABLE["A"], TABLE["B"], strict=True)):
        text = TABLE["prompt"][number].format(A=a, B=b)
        alone = hs.attribute(tiny_llama, text, target=(a, b), tokens=0, lens=False)
        assert many.prompts[number] == text
        at = {"A": alone.query.index(a), "B": alone.query.index(b), "first": TABLE["first"][number]}
        heads = [p for p in many.parts if p.part == "head"]
        for row, part in enumerate(heads):
            by_key = alone.by_key(part.layer, part.head)
            for column, name in enumerate(many.names):
                assert many.from_positions[row, column, number] == pytest.approx(
                    by_key[at[name]], abs=1e-5
                )
    assert "logit:B" in many.measures and many.map("logit:B").shape == (2, 4)
    row = many.rows("logit:B").query("layer == 1 and head == 2").iloc[0]
    values = many.from_positions[[p.label for p in heads].index("1-2"), many.names.index("B")]
    low, high = stats.t.interval(0.95, 5, values.mean(), stats.sem(values))
    assert (row["value"], row["low"], row["high"]) == pytest.approx((values.mean(), low, high))


def test_the_answer_may_be_asked_at_a_named_position(tiny_llama) -> None:
    many = hs.attribute(tiny_llama, TABLE, target="house", position="A", progress=False)
    text = TABLE["prompt"][1].format(A="house", B="tree")
    alone = hs.attribute(tiny_llama, text, target="house", position=many.position[1], tokens=0)
    assert alone.query[many.position[1]] == "house"
    assert many.value[1] == pytest.approx(alone.value, abs=1e-5)
    with pytest.raises(BadInput, match=r"No position is called 'C'.*A, B, end"):
        hs.attribute(tiny_llama, TABLE, target="house", position="C", progress=False)


PAIRS = [
    {"clean": "the {S} sat on a", "corrupted": "the {S=T} sat on a", "S": s, "T": t,
     "answer": "house", "wrong": "tree"}
    for s, t in (("cat", "dog"), ("dog", "cat"), ("tree", "straw"), ("house", "mat"))
] + [
    {"clean": "i went to the red {S} and", "corrupted": "the green {S=T} and", "S": s, "T": t,
     "answer": "house", "wrong": "tree"}
    for s, t in (("store", "mat"), ("house", "tree"))
]  # fmt: skip


@pytest.mark.parametrize("what", ["heads", "mlps", "layers"])
@pytest.mark.parametrize("method", ["exact", "both"])
def test_a_named_position_is_patched_where_each_prompt_has_it(tiny_llama, what, method) -> None:
    """Against all positions in turn, where pairs have equal lengths."""
    found = hs.patch(
        tiny_llama, PAIRS[:4], what=what, method=method, positions=["S", "end"], progress=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewUnits)
        each = hs.patch(
            tiny_llama, PAIRS[:4], what=what, method=method, positions=True, progress=False
        )
    where = {"S": 2, "end": len(each.tokens) - 1}
    for name, effects in found.effects.items():
        for site, row in zip(found.sites, effects, strict=True):
            same = each.sites.index(hs.circuits.Site(site.layer, site.head, where[site.query]))
            np.testing.assert_allclose(row, each.effects[name][same], atol=1e-5)
    assert found.by_position().shape == (2, 2)


def test_prompts_of_different_length_are_patched_at_named_positions(tiny_llama) -> None:
    """The last layer at the answer's position brings all of it back, whatever the lengths."""
    found = hs.patch(tiny_llama, PAIRS, what="layers", positions=["end"], progress=False)
    assert found.share()[-1] == pytest.approx(1.0, abs=1e-4)
    assert len(found.by_pair) == len(PAIRS) * len(found.sites)
    with pytest.raises(BadInput, match=r"same length.*or name the positions"):
        hs.patch(tiny_llama, PAIRS, progress=False)


def test_pairs_with_named_positions_are_saved_and_read_back(tmp_path, tiny_llama) -> None:
    from headscope.circuits.patching.pairs import as_pairs

    pairs = as_pairs(PAIRS, None, None)
    pairs.save(tmp_path / "pairs.jsonl")
    again = hs.circuits.read_pairs(tmp_path / "pairs.jsonl")
    assert again.pairs == pairs.pairs and again.pairs[0].marks[0][0] == "S"


def test_a_list_where_one_text_is_meant_is_refused(tiny_gpt2) -> None:
    texts = ["the cat sat", "a dog ran"]
    for call in (tiny_gpt2.read, tiny_gpt2.next_token, lambda t: hs.circuits.inputs(tiny_gpt2, t),
                 lambda t: hs.circuits.head_outputs(tiny_gpt2, t)):  # fmt: skip
        with pytest.raises(BadInput, match=r"2 texts .*scope.read_batch\(texts\)"):
            call(texts)
    assert len(tiny_gpt2.read(["the", "cat sat"]).part().query)  # words, one of them with a blank
    with pytest.raises(BadInput, match="2 prompts and 3 targets"):
        hs.attribute(tiny_gpt2, texts, target=["house", "tree", "mat"], progress=False)


@pytest.mark.slow
def test_a_hundred_prompts_cost_at_most_two_and_a_half_times_their_forwards() -> None:
    sizes = {"hidden_size": 256, "num_hidden_layers": 8, "intermediate_size": 1024}
    scope = tiny_scope("LlamaForCausalLM", **sizes)
    prompts = [f"{WORDS[at % 6]} {' '.join(['the cat'] * (at % 5))}" for at in range(100)]
    batches = [scope.encode(prompts[start : start + 32]) for start in range(0, 100, 32)]

    def forwards() -> None:
        for batch in batches:
            scope.forward(batch)

    def attributed() -> None:
        hs.attribute(scope, prompts, target="house", progress=False)

    attributed(), forwards()
    ratios = [seconds(attributed) / seconds(forwards) for _ in range(5)]
    assert sorted(ratios)[1] <= 2.5, ratios


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
