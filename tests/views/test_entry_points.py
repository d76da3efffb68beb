"""Other packages add views and families through entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import headscope.surfaces as surfaces
from headscope.capture import families
from headscope.surfaces.functions import functions
from headscope.views import discover

PACKAGE = '''
"""A view that colours heads by a number of its own, on the page of the head map."""
import contextlib

from headscope.views import head_map

NAME = "throwaway"
SHOWS = "a map of another package"
seen = []


def build(reading, *, sending=None, **options):
    """The head map of the reading's entropy."""
    return head_map.build(reading, "entropy", sending=sending, **options)


def draw(reading, state, **more):
    return head_map.draw(reading, state, **more)


def taps(module):
    if type(module).__name__ == "BertSelfAttention":
        seen.append(module)
        return contextlib.nullcontext()
'''
ENTRIES = """[headscope.views]
throwaway = throwaway_view

[headscope.families]
throwaway = throwaway_view
"""


def _forget() -> None:
    for kept in (discover, functions, families._families):
        kept.cache_clear()


@pytest.fixture
def another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "throwaway_view.py").write_text(PACKAGE)
    about = tmp_path / "throwaway_view-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: throwaway-view\nVersion: 1\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    _forget()
    yield
    _forget()
    sys.modules.pop("throwaway_view", None)


def test_a_package_s_view_has_a_function_a_page_and_a_figure(another_package, tiny_bert, tmp_path):
    assert "throwaway" in discover()
    view = surfaces.throwaway_view(tiny_bert.read("the cat sat"))
    assert "<script" in view.html()
    assert view.save(tmp_path / "map.svg").stat().st_size > 1000


def test_a_package_s_family_is_asked_about_every_module(another_package, tiny_bert):
    with families.taps(list(tiny_bert.model.modules())):
        pass
    assert len(sys.modules["throwaway_view"].seen) == tiny_bert.layers["encoder"]


def test_a_name_nobody_has_is_said_to_be_missing():
    with pytest.raises(AttributeError, match="no_such_view"):
        surfaces.no_such_view  # noqa: B018
