"""The study of Clark et al. on the shipped sample, with a tiny model and with a real one."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.studies.clark.inputs import at_same_depth, reference
from headscope.studies.clark.surface import PAPER
from headscope.studies.pieces import Drawing
from tests.studies.words import identifiers

SECTIONS = [
    "Relative position",
    "Special tokens",
    "Does attention to separators matter?",
    "Focused and broad attention",
    "Dependency syntax",
    "Coreference",
    "All heads together",
    "Clusters of heads",
    "What was run on the sample",
]


@pytest.fixture(scope="module")
def report(tiny_bert):
    return hs.studies.clark(tiny_bert, limit=20)


def test_every_experiment_of_the_paper_runs_without_data_in_its_order(report):
    assert [section.title for section in report.sections] == SECTIONS
    wanted = {"relative_position", "special_tokens", "gradients", "entropy", "dependency"}
    wanted |= {"coreference_paper", "coreference_sample", "probes", "probes_heads", "clusters"}
    assert wanted <= set(report.tables)


def test_heads_are_points_with_their_texts_and_as_far_apart_as_a_survey_says(report, tiny_bert):
    pieces = report.sections[SECTIONS.index("Clusters of heads")].pieces
    [page] = [piece.page for piece in pieces if getattr(piece, "name", "") == "atlas"]
    assert '"view":"atlas"' in page and '"panels":"clusters"' in page
    said = next(piece.text for piece in pieces if "Mean distance" in getattr(piece, "text", ""))
    surveyed = hs.survey(
        tiny_bert, "sample", ["self_word"], segments="pairs", max_tokens=128, limit=20,
        distances=True, progress=False,
    ).clusters()  # fmt: skip
    assert f"within a layer {surveyed.within:.3f}, between layers {surveyed.between:.3f}" in said


def test_the_papers_own_numbers_stand_beside_ours(report):
    probes = report.tables["probes"].set_index("probe")
    assert probes.loc["attention+words", "paper"] == 0.77
    assert probes["uas"].between(0, 1).all()
    dependency = report.tables["dependency"].set_index("relation")
    assert dependency.loc["det", "paper: head"] == "7-10"  # 8-11 as the paper counts
    assert dependency.loc["det", "paper: accuracy"] == 0.943
    coreference = report.tables["coreference_paper"].set_index("method")
    assert coreference.loc["best head", "all"] == 0.65


def test_what_ran_on_the_sample_is_said_with_how_to_supply_data(report):
    page = report.html()
    for wanted in ("No raw text was given", "No treebank was given", "into the data folder"):
        assert wanted in page


def test_the_figures_of_the_paper_are_drawn(report):
    names = set(report.figures)
    assert {"position_next", "special_sep", "gradients", "entropy", "dependency_map"} <= names
    assert {"clusters_behaviour", "clusters_layer", "fig1_sep"} <= names
    assert any(name.startswith("fig5_") for name in names)


@pytest.mark.slow
def test_a_decoder_is_studied_too_and_what_it_cannot_show_is_said(tiny_gpt2):
    report = hs.studies.clark(tiny_gpt2, limit=12)
    page = report.html()
    assert (
        "Attention to the next token is undefined here: the model reads from left to right" in page
    )
    assert "dependency" in report.tables and "clusters" in report.tables


def test_titles_and_columns_are_words(report):
    assert identifiers(report) == set()


def test_the_paper_s_line_stands_on_the_axes_of_ours(report):
    layers = len(report.tables["entropy"])
    drawn = {piece.name: piece.figure for s in report.sections for piece in s.pieces
             if isinstance(piece, Drawing)}  # fmt: skip
    for name, table, column in (
        ("special_sep", "special_tokens", "separators, paper"),
        ("entropy", "entropy", "paper"),
        ("gradients", "gradients", "gradient at separators, paper"),
    ):
        lines = drawn[name].axes[0].lines
        [paper] = [line for line in lines if line.get_label() in (PAPER, column)]
        np.testing.assert_allclose(paper.get_ydata(), report.tables[table][column])
        assert len(paper.get_ydata()) == layers


def test_a_missing_data_folder_is_said_in_one_sentence(tiny_bert, tmp_path):
    with pytest.raises(BadInput, match="There is no data folder"):
        hs.studies.clark(tiny_bert, tmp_path / "absent")


def test_published_lines_are_read_at_the_same_depth():
    line = reference()["per_layer"]["sep"]
    np.testing.assert_allclose(at_same_depth(line, 12), line)
    half = at_same_depth(line, 6)
    np.testing.assert_allclose(half, (np.array(line[::2]) + np.array(line[1::2])) / 2)


def test_the_reference_agrees_with_itself():
    found = reference()
    for name, matrix in found["per_head"].items():
        assert np.shape(matrix) == (12, 12)
        np.testing.assert_allclose(np.mean(matrix, axis=1), found["per_layer"][name], atol=2e-3)
