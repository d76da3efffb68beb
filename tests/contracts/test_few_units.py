"""Below six units no public function gives a p-value or an interval, and no figure an outline."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.errors import FewUnits
from headscope.tasks.task import language_task
from tests.tiny import tiny_scope

ANIMALS = ["cat", "dog", "mat", "house", "tree", "man", "boy", "girl", "bird", "fish", "sun", "sea"]
RELATION = [[[8, 11], [4, 7]], [[4, 7], [0, 3]]]
UNSURE = {"p", "p_holm", "p_bh", "low", "high", "error", "above_low", "above_high",
          "difference_low", "difference_high"}  # fmt: skip


def texts(n: int) -> list[str]:
    return [f"the cat sat on the {one} and he ran to it" for one in ANIMALS[:n]]


def pairs(n: int) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    clean = [f"the {one} sat on the red" for one in ANIMALS[:n]]
    return clean, [f"the {one} ran on the red" for one in ANIMALS[:n]], [("house", "tree")] * n


def patched(n: int) -> Any:
    return hs.patch(tiny_scope("LlamaForCausalLM"), *pairs(n), progress=False)


def ablated(n: int) -> Any:
    scope = tiny_scope("LlamaForCausalLM")
    return hs.ablate(scope, language_task("t", texts(n), "next"), draws=200, progress=False)


def compared(n: int) -> Any:
    one, other = tiny_scope("BertModel"), tiny_scope("BertModel")
    return hs.compare(  # windows of a text each or so
        one, other, texts(n), statistics=["entropy"], max_tokens=13, progress=False
    )


def found(n: int) -> Any:
    documents = [{"text": one, "pairs": RELATION} for one in texts(n)]
    return hs.find_heads(tiny_scope("BertModel"), documents, most_heads=1, progress=False)


def surveyed(n: int) -> Any:
    return hs.survey(
        tiny_scope("BertModel"), texts(n), ["entropy"], segments="documents", interval=0.95,
        progress=False,
    )  # fmt: skip


def labelled(n: int) -> Any:
    return hs.patterns(tiny_scope("BertModel"), texts(n), segments="documents", progress=False)


def profiled(n: int) -> Any:
    scope = tiny_scope("BertModel")
    return hs.atlas(scope, texts(n), ["entropy"], segments="documents", progress=False)


def attributed(n: int) -> Any:
    return hs.attribute(
        tiny_scope("LlamaForCausalLM"), texts(n), target=["house"] * n, progress=False
    )


RUNS: dict[str, Callable[[int], Any]] = {
    one.__name__: one
    for one in (
        patched, ablated, compared, found, surveyed, labelled, profiled, attributed,
    )
}  # fmt: skip


def tables(result: Any) -> list[pd.DataFrame]:
    if isinstance(result, hs.Atlas):
        # the ends of a decile are no interval
        return [result.frame(name) for name in result.names if name != "deciles"]
    held = vars(result).values() if dataclasses.is_dataclass(result) else ()
    return [one for one in (result.table, *held) if isinstance(one, pd.DataFrame)]


def claims(result: Any) -> int:
    """Numbers that say how sure something is."""
    return sum(
        int(np.isfinite(table[name].to_numpy(float)).sum())
        for table in tables(result)
        for name in UNSURE & set(table.columns)
    )


def outlined(result: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    marked: list[Any] = []

    def drawn(*given: Any, mark: Any = (), **named: Any) -> None:
        marked.extend(mark or ())

    monkeypatch.setattr("headscope.figures.layer_head_map", drawn)
    result.plot()
    return len(marked)


@pytest.mark.filterwarnings("ignore::headscope.errors.FewUnits")
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("name", RUNS)
def test_few_units_claim_nothing(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    result = RUNS[name](n)
    assert claims(result) == 0
    if name in ("patched", "ablated"):
        assert outlined(result, monkeypatch) == 0


@pytest.mark.parametrize("name", [name for name in RUNS if name != "compared"])  # has no p
def test_the_reason_is_said_and_many_units_are_judged(name: str) -> None:
    with pytest.warns(FewUnits, match="2 .* too few for an interval"):
        RUNS[name](2)
    assert claims(RUNS[name](12)) > 0


def test_outlines_are_drawn_where_enough_units_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outlined(patched(12), monkeypatch) + outlined(ablated(12), monkeypatch) > 0
