"""The study of Kovaleva et al. runs on any model, quotes the paper and says what it lacks."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from headscope.runs import Run
from headscope.studies.kovaleva import disabling, features, frames, kinds, tuned
from headscope.studies.kovaleva.inputs import KovalevaInputs
from headscope.studies.report import Report
from tests.tiny import tiny_scope

TASK = "SST-2"
SENTENCES = ["the red house was fresh", "a cat sat on the mat", "the dog ran to the store"] * 4


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    task = folder / "glue" / TASK
    task.mkdir(parents=True)
    rows = "".join(f"{text}\t{i % 2}\n" for i, text in enumerate(SENTENCES))
    for split in ("train", "dev"):
        (task / f"{split}.tsv").write_text("sentence\tlabel\n" + rows)
    return folder


@pytest.fixture(scope="module")
def after():
    return tiny_scope("BertForSequenceClassification", num_labels=2)


@pytest.fixture(scope="module")
def before(after):
    """The same encoder with one layer moved, and an output layer of words."""
    scope = tiny_scope("BertForPreTraining")
    scope.model.bert.load_state_dict(copy.deepcopy(after.model.bert.state_dict()))
    with torch.no_grad():
        weight = scope.model.bert.encoder.layer[1].attention.self.query.weight
        weight += 0.5 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
    return scope


def section_of(part, scope, data=None, given=None, limit=12):
    report = Report("t", "kovaleva", scope.name, "c")
    part.add(report, KovalevaInputs(scope, data, limit, given or {}), Run(None, {}))
    assert report.html()  # every table and figure can be drawn
    return report


def test_the_papers_numbers_are_quoted_as_published(before):
    paper = KovalevaInputs(before, None, 10).paper
    assert paper["table1"]["RTE"]["finetuned"] == [64.6]
    for task, kinds_of in paper["map_kinds_percent"].items():
        assert sum(kinds_of.values()) == pytest.approx(100, abs=0.3), task
    mrpc = paper["map_kinds_percent"]["MRPC"]
    assert mrpc["heterogeneous"] + mrpc["block"] == pytest.approx(31.8)
    rte = paper["layers_disabled"]["RTE"]
    gains = np.array(rte["scores"]) - rte["baseline"]
    assert gains.argmax() == 0 and gains.max() == pytest.approx(0.032, abs=0.001)
    heads = np.array(paper["heads_disabled"]["MRPC"]["scores"]) - 0.8825
    assert np.unravel_index(heads.argmax(), heads.shape) == (4, 2)  # 5-3 counted from 1
    assert heads.max() == pytest.approx(0.012, abs=0.002)


def test_disabling_is_summed_up_beside_the_paper(before, after, data):
    report = section_of(disabling, before, data, {TASK: after})
    table = report.tables["disabled"]
    assert set(table["task"]) == {TASK, "masked words"}
    row = table[(table["task"] == TASK) & (table["disabled"] == "layer")].iloc[0]
    assert row["paper best"] == pytest.approx(0.2, abs=0.05)
    assert row["paper worst"] == pytest.approx(-1.4, abs=0.05)
    assert row["best points"] >= row["worst points"]
    words = table[(table["task"] == "masked words") & (table["disabled"] == "head")].iloc[0]
    assert words["best points"] <= words["worst points"]  # a lower loss is better
    assert set(report.figures) == {"disabled_SST-2", "disabled_masked_words"}


def test_change_is_found_where_it_was_made(before, after, data):
    report = section_of(tuned, before, data, {TASK: after})
    layers = report.tables["change"].set_index("layer")["cosine"]
    assert layers[0] == pytest.approx(1, abs=1e-4) and layers[1] < 0.999
    worth = report.tables["worth"].iloc[0]
    assert worth["finetuned (paper)"] == "92.0" and worth["majority"] == 50


def test_what_is_missing_is_named_with_how_to_supply_it(before):
    for part in (tuned, frames):
        pieces = [
            piece.text for piece in section_of(part, before)._pieces() if hasattr(piece, "text")
        ]
        assert any("Left out" in text for text in pieces)
    text = section_of(tuned, before)._pieces()[-1].text
    assert "headscope finetune" in text


def test_frames_are_scored_where_there_are_some(before, tmp_path):
    folder = tmp_path / "framenet"
    folder.mkdir()
    line = '{"text": "the dog ran to the store", "target": [8, 11], "elements": [[4, 7]]}'
    (folder / "framenet15_filtered.jsonl").write_text(line + "\n")
    report = section_of(frames, before, tmp_path)
    assert set(report.tables["frames"]["variant"]) == {
        "element→target", "target→element", "literal"
    }  # fmt: skip


def test_features_come_from_a_treebank(before, tmp_path):
    folder = tmp_path / "ud_english_ewt"
    folder.mkdir()
    words = [("the", "DET", "DT", 2, "det"), ("dog", "NOUN", "NN", 3, "nsubj"),
             ("ran", "VERB", "VBD", 0, "root")]  # fmt: skip
    lines = "".join(
        f"{i}\t{w}\t{w}\t{u}\t{x}\t_\t{h}\t{r}\t_\t_\n"
        for i, (w, u, x, h, r) in enumerate(words, 1)
    )
    (folder / "en_ewt-ud-dev.conllu").write_text(lines + "\n" + lines + "\n")
    report = section_of(features, before, tmp_path)
    assert {"noun", "verb", "subject"} <= set(report.tables["features"]["feature"])
    assert set(report.tables["between_words"]["feature"]) == {"subject→verb", "verb→subject"}
    assert (report.tables["opening"]["max"] <= 1).all()


def test_kinds_of_map_stand_beside_the_papers(before, after, data):
    table = section_of(kinds, before, data, {TASK: after}, limit=3).tables["map_kinds"]
    assert table["model"].tolist() == ["pre-trained", "fine-tuned"]
    assert table["vertical (paper)"].iloc[0] == 36.5
    ours = [c for c in table if c in ("vertical", "diagonal", "vertical+diagonal", "block",
                                      "heterogeneous")]  # fmt: skip
    np.testing.assert_allclose(table[ours].sum(axis=1), 100, atol=1e-6)


def test_a_data_folder_that_is_not_there_is_refused(before, tmp_path):
    with pytest.raises(BadInput, match="no data folder"):
        hs.studies.kovaleva(before, tmp_path / "nowhere")
