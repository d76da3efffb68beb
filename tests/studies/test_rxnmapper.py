"""RXNMapper's own weights: head 5 is found, and its maps are those of the package's decoding.

Needs rxnmapper's folder of requirements/fetch_data.py, and RDKit.
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from headscope.corpus.bad_data import Faults
from headscope.studies.rxnmapper.reactions import assigned

FOLDER = Path(sys.prefix) / "data" / "rxnmapper"
REACTIONS = 40


def test_atoms_are_assigned_surest_first_and_neighbours_follow():
    from headscope.corpus.links.linked import Linked
    from headscope.studies.rxnmapper.reactions import Reaction

    chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
    right = np.eye(3, dtype=bool)
    one = Reaction(Linked("", ()), right, np.ones((3, 3), bool), (chain, chain))
    scores = np.array([[0.6, 0.1, 0.3], [0.0, 0.9, 0.1], [0.25, 0.1, 0.24]])
    np.testing.assert_array_equal(assigned(scores, one), [0, 1, 2])  # 2 would take 0 by itself


@pytest.mark.slow
def test_head_5_is_first_in_its_layer_and_maps_as_the_package_does(monkeypatch):
    pytest.importorskip("rdkit")
    if not FOLDER.is_dir():
        pytest.skip("needs RXNMapper: python requirements/fetch_data.py")
    from headscope.roles.fields import ATOMS
    from headscope.roles.find import search
    from headscope.studies.rxnmapper.model import open_model
    from headscope.studies.rxnmapper.reactions import read
    from headscope.studies.rxnmapper.study import HEAD, LAYER, of_layer

    monkeypatch.syspath_prepend(str(FOLDER))
    scorer = _package("attention").AttentionScorer
    scope = open_model(str(FOLDER))
    reactions = list(islice(read(FOLDER / "Golden.csv", Faults()), REACTIONS))
    found = search(scope, [one.linked for one in reactions], ATOMS, most_heads=1, progress=False)
    layer = of_layer(found).sort_values("value", ascending=False)
    print(layer)
    assert layer["head"].iloc[0] == HEAD and layer["p_holm"].iloc[0] < 0.01
    assert layer["low"].iloc[0] > layer["high"].iloc[1]
    ours = theirs = atoms = 0
    for one in reactions:
        part = scope.read(one.linked.text, layers=[LAYER]).part("encoder")
        maps = np.asarray(part.head_weights(LAYER, HEAD), dtype=np.float64)
        starts = part.query.spans[:, 0].tolist()
        products = [starts.index(span[0]) for span in one.linked.queries]
        precursors = [starts.index(span[0]) for span in one.linked.candidates]
        scores = maps[np.ix_(products, precursors)] + maps[np.ix_(precursors, products)].T
        theirs_scorer = scorer(one.linked.text, list(part.query.spellings), maps)
        package = theirs_scorer.generate_attention_guided_pxr_atom_mapping()["pxr_mapping_vector"]
        mapped, row = one.right.any(1), np.arange(len(one.right))
        for chosen, add in ((assigned(scores, one), 0), (np.array(package), 1)):
            hits = int((one.right[row, chosen] & (chosen >= 0) & mapped).sum())
            ours, theirs = (ours + hits, theirs) if add == 0 else (ours, theirs + hits)
        atoms += int(mapped.sum())
    print(f"atoms mapped right: ours {ours / atoms:.4f}, the package's {theirs / atoms:.4f}")
    assert abs(ours - theirs) / atoms <= 0.01


def _package(name: str):
    """A module of the package without its __init__, which asks for pkg_resources."""
    import importlib.util
    import types

    package = types.ModuleType("rxnmapper")
    package.__path__ = [str(FOLDER / "rxnmapper")]
    sys.modules["rxnmapper"] = package
    spec = importlib.util.spec_from_file_location(
        f"rxnmapper.{name}", FOLDER / "rxnmapper" / f"{name}.py"
    )
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made
