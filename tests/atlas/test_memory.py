"""An atlas takes no more memory for many documents than for few."""

from __future__ import annotations

import gc
import weakref

import headscope as hs
from headscope.statistics.distances.kept_scores import KeptScores
from headscope.statistics.survey import engines, one_pass
from headscope.statistics.survey.tally import Tally
from tests.atlas.conftest import texts

FEW, MANY, PORTION = 80, 240, 40


def of_run(scope, count, monkeypatch):
    """Bytes that are held when each portion begins, and how many tallies there are."""
    held, tallies, rooms, alive = [], [], [], []
    measure, merge, room = engines.measure_chunk, Tally.merge, KeptScores.__init__

    def watched(*given):
        gc.collect()
        alive.append(sum(one() is not None for one in tallies))
        assert not any(one() is not None for one in rooms)
        tally = measure(*given)
        tallies.append(weakref.ref(tally))
        return tally

    def merged(self, other):
        merge(self, other)
        held.append(sum(array.nbytes for array in self.arrays().values()))

    def made(self):
        room(self)
        rooms.append(weakref.ref(self))

    with monkeypatch.context() as patched:
        patched.setattr(engines, "measure_chunk", watched)
        patched.setattr(Tally, "merge", merged)
        patched.setattr(KeptScores, "__init__", made)
        patched.setattr(one_pass, "give_back", lambda: None)
        hs.atlas(
            scope, texts(count), top=4, chunk=PORTION, text=False, distances=False, progress=False
        )
    return max(held), alive


def test_what_an_atlas_holds_does_not_grow_with_the_corpus(tiny_bert, monkeypatch):
    few, _ = of_run(tiny_bert, FEW, monkeypatch)
    many, alive = of_run(tiny_bert, MANY, monkeypatch)
    assert many <= 1.25 * few  # 80 documents fill the sample of 1,024 places
    assert len(alive) == MANY // PORTION
    assert max(alive) == 0  # no portion's sums or maps are held while another one is measured
