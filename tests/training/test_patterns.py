from __future__ import annotations

import pytest
import torch
from torch import Tensor

from training.evaluation.patterns import PATTERNS, Tally, targets
from training.tokenizer import CLS, SEP

# [CLS] a b ##c . [SEP] a d ##e ##f [SEP]
TOKENS = torch.tensor([[CLS, 10, 11, 20, 9, SEP, 10, 12, 21, 22, SEP]])
SEGMENTS = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]])
CONTINUES = torch.zeros(30, dtype=torch.bool)
CONTINUES[20:23] = True
PUNCTUATION = torch.zeros(30, dtype=torch.bool)
PUNCTUATION[9] = True
N = TOKENS.shape[1]


def score(attention: Tensor) -> tuple[dict[str, float], dict[str, float]]:
    found = targets(TOKENS, SEGMENTS, CONTINUES, PUNCTUATION)
    tally = Tally(1, 1)
    tally.count(found)
    tally.add(0, attention[None, None], found)
    return {n: float(s[0, 0]) for n, s in tally.scores().items()}, tally.uniform_scores()


@pytest.mark.parametrize("name", [n for n in PATTERNS if n != "bag_of_words"])
def test_a_head_that_only_attends_to_its_targets_scores_one(name: str) -> None:
    keys = targets(TOKENS, SEGMENTS, CONTINUES, PUNCTUATION)[name][0].float()
    attention = torch.where(keys.sum(1, keepdim=True) > 0, keys, torch.ones(N))
    attention = attention / attention.sum(1, keepdim=True)
    assert score(attention)[0][name] == pytest.approx(1.0)


def test_uniform_attention_scores_the_uniform_value() -> None:
    scores, uniform = score(torch.full((N, N), 1 / N))
    for name in scores:
        if name != "bag_of_words":
            assert scores[name] == pytest.approx(uniform[name]), name
    assert uniform["next_word"] == pytest.approx(1 / N)
    assert uniform["delimiter"] == pytest.approx(3 / N)


def test_uniform_attention_within_the_segment_is_a_whole_bag_of_words() -> None:
    keys = targets(TOKENS, SEGMENTS, CONTINUES, PUNCTUATION)["bag_of_words"][0].float()
    attention = torch.where(keys.sum(1, keepdim=True) > 0, keys, torch.ones(N))
    attention = attention / attention.sum(1, keepdim=True)
    assert score(attention)[0]["bag_of_words"] == pytest.approx(1.0)
    assert score(torch.eye(N))[0]["bag_of_words"] == pytest.approx(0.0)


def test_the_delimiter_score_is_split_and_leaves_punctuation_out() -> None:
    attention = torch.zeros(N, N)
    attention[:, 0], attention[:, 5], attention[:, 10], attention[:, 4] = 0.1, 0.2, 0.3, 0.4
    scores, _ = score(attention)
    assert scores["delimiter"] == pytest.approx(0.6)
    parts = [scores[f"delimiter_{p}"] for p in ("cls", "sep1", "sep2")]
    assert parts == pytest.approx([0.1, 0.2, 0.3])
    assert scores["punctuation"] == pytest.approx(0.4)


def test_siblings_are_the_pieces_of_one_word_only() -> None:
    keys = targets(TOKENS, SEGMENTS, CONTINUES, PUNCTUATION)["sibling_pieces"][0]
    assert sorted(map(tuple, keys.nonzero().tolist())) == [
        (2, 3), (3, 2), (7, 8), (7, 9), (8, 7), (8, 9), (9, 7), (9, 8),
    ]  # fmt: skip
