"""Small things that stopped people: short reprs, one head by hand, tables for papers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.text import Text
from PIL import Image

import headscope as hs
from headscope.errors import BadInput
from headscope.results.latex import escaped, latex

TEXT = "the cat sat on the mat"
TOKENS = ["a", "b", "c"]


def test_what_is_printed_is_short(tiny_gpt2) -> None:
    shown = (
        hs.attribute(tiny_gpt2, TEXT, tokens=2),
        hs.circuits.inputs(tiny_gpt2, TEXT, methods=["gradient_input"], orders=2),
        hs.circuits.head_outputs(tiny_gpt2, TEXT)["decoder", 1],
        hs.circuits.task("names"),
        tiny_gpt2.read(TEXT),
    )
    for one in shown:
        assert len(repr(one)) < 300, type(one).__name__


def test_one_head_and_the_heads_of_one_layer_are_read_from_arrays() -> None:
    one = hs.Reading.from_attention(np.eye(3), TOKENS)
    assert one.attention.shape == (1, 1, 3, 3)
    np.testing.assert_array_equal(one.attention[0, 0], np.eye(3))
    layer = hs.Reading.from_attention(np.stack([np.eye(3), np.full((3, 3), 1 / 3)]), TOKENS)
    assert layer.attention.shape == (1, 2, 3, 3)
    assert hs.head_view(one) is not None


def test_a_head_is_built_by_hand_from_its_queries_and_keys() -> None:
    q, k, v = (np.random.default_rng(at).normal(size=(3, 4)) for at in range(3))
    built = hs.Reading.from_attention(q=q, k=k, v=v, tokens=TOKENS, causal=True)
    scores = torch.tensor(np.where(np.tri(3) > 0, q @ k.T / 2, -np.inf))
    np.testing.assert_allclose(built.attention[0, 0], scores.softmax(-1), atol=1e-6)
    heads = hs.Reading.from_attention(q=np.stack([q, q]), k=np.stack([k, k]), tokens=TOKENS)
    assert heads.attention.shape == (1, 2, 3, 3) and tuple(heads.parts) == ("encoder",)
    assert hs.neuron_view(built) is not None
    for wrong, sentence in (
        ({"q": q}, "both q and k"),
        ({"q": q, "k": k[:, :2]}, "need the same number of heads"),
        ({"q": q, "k": k, "attention": np.eye(3)}, "not both"),
        ({"q": q[0], "k": k[0]}, "has 1 axes"),
    ):
        with pytest.raises(BadInput, match=sentence):
            hs.Reading.from_attention(tokens=TOKENS, **wrong)
    with pytest.raises(BadInput, match="There are 3 tokens, but q has 2 rows"):
        hs.Reading.from_attention(q=q[:2], k=k[:2], tokens=TOKENS)


def test_a_table_written_as_csv_is_drawn_and_opened_again(tiny_gpt2, tmp_path) -> None:
    made = hs.survey(tiny_gpt2, [TEXT, "a dog ran"], progress=False)
    made.save(tmp_path / "survey.csv")
    frame = pd.read_csv(tmp_path / "survey.csv")
    measure = made.measures[0]
    for again in (hs.open(tmp_path / "survey.csv"), frame):
        assert hs.head_map(again, measure) is not None
    np.testing.assert_allclose(hs.open(tmp_path / "survey.csv").map(measure), made.map(measure))
    with pytest.raises(BadInput, match=r"holds the table alone; hs\.open"):
        hs.Survey.load(tmp_path / "survey.csv")


def test_a_map_is_as_wide_as_a_papers_column_with_text_of_its_size(tiny_gpt2, tmp_path) -> None:
    made = hs.survey(tiny_gpt2, [TEXT, "a dog ran"], progress=False)
    for form in ("map", "scatter"):
        figure = made.plot(made.measures[0], form=form)
        sizes = {text.get_fontsize() for text in figure.findobj(Text)}
        figure.savefig(tmp_path / "column.png", width=3.3, dpi=100)
        assert Image.open(tmp_path / "column.png").width == pytest.approx(330, abs=3)
        assert {text.get_fontsize() for text in figure.findobj(Text)} == sizes
    lines = hs.head_view(tiny_gpt2.read(TEXT)).figure()
    with pytest.raises(BadInput, match=r"cannot be 0\.4 inches wide"):
        lines.savefig(tmp_path / "narrow.png", width=0.4)
    assert not (tmp_path / "narrow.png").exists()


def test_several_texts_are_refused_where_one_is_meant(tiny_gpt2) -> None:
    several = [TEXT, "a dog ran"]
    for ask in (
        lambda: hs.circuits.score(tiny_gpt2, several, 1, 0, 3, 2),
        lambda: hs.circuits.inputs(tiny_gpt2, several, methods=["gradient_input"], orders=2),
        lambda: hs.circuits.head_outputs(tiny_gpt2, several),
        lambda: hs.circuits.with_weightings(tiny_gpt2, several),
        lambda: hs.circuits.trace(tiny_gpt2, several),
    ):
        with pytest.raises(BadInput):
            ask()


def test_a_difference_narrows_both_readings(tiny_gpt2) -> None:
    one, other = tiny_gpt2.read(TEXT), tiny_gpt2.read(TEXT.replace("cat", "dog"))
    view = hs.matrix_view(one, 1, 0, other=other, layers=[1])
    assert view.state["reading"] == "difference" and view.state["layer"] == 1


def test_the_row_that_chose_a_generated_token_is_the_one_before_it(tiny_gpt2) -> None:
    reading = tiny_gpt2.generate("the cat", 3)
    first = reading.metadata["prompt_tokens"]
    ids = reading.part().query.ids
    for at in range(first, len(ids)):
        row = reading.chose(at)
        given = {"input_ids": np.asarray(ids[: row + 1])[None]}
        logits = tiny_gpt2.forward({k: torch.from_numpy(v) for k, v in given.items()}).logits
        assert int(logits[0, -1].argmax()) == ids[at]
    assert reading.chose(-1) == len(ids) - 2
    with pytest.raises(BadInput, match=f"wrote tokens {first} to {len(ids) - 1}"):
        reading.chose(0)
    with pytest.raises(BadInput, match="has no generated tokens"):
        tiny_gpt2.read(TEXT).chose(1)


def test_a_result_is_a_booktabs_table_with_its_best_in_bold(tiny_gpt2) -> None:
    prompts = [TEXT, "a dog ran", "she said", "the red tree", "one two three", "he sat on a mat"]
    made = hs.attribute(tiny_gpt2, prompts, target="house", progress=False)
    lines = made.to_latex("logit", 3, digits=2).splitlines()
    top = made.top("logit", 3)
    assert lines[0] == r"\begin{tabular}{rrrrr}" and lines[-1] == r"\end{tabular}"
    assert lines[2] == r"layer & head & logit & 95\,\% interval & corrected $p$ \\"
    best = top.iloc[0]
    value = f"{best['value']:.2f}"
    bold = rf"{{\boldmath${value}$}}" if best["value"] < 0 else rf"\textbf{{{value}}}"
    assert lines[4].startswith(rf"{best['layer']} & {best['head']} & {bold} & [")
    assert [line.count("&") for line in lines[4:7]] == [4, 4, 4]
    assert escaped("layer_damage 5%") == r"layer\_damage 5\%"


def test_a_negative_best_value_is_bold_and_writers_are_named(tiny_llama) -> None:
    rows = pd.DataFrame({"layer": [1, 0], "head": [2, 3], "measure": "x_y", "value": [-0.437, 1.0]})
    assert latex(rows, 2).splitlines()[4] == r"1 & 2 & {\boldmath$-0.44$} \\"
    text, corpus = "the cat sat on the mat", ["the cat sat on the mat"] * 3
    found = hs.circuits.score(tiny_llama, text, 1, 1, 4, 2)
    means = hs.circuits.score_parts(tiny_llama, corpus, 1, 1, progress=False)
    for one in (found, means):
        lines = one.to_latex("key", 2).splitlines()
        assert lines[0].startswith(r"\begin{tabular}{lr") and lines[2].startswith("writer & key")
        assert lines[4].startswith(one.top("key", 1)["writer"][0]) and "None" not in lines[4]
