"""Two atlases of the same corpus, read in other portions, batches or processes, are the same."""

from __future__ import annotations

import numpy as np
import pandas as pd

CLOSE = {"rtol": 1e-6, "atol": 2e-7}
SINGLE = {
    "rtol": 1e-5,
    "atol": 1e-6,
}  # one weight: other batches round otherwise
TALLY = {"rtol": 1e-6, "atol": 1e-12}
PROFILE = ["kind", "layer", "head", "profile", "name", "other"]


ON_GPU = {"rtol": 1e-4, "atol": 1e-5}  # single precision, and products of other shapes


def check_alike(one, other, on_gpu=False):
    """Means to 1e-6 (on a GPU 1e-4), counts exactly, examples up to ties."""
    close, single, tally = (ON_GPU, ON_GPU, ON_GPU) if on_gpu else (CLOSE, SINGLE, TALLY)
    assert one.names == other.names
    for name in one.names:
        ours, theirs = (of.frame(name).reset_index(drop=True) for of in (one, other))
        if name == "examples":
            check_examples(ours, theirs, single)
        elif name == "profiles":
            check_profiles(ours, theirs, tally)
        else:
            chosen = single if name == "deciles" else close
            pd.testing.assert_frame_equal(ours, theirs, **chosen, check_dtype=False)


def check_profiles(ours, theirs, close):
    """Rows of one head that tie may stand in another order, or in each other's stead at the end."""
    both = ours.merge(theirs, on=PROFILE, suffixes=("", "_other"))
    assert len(ours) == len(theirs) and len(both) >= 0.99 * len(ours)
    assert (both["count"] == both["count_other"]).all()
    for name in ("expected", "lift", "weight", "focus"):
        np.testing.assert_allclose(both[name], both[f"{name}_other"], **close)


def check_examples(ours, theirs, single):
    listed = ["kind", "layer", "head", "measure", "decile", "rank"]
    pd.testing.assert_frame_equal(ours[listed], theirs[listed])
    same = (ours[["document", "query"]] == theirs[["document", "query"]]).all(axis=1)
    strongest = ours["decile"] < 0
    known = strongest | same
    np.testing.assert_allclose(ours["value"][known], theirs["value"][known], **single)
    columns = (frame.loc[same, name] for name in ("keys", "weights") for frame in (ours, theirs))
    for my_keys, their_keys, mine, other in zip(*columns, strict=True):
        np.testing.assert_allclose(mine, other, **single)
        tied = np.abs(np.diff(mine, prepend=2, append=mine[-1:])) < single["atol"]
        assert (my_keys == their_keys)[~(tied[1:] | tied[:-1])].all()
    # a drawn example stands in for another where rounding moves one across a decile's edge
    assert same.mean() > 0.98, f"{(~same).sum()} of {len(same)} examples differ"
