"""How the counts of an atlas are added up, cut and judged, against plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch

from headscope.atlas.collecting import counts
from headscope.atlas.collecting.counts import Counts, CountTable
from headscope.statistics.features.grid import grid_of
from headscope.statistics.features.rows import Rows

HEADS, VOCABULARY = 3, 200


@pytest.fixture
def batches(tiny_bert, corpus):
    """Rows of made-up attention over two batches: a key, its weight and an entropy each."""
    chance = torch.Generator().manual_seed(0)
    found = []
    for start in (0, 5):
        tokens = [tiny_bert.read(*pair).part().query for pair in corpus[start : start + 5]]
        grid = grid_of(tokens)
        size = (len(tokens), HEADS, grid.query.ids.shape[1])
        key = (torch.rand(size, generator=chance) * grid.key.lengths[:, None, None]).floor()
        values = torch.stack([key, *torch.rand(2, *size, generator=chance)], 2)
        heads = [(0, head) for head in range(HEADS)]
        names = ("strongest_key", "largest", "entropy")
        found.append((Rows(grid, heads, names, values, {}), grid, tokens))
    return found


def counted(batches, **options):
    made = Counts(HEADS, VOCABULARY, **{"pairs": 4096, **options})
    for rows, grid, _ in batches:
        made.add(rows, grid)
    return made


def as_dict(table):
    codes, *sums = table.fetched()
    return {int(code): tuple(of) for code, *of in zip(codes, *sums, strict=True)}


def by_hand(batches):
    """Counts, sums of weights and of squares by pair, query, key and pair of one text; and the
    squares of a text's counts and weights."""
    found = defaultdict(lambda: np.zeros(6))
    offsets, bunched = Counter(), Counter()
    for rows, _, tokens in batches:
        for row, text in enumerate(tokens):
            in_text, at_offset = defaultdict(lambda: np.zeros(2)), Counter()
            for i in range(len(text)):
                for key in text.ids:
                    found["together", text.ids[i] * VOCABULARY + key] += (
                        1,
                        1 / len(text),
                        0,
                        0,
                        0,
                        0,
                    )
                    found["chance", key] += (1, 1 / len(text), 0, 0, 0, 0)
                for head in range(HEADS):
                    j = int(rows["strongest_key"][row, head, i])
                    weight = float(rows["largest"][row, head, i])
                    own = np.array([1, weight, weight**2, 0, 0, 0])
                    asked = head * VOCABULARY + text.ids[i]
                    for what in (
                        ("queries", asked),
                        ("keys", head * VOCABULARY + text.ids[j]),
                        ("pairs", asked * VOCABULARY + text.ids[j]),
                    ):
                        found[what] += own
                        in_text[what] += own[:2]
                    offsets[head, j - i] += 1
                    at_offset[head, j - i] += 1
            for what, (count, weight) in in_text.items():
                found[what][3:] += count**2, count * weight, weight**2
            for what, count in at_offset.items():
                bunched[what] += count**2
    return found, offsets, bunched


def test_tokens_pairs_and_offsets_are_counted_as_by_hand(batches):
    for waiting in (0, counts.PENDING):  # rows added at once, or many together
        made = counted(batches, waiting=waiting)
        truth, offsets, bunched = by_hand(batches)
        for name, columns in (
            ("queries", 6), ("keys", 6), ("pairs", 6), ("chance", 2), ("together", 2),
        ):  # fmt: skip
            expected = {int(code): sums for (of, code), sums in truth.items() if of == name}
            found = as_dict(getattr(made, name))
            assert list(found) == sorted(expected)
            for code, sums in found.items():
                np.testing.assert_allclose(sums[:columns], expected[code][:columns], rtol=1e-12)
        assert made.offsets.sum() == sum(offsets.values())
        for (head, offset), count in offsets.items():
            assert made.offsets[head, offset + counts.REACH] == count
            assert made.bunched_offsets[head, offset + counts.REACH] == bunched[head, offset]


def test_counts_of_parts_add_up_to_those_of_the_whole_also_from_arrays(batches):
    whole, (one, two) = counted(batches), (counted([batch]) for batch in batches)
    restored = Counts(HEADS, VOCABULARY, 4096)
    restored.restore(two.arrays())
    restored.merge(one)
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(restored.arrays()[name], array, rtol=1e-12, err_msg=name)


def test_the_rarest_pairs_are_dropped_and_what_a_count_may_lack_is_known(batches):
    whole, few = counted(batches), counted(batches, pairs=10)
    few.prune(crowded=0)
    truth, kept = as_dict(whole.pairs), as_dict(few.pairs)
    heads = Counter(code // VOCABULARY**2 for code in kept)
    assert set(heads.values()) == {10}
    for code, (count, *_) in truth.items():
        lost = float(few.lost[code // VOCABULARY**2])
        assert lost > 0 and count - lost <= kept.get(code, (0,))[0] <= count


@pytest.mark.parametrize("most", [1, 5, 40, 400])
def test_the_most_frequent_of_each_group_are_kept_and_of_equal_ones_the_first(most):
    chance = np.random.default_rng(0)
    count, group = chance.geometric(0.3, 500), np.sort(chance.integers(0, 7, 500))
    group[group == 3] = 4  # one group is empty
    table = CountTable()
    table.add(torch.arange(500), torch.from_numpy(np.stack([count] * 6)).double())
    dropped, _ = table.keep_most_frequent(most, torch.from_numpy(group))
    wanted = []
    for number in range(7):
        mine = np.flatnonzero(group == number)
        wanted += mine[np.argsort(-count[mine], kind="stable")][:most].tolist()
    assert table.codes.tolist() == sorted(wanted)
    assert len(dropped) == 500 - len(wanted)
