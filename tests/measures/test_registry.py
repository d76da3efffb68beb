"""One registry: what every number per head is called and means."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import headscope as hs
from headscope.cli import build
from headscope.errors import BadInput
from headscope.measures import every, registry
from headscope.measures.page import page
from headscope.patterns.pattern import patterns
from headscope.statistics import discover
from headscope.statistics.discovery import choose
from headscope.views.shared.numbers import table_of

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "measures.md"
PACKAGE = '''
from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.token_pairs import content
from headscope.patterns.registration import register_patterns
from headscope.statistics.discovery import register_statistics
from headscope.statistics.statistic import Statistic


class Odd(Statistic):
    """Attention to the token after the query, once more."""

    name = "throwaway_statistic"
    unit = "share"
    feature = "next"


def two_ahead(pairs) -> Tensor:
    return pairs.offset == 2


two = MassPattern(
    name="throwaway_pattern",
    label="two words ahead",
    about="attends to the token after the next",
    least_score=0.4,
    targets=two_ahead,
    pool=content,
)


def register() -> None:
    register_statistics(Odd)
    register_patterns(two)
'''
ENTRY = "[headscope.measures]\nthrowaway = throwaway_measures:register\n"


@pytest.fixture
def another_package(tmp_path, monkeypatch):
    """A package with a statistic and a pattern of its own, installed for the length of a test."""
    (tmp_path / "throwaway_measures.py").write_text(PACKAGE)
    about = tmp_path / "throwaway_measures-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: throwaway-measures\nVersion: 1\n")
    (about / "entry_points.txt").write_text(ENTRY)
    monkeypatch.syspath_prepend(str(tmp_path))
    kept = dict(registry._measures)
    registry._measures.clear()
    registry._state["loaded"] = False
    yield
    registry._measures.clear()
    registry._measures.update(kept)
    sys.modules.pop("throwaway_measures", None)


def test_a_package_s_statistic_and_pattern_are_found_everywhere(another_package, capsys):
    names = {"throwaway_statistic", "throwaway_pattern"}
    assert names <= set(every()) and names <= set(discover())
    assert "throwaway_pattern" in patterns()
    assert [s.name for s in choose("throwaway_pattern")] == ["throwaway_pattern"]
    with pytest.raises(SystemExit):
        build()(["survey", "--list"])
    listed = capsys.readouterr().out
    assert all(name in listed for name in names)
    assert all(f"`{name}`" in page() for name in names)
    scope = hs.load()
    reading = scope.read("I went to the store.", "At the store, I bought fresh strawberries.")
    assert names <= set(table_of(reading).columns)
    survey = hs.survey(scope, ["I went to the store."], sorted(names), progress=False)
    assert survey.map("throwaway_statistic").shape == (12, 8)


def test_the_documentation_page_is_up_to_date():
    assert DOCS.read_text("utf-8") == page(), (
        "run: python -m headscope.measures > docs/reference/measures.md"
    )


@pytest.mark.parametrize("measure", every().values(), ids=lambda measure: measure.name)
def test_a_measure_says_what_it_is(measure):
    assert measure.title and measure.unit and measure.sentence.endswith(".")
    assert measure.low < measure.high
    assert measure.yardstick_of or (measure.formula and measure.paper)


def test_no_two_measures_share_a_title():
    titles = [m.title for m in every().values()]
    assert len(titles) == len(set(titles))


def test_an_unknown_name_gets_a_sentence():
    with pytest.raises(BadInput, match="did you mean entropy"):
        choose("entropyy")


def test_threads_that_ask_at_once_all_get_every_measure() -> None:
    """The app warms up in one thread while another reads: neither may see half a registry."""
    import subprocess
    import sys

    program = """
import threading
from headscope.measures import every
counts = []
threads = [threading.Thread(target=lambda: counts.append(len(every()))) for _ in range(6)]
[one.start() for one in threads]
[one.join() for one in threads]
print(set(counts) == {len(every())} and len(every()) > 20)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stdout + done.stderr
