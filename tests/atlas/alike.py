"""Two atlases of the same corpus, read in other portions, batches or processes, are the same."""

from __future__ import annotations

import numpy as np
import pandas as pd

CLOSE = {"rtol": 1e-6, "atol": 2e-7}


def check_alike(one, other):
    """Numbers to 1e-6, counts exactly, examples up to ties."""
    assert one.names == other.names
    for name in one.names:
        ours, theirs = (of.frame(name).reset_index(drop=True) for of in (one, other))
        if name == "examples":
            check_examples(ours, theirs)
        else:
            pd.testing.assert_frame_equal(ours, theirs, **CLOSE, check_dtype=False)


def check_examples(ours, theirs):
    listed = ["kind", "layer", "head", "measure", "decile", "rank"]
    pd.testing.assert_frame_equal(ours[listed], theirs[listed])
    same = (ours[["document", "query"]] == theirs[["document", "query"]]).all(axis=1)
    strongest = ours["decile"] < 0
    known = strongest | same
    np.testing.assert_allclose(ours["value"][known], theirs["value"][known], **CLOSE)
    columns = (frame.loc[same, name] for name in ("keys", "weights") for frame in (ours, theirs))
    for my_keys, their_keys, mine, other in zip(*columns, strict=True):
        np.testing.assert_allclose(mine, other, **CLOSE)
        tied = np.abs(np.diff(mine, prepend=2, append=mine[-1:])) < 1e-6
        assert (my_keys == their_keys)[~(tied[1:] | tied[:-1])].all()
    # a drawn example stands in for another where rounding moves one across a decile's edge
    assert same.mean() > 0.98, f"{(~same).sum()} of {len(same)} examples differ"
