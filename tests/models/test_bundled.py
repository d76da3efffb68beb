"""The bundled model: safe, small, offline, a real language model, with the heads it claims."""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForPreTraining, AutoTokenizer, BertForPreTraining, BertModel

import headscope as hs
from headscope.models.open import BUNDLED

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
SAFE = {".safetensors", ".json", ".txt", ".md", ".atlas", ""}  # an atlas is a zip of tables


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    return hs.load()


@pytest.fixture(scope="module")
def reading(scope: hs.Scope) -> hs.Reading:
    return scope.read(*PAIR)


def test_the_folder_is_small_and_holds_nothing_that_can_run() -> None:
    files = [path for path in BUNDLED.rglob("*") if path.is_file()]
    atlas = [path for path in files if "atlas" in path.name]
    assert sum(path.stat().st_size for path in atlas) <= 3e6
    assert sum(path.stat().st_size for path in files if path not in atlas) <= 28e6
    assert {path.suffix for path in files} <= SAFE
    with safe_open(BUNDLED / "model.safetensors", "pt") as weights:
        assert {weights.get_slice(name).get_dtype() for name in weights.keys()} == {"F16"}  # noqa: SIM118


def test_it_opens_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was attempted")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert hs.load().read("Hello there.").tokens[0] == "[CLS]"


def test_it_has_twelve_layers_of_eight_heads_and_reads_512_tokens(scope: hs.Scope) -> None:
    assert isinstance(scope.model, BertForPreTraining)
    assert scope.layers["encoder"] == 12 and scope.heads["encoder"] == 8
    assert scope.max_tokens == 512
    reading = scope.read("word " * 600, truncate=True)
    assert len(reading.tokens) == 512
    with pytest.raises(hs.BadInput):
        scope.read("word " * 600)


def test_the_quick_way_to_open_it_gives_what_from_pretrained_gives(
    scope: hs.Scope, tmp_path: Any
) -> None:
    truth = AutoModelForPreTraining.from_pretrained(BUNDLED, dtype=torch.float32).eval()
    assert type(truth) is type(scope.model) and not scope.model.training
    assert scope.model.config.to_dict() == truth.config.to_dict()
    ours, theirs = scope.model.state_dict(), truth.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    theirs = dict(truth.named_buffers())
    assert all(torch.equal(b, theirs[name]) for name, b in scope.model.named_buffers())
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    inputs = tokenizer(*PAIR, return_tensors="pt")
    assert scope.tokenizer(*PAIR)["input_ids"] == inputs["input_ids"][0].tolist()
    with torch.no_grad():
        given, expected = scope.model(**inputs), truth(**inputs)
    assert torch.equal(given.prediction_logits, expected.prediction_logits)
    scope.model.save_pretrained(tmp_path)  # and it can be saved and opened as any other
    again = AutoModelForPreTraining.from_pretrained(tmp_path)
    assert torch.equal(again.cls.predictions.decoder.weight, truth.cls.predictions.decoder.weight)


def test_it_opens_in_other_precisions() -> None:
    assert hs.load(dtype=torch.bfloat16).model.dtype == torch.bfloat16
    assert hs.load(dtype="float16").model.dtype == torch.float16


@pytest.mark.parametrize(
    ("text", "plausible"),
    [
        ("She opened the [MASK] and walked in.", {"door"}),
        ("He drank a cup of [MASK].", {"coffee", "tea"}),
        ("The president of the united [MASK] spoke on the radio.", {"states"}),
        ("Water boils when it is very [MASK].", {"hot"}),
        ("My mother and my [MASK] live in the country.", {"father"}),
    ],
)
def test_it_fills_in_plausible_words(scope: hs.Scope, text: str, plausible: set[str]) -> None:
    first_five = {prediction.token for prediction in scope.fill(text)[0]}
    assert plausible <= first_five


def test_context_before_decides_what_is_filled_in(scope: hs.Scope) -> None:
    def best(text: str, pair: str) -> str:
        return scope.fill(text, pair)[0][0].token

    second = "At the [MASK], they waited for a long time."
    assert best("They drove to the airport.", second) == "airport"
    assert best("They drove to the hospital.", second) == "hospital"


@torch.no_grad()
def test_it_tells_a_sentence_that_follows_from_one_that_does_not(scope: hs.Scope) -> None:
    texts = [
        "The captain ordered the crew to lower the boats. The ship was sinking fast, and the sea "
        "was already washing over the deck.",
        "Plants take in carbon dioxide from the air and water from the soil. With the energy of "
        "sunlight they make sugar from both.",
        "The war ended in 1945. The government had to rebuild the cities and feed the people.",
    ]
    follow = [
        "The sailors ran to the rail and climbed down into the boats, and rowed away.",
        "The sugar is stored in the leaves and roots of the plant, and oxygen is released.",
        "Food was scarce, and many of the cities lay in ruins after the years of the war.",
    ]
    for i, text in enumerate(texts):
        for j, second in enumerate(follow):
            inputs = scope.tokenizer(text, second, return_tensors="pt")
            following, random = scope.model(**inputs).seq_relationship_logits[0]
            assert (following > random) == (i == j), (text, second)


def test_strawberries_is_a_word_and_its_ending(reading: hs.Reading) -> None:
    assert reading.tokens == tuple(
        "[CLS] i went to the store . [SEP] at the store , i bought fresh straw ##berries . [SEP]"
        .split()
    )  # fmt: skip


def mass(reading: hs.Reading, layer: int, head: int, targets: Callable[[int, int], bool]) -> float:
    """Mean attention from words and punctuation to their targets, over those that have one."""
    tokens = reading.tokens
    content = [i for i, token in enumerate(tokens) if token not in ("[CLS]", "[SEP]")]
    weights = reading.attention.sel(layer=layer, head=head).values
    found: list[float] = []
    for query in content:
        keys = [key for key in range(len(tokens)) if targets(query, key)]
        if keys:
            found.append(float(weights[query, keys].sum()))
    return float(np.mean(found))


def test_the_named_heads_show_their_patterns_on_the_two_sentences(reading: hs.Reading) -> None:
    tokens = reading.tokens
    border = tokens.index("[SEP]")
    special = {i for i, token in enumerate(tokens) if token in ("[CLS]", "[SEP]")}

    def same_sentence(query: int, key: int) -> bool:
        return (query > border) == (key > border) and key not in special

    def copies(query: int, key: int) -> bool:
        return key != query and tokens[key] == tokens[query] and key not in special

    assert mass(reading, 2, 2, lambda q, k: k == q + 1 and same_sentence(q, k)) >= 0.9
    assert mass(reading, 2, 6, lambda q, k: k == q - 1 and same_sentence(q, k)) >= 0.9
    assert mass(reading, 1, 5, lambda _, k: k in special) >= 0.55
    assert mass(reading, 3, 0, copies) >= 0.4
    assert mass(reading, 3, 0, lambda q, k: copies(q, k) and not same_sentence(q, k)) >= 0.4
    pieces = {tokens.index("straw"), tokens.index("##berries")}
    assert mass(reading, 2, 6, lambda q, k: {q, k} == pieces) >= 0.45


def test_head_0_1_is_a_bag_of_words_on_the_two_sentences(reading: hs.Reading) -> None:
    border = reading.tokens.index("[SEP]")
    weights = reading.attention.sel(layer=0, head=1).values
    halves = [slice(1, border), slice(border + 1, len(reading.tokens) - 1)]
    for half in halves:
        own = weights[half, half]
        share = own.sum(1)
        within = own / share[:, None]
        evenness = -(within * np.log(within)).sum(1) / np.log(own.shape[1])
        assert float((share * evenness).mean()) >= 0.6


@pytest.mark.slow
def test_opening_it_takes_about_as_long_as_bert_model_takes() -> None:
    """benchmarks/load.py measures the ratio; here only a gross excess fails, in processor time."""

    def processor_time(work: Callable[[], Any]) -> float:
        work()
        times: list[float] = []
        for _ in range(5):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
        return statistics.median(times)

    ratio = processor_time(hs.load) / processor_time(lambda: BertModel.from_pretrained(BUNDLED))
    assert ratio <= 1.6


def test_the_command_says_what_is_bundled_and_where_its_card_is() -> None:
    from typer.testing import CliRunner

    from headscope.cli import build

    shown = CliRunner().invoke(build(), ["models"]).output
    assert "trained from scratch" in shown
    assert str(BUNDLED / "README.md") in shown
    assert (BUNDLED / "README.md").is_file()
