"""A plot is a picture in a notebook, also where nobody has imported pyplot."""

from __future__ import annotations

import re

from IPython.core.formatters import DisplayFormatter

import headscope as hs


def test_a_plot_shows_itself_as_a_picture_with_words_for_those_who_do_not_see_it() -> None:
    found = hs.survey(hs.load(), ["The cat sat on the mat."], ["entropy"], progress=False)
    shown, about = DisplayFormatter().format(found.plot("entropy"))
    assert shown["image/png"]
    assert "entropy" in about["image/png"]["alt"].lower()
    assert 200 < about["image/png"]["width"] < 900
    words = re.match('<img alt="([^"]+)"', shown["text/html"])
    assert words and "entropy" in words[1].lower()
