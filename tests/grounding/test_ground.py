"""What an answer took from where: exact ablations, cheap scores, verdicts and heads."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import headscope as hs
from headscope.circuits.logits.attribute import of_question
from headscope.circuits.logits.target import question_at
from headscope.errors import BadInput
from headscope.grounding.ground import ground
from headscope.grounding.knockout import cut_heads
from headscope.grounding.logit import logit_by_source, sum_of_heads
from headscope.grounding.passes import AnswerPasses
from headscope.grounding.prompts import prompt_of
from headscope.grounding.sources import sources_of, without
from headscope.grounding.subsets import subset_scores
from headscope.grounding.support import copied, least_expected, shuffled, verdict
from headscope.reading.by_span import tokens_in
from headscope.runs import Progress
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES, byte_level

QUESTION = "the cat sat on the mat ?"
DOCUMENTS = ["a cat sat . the dog ran .", "one two three .", "he said that it was red .", "a tree"]
TITLED = [("", text) for text in DOCUMENTS]
ANSWER = "the cat ran . it sat on a tree ."


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    return scope_with(TEMPLATES["chatml"])


def plain(scope: hs.Scope, documents: list[tuple[str, str]], answer: str = ANSWER) -> np.ndarray:
    """The answer's log-probabilities by one whole pass, without any of our machinery."""
    prompt = prompt_of(scope, QUESTION, documents, answer)
    with torch.no_grad():
        logits = scope.model(input_ids=prompt.ids[None]).logits[0].log_softmax(-1)
    at = list(prompt.predicting)
    return logits[at, prompt.ids[prompt.answer :]].double().numpy()


@pytest.mark.parametrize(
    "architecture",
    ["LlamaForCausalLM", "GPT2LMHeadModel", "Gemma3ForCausalLM", "BloomForCausalLM",
     "GPTNeoXForCausalLM", "OPTForCausalLM"],
)  # fmt: skip
@pytest.mark.parametrize("by", ["document", "sentence"])
def test_taking_sources_away_equals_a_plain_loop_over_prompts(architecture, by):
    scope = scope_with(TEMPLATES["chatml"], architecture)
    passes = AnswerPasses(scope, prompt_of(scope, QUESTION, TITLED, ANSWER))
    sources = sources_of(TITLED, by)
    prompts = [
        prompt_of(scope, QUESTION, without(TITLED, [one]), ANSWER) for one in [*sources, *sources]
    ]
    found = passes.of(prompts)
    expected = np.stack([plain(scope, without(TITLED, [one])) for one in [*sources, *sources]])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(passes.log_probabilities, plain(scope, TITLED), atol=1e-4)


def test_prompts_share_what_they_begin_with(scope):
    prompt = prompt_of(scope, QUESTION, TITLED, ANSWER)
    passes = AnswerPasses(scope, prompt)
    whole = passes.computed
    last = prompt_of(scope, QUESTION, TITLED[:3], ANSWER)
    assert passes.shared(last) > len(prompt.ids) // 3
    passes.of([last])
    assert passes.computed - whole == len(last.ids) - 1 - passes.shared(last)


def test_documents_left_without_text_are_left_out():
    taken = sources_of(TITLED, "sentence")
    assert without(TITLED, [taken[0]])[0] == ("", " the dog ran .")
    assert without(TITLED, taken) == []
    with pytest.raises(BadInput, match="There is no span 'x'"):
        sources_of(TITLED, ["x"])


@pytest.mark.parametrize(
    "architecture", ["LlamaForCausalLM", "GPT2LMHeadModel", "Gemma3ForCausalLM"]
)
def test_logits_by_source_are_what_attribution_gives_its_keys(architecture):
    """The logit of one word above another's: the mean of all words, which is left out, cancels."""
    scope = scope_with(TEMPLATES["chatml"], architecture)
    names = [one.name for one in sources_of(TITLED)]
    one, two = (prompt_of(scope, QUESTION, TITLED, f"the cat {word}") for word in ("sat", "ran"))
    found = [logit_by_source(scope, prompt, names) for prompt in (one, two)]
    by_source = [sum_of_heads(moved) for moved in found if moved is not None]
    np.testing.assert_allclose(by_source[0][0], by_source[1][0], atol=1e-9)  # "the", both times
    targets = int(one.ids[-1]), int(two.ids[-1])
    asked = question_at(scope, one.tokens.crop(len(one.ids) - 1), len(one.ids) - 2)
    edges = of_question(scope, asked, targets, tokens=0, lens=False).edges.values()
    by_key = np.sum([edge.sum((0, 1)) for edge in edges], 0)
    expected = one.members(names) @ by_key
    np.testing.assert_allclose(by_source[0][-1] - by_source[1][-1], expected, atol=1e-5)


def test_a_cut_head_is_the_model_with_that_attention_taken_out(scope):
    prompt = prompt_of(scope, QUESTION, TITLED, ANSWER)
    passes = AnswerPasses(scope, prompt)
    heads = [(0, 1), (1, 3), (0, 2)]
    cuts = [*([one] for one in heads), heads]
    found = cut_heads(passes, cuts, "document 2")
    keys = np.append(prompt.members(["document 2"])[0], False)
    for row, cut in enumerate(cuts):

        def edit(call, cut=cut):
            weights, rows = call.weights.clone(), slice(prompt.answer - 1, None)
            for layer, head in cut:
                if layer == call.layer:
                    own = weights[:, head, rows].masked_fill(torch.tensor(keys), 0.0)
                    weights[:, head, rows] = own / own.sum(-1, keepdim=True)
            return weights

        output = scope.edited(edit).forward({"input_ids": prompt.ids[None]})
        logits = output.logits[0].log_softmax(-1)
        said = logits[list(prompt.predicting), prompt.ids[prompt.answer :]]
        expected = plain(scope, TITLED) - said.double().numpy()
        np.testing.assert_allclose(found[row], expected, atol=1e-4)


def test_a_grounding_says_what_was_measured_and_comes_back_whole(scope, tmp_path):
    found = ground(scope, QUESTION, DOCUMENTS, ANSWER, most_heads=3)
    assert found.methods == ("exact", "logit", "norm", "attention")
    exact = found.by_source("exact").set_index("source")["value"]
    for number, name in enumerate(("document 1", "document 2", "document 3", "document 4")):
        left = [one for at, one in enumerate(TITLED) if at != number]
        expected = plain(scope, TITLED).sum() - plain(scope, left).sum()
        assert exact[name] == pytest.approx(expected, abs=1e-4)
    parts = sum(found.by_source("exact", n).set_index("source")["value"] for n in (0, 1))
    np.testing.assert_allclose(parts.sort_index(), exact.sort_index(), atol=1e-4)
    reading = scope.read(messages=QUESTION, documents=DOCUMENTS, answer=ANSWER)
    mean = reading.by_span(predicting=True).mean(("layer", "head", "query"))
    shown = found.by_source("attention").set_index("source")["value"]
    np.testing.assert_allclose(shown[mean["span"].to_numpy()], mean, atol=1e-5)
    assert set(found.measures) == {"mass", "retrieval", "knockout"}
    assert len(found.rows("knockout")) == 3 and found.together is not None
    copies = found.rows("retrieval").set_index(["layer", "head"])["value"]
    tokens, spans = reading.part().key, {one.name: one for one in reading.spans}
    inside = tokens_in(tokens, spans[found.table["source"].iloc[0]])
    before = np.flatnonzero(tokens_in(tokens, spans["answer"])) - 1
    strongest = reading.attention.to_numpy()[:, :, before].argmax(-1)  # l h q
    same = inside[strongest] & (tokens.ids[strongest] == tokens.ids[before + 1])
    np.testing.assert_allclose(copies.sort_index(), same.mean(2).ravel(), atol=1e-6)
    assert str(found).count("→") == 2
    assert found.plot() and found.plot("attention")
    found.save(tmp_path / "found.parquet")
    again = hs.open(tmp_path / "found.parquet")
    assert again.answer == ANSWER and again.sources == found.sources
    assert again.scores.equals(found.scores) and again.support.equals(found.support)


def test_the_model_answers_where_nobody_did(scope):
    found = ground(scope, QUESTION, DOCUMENTS, max_new_tokens=5, most_heads=0, shuffles=1)
    assert found.answer and found.notes == (f"{scope.name} wrote the answer.",)


def test_of_many_sources_the_first_are_checked_and_a_budget_is_spent_on_subsets(scope):
    many = [f"one {word}" for word in "the store bought fresh a cat sat mat dog ran he she".split()]
    many += ["two red", "two green", "two blue", "two house", "two tree"]
    found = ground(scope, QUESTION, many, ANSWER, most_heads=0, shuffles=0)
    assert len(found.by_source("exact")) == 3 and found.best == "logit"
    spent = ground(scope, QUESTION, many, ANSWER, most_heads=0, shuffles=0, passes=12)
    rows = spent.by_source("subsets")
    assert len(rows) == 17 and (rows["low"] <= rows["value"]).all()
    assert spent.best == "subsets"
    assert ground(
        scope, QUESTION, many, ANSWER, most_heads=0, shuffles=0, passes=5, exact=2
    ).methods[:2] == ("exact", "subsets")


@pytest.mark.parametrize("given", [{}, {"most_heads": 0, "shuffles": 0}, {"passes": 6, "exact": 2}])
def test_every_pass_is_told_and_counted(scope, given):
    seen: list[Progress] = []
    ground(scope, QUESTION, DOCUMENTS, ANSWER, progress=seen.append, **given)
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert seen[0].done == 0 and {one.total for one in seen} == {seen[-1].done}
    assert len(seen) > 3


def test_a_budget_that_suffices_removes_every_source(scope):
    many = [f"one {word}" for word in "the store bought fresh a cat sat mat dog ran he she".split()]
    many += ["two red", "two green", "two blue", "two house", "two tree"]
    found = ground(scope, QUESTION, many, ANSWER, most_heads=0, shuffles=0, passes=17)
    assert len(found.by_source("exact")) == 17 and "subsets" not in found.methods
    assert found.best == "exact"
    both = ground(scope, QUESTION, many, ANSWER, most_heads=0, shuffles=0, passes=24, exact=2)
    assert len(both.by_source("exact")) == 2 and len(both.by_source("subsets")) == 17


def test_subsets_find_the_sources_that_matter():
    true = np.zeros(40)
    true[[4, 17]] = 6.0, 3.0

    def answer_after(kept: np.ndarray) -> np.ndarray:
        noise = np.random.default_rng(1).normal(0, 0.1, len(kept))
        return (kept @ true + noise)[:, None]

    found = subset_scores(40, 64, answer_after)
    assert set(np.argsort(-found.value[0])[:2]) == {4, 17}
    assert found.low[0, 4] > 3 and abs(found.value[0, 4] - 6) < 1
    others = np.delete(found.value[0], [4, 17])
    assert np.abs(others).max() < 0.5


def test_shuffled_documents_keep_every_letter(scope):
    given = [("", "Ana was born in Oslo, 1900."), ("b", "one two three")]
    found = shuffled(scope.tokenizer, given, random.Random(1))
    assert [title for title, _ in found] == ["", "b"]
    for (_, one), (_, two) in zip(given, found, strict=True):
        assert one != two and sorted(one) == sorted(two)


def test_shuffled_documents_take_no_more_tokens():
    """Shuffled words are spelled in pieces: a prompt that fits the model would not fit again."""
    words = Tokenizer(models.BPE({one: at for at, one in enumerate("abel cltéü")}, []))
    words.add_tokens(["table", "belt", "cle"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words)
    text = "table belt cle " * 20
    ((_, made),) = shuffled(tokenizer, [("", text)], random.Random(1))
    count = len(tokenizer(text)["input_ids"])
    assert count * 0.8 < len(tokenizer(made)["input_ids"]) <= count < len(text) / 2
    assert not made.endswith(" ")


def test_the_least_expected_word_of_the_documents_decides(scope):
    """Documents that share a name help to spell it; what counts is that it was expected."""
    documents = [("", "Oslo lies near a lake.")]
    prompt = prompt_of(scope, "Where?", documents, "Ana lives in Oslo. Bo in Rome.")
    every, first, second = np.arange(prompt.said), *prompt.sentences()
    spelt = "".join(
        prompt.tokens.texts[0][slice(*prompt.tokens.spans[prompt.answer + at])]
        for at in every[copied(prompt, every, documents)]
    )
    assert spelt.split() == ["Oslo"] and copied(prompt, first, documents).any()
    assert not copied(prompt, second, documents).any()
    assert not copied(prompt, first, [("", "Ana.")]).any()  # a first word is always a surprise
    read, bare = np.array([-4.0, -6.0, -0.1]), np.array([-9.0, -10.0, -8.0])
    held = np.array([False, True, True])
    assert least_expected(read, bare, held) == pytest.approx(0.4)  # the token that it begins with
    assert least_expected(read, np.full(3, -1.0), held) == 1.0  # no token needs the documents


def test_verdicts_in_words():
    two = sources_of([("", "a."), ("", "b.")])
    lost = np.array([0.2, 20.0])
    assert verdict(25, 1, -40, 10, lost, two) == ("taken from document 2", "document 2")
    assert verdict(25, 1, -40, 10, np.array([15.0, 20.0]), two)[0] == (
        "taken from document 2 and document 1"
    )
    assert verdict(2, 1, -40, 10, lost, two) == ("not supported", None)
    assert verdict(0.5, 0, -2, 10, lost, two) == ("known without the context", None)
    assert verdict(25, 1, -40, 10, lost, two, least=0.5) == ("not supported", None)
    assert "say the same" in verdict(25, 1, -40, 10, np.array([0.1, 0.2]), two)[0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"documents": []}, "Give the documents"),
        ({"documents": ["a cat", " "]}, "Document 2 is empty"),
        ({"documents": ["a cat"], "answer": " "}, "The answer is empty"),
        ({"documents": ["a cat"], "answer": "cat " * 700}, "The conversation has.*the answer"),
        ({"documents": ["a cat"], "answer": "cat", "by": "chapter"}, "no span 'chapter'"),
        ({"documents": ["a cat"], "answer": "cat", "exact": "some"}, "exact="),
    ],
)
def test_what_cannot_be_grounded_is_refused(scope, given, sentence):
    with pytest.raises(BadInput, match=sentence):
        ground(scope, QUESTION, **given)


def test_an_answer_of_blanks_is_empty_for_tokenizers_that_keep_blanks():
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=256, num_hidden_layers=1, **sizes))
    letters = hs.load(model, byte_level())
    with pytest.raises(BadInput, match="The answer is empty"):
        prompt_of(letters, "who", [("", "a cat")], " ")


def test_two_hundred_documents_are_grounded():
    found = ground(
        scope_with(TEMPLATES["chatml"], positions=8000),
        "who ?",
        [f"a cat sat on {n}" for n in range(200)],
        "a cat",
        most_heads=1,
        shuffles=1,
    )
    assert len(found.by_source("attention")) == 200
