"""A page is complete, asks nobody for anything, and never runs what a token says."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import BadInput, HeadscopeError
from headscope.surfaces.bundle import PATH, further_script, script
from headscope.surfaces.page import page
from headscope.views import discover

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "-->",
    "]]>",
    "\"'`${1}",
    "\u2028\u2029",
    "\x00\x07\x1b",
    "&lt;b&gt;",
    "\ud800",
]


@pytest.fixture(scope="module")
def hostile_reading():
    import numpy as np

    weights = np.random.default_rng(0).dirichlet(np.ones(len(HOSTILE)), (1, 2, len(HOSTILE)))
    return hs.Reading.from_attention(weights.astype("float32"), HOSTILE, model=HOSTILE[0])


def test_hostile_tokens_stay_data(hostile_reading):
    text = hs.head_view(hostile_reading, labels=()).html()
    block = re.search(r"data-header>(.*?)</script>", text, re.DOTALL)
    assert block is not None
    assert json.loads(block[1])["parts"][0]["query"]["text"] == list(
        hostile_reading.part().query.labels
    )
    assert "<img" not in text
    assert "alert(1)</script>" not in text
    assert text.count('<script type="module">') == 1


def test_the_policy_names_the_one_script_by_its_hash(tiny_bert):
    text = hs.head_view(tiny_bert.read(*PAIR)).html()
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    assert policy is not None and script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_a_page_names_no_address(tiny_bert):
    text = hs.model_view(tiny_bert.read(*PAIR)).html()
    outside = re.sub(r"http://www\.w3\.org/\d{4}/[\w/]+", "", text)  # names, not places
    assert not re.search(r"(https?:)?//[a-z0-9.-]+\.[a-z]{2,}/", outside)


def test_several_views_share_one_script(tiny_bert):
    views = [hs.head_view(tiny_bert.read(*PAIR)).data, hs.model_view(tiny_bert.read("a cat")).data]
    text = page(views, title="<both>")
    assert text.count("<div data-headscope>") == 2
    assert text.count('<script type="module">') == 1
    assert "<title>&lt;both&gt;</title>" in text


def test_a_notebook_shows_the_whole_page_in_a_frame_of_its_own(tiny_bert):
    view = hs.head_view(tiny_bert.read(*PAIR))
    shown = view._repr_mimebundle_()["text/html"]
    frame = re.search(r'<iframe srcdoc="(.*?)" ([^<]*)></iframe></div></div>$', shown, re.DOTALL)
    assert frame is not None
    assert html.unescape(frame[1]) == view.html()
    assert 'sandbox="allow-scripts' in frame[2]
    assert "allow-same-origin" not in frame[2]


@pytest.mark.parametrize("ending", ["html", "svg", "png", "pdf"])
def test_a_view_saves_itself_whole_or_not_at_all(tiny_bert, tmp_path, ending):
    view = hs.head_view(tiny_bert.read(*PAIR))
    assert view.save(tmp_path / f"x.{ending}").stat().st_size > 1000
    assert len(list(tmp_path.iterdir())) == 1


def test_an_unknown_ending_or_folder_gets_a_sentence(tiny_bert, tmp_path):
    view = hs.head_view(tiny_bert.read(*PAIR))
    with pytest.raises(BadInput, match="should end in"):
        view.save(tmp_path / "x.gif")
    with pytest.raises(BadInput, match="does not exist"):
        view.save(tmp_path / "nowhere" / "x.html")


def test_a_missing_front_end_says_how_to_build_it(tmp_path):
    with pytest.raises(HeadscopeError, match="make app"):
        script(tmp_path / "headscope.js")


def test_a_script_inside_the_bundle_cannot_end_it(tmp_path):
    source = tmp_path / "headscope.js"
    source.write_text("const a='</script>',b='<!--'")
    assert script(source) == r"const a='\x3c/script>',b='\x3c!--'"


def test_every_script_of_the_front_end_is_at_most_90_kb_gzipped():
    import gzip

    scripts = list(PATH.parent.glob("*.js"))
    assert len(scripts) > 1
    for one in scripts:
        most = 120 if "-live-" in one.name else 90  # a live page holds megabytes of weights
        assert len(gzip.compress(one.read_bytes(), 9)) <= most * 1024, one.name


def test_a_page_carries_the_further_scripts_its_views_need_and_no_others(tiny_bert):
    """Views say their script in Python, folders in TypeScript; both must say the same."""
    more = Path(__file__).parents[2] / "web" / "src" / "more"
    told = {name: view.BUNDLE for name, view in discover().items() if hasattr(view, "BUNDLE")}
    assert told == {view.name: view.parent.name for view in more.glob("*/*")}
    reading = tiny_bert.read("the cat sat")
    heads = further_script("heads")
    assert heads in hs.head_scatter(reading).html()
    assert heads not in hs.head_view(reading).html()


@pytest.mark.slow
def test_the_budget_in_bytes_for_128_tokens_of_144_heads(make_scope):
    """A fiftieth of BertViz: 103.6 MB at this size."""
    scope = make_scope(
        "BertModel", hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
        intermediate_size=64,
    )  # fmt: skip
    reading = scope.read("the cat sat on the mat and " * 17 + "the dog ran in a house")
    assert 120 <= len(reading.tokens) <= 128
    assert len(hs.model_view(reading, labels=()).html()) <= 103_600_000 / 50


def test_a_view_hands_a_picture_to_readers_that_show_no_page(tiny_bert):
    import base64

    shown = hs.head_view(tiny_bert.read("the cat sat"))._repr_mimebundle_()
    assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")
    mapped = hs.head_map(tiny_bert.read("the cat sat"), "entropy")._repr_mimebundle_()
    assert "image/png" in mapped and "<iframe" in mapped["text/html"]
