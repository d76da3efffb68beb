"""An atlas takes no more memory for many documents than for few."""

from __future__ import annotations

import gc
import weakref

import headscope as hs
from headscope.atlas.collecting.reducer import AtlasReducer
from tests.atlas.conftest import texts

FEW, MANY, PORTION = 80, 240, 40


def of_run(scope, count, monkeypatch):
    """Bytes held after each portion, and how many other portions are alive at each batch."""
    held, alive, portions = [], [], []
    merge, fresh, add = AtlasReducer.merge, AtlasReducer.fresh, AtlasReducer.add

    def merged(self, other):
        merge(self, other)
        held.append(sum(array.nbytes for array in self.state().values()))

    def added(self, batch):
        gc.collect()
        alive.append(sum(one() not in (None, self) for one in portions))
        add(self, batch)

    def begun(self):
        made = fresh(self)
        portions.append(weakref.ref(made))
        return made

    with monkeypatch.context() as patched:
        patched.setattr(AtlasReducer, "merge", merged)
        patched.setattr(AtlasReducer, "fresh", begun)
        patched.setattr(AtlasReducer, "add", added)
        hs.atlas(
            scope, texts(count), top=4, chunk=PORTION, text=False, distances=False, progress=False
        )
    return max(held), alive


def test_what_an_atlas_holds_does_not_grow_with_the_corpus(tiny_bert, monkeypatch):
    few, _ = of_run(tiny_bert, FEW, monkeypatch)
    many, alive = of_run(tiny_bert, MANY, monkeypatch)
    assert many <= 1.25 * few  # 80 documents fill the sample of 1,024 positions
    assert len(alive) >= MANY // PORTION
    assert max(alive) == 0  # no portion is held while another one is measured
