"""Run the kernel of whole rows under TRITON_INTERPRET=1 and compare it with the block kernel and,
for rank correlations, with scipy, for evenness with numpy in double precision; see
test_row_kernel."""

from __future__ import annotations

import sys

import numpy as np
import torch
from scipy.stats import spearmanr

from headscope.atlas.collecting.settings import STRONGEST_KEY
from headscope.capture import Call
from headscope.patterns.pattern import Pattern, patterns
from headscope.patterns.rank_correlation import LEAST, RankPattern
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.features.feature import Feature, KeyFeature, RankFeature
from headscope.statistics.features.grid import WORD, Grid
from headscope.statistics.kernels import blocks, row_launch
from headscope.statistics.kernels.blocks import Plan
from tests.statistics.calls import Case, make

CASES = [
    (Case("both directions, padded", 2, 1, 1, 40, 16, lengths=(40, 33)), torch.float32),
    (Case("grouped, half precision", 1, 2, 1, 29, 16), torch.float16),
    (Case("short, padded", 2, 1, 1, 21, 16, lengths=(9, 21)), torch.float32),
    (Case("causal, padded", 2, 1, 1, 17, 16, causal=True, lengths=(17, 5)), torch.float16),
    (Case("three keys in one part", 2, 2, 1, 3, 16, lengths=(3, 2)), torch.bfloat16),
    (Case("a text of one part", 2, 2, 1, 14, 16, lengths=(14, 11)), torch.float32),
]
ONE_PART = {3: (0, 1), 14: (1,), 512: (0,)}  # keys: the texts that have a single part
EDGES = [  # of what the kernel takes on a GPU; they take the interpreter a minute
    (Case("the fewest keys, one token", 2, 1, 1, 65, 16, lengths=(65, 1)), torch.float32),
    (Case("the most keys tried on a GPU", 1, 1, 1, 128, 16), torch.float32),
]
MOST = [(Case("the most keys", 2, 1, 1, 512, 16, lengths=(512, 300)), torch.bfloat16)]


def likeness(grid: Grid, queries: slice) -> torch.Tensor:
    n = grid.key.ids.shape[1]
    chance = torch.Generator().manual_seed(n)
    return torch.rand(len(grid.documents), n, n, generator=chance)[:, queries]


def chosen(causal: bool) -> list[Pattern]:
    found: list[Pattern] = []
    for pattern in patterns().values():
        if isinstance(pattern, RankPattern):
            if pattern.follows != "embeddings":
                continue
            pattern = pattern.comparing(likeness)
        if pattern.applies(causal):
            found.append(pattern)
    return found


def correlations_are_scipys(plan: Plan, values: torch.Tensor, kept: torch.Tensor) -> int:
    """Of the rows kept, in the order of documents and queries."""
    compared = 0
    grid = plan.grid
    for pattern in chosen(grid.causal):
        if not isinstance(pattern, RankPattern):
            continue
        assert pattern.pool is not None
        n = grid.key.ids.shape[1]
        pool = pattern.pool(TokenPairs(grid, slice(0, n)))
        found = values[:, :, plan.names.index(pattern.name)]
        like = likeness(grid, slice(0, n))
        for document, query in torch.argwhere(pool.sum(2) >= LEAST).tolist():
            of = pool[document, query]
            weights = kept[:, document * n + query][:, of]
            for head, row in enumerate(weights):
                truth = spearmanr(row.numpy(), like[document, query, of].numpy()).statistic
                assert abs(float(found[document, head, query]) - truth) < 1e-5
                compared += 1
    return compared


def evenness_is_numpys(call: Call, grid: Grid, found: torch.Tensor) -> None:
    """m H / ln |S|, its mean and its variance over deals (the delta method), row by row."""
    weights = whole_map(call, grid)
    for text, head, query in np.ndindex(*weights.shape[:3]):
        if not grid.query.valid[text, query]:
            continue
        seen = grid.key.valid[text].numpy()
        w = weights[text, head, query][seen]
        own = (grid.key.segments[text] == grid.query.segments[text, query]).numpy()[seen]
        n, size = len(w), int(own.sum())
        expected = np.zeros(3)
        if size < n:  # else there is no choice
            norm, mass, share = np.log(max(size, 2)), w[own].sum(), size / n
            within = w[own] / mass
            expected[0] = -mass * (within * np.log(within)).sum() / norm
            surprise = -w * np.log(w)
            mean, dealt = share * w.sum(), n * share * (1 - share) / (n - 1)
            n_var = [((x - x.mean()) ** 2).sum() for x in (w, surprise + (1 + np.log(mean)) * w)]
            curve = dealt * n_var[0] / (2 * mean)
            expected[1] = (share * surprise.sum() + mean * np.log(mean) + curve) / norm
            expected[2] = dealt * n_var[1] / norm**2
        np.testing.assert_allclose(found[text, head, query], expected, atol=3e-6)


def whole_map(call: Call, grid: Grid) -> np.ndarray:
    """b h t s in double precision."""
    assert call.q is not None and call.k is not None and call.scaling is not None
    q, k = (of.double().numpy() for of in (call.q, call.k))
    scores = q @ np.repeat(k, q.shape[1] // k.shape[1], 1).swapaxes(2, 3) * call.scaling
    scores = np.where(grid.key.valid.numpy()[:, None, None], scores, -np.inf)
    made = np.exp(scores - scores.max(-1, keepdims=True))
    return made / made.sum(-1, keepdims=True)


torch.set_num_threads(1)
row_launch.FEWEST_WIDE = 32  # a GPU takes short rows for longer ones
for case, dtype in {"edges": EDGES, "most": MOST}.get("".join(sys.argv[1:]), CASES):
    call, grid, features = make(case, dtype)
    for text in ONE_PART.get(case.tokens, ()):
        grid.key.segments[text].clamp_(max=0)
    features = [feature for feature in features if feature.name != "distance_squared"]
    words = torch.arange(case.tokens, dtype=torch.int32)[None].expand(case.batch, -1) // 2
    object.__setattr__(grid.key, "words", words)
    grid.key.ids[:, ::3] += torch.arange(0, case.tokens, 3)  # fewer copies, more words
    grid.key.classes[:, ::2][grid.key.classes[:, ::2] >= 0] = WORD
    own: list[Feature] = [f for pattern in chosen(case.causal) for f in pattern.features()]
    if case.tokens == 512:  # the interpreter sorts so many for minutes
        own = [feature for feature in own if not isinstance(feature, RankFeature)]
    if case.tokens == 21:  # a number per key that is no bit
        features.append(KeyFeature("place", lambda grid: grid.key.ids / 7))
    plan = Plan(grid, [*features, *own, STRONGEST_KEY])
    assert row_launch.suits(call, plan)
    every = torch.arange(case.batch * case.tokens, dtype=torch.int32).view(case.batch, -1)
    tile = None if case.tokens == 21 else row_launch.RowTile(queries=32, warps=4)
    if case.tokens == 512:  # the interpreter would take minutes for one query at a time
        row_launch.tile_for = lambda keys: row_launch.RowTile(queries=128, warps=4)
    row_launch.MOST_HELD = 1  # document by document
    reduced, output, kept = row_launch.from_scores(
        call, plan, row_launch.Slots(every, every.numel()), tile
    )
    expected, expected_output = blocks.from_scores(call, plan)
    valid = grid.query.valid
    for place, name in enumerate(plan.names):
        difference = (reduced.values - expected.values)[:, :, place].abs() * valid[:, None]
        scale = max(1.0, float(expected.values[:, :, place].abs().max()))
        assert float(difference.max()) / scale < 3e-6, (case.name, name, float(difference.max()))
    for name, of in reduced.wide.items():
        difference = (of - expected.wide[name]).abs() * valid[:, None, :, None]
        assert float(difference.max()) < 3e-6, (case.name, name, float(difference.max()))
        evenness_is_numpys(call, grid, of)
    apart = float(((output - expected_output).abs() * valid[:, :, None, None]).max())
    bounds = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 2**-6}  # below 4
    assert apart <= bounds[dtype], (case.name, apart)
    assert kept is not None
    if dtype == torch.float32 and not case.causal:
        assert correlations_are_scipys(plan, reduced.values, kept) > 0
    sys.stdout.write(f"{case.name}: equal\n")
