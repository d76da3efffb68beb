"""The walk in Firefox and WebKit: every ordered pair of tabs of a page, at three sizes."""

from __future__ import annotations

import pytest

import headscope as hs
from tests.browser.engines import ENGINES, Absent
from tests.browser.test_walk import PAGE_HOST, PAIR, SIZES, WALK

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# of the page asked for: on a busy machine the one before may still answer
READY = (
    "new Promise(resolve => { const there = () => location.search === '?%d' &&"
    " document.querySelector('[data-headscope].hs-ready');"
    " const wait = () => there() ? resolve(true) : setTimeout(wait, 50);"
    " wait(); })"
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_page_is_walked_in_another_engine(engine, tiny_bert, tmp_path):
    view = hs.head_view(tiny_bert.read(*PAIR), layer=1, heads=[0])
    path = view.save(tmp_path / "page.html")
    try:
        with ENGINES[engine]() as window:
            problems = []
            for theme, (width, height) in zip(("light", "dark", "light"), SIZES, strict=True):
                window.resize(width, height)
                window.open(f"{path.as_uri()}?{width}#theme={theme}")
                assert window.evaluate(READY % width)
                walked = f"(() => {{ {WALK}; return headscopeWalk.walk({PAGE_HOST}); }})()"
                found = window.evaluate(walked)
                assert found["steps"] == len(found["tabs"]) * (len(found["tabs"]) - 1) >= 20
                weight = window.evaluate(f"{PAGE_HOST}.headscope.weight('encoder', 1, 0, 3, 2)")
                expected = float(tiny_bert.read(*PAIR).part().weights(1)[0, 3, 2])
                assert weight == pytest.approx(expected, abs=1e-3)
                problems += [f"{width}×{height} {theme} {one}" for one in found["problems"]]
            assert problems == []
            assert window.errors == []
    except Absent as absent:
        pytest.skip(str(absent))
