"""One head, several behaviours: planted mixtures are split, single behaviours are not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from playwright.sync_api import expect
from sklearn.metrics import adjusted_rand_score
from transformers import LlamaConfig, LlamaForCausalLM

import headscope as hs
from headscope.atlas.behaviours.clusters import clusters
from headscope.errors import BadInput
from headscope.views.of_heads import behaviours as packing
from headscope.views.of_heads.plane import plane_table
from headscope.views.wire.container import Buffers
from tests.browser.conftest import chromium, new_page, show
from tests.circuits.built import built_scope
from tests.tiny import VOCABULARY, tiny_tokenizer
from tests.views.decoding import Container

__all__ = ["chromium", "new_page", "show"]

FIRST = ("cat", "dog", "house", "tree")  # ask for [CLS]
ARTICLE = ("red", "green", "blue", "two")  # ask for "the"
PLAIN = ("sat", "ran", "went", "said", "was", "bought")  # ask for the token before


def _match(chance, behaviours, count):
    """q and k of a head: each behaviour has its own means, among noise that is correlated."""
    width = 16
    which = chance.choice(behaviours, count, p=chance.dirichlet([12] * behaviours))
    mixing = 0.4 * chance.standard_normal((2, width, width)) / width**0.5 + np.eye(width)
    q, k = (
        3 * chance.standard_normal((behaviours, width))[which]
        + chance.standard_normal((count, width)) @ mixing[side]
        for side in (0, 1)
    )
    return which, q * k


@pytest.mark.parametrize("behaviours", [2, 3])
def test_planted_mixtures_of_behaviours_are_split(behaviours):
    agree = []
    for seed in range(100, 106):
        which, products = _match(np.random.default_rng(seed), behaviours, 400)
        agree.append(adjusted_rand_score(which, clusters(products)))
    assert min(agree) >= 0.9, np.round(agree, 2)


@pytest.mark.parametrize("tails", [None, 5])
def test_a_single_behaviour_is_not_split(tails):
    """Correlated Gaussians of any shape, and heavier tails; at most 5 % are split."""
    split = 0
    for seed in range(40):
        chance = np.random.default_rng(seed)
        width, count = int(chance.choice([4, 16, 48])), int(chance.choice([100, 300]))
        mixing = chance.standard_normal((width, width)) * np.exp(chance.standard_normal(width))
        drawn = chance.standard_normal((count, width)) @ mixing
        if tails is not None:
            drawn *= np.sqrt(tails / chance.chisquare(tails, (count, 1)))
        split += clusters(drawn).max() > 0
    assert split <= 2


def test_vectors_that_are_all_one_are_one_cluster():
    assert clusters(np.ones((100, 4))).max() == 0


def planted_model():
    """One layer of two heads with rotary positions. Head 0-0 does what the word asks for: looks
    for [CLS], for "the", or at the token before. Head 0-1 always looks at the token before."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, head_dim=32, intermediate_size=8, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    known = tiny_tokenizer().get_vocab()
    angle = config.rope_parameters["rope_theta"] ** -(torch.arange(16) / 16)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.02 * torch.randn_like(parameter) if parameter.dim() > 1 else 1.0)
        table = model.model.embed_tokens.weight
        table.copy_(0.1 * torch.randn_like(table))
        table[:, :6] = 0.0
        table[:, [0, 5]] = 1.0
        for dim, words in enumerate((FIRST, ARTICLE, ("[CLS]",), ("the",)), start=1):
            rows = [known[word] for word in words]
            table[rows, dim], table[rows, 5] = 1.0, 0.0  # one mark each: keys of one length
        attention = model.model.layers[0].self_attn
        for head in range(2):
            q, k = (one.weight[32 * head : 32 * head + 32] for one in
                    (attention.q_proj, attention.k_proj))  # fmt: skip
            q.mul_(0.1)
            k.mul_(0.1)
            # key j turns by j; a query that starts one step back meets the token before it
            k[:4, 0] = 1.0
            q[:4, 0], q[16:20, 0] = 2 * angle[:4].cos(), -2 * angle[:4].sin()
            if head == 0:
                q[15, 1], k[15, 3] = 6.0, 3.0
                q[14, 2], k[14, 4] = 6.0, 3.0
    return model


@pytest.fixture(scope="module")
def planted():
    scope = built_scope(planted_model(), "planted")
    chance = np.random.default_rng(0)
    words = [*FIRST, *ARTICLE, *PLAIN]
    texts = [
        " ".join(["the", *chance.choice(words, chance.integers(8, 14))]) + "." for _ in range(80)
    ]
    return scope, hs.atlas(scope, texts, top=6, progress=False)


@pytest.fixture(scope="module")
def found(planted):
    scope, atlas = planted
    return hs.behaviours(scope, atlas, positions=500)


def test_a_head_of_three_behaviours_has_three_and_a_plain_head_one(found):
    assert found.heads == ((0, 0), (0, 1))
    assert found.map("behaviours").to_numpy().tolist() == [[3.0, 1.0]]
    points = found.points.query("layer == 0 and head == 0").merge(found.positions, on="position")
    asks = {**dict.fromkeys(FIRST, 0), **dict.fromkeys(ARTICLE, 1)}
    truth = [asks.get(word, 2) for word in points["query_token"]]
    assert adjusted_rand_score(truth, points["behaviour"]) >= 0.9
    assert found.of(0, 0)["share"].sum() == pytest.approx(1.0)


def test_behaviours_have_labels_examples_and_profiles_of_their_own(found):
    rows = found.of(0, 0)
    keys = {number: found.examples(0, 0, number, 5)["key_token"].mode()[0] for number in range(3)}
    assert {"[CLS]", "the"} <= set(keys.values())
    before = next(number for number in range(3) if keys[number] not in ("[CLS]", "the"))
    assert rows["label"][before] == "previous_word" and rows["lift"][before] > 2
    offsets = found.profiles.query(f"head == 0 and behaviour == {before} and profile == 'offset'")
    assert offsets.iloc[0]["name"] == "-1" and offsets.iloc[0]["lift"] > 1.5
    example = found.examples(0, 0, before, 1).iloc[0]
    assert "[[" in example["text"] and "<<" in example["text"]


def test_behaviours_are_saved_whole_and_opened_again(found, tmp_path):
    found.save(tmp_path / "b.parquet")
    again = hs.open(tmp_path / "b.parquet")
    assert again.table.equals(found.table)
    assert again.examples(0, 0, 1).equals(found.examples(0, 0, 1))


def test_behaviours_of_a_head_alone_are_those_among_all(planted, found):
    scope, atlas = planted
    alone = hs.behaviours(scope, atlas, 0, 0, positions=500)
    np.testing.assert_allclose(alone.of(0, 0)["share"], found.of(0, 0)["share"])
    with pytest.raises(BadInput, match="no behaviour 9"):
        alone.examples(0, 0, 9)
    with pytest.raises(BadInput, match="give layer= too"):
        hs.behaviours(scope, atlas, head=0)


@pytest.fixture(scope="module")
def both(planted, found):
    return planted[1].with_behaviours(found)


def test_an_atlas_keeps_behaviours_in_its_file_and_shows_how_many_each_head_has(
    planted, found, both, tmp_path
):
    both.save(tmp_path / "b.atlas")
    again = hs.Atlas.load(tmp_path / "b.atlas").behaviours
    assert again.table.equals(found.table) and again.by == found.by
    assert again.examples(0, 0, 1).equals(found.examples(0, 0, 1))
    assert planted[1].behaviours is None
    table = plane_table(both, None)
    assert table.columns["behaviours"].tolist() == [[3.0, 1.0]]


def test_behaviours_of_another_model_are_refused(both, found):
    with pytest.raises(BadInput, match="of another, and this atlas is of planted"):
        both.with_behaviours(dataclasses.replace(found, model="another"))
    with pytest.raises(BadInput, match="is a result of"):
        both.with_behaviours([found])


def test_a_page_holds_every_point_with_its_text(found, both):
    data = Container(hs.atlas_view(both).data.container())
    about = data.header["atlas"]["behaviours"]
    assert about["counts"] == [500, 500] and about["total"] == 500
    shares = [[one["share"] for one in head] for head in about["heads"]]
    np.testing.assert_allclose(shares[0], found.of(0, 0)["share"], atol=1e-4)
    before = next(one for one in about["heads"][0] if one["label"])
    assert before["label"] == "previous word" and before["lift"] > 2
    points = found.points.query("layer == 0 and head == 0")
    plane = data.array(about["plane"])[:500]
    np.testing.assert_allclose(plane[:, 0], points["query_x"], rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(plane[:, 4], points["weight"], rtol=2e-3)
    assert data.array(about["behaviour"])[:500].tolist() == points["behaviour"].tolist()
    keys = [about["words"][int(one)] for one in data.array(about["key_token"])[:500]]
    assert keys == points["key_token"].tolist()
    texts, at = about["texts"], 7
    codes = data.array(texts["tokens"])[texts["starts"][at] : texts["starts"][at + 1]]
    words = [about["words"][int(code) // 2] for code in codes]
    assert words == list(found.positions["tokens"][at])


def test_of_many_positions_a_page_takes_the_same_draw_for_every_head(found, monkeypatch):
    monkeypatch.setattr(packing, "POINTS", 240)
    buffers = Buffers()
    about = packing.pack_behaviours(found, (0,), 2, buffers)
    assert about["counts"] == [120, 120] and len(about["texts"]["starts"]) == 121


@pytest.mark.browser
def test_the_page_links_clusters_brush_and_examples(show, both, found):
    seen = show(hs.atlas_view(both, 0, 0), viewport={"width": 1280, "height": 1800})
    page = seen.page
    several = page.locator("[data-behaviours='3']")
    several.wait_for()
    chips = several.locator("[data-behaviour].button")
    share = found.of(0, 0)["share"][0]
    assert f"1 · {share:.0%}".replace("%", " %") in chips.first.inner_text()
    chosen = several.locator("[data-chosen]")
    assert chosen.get_attribute("data-chosen") == "500"
    chips.nth(1).click()
    rows = found.points.query("head == 0 and behaviour == 1")
    expect(chosen).to_have_attribute("data-chosen", str(len(rows)))
    examples = several.locator("li")
    strongest = found.examples(0, 0, 1, 1).iloc[0]
    assert examples.first.get_attribute("data-behaviour") == "1"
    assert examples.first.locator(".query").inner_text() == strongest["query_token"]
    # a brush around one point of the plane chooses the few positions that have a mark there
    box = several.locator("[data-point] circle").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    chips.nth(1).click()
    expect(chosen).to_have_attribute("data-chosen", "500")
    page.mouse.move(x - 6, y - 6)
    page.mouse.down()
    page.mouse.move(x + 6, y + 6, steps=3)
    page.mouse.up()
    several.locator(".sc-brush").wait_for()
    number = int(chosen.get_attribute("data-chosen"))
    assert 0 < number < 500
    assert several.locator("g[data-point]:not(.out)").count() == number
    page.keyboard.press("Escape")
    expect(chosen).to_have_attribute("data-chosen", "500")
    # heads by how many behaviours they have
    page.locator("[data-sort=behaviours]").click()
    first = page.locator(".at-table tbody tr").first
    assert first.get_attribute("data-row") == "0-0"
    assert first.locator("td").last.inner_text() == "3"
    assert not seen.errors
