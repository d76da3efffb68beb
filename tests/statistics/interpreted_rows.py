"""Run the kernel of whole rows under TRITON_INTERPRET=1 and compare it with the block kernel and,
for rank correlations, with scipy; see test_row_tiles."""

from __future__ import annotations

import sys

import torch
from scipy.stats import spearmanr

from headscope.patterns.known import patterns
from headscope.patterns.pattern import Pattern
from headscope.patterns.rank_correlation import LEAST, RankPattern
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import WORD, Grid
from headscope.statistics.kernels import blocks, first_use, row_tiles
from headscope.statistics.kernels.plan import Plan
from headscope.statistics.places.settings import STRONGEST_KEY
from tests.statistics.calls import Case, make

CASES = [
    (Case("both directions, padded", 2, 1, 1, 40, 16, lengths=(40, 33)), torch.float32),
    (Case("grouped, half precision", 1, 2, 1, 29, 16), torch.float16),
    (Case("short, padded", 2, 1, 1, 21, 16, lengths=(9, 21)), torch.float32),
    (Case("causal, padded", 2, 1, 1, 17, 16, causal=True, lengths=(17, 5)), torch.float32),
]
EDGES = [  # of what the kernel takes on a GPU; they take the interpreter a minute
    (Case("the fewest keys, one token", 2, 1, 1, 65, 16, lengths=(65, 1)), torch.float32),
    (Case("the most keys", 1, 1, 1, 128, 16), torch.float32),
]


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


torch.set_num_threads(1)
row_tiles.FEWEST_WIDE = 32  # a GPU takes short rows for longer ones
for case, dtype in EDGES if sys.argv[1:] == ["edges"] else CASES:
    call, grid, features = make(case, dtype)
    features = [feature for feature in features if feature.name != "distance_squared"]
    words = torch.arange(case.tokens, dtype=torch.int32)[None].expand(case.batch, -1) // 2
    object.__setattr__(grid.key, "words", words)
    grid.key.ids[:, ::3] += torch.arange(0, case.tokens, 3)  # fewer copies, more words
    grid.key.classes[:, ::2][grid.key.classes[:, ::2] >= 0] = WORD
    own: list[Feature] = [f for pattern in chosen(case.causal) for f in pattern.features()]
    plan = Plan(grid, [*features, *own, STRONGEST_KEY])
    assert row_tiles.suits(call, plan)
    every = torch.arange(case.batch * case.tokens, dtype=torch.int32).view(case.batch, -1)
    tile = None if case.tokens == 21 else row_tiles.RowTile(queries=32, warps=4)
    if case.causal:
        first_use.compared(call, plan, keeps=True)
    row_tiles.MOST_HELD = 1  # document by document
    reduced, output, kept = row_tiles.from_scores(
        call, plan, row_tiles.Slots(every, every.numel()), tile
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
    apart = float(((output - expected_output).abs() * valid[:, :, None, None]).max())
    assert apart < (1e-5 if dtype == torch.float32 else 5e-3), (case.name, apart)
    assert kept is not None
    if dtype == torch.float32 and not case.causal:
        assert correlations_are_scipys(plan, reduced.values, kept) > 0
    sys.stdout.write(f"{case.name}: equal\n")
