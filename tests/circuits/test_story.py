"""The story of docs/how-to/circuits.md, in its own twenty lines, and rankings put to the test."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import headscope as hs
from headscope.circuits.saliency.inputs import Embedded, deletion_test
from tests.test_snippets import ROOT, blocks


@pytest.mark.slow
def test_the_twenty_lines_tell_the_story(smollm2, tmp_path, monkeypatch) -> None:
    """Over three pairs instead of twelve, which take minutes."""
    page = blocks(ROOT / "docs" / "how-to" / "circuits.md")
    code = next(block.code for block in page if "path_patch" in block.code)
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    code = code.replace("n=12", "n=3").replace("import headscope as hs", "")
    monkeypatch.chdir(tmp_path)
    known = {"hs": SimpleNamespace(**{name: getattr(hs, name) for name in _used(code)})}
    known["hs"].load = lambda name: smollm2
    exec(compile(code, "docs/how-to/circuits.md", "exec"), known)
    found = [(part.layer, part.head) for part in known["made"].strongest(6, "head")]
    assert found[0] == (23, 3) and {(29, 1), (24, 4), (29, 0), (23, 0), (23, 1)} == set(found[1:])
    best = known["proof"].top("patch", 4)
    assert {(23, 3), (20, 0)} <= set(zip(best["layer"], best["head"], strict=True))
    heard = known["heard"].top("path", 1).iloc[0]
    assert (heard["layer"], heard["head"]) == (23, 0)
    assert known["copying"][29, 1] > 0.9 > 0 > known["copying"][20, 0]
    assert {"flow.svg", "patch.svg", "names.parquet"} <= {one.name for one in tmp_path.iterdir()}


def _used(code: str) -> set[str]:
    return {part.split("(")[0].split(".")[0].split(")")[0] for part in code.split("hs.")[1:]}


@pytest.mark.slow
def test_on_smollm2_the_deletion_test_tells_a_good_ranking_from_a_bad_one(smollm2) -> None:
    """Tokens ranked by what the answer loses without each of them, and the other way round."""
    given = Embedded(smollm2, "The Eiffel Tower stands in the city of", None, None, None)
    without = given.own.repeat(len(given.tokens), 1, 1)
    each = torch.arange(len(given.tokens))
    without[each, each] = given.average
    with torch.no_grad():
        lost = given.value - given.answers(without).double().numpy()
    good, bad = (deletion_test(given, scores, orders=20) for scores in (lost, -lost))
    assert good.better and good.area < good.random < bad.area
    assert not bad.better
