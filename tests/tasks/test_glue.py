"""GLUE's own files are read as they were published."""

from __future__ import annotations

import pytest

from headscope.errors import BadInput
from headscope.tasks.files import read_task
from headscope.tasks.glue import FORMATS, read_glue

PUBLISHED = {  # examples in train and dev, the share of class 1 in dev
    "CoLA": (8551, 1043, 0.689),
    "SST-2": (6920, 872, 0.509),
    "MRPC": (4076, 1725, 0.665),
    "STS-B": (5749, 1500, None),
    "RTE": (2490, 277, 0.473),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_files_are_read_whole(shared_data, name):
    train, dev, share = PUBLISHED[name]
    folder = shared_data / "glue" / name
    task = read_task(folder)
    assert len(read_glue(folder, "train")) == train and len(task) == dev
    assert (task.text_pairs is not None) == bool(FORMATS[name].pair)
    if share is None:
        assert task.kind == "regression" and task.labels.min() >= 0 and task.labels.max() <= 5
    else:
        assert task.labels.mean() == pytest.approx(share, abs=0.001)
    assert all(text.strip() for text in task.texts)


def test_known_examples_are_where_they_should_be(shared_data):
    glue = shared_data / "glue"
    assert read_glue(glue / "CoLA").texts[0] == "The sailors rode the breeze clear of the rocks."
    rte = read_glue(glue / "RTE")
    assert rte.text_pairs is not None and rte.text_pairs[0] == "Christopher Reeve had an accident."
    assert rte.classes[rte.labels[0]] == "not_entailment"
    sts = read_glue(glue / "STS-B")
    assert sts.labels[1] == 4.75 and sts.texts[1] == "A young child is riding a horse."
    assert read_glue(glue / "MRPC").texts[0].startswith("PCCW's chief operating officer")


def test_later_packagings_are_read_too(tmp_path):
    """Headers and class names instead of numbers, as in the packaged benchmark."""
    folder = tmp_path / "RTE"
    folder.mkdir()
    (folder / "dev.tsv").write_text(
        "index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tentailment\n1\tC.\tD.\tnot_entailment\n"
    )
    assert read_glue(folder).labels.tolist() == [0, 1]
    folder = tmp_path / "SST-2"
    folder.mkdir()
    (folder / "dev.tsv").write_text("sentence\tlabel\ngood\t1\nbad\t0\n")
    assert read_glue(folder).classes == ("negative", "positive")


def test_missing_files_are_named(tmp_path):
    folder = tmp_path / "CoLA"
    folder.mkdir()
    with pytest.raises(
        BadInput, match=r"put dev\.tsv or in_domain_dev\.tsv and out_of_domain_dev\.tsv"
    ):
        read_glue(folder)
    with pytest.raises(BadInput, match="train, dev or test"):
        read_glue(folder, "validation")
    with pytest.raises(BadInput, match="not a GLUE task"):
        read_glue(tmp_path)
