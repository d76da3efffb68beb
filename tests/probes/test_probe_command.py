"""`headscope probe` on the shipped sample."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from headscope.cli import build
from headscope.corpus.coreference.corpus import CoreferenceCorpus
from headscope.corpus.relations.corpus import Relations
from headscope.corpus.sample import PARAGRAPHS, RELATIONS, STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.errors import BadInput, FewUnits


@pytest.fixture
def run(tiny_bert, monkeypatch, tmp_path):
    monkeypatch.setattr("headscope.reading.load", lambda *_, **__: tiny_bert)

    def command(*words):
        result = CliRunner().invoke(build(), ["probe", *words, "-o", str(tmp_path / "out.csv")])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return command


def test_the_sample_is_sound_and_covers_what_probes_need():
    sentences = list(Treebank(STORIES, bad_data="refuse"))
    assert len(sentences) == 36
    relations = {relation for s in sentences for relation in s.relations}
    assert {"det", "amod", "nsubj", "obj", "case", "aux", "nmod:poss", "compound"} <= relations
    assert len(list(CoreferenceCorpus(STORIES, bad_data="refuse"))) == 6
    assert len(list(Relations(RELATIONS, bad_data="refuse"))) > 20
    assert PARAGRAPHS.read_text().count("\n\n") == 11


def test_dependency_writes_the_table_all_heads_and_a_map(run, tmp_path):
    drawn = tmp_path / "drawn"
    run("dependency", "sample", "--minimum", "5", "--map", str(tmp_path / "map.svg"),
        "--drawings", str(drawn))  # fmt: skip
    table = pd.read_csv(tmp_path / "out.csv")
    assert {"relation", "accuracy", "low", "high", "baseline", "offset"} <= set(table.columns)
    assert len(pd.read_csv(tmp_path / "out-heads.csv")) % (2 * 8) == 0
    cases = pd.read_csv(tmp_path / "out-cases.csv")
    scored = table.loc[table["relation"] != "all"].set_index("relation")
    mean = cases.groupby("relation")["right"].mean()
    assert (mean[scored.index] - scored["accuracy"]).abs().max() < 1e-9
    assert (tmp_path / "map.svg").read_text().startswith("<?xml")
    assert len(list(drawn.glob("*.svg"))) >= 5
    assert not list(tmp_path.glob(".out*"))  # nothing half done is left behind


def test_relations_with_too_few_cases_are_named(run):
    with pytest.warns(FewUnits, match="fewer than 100 cases have no row: "):  # printed as a line
        run("dependency", "sample")


def test_training_data_adds_the_probes_over_all_heads(run, tmp_path):
    run("dependency", "sample", "--minimum", "5", "--train", "sample", "--vectors", "embeddings")
    assert "attention+words" in set(pd.read_csv(tmp_path / "out-probes.csv")["probe"])


def test_coreference_relations_and_features_write_their_tables(run, tmp_path):
    columns = {"coreference": "nominal", "relations": "percentile", "features": "measure"}
    for name, column in columns.items():
        run(name, "sample")
        assert column in pd.read_csv(tmp_path / "out.csv").columns


def test_coreference_draws_its_map(run, tmp_path):
    run("coreference", "sample", "--map", str(tmp_path / "map.svg"))
    assert (tmp_path / "map.svg").read_text().startswith("<?xml")


def test_heads_chosen_and_scored_on_the_same_data_are_warned_of(run):
    same = run("dependency", str(STORIES), "--test", str(STORIES), "--minimum", "5")
    assert "the same data, which flatters them" in " ".join(same.stderr.split())
    assert "flatters" not in run("dependency", str(STORIES), "--minimum", "5").stderr


def test_a_table_called_parquet_is_parquet(tiny_bert, monkeypatch, tmp_path):
    monkeypatch.setattr("headscope.reading.load", lambda *_, **__: tiny_bert)
    words = ["probe", "features", "sample", "-o", str(tmp_path / "out.parquet")]
    assert CliRunner().invoke(build(), words).exit_code == 0
    assert "score" in pd.read_parquet(tmp_path / "out.parquet").columns or "value" in (
        pd.read_parquet(tmp_path / "out.parquet").columns
    )


def test_two_models_side_by_side_show_the_change(run, tmp_path):
    run("features", "sample", "--other", "same")
    assert (pd.read_csv(tmp_path / "out.csv")["change"] == 0).all()


def test_bad_data_is_counted_or_refused_as_chosen(run, tmp_path):
    path = tmp_path / "bad.conllu"
    path.write_text(STORIES.read_text() + "1\tbroken\n\n")
    assert run("dependency", str(path), "--minimum", "5").exit_code == 0
    with pytest.raises(BadInput, match=r"bad.conllu:\d+: a line has 2 columns"):
        run("dependency", str(path), "--bad-data", "refuse")


def test_misuse_is_said_in_one_sentence(run):
    assert run("dependency", "sample", "--subtypes", "both").exit_code == 2
    with pytest.raises(BadInput, match="There is no file or folder nowhere"):
        run("coreference", "nowhere")
