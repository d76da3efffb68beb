"""Runs that are killed, stopped, starved of disk, fed bad data, or started twice."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.corpus.text.segments import Segment
from headscope.errors import BadInput, HeadscopeError
from headscope.runs import part as kept
from headscope.runs.run import only_writer, partial_folder
from headscope.statistics.discovery import measurable
from headscope.surveys.loop import SoFar
from headscope.surveys.options import Options
from headscope.surveys.run import survey_reducers
from tests.surveys.measuring import measured, same_numbers
from tests.tiny import tiny_scope

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORDS = "the cat sat on a mat and he ran to one red house . she said it was blue ,".split()


@pytest.fixture
def corpus(tmp_path) -> Path:
    chance = random.Random(0)
    path = tmp_path / "corpus.txt"
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(3, 30))) for _ in range(120)]
    path.write_text("\n".join(texts))
    return path


def survey(corpus, output=None, scope=None, **options):
    scope = scope or tiny_scope("BertForPreTraining")
    options = {"progress": False, "chunk": 4, "distances": True, **options}
    return hs.survey(scope, corpus, output=output, **options)


def test_a_run_killed_at_any_moment_goes_on_to_the_same_table(corpus, tmp_path):
    whole = survey(corpus)
    output = tmp_path / "s.parquet"
    command = [sys.executable, str(HERE / "killed.py"), str(corpus), str(output)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"})
    deadline = time.monotonic() + 200
    while not (partial_folder(output) / "counts.npz").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    seed = int(os.environ.get("HEADSCOPE_SEED", "0"))
    print(f"HEADSCOPE_SEED={seed}")
    time.sleep(random.Random(seed).random() * 0.4)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not output.exists(), "the run was to be killed before its end"
    seen = []
    resumed = survey(corpus, output, progress=seen.append)
    assert seen[0].segments > 4, "the run started anew"
    same_numbers(resumed, whole)
    assert resumed.metadata["corpus"]["fingerprint"] == whole.metadata["corpus"]["fingerprint"]
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.txt", "s.parquet"}


def stop_after(reports: int):
    count = 0

    def tell(report) -> None:
        nonlocal count
        count += 1
        if count == reports:
            raise KeyboardInterrupt

    return tell


def test_stopping_gives_the_table_so_far_and_leaves_an_older_output_alone(corpus, tmp_path):
    output = tmp_path / "s.parquet"
    survey(["the cat sat on the mat"], output)
    older = output.read_bytes()
    with pytest.raises(hs.Stopped, match="Run the same command to resume") as stopped:
        survey(corpus, output, progress=stop_after(3))
    part = stopped.value.partial
    assert isinstance(part, hs.Survey)
    assert not part.complete and part.metadata["segments"] == 12
    assert output.read_bytes() == older
    assert (part.table["count"] <= 12).all() and part.map("entropy").shape == (2, 4)
    whole = survey(corpus, output)
    assert whole.complete and not partial_folder(output).exists()
    same_numbers(whole, survey(corpus))


@pytest.mark.parametrize("place", ["loop.Measurer.repeats", "loop.SoFar.merge"])
def test_a_stop_amid_the_sums_loses_them_and_nothing_else(tmp_path, corpus, monkeypatch, place):
    """Ctrl-C may fall while a portion is being added up; half of one is never kept."""
    output, scope = tmp_path / "s.parquet", tiny_scope("GPT2LMHeadModel")
    whole = survey(corpus, scope=scope)
    calls = 0
    merge = SoFar.merge

    def stopped(*given):
        nonlocal calls
        calls += 1
        if place == "loop.SoFar.merge":
            merge(*given)
        if place == "loop.Measurer.repeats" or calls == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as stopping:
        stopping.setattr(f"headscope.surveys.{place}", stopped)
        with pytest.raises(hs.Stopped):
            survey(corpus, output, scope=scope)
    resumed = survey(corpus, output, scope=scope)
    same_numbers(resumed, whole)


def test_going_on_with_another_corpus_or_model_is_refused(corpus, tmp_path):
    output = tmp_path / "s.parquet"
    with pytest.raises(hs.Stopped):
        survey(corpus, output, progress=stop_after(2))
    with pytest.raises(BadInput, match="started with another model"):
        survey(corpus, output, scope=tiny_scope("BertForPreTraining", num_hidden_layers=1))
    with pytest.raises(BadInput, match=r"with other statistics; resume with the same \(with .*\),"):
        survey(corpus, output, statistics=["entropy"])
    text = corpus.read_text()
    corpus.write_text("another " + text)
    with pytest.raises(BadInput, match="started with another corpus"):
        survey(corpus, output)
    assert survey(corpus, output, restart=True).complete


def test_a_broken_partial_file_is_told(corpus, tmp_path):
    output = tmp_path / "s.parquet"
    with pytest.raises(hs.Stopped):
        survey(corpus, output, progress=stop_after(2))
    (partial_folder(output) / "counts.npz").write_text("half a file")
    with pytest.raises(BadInput, match="--restart"):
        survey(corpus, output)


def test_two_runs_of_one_output_are_told_apart(corpus, tmp_path):
    output = tmp_path / "s.parquet"
    with only_writer(output), pytest.raises(HeadscopeError, match="Another run is writing"):
        survey(corpus, output)
    assert survey(corpus, output, limit=4).complete  # the lock went with its run


def test_a_full_disk_is_one_sentence_and_harms_nothing(corpus, tmp_path, monkeypatch):
    output = tmp_path / "s.parquet"
    output.write_bytes(b"older")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as a full disk: an error, no signal
    for keep_every in (-1.0, 1e9):  # at the first partial result, and at the table itself
        monkeypatch.setattr(kept, "KEEP_EVERY", keep_every)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
            with pytest.raises(HeadscopeError, match="could not be written"):
                survey(corpus, output, limit=8)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    signal.signal(signal.SIGXFSZ, ignored)
    assert output.read_bytes() == b"older"
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.txt", "s.parquet"}


def test_bad_data_is_counted_or_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    good = '{"text": "the cat sat"}\n'
    path.write_text(good + '{"text": \n' + '{"text": ""}\n' + good)
    found = survey(path)
    assert found.metadata["segments"] == 2
    assert "1 corrupt line" in found.metadata["left out"]
    assert "1 empty document" in found.metadata["left out"]
    with pytest.raises(BadInput, match=r"a\.jsonl:2"):
        survey(path, bad_data="refuse")


def test_a_text_longer_than_the_model_is_cut_and_counted():
    found = survey(["the cat " * 300, "the cat"], segments="documents")
    assert found.metadata["truncated"] == 1
    assert found.metadata["tokens"] == 128 + 4


def test_a_corpus_without_text_is_told():
    with pytest.raises(BadInput, match="holds no text"):
        survey(["", "  "])


def test_a_model_whose_direction_depends_on_its_inputs_is_told(corpus):
    # GIT, tried with a picture, looks both ways; a text alone it reads forwards.
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
    vision = {**sizes, "num_hidden_layers": 1, "image_size": 16, "patch_size": 8}
    git = tiny_scope("GitForCausalLM", vision_config=vision)
    with pytest.raises(HeadscopeError, match="GitForCausalLM attends to these texts differently"):
        survey(corpus, scope=git, distances=False)


def test_a_model_that_looks_both_ways_at_pairs_alone_is_measured_on_texts(corpus):
    scope = tiny_scope("HrmTextForCausalLM")
    found = survey(corpus, scope=scope, distances=False, limit=20).table
    assert set(found["kind"]) == {"decoder"}
    entropy = found[found["measure"] == "entropy"].set_index(["layer", "head"])["value"]
    texts = corpus.read_text().splitlines()[:20]
    maps = [np.asarray(scope.read(text).attention, dtype=np.float64)[3, 2] for text in texts]
    of_texts = [-(m * np.log(m, where=m > 0, out=0 * m)).sum(-1).mean() for m in maps]
    assert entropy[3, 2] == pytest.approx(np.mean(of_texts), abs=1e-5)


def test_memory_does_not_grow_with_the_corpus():
    """What a run holds after many documents is what it holds after few."""
    scope, sizes = tiny_scope("BertForPreTraining"), []
    reducers = survey_reducers(measurable(scope, "all")[0], Options(distances=True))
    text = "the cat sat on the mat and he ran to one red house"
    for start in range(0, 1200, 300):
        part = [Segment(n, n, text) for n in range(start, start + 300)]
        for reducer, more in zip(reducers, measured(scope, reducers, part), strict=True):
            reducer.merge(more)
        sizes.append(sum(a.nbytes for reducer in reducers for a in reducer.state().values()))
    assert sizes[0] == sizes[-1]
