"""Two models of one shape are compared head by head."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from headscope.finetuning.change import change
from headscope.finetuning.texts import batches_of, text_pairs
from headscope.tasks.task import labelled_task
from tests.edits.test_sweep import PAIRS, TEXTS
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer


@pytest.fixture(scope="module")
def before():
    return tiny_scope("BertForPreTraining")


@pytest.fixture(scope="module")
def after(before):
    """Only layer 1's keys have moved, so layer 0 must come out unchanged."""
    model = copy.deepcopy(before.model)
    torch.manual_seed(4)
    with torch.no_grad():
        weight = model.bert.encoder.layer[1].attention.self.key.weight
        weight += 0.3 * torch.randn_like(weight)
    return hs.load(model, tiny_tokenizer(), name="after")


def test_a_model_is_like_itself(before):
    found = change(before, before, batches_of(before, [(text, None) for text in TEXTS]))
    np.testing.assert_allclose(found.cosine, 1, atol=1e-5)
    np.testing.assert_allclose(found.divergence, 0, atol=1e-6)


def test_change_equals_the_definition_text_by_text(before, after):
    texts = [(text, None) for text in TEXTS]
    found = change(before, after, batches_of(before, texts))
    cosine, divergence = [], []
    for text, _ in texts:
        one = before.read(text).attention.values.astype(np.float64)
        two = after.read(text).attention.values.astype(np.float64)
        flat_one, flat_two = (maps.reshape(*maps.shape[:2], -1) for maps in (one, two))
        norms = np.linalg.norm(flat_one, axis=-1) * np.linalg.norm(flat_two, axis=-1)
        cosine.append((flat_one * flat_two).sum(axis=-1) / norms)
        mixed = (one + two) / 2
        js = 0.5 * (one * np.log(one / mixed)).sum(-1) + 0.5 * (two * np.log(two / mixed)).sum(-1)
        divergence.append(js.mean(axis=-1))
    np.testing.assert_allclose(found.cosine, np.mean(cosine, axis=0), atol=1e-5)
    np.testing.assert_allclose(found.divergence, np.mean(divergence, axis=0), atol=1e-5)
    np.testing.assert_allclose(found.cosine[0], 1, atol=1e-5)
    assert (found.cosine[1] < 0.999).any()


def test_padding_changes_only_the_padded_variant(before, after):
    short, long = TEXTS[0], TEXTS[1]
    alone = change(before, after, batches_of(before, [(short, None)]))
    batch = before.encode([short, long])
    together = change(before, after, [batch])
    other = change(before, after, batches_of(before, [(long, None)]))
    np.testing.assert_allclose(together.cosine, (alone.cosine + other.cosine) / 2, atol=1e-5)
    np.testing.assert_allclose(alone.cosine, alone.cosine_padded, atol=1e-6)
    assert np.abs(together.cosine_padded - together.cosine)[1].max() > 1e-4


def test_the_comparison_has_every_head_and_statistic(before, after):
    found = hs.compare(before, after, TEXTS, statistics=["entropy", "sep"])
    assert len(found.heads) == 8 and found.texts == len(TEXTS)
    assert set(found.statistics["statistic"]) == {"entropy", "sep"}
    assert len(found.statistics) == 16
    moved = np.abs(found.map("entropy"))
    assert moved[0].max() < 1e-5 < moved[1].max()
    assert {"label_before", "label_after", "relabelled"} <= set(found.heads.columns)
    assert found.map("cosine").shape == (2, 4)
    assert len(found.by_layer()) == 2
    found.plot(), found.plot("entropy")
    with pytest.raises(BadInput, match="there are cosine, divergence, entropy"):
        found.map("nonsense")


def test_the_picture_names_both_models_and_leaves_unchanged_heads_light(before, after):
    figure = hs.compare(before, after, ["the cat sat"]).plot()
    said = " ".join(one.get_text() for one in figure.findobj(lambda one: hasattr(one, "get_text")))
    assert before.name in said and "after" in said
    image = figure.axes[0].images[0] if figure.axes[0].images else figure.axes[0].collections[0]
    shades = image.cmap(image.norm(image.get_array()))[..., :3].sum(-1)
    assert shades.reshape(2, -1)[0].min() >= shades.reshape(2, -1)[1].max(), "layer 0 is unchanged"


def test_a_task_is_a_corpus_too(before, after):
    task = labelled_task("toy", TEXTS, PAIRS, ["a"] * 5)
    assert text_pairs(task, 3)[0][1] is not None and len(text_pairs(task, 3)) == 3
    found = hs.compare(before, after, task, statistics=[], labels=False)
    assert found.statistics.empty and "label_before" not in found.heads


def test_models_of_different_shape_are_refused(before, tiny_gpt2):
    deeper = tiny_scope("BertForPreTraining", num_hidden_layers=3)
    with pytest.raises(BadInput, match="differ in layers or heads"):
        hs.compare(before, deeper, TEXTS)
    with pytest.raises(BadInput, match="has encoder attention and GPT2LMHeadModel has decoder"):
        hs.compare(before, tiny_gpt2, TEXTS)


def test_models_that_split_text_differently_are_refused(before):
    tokenizer = copy.deepcopy(tiny_tokenizer())
    tokenizer.add_tokens(["strawberries"])
    model = tiny_model("BertForPreTraining")
    model.resize_token_embeddings(len(tokenizer))
    other = hs.load(model, tokenizer, name="other")
    with pytest.raises(BadInput, match="different tokens"):
        hs.compare(before, other, TEXTS)


def reaction_scope(folder, name):
    """The package's old folders name no model type, and its tokenizer is a class of its own."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = (folder / "vocab.txt").read_text().split()
    tokenizer = Tokenizer(
        models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]")
    )
    atoms = Regex(r"\[[^\]]+\]|Br|Cl|>>|%[0-9][0-9]|.")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(atoms, "isolated")
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", words.index("[SEP]")), ("[CLS]", words.index("[CLS]"))
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    )  # fmt: skip
    model = BertModel.from_pretrained(folder, config=BertConfig.from_pretrained(folder)).eval()
    return hs.load(model, fast, name=name)


@pytest.mark.slow
def test_a_real_model_before_and_after_fine_tuning(rxnfp_folder):
    """rxnfp holds a BERT pre-trained on chemical reactions, and the same fine-tuned."""
    before = reaction_scope(rxnfp_folder / "bert_pretrained", "before")
    after = reaction_scope(rxnfp_folder / "bert_ft", "after")
    reactions = [
        "CC(=O)O.OCC>>CC(=O)OCC",
        "c1ccccc1Br.OB(O)c1ccccc1>>c1ccc(-c2ccccc2)cc1",
        "CCN.CC(=O)Cl>>CCNC(C)=O",
        "O=C(O)c1ccccc1.CO>>COC(=O)c1ccccc1",
    ]
    tokens = before.read(reactions[1]).tokens
    assert "Br" in tokens and ">>" in tokens and "[UNK]" not in tokens
    found = hs.compare(before, after, reactions, statistics=["entropy"], labels=False)
    layers = found.by_layer()["cosine"].to_numpy()
    assert len(found.heads) == 48 and len(layers) == 12
    assert (found.heads["cosine"] <= 1 + 1e-6).all() and (found.heads["cosine"] > 0).all()
    # fine-tuning moves the upper half more than the lower, as the paper says of its own models
    assert layers[6:].mean() < layers[:6].mean()
    assert found.statistics["change"].abs().max() > 0.1


def test_a_table_is_read_by_its_columns_and_not_by_its_lines(tmp_path):
    table = tmp_path / "pairs.tsv"
    table.write_text("sentence1\tsentence2\tlabel\nthe cat sat\ta dog ran\t1\nred house\ttree\t0\n")
    assert text_pairs(table, None) == [("the cat sat", "a dog ran"), ("red house", "tree")]
    assert text_pairs(str(table), 1) == [("the cat sat", "a dog ran")]
    alone = tmp_path / "alone.csv"
    alone.write_text("label,text\n1,the cat sat\n")
    assert text_pairs(alone, None) == [("the cat sat", None)]
    alone.write_text("label,words\n1,the cat sat\n")
    with pytest.raises(BadInput, match="no text column"):
        text_pairs(alone, None)


def test_a_comparison_says_which_split_it_read(before, tmp_path):
    folder = tmp_path / "SST-2"
    folder.mkdir()
    lines = {"train": TEXTS[:1] * 3, "dev": TEXTS[:2]}
    for split, texts in lines.items():
        rows = "".join(f"{text}\t1\n" for text in texts)
        (folder / f"{split}.tsv").write_text(f"sentence\tlabel\n{rows}")
    found = hs.compare(before, before, folder, statistics=[], labels=False, progress=False)
    assert (found.split, found.texts) == ("dev", 2)
    assert "on 2 texts, dev split" in repr(found)
    found.save(tmp_path / "found.parquet")
    assert type(found).load(tmp_path / "found.parquet").split == "dev"
    plain = hs.compare(before, before, TEXTS, statistics=[], labels=False, progress=False)
    assert plain.split is None and "split" not in repr(plain)
