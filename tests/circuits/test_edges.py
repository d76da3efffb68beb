"""Edges and circuits: runs are the model's own, a circuit set by hand is found, slopes hold."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.circuits.graph.gradients import edge_scores
from headscope.circuits.graph.nodes import Node, StreamGraph
from headscope.circuits.graph.stream import STREAMED, EdgeRun, writes
from headscope.circuits.patching.batch import batches
from headscope.circuits.patching.donor import record
from headscope.circuits.patching.pairs import asked_of
from headscope.errors import HeadscopeError
from tests.circuits.built import built_scope, induction_model
from tests.tiny import tiny_scope

CLEAN = ["the cat sat on the red", "a dog ran to the store and"]
CORRUPTED = ["the dog sat on the red", "a cat ran to the store and"]
ANSWERS = ("house", "store")
FAMILIES = {
    "GPT2LMHeadModel": {},
    "LlamaForCausalLM": {"num_key_value_heads": 2},
    "Qwen3ForCausalLM": {"num_key_value_heads": 2, "head_dim": 8},
    "GPTNeoXForCausalLM": {},
}


def ready(scope):
    found = STREAMED.of(scope)
    batch = batches(scope, *asked_of(CLEAN, CORRUPTED, None, ANSWERS))[0]
    donor = record(scope, found.wiring, batch.clean, calls=True)
    written = tuple(writes(scope, found, one)[0] for one in (batch.clean, batch.corrupted))
    return found, batch, written, EdgeRun(scope, found, batch.clean, donor.calls, written[1])


@pytest.fixture(scope="module", params=FAMILIES)
def family(request):
    return tiny_scope(request.param, **FAMILIES[request.param])


def test_all_edges_give_the_clean_run_and_none_the_corrupted_one(family):
    found, batch, _, run = ready(family)
    every = torch.from_numpy(found.graph.possible)
    with torch.no_grad():
        clean, corrupted = (family.forward(one) for one in (batch.clean, batch.corrupted))
    at = (torch.arange(len(CLEAN)), batch.at[0])
    kept = run(every).logits[at]
    torch.testing.assert_close(kept, clean.logits[at], atol=1e-4, rtol=1e-4)
    none = run(torch.zeros_like(every)).logits[at]
    torch.testing.assert_close(none, corrupted.logits[at], atol=1e-4, rtol=1e-4)


def test_an_edge_to_the_logits_is_the_stream_without_it(family):
    """One edge corrupted: by hand, the last norm and the output layer on the stream so changed."""
    found, batch, (clean, corrupted), run = ready(family)
    head = 1 + found.graph.per_layer  # of layer 1: nothing else hears it but what comes after
    kept = torch.from_numpy(found.graph.possible)
    kept[-1, head] = False
    stream = clean.sum(0) - clean[head] + corrupted[head]
    norm, layer = found.wiring.last_norm, family.model.get_output_embeddings()
    with torch.no_grad():
        by_hand = layer(norm(stream))
    at = (torch.arange(len(CLEAN)), batch.at[0])
    torch.testing.assert_close(run(kept).logits[at], by_hand[at], atol=1e-4, rtol=1e-4)


def test_for_a_small_change_scores_are_the_exact_effects(family):
    """Slopes against differences: every edge of a run whose corrupted writers are nearly clean."""
    found, batch, (clean, corrupted), run = ready(family)
    near = clean + 1e-3 * (corrupted - clean)
    scores = edge_scores(family, found, batch, (clean, near), 3)
    run.corrupted = near
    every = torch.from_numpy(found.graph.possible)
    whole = batch.read(run(every), clean=True)[:, 0].double()
    drawn = np.random.default_rng(0).choice(np.flatnonzero(every), 25, replace=False)
    exact = []
    for at in drawn:
        kept = every.clone()
        kept.view(-1)[at] = False
        exact.append(float((whole - batch.read(run(kept), clean=True)[:, 0]).sum()))
    estimated = scores.reshape(-1)[torch.from_numpy(drawn)].numpy()
    largest = float(scores[every].abs().max())
    np.testing.assert_allclose(estimated, exact, atol=0.05 * largest)


SENDER = (0, 1)


def path_of(graph, through=None, receiver=None):
    """The edges of a path: the sender as in the clean run, then MLPs alone up to one input of a
    later head, and from that head on everything; without a receiver, up to the logits."""
    writers, ends = graph.writers, receiver[0] if receiver else graph.layers
    spoken = [writers.index(Node("head", *SENDER))]
    spoken += [at for at, one in enumerate(writers) if one.part == "mlp" and one.layer < ends]
    heard = [writers.index(Node("head", *receiver))] if receiver else []
    heard += [
        at for at, one in enumerate(writers)
        if one.layer is not None and (one.layer > ends or (one.layer == ends and one.part == "mlp"))
    ]  # fmt: skip
    kept = np.zeros(graph.possible.shape, bool)
    for row, reader in enumerate(graph.readers):
        layer = graph.layers if reader.layer is None else reader.layer
        hears = (ends, "logits") if receiver is None else (ends, through)
        own = receiver is None or reader.group == receiver[1]
        if layer == 0 and reader.through in "qkv" and reader.group == SENDER[1]:
            kept[row] = True
        elif layer < ends and reader.through == "mlp":
            kept[row, spoken] = True
        elif (layer, reader.through) == hears:
            kept[row, spoken] = own
        elif layer > ends or (layer == ends and reader.through == "mlp"):
            kept[row, heard] = True
    return torch.from_numpy(kept & graph.possible)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("GPT2LMHeadModel", {"n_layer": 3}),
        ("LlamaForCausalLM", {"num_hidden_layers": 3, "num_key_value_heads": 4}),
        ("GPTNeoXForCausalLM", {"num_hidden_layers": 3}),
    ],
)
def test_edges_through_queries_keys_and_values_are_the_paths_of_path_patching(name, sizes):
    """Two programs, one question: a path as a set of edges, and as heads patched in turn."""
    scope = tiny_scope(name, **sizes)
    found, batch, _, run = ready(scope)
    with torch.no_grad():
        base, clean = (
            batch.read(scope.forward(one), clean=True)[:, 0]
            for one in (batch.corrupted, batch.clean)
        )
    whole = (clean - base).sum()

    def share(kept):
        return float((batch.read(run(kept), clean=True)[:, 0] - base).sum() / whole)

    asked = {"answers": ANSWERS, "sender": SENDER}
    for through in ("q", "k", "v"):
        paths = hs.circuits.path_patch(scope, CLEAN, CORRUPTED, through=through, **asked)
        largest = np.nanmax(np.abs(paths.shares))
        assert largest > 1e-6
        for receiver in [(1, 0), (1, 3), (2, 1)]:
            of_edges = share(path_of(found.graph, through, receiver))
            assert of_edges == pytest.approx(paths.shares[receiver], abs=1e-3 * largest + 1e-6)
        assert share(path_of(found.graph)) == pytest.approx(paths.direct, abs=1e-4)


def test_a_circuit_set_by_hand_is_found_and_is_all_there_is():
    scope = built_scope(induction_model(), "induction", bare=True)
    found = hs.circuits.edges(
        scope, 2 * ["red cat dog mat cat"], ["red the dog mat cat", "red cat tree mat cat"],
        answers=("dog", "tree"), sizes=range(1, 9), exact=6, progress=False,
    )  # fmt: skip
    shown = found.edges[found.edges["in_circuit"]]
    assert {tuple(row) for row in shown[["source", "target", "through"]].to_numpy()} == {
        ("embedding", "0-0", "v"), ("0-0", "1-0", "k"), ("embedding", "1-0", "v"),
        ("1-0", "logits", "logits"),
    }  # fmt: skip
    curve = found.curve.set_index("edges")["faithfulness"]
    assert curve[4] == pytest.approx(1.0, abs=1e-5) and curve[3] < 0.9
    assert found.faithfulness == pytest.approx(1.0, abs=1e-5)
    assert found.completeness == pytest.approx(0.0, abs=1e-5)
    assert np.abs(found.of_random).max() < 0.5
    low, high = found.agreement_interval
    assert found.agreement > 0.9 and low <= found.agreement <= high


def test_the_circuit_is_the_smallest_that_is_enough(tiny_llama):
    """The size that was found is enough, and one edge less is not."""
    asked = {"answers": ANSWERS, "draws": 0, "steps": 1, "progress": False, "share": 0.8}
    found = hs.circuits.edges(tiny_llama, CLEAN, CORRUPTED, **asked)
    size = found.sizes[found.chosen]
    curve = found.curve.set_index("edges")["faithfulness"]
    assert curve[size] >= 0.8 > curve[size - 1], "both were tried"
    again = hs.circuits.edges(tiny_llama, CLEAN, CORRUPTED, sizes=[size - 1, size], **asked)
    assert (again.circuit == found.circuit).all() and again.faithfulness < 0.8 + 0.2
    assert list(found.sizes) == sorted(found.sizes) and found.effects.shape[0] == len(found.sizes)


def test_what_was_found_is_saved_drawn_and_handed_on(tmp_path, tiny_llama):
    found = hs.circuits.edges(
        tiny_llama, CLEAN, CORRUPTED, answers=ANSWERS, draws=2, steps=2, progress=False
    )
    found.save(tmp_path / "e.parquet")
    again = hs.open(tmp_path / "e.parquet")
    assert isinstance(again, hs.results.Edges)
    assert again.edges.equals(found.edges) and again.cpr == found.cpr and again.cmd == found.cmd
    found.to_json(tmp_path / "e.json")
    held = json.loads((tmp_path / "e.json").read_text())
    assert len(held["edges"]) == int(found.circuit.sum())
    assert {one["source"] for one in held["edges"]} <= set(held["nodes"])
    for figure in (found.plot(), found.draw()):
        figure.savefig(tmp_path / "f.png")
    assert found.curve["faithfulness"].iloc[-1] == pytest.approx(1.0, abs=1e-3)


def test_circuits_of_two_models_are_put_beside_each_other(tiny_llama):
    asked = {"answers": ANSWERS, "draws": 0, "steps": 1, "progress": False}
    one, two = (
        hs.circuits.edges(tiny_llama, CLEAN, CORRUPTED, sizes=[size], **asked) for size in (20, 40)
    )
    other = hs.circuits.edges(tiny_scope("GPT2LMHeadModel"), CLEAN, CORRUPTED, **asked)
    table = one.beside(two, other)
    both, either = (one.circuit & two.circuit).sum(), (one.circuit | two.circuit).sum()
    assert table["shared"].tolist()[:2] == [1.0, pytest.approx(both / either)]
    assert table["rank"].tolist()[:2] == pytest.approx([1.0, 1.0])
    assert np.isnan(table["shared"][2]) and table["edges"][2] == other.circuit.sum()


def test_a_stopped_run_resumes_to_the_same_result(tmp_path, tiny_llama):
    class Stopped(Exception):
        pass

    def stop(progress) -> None:
        if progress.done == 6:
            raise Stopped

    asked = {"answers": ANSWERS, "draws": 2, "steps": 1, "exact": 4}
    path = tmp_path / "e.parquet"
    with pytest.raises(Stopped):
        hs.circuits.edges(tiny_llama, CLEAN, CORRUPTED, output=path, progress=stop, **asked)
    assert not path.exists()
    found = hs.circuits.edges(tiny_llama, CLEAN, CORRUPTED, output=path, progress=False, **asked)
    whole = hs.circuits.edges(tiny_llama, CLEAN, CORRUPTED, progress=False, **asked)
    np.testing.assert_allclose(found.effects, whole.effects, atol=1e-6)
    assert hs.open(path).edges.equals(found.edges)


def test_edges_that_lead_nowhere_are_dropped():
    graph = StreamGraph(layers=2, heads=2, groups=2, parallel=False)
    kept = np.zeros(graph.possible.shape, bool)
    kept[-1, 0] = True  # embedding to logits
    kept[0, 0] = True  # the embedding tells head 0-0, which nobody hears
    kept[-1, 4] = True  # head 1-0 speaks and has heard nothing
    alone = graph.connected(kept)
    assert alone.sum() == 1 and alone[-1, 0]


@pytest.mark.parametrize("name", ["Gemma2ForCausalLM", "BertForPreTraining"])
def test_a_stream_that_is_no_plain_sum_is_refused(name, make_scope):
    with pytest.raises(HeadscopeError, match="not a plain sum"):
        hs.circuits.edges(make_scope(name), CLEAN, CORRUPTED, answers=ANSWERS, progress=False)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"sizes": [0]}, "numbers of edges"),
        ({"share": 0}, "between 0 and 1"),
        ({"steps": 0}, "steps"),
    ],
)
def test_bad_arguments_are_said(tiny_llama, asked, sentence):
    with pytest.raises(hs.HeadscopeError, match=sentence):
        hs.circuits.edges(tiny_llama, CLEAN, CORRUPTED, answers=ANSWERS, progress=False, **asked)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_scores_rank_edges_of_a_real_model_as_patching_does(smollm2):
    pairs = hs.circuits.task("names", 60).fitting(smollm2)
    found = hs.circuits.edges(smollm2, pairs, limit=8, exact=200, draws=3, progress=False)
    print(found, found.agreement, found.agreement_interval, found.completeness)
    print(found.curve.to_string(), found.of_random)
    assert found.agreement >= 0.7
    assert found.faithfulness > float(np.max(found.of_random)) + 0.3
