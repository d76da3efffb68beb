"""What a score is compared with: shuffled labels, and what position alone reaches."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.roles.fields import ALIGNMENT, CONTACTS
from headscope.roles.maps import unit_batch
from headscope.roles.plans import Plan
from headscope.roles.scores import (
    alignment_error,
    alignment_error_by_chance,
    picks,
    precision_at_fifth_by_chance,
)
from headscope.roles.totals import Totals


def planned(right, possible, allowed, number: int = 0) -> Plan:
    units = tuple(np.array([at]) for at in range(right.shape[1]))
    rows = np.arange(len(right), dtype=float)
    return Plan(number, units[: len(right)], units, right, possible, allowed, rows, (), ())


def sentence(seed: int) -> Plan:
    """Four words with sure and possible links to six, and one word without any."""
    generator = np.random.default_rng(seed)
    right, possible = np.zeros((2, 4, 6), bool)
    right[np.arange(3), generator.permutation(6)[:3]] = True
    possible[3, 2] = True
    return planned(right, right | possible, np.ones((4, 6), bool), seed)


def test_an_error_rate_by_chance_is_the_mean_over_all_permutations():
    one = sentence(0)
    batch = unit_batch([one], 6, 6, torch.device("cpu"))
    maps = torch.from_numpy(np.random.default_rng(1).random((1, 3, 4, 6)))
    chosen = picks(maps, batch)
    values = []
    for order in map(list, itertools.permutations(range(4))):
        shuffled = dataclasses.replace(one, right=one.right[order], possible=one.possible[order])
        tally = alignment_error(unit_batch([shuffled], 6, 6, torch.device("cpu")), chosen)
        values.append((tally.sums / tally.counts)[0].numpy())
    mean, variance = alignment_error_by_chance(batch, chosen)
    np.testing.assert_allclose(mean[0], np.mean(values, 0), atol=1e-6)
    np.testing.assert_allclose(variance[0], np.var(values, 0), atol=1e-6)


def test_contacts_by_chance_are_drawn_among_all_pairs():
    generator = np.random.default_rng(0)
    right = np.triu(generator.random((20, 20)) < 0.1, 6)
    right |= right.T
    allowed = np.abs(np.subtract.outer(np.arange(20), np.arange(20))) >= 6
    batch = unit_batch([planned(right, right, allowed)], 20, 20, torch.device("cpu"))
    mean, variance = precision_at_fifth_by_chance(batch, torch.zeros(1, 2, 20, dtype=torch.long))
    labels = right[np.triu(allowed)]
    drawn = [generator.permutation(labels)[:4].mean() for _ in range(20_000)]
    np.testing.assert_allclose(mean[0], np.mean(drawn), atol=0.004)
    np.testing.assert_allclose(variance[0], np.var(drawn), rtol=0.05)


def test_an_error_rate_by_position_is_that_of_the_best_diagonal():
    totals, plans = Totals(ALIGNMENT, 1, 1, 0, 1), [sentence(seed) for seed in range(5)]
    totals.begin(tuple(plans))
    totals.end()
    errors = []
    for offset in range(-5, 6):
        agreed = proposed = 0
        for one in plans:
            for row in range(4):
                if 0 <= row + offset < 6:
                    proposed += 1
                    agreed += int(one.right[row, row + offset])
                    agreed += int(one.possible[row, row + offset])
        errors.append(1 - agreed / (proposed + 15))  # three sure links each
    assert totals.baseline("alignment error rate") == pytest.approx(min(errors))


def test_contacts_by_position_are_those_of_the_best_separation():
    right = np.zeros((30, 30), bool)
    right[np.arange(12), np.arange(12) + 8] = True
    right[0, 29] = True  # a single pair: less than the six of L/5
    right |= right.T
    allowed = np.abs(np.subtract.outer(np.arange(30), np.arange(30))) >= 6
    totals = Totals(CONTACTS, 1, 1, 0, 1)
    totals.begin((planned(right, right, allowed),))
    totals.end()
    assert totals.baseline("precision at L/5") == pytest.approx(12 / 22)


def test_every_measure_with_a_null_has_p_and_baseline_in_the_table(tiny_t5, tmp_path):
    (tmp_path / "gold.txt").write_text("the cat sat ||| a dog ran ||| 0-0 1-1 2-2\n" * 8)
    found = hs.probe.alignment(tiny_t5, tmp_path / "gold.txt", most_heads=1, progress=False)
    rows = found.table[found.table["measure"].str.startswith("alignment error rate")]
    assert rows[["null", "p", "p_holm"]].notna().all(axis=None)
    assert (rows["baseline"] == 0).all()  # the diagonal aligns every word
    assert set(found.found["measure"]) <= set(rows["measure"])


def test_the_difference_from_a_list_is_paired_over_documents(tiny_t5, tmp_path):
    generator = np.random.default_rng(0)
    words = "cat dog mat tree house red green blue".split()
    lines = []
    for _ in range(24):
        source, target = (" ".join(generator.permutation(words)[:5]) for _ in range(2))
        lines.append(f"{source} ||| {target} ||| 0-0 1-1 2-2 3-3 4-4\n")
    (tmp_path / "gold.txt").write_text("".join(lines))
    lists = {"named": [(0, 1)], "same": [(0, 1)]}
    found = hs.probe.alignment(tiny_t5, tmp_path / "gold.txt", lists=lists, progress=False)
    rows = found.together.set_index("method")
    assert np.isnan(rows.loc["named", "difference"])
    assert (rows.loc["same", ["difference", "difference_low", "difference_high"]] == 0).all()
    best = rows.loc["best head"]
    assert best["difference"] == pytest.approx(best["value"] - rows.loc["named", "value"])
    assert best["difference_low"] < best["difference"] < best["difference_high"]
