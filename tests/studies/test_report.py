"""A report is one complete page, and its tables come back as they went in."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from headscope.errors import BadInput
from headscope.studies import Report


def figure() -> Figure:
    drawn = Figure(figsize=(3, 2))
    axes = drawn.add_subplot()
    axes.plot([0, 1, 2], [1, 3, 2], label="a < b")
    axes.legend()
    return drawn


@pytest.fixture
def report() -> Report:
    made = Report("A <title>", "vig", "tiny & small", 'headscope study vig --model "x"')
    made.method = "Mean over **documents**."
    section = made.section("First part", "Some `code` & a <script>alert(1)</script>.")
    section.table(
        "heads",
        pd.DataFrame({"head": ["2-0"], "ours": [0.98765], "paper": [np.nan]}),
        "Best heads",
        published=["paper"],
    )
    section.figure("one", figure(), "A figure").figure("two", figure(), "The same again")
    section.view("live", '<!doctype html><p title="q">it\'s live</p>', "A view")
    section.note("Mind this.")
    return made


def test_a_saved_report_needs_no_network(report: Report, tmp_path: Path) -> None:
    text = report.save(tmp_path / "r.html").read_text()
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    assert "default-src 'none'" in text
    assert "@import" not in text


def test_text_is_data_and_never_markup(report: Report) -> None:
    text = report.html()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "A &lt;title&gt;" in text


def test_a_report_says_how_it_was_made(report: Report) -> None:
    text = report.html()
    for part in ("headscope study vig --model &#34;x&#34;", "<strong>documents</strong>"):
        assert part in text
    for name, version in report.versions.items():
        assert f"{name} {version}" in text


def test_tables_come_back_by_name_and_published_columns_are_set_apart(report: Report) -> None:
    assert report.tables["heads"]["ours"][0] == 0.98765
    text = report.html()
    assert '<td class="number">0.988</td>' in text
    assert '<td class="number published">–</td>' in text


def test_two_figures_share_no_id(report: Report) -> None:
    ids = re.findall(r'\bid="([^"]+)"', report.html())
    assert len(ids) == len(set(ids))


def test_a_live_view_keeps_its_own_page_in_a_frame(report: Report) -> None:
    frame = re.search(r'srcdoc="([^"]*)"', report.html())
    assert frame is not None
    assert "it&#39;s live" in frame.group(1)


def test_misuse_is_said_in_one_sentence(report: Report, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"ending in \.html"):
        report.save(tmp_path / "r.pdf")
    with pytest.raises(BadInput, match="no column 'paper'"):
        report.section("x").table("t", pd.DataFrame({"a": [1]}), published=["paper"])
    report.section("y").table("heads", pd.DataFrame({"a": [1]}))
    with pytest.raises(BadInput, match="Two tables"):
        _ = report.tables
