"""Every family of live pages in the page: its tokens, attention and predictions are Python's."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.views.wire.part import tokens_header
from tests.browser.live import Answered, asked_json, generated
from tests.browser.test_live import opened, same_predictions
from tests.live.spelled import FAMILIES, scope_of

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]
OFF = [(0, 1), (1, 2)]
ODD = [
    ("  two  blanks\tand\na line\n\nbreak", None),
    ("naïve cafe\u0301 — ½ ①② ｆｕｌｌ Ａ", None),
    ("I'm you're they've x's 1234567 3.14 1,000 ...!!!???", None),
    ("x\u200by\u200dz \ufeff \ufffd \x07 \u2028 \u0085 end", None),
    ("한국어 กรุงเทพ हिन्दी İstanbul ẞ ﷺ", None),
    ("Put {mask} here and {mask} there.", "a {mask}"),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_attention_and_predictions_equal_pythons(chromium, tmp_path, family):
    pytest.importorskip("onnxscript")
    scope = scope_of(family)
    page = opened(
        chromium, hs.live_page(scope, tmp_path / "live.html", precision="single").as_uri()
    )
    mask = getattr(scope.tokenizer, "mask_token", None) or "mask"
    for number, (text, pair) in enumerate([*generated(24, most=60), *ODD]):
        text, pair = (one and one.replace("{mask}", mask) for one in (text, pair))
        pair = None if scope.causal else pair
        off = OFF if number % 3 == 2 else []
        switched = [(scope.kinds[0], *head) for head in off]
        edited = scope.without(heads=off) if off else scope
        found, part = Answered(page, text, pair, switched), edited.read(text, pair).part()
        expected = tokens_header(part.query, "", None)
        assert {**found.tokens, "written": None} == {**expected, "written": None}, text
        assert "".join(found.tokens["written"]) == "".join(expected["written"])
        truth = np.stack([part.weights(number) for number in part.numbers])
        np.testing.assert_allclose(found.attention(), truth, atol=1e-5, err_msg=text)
        if scope.causal or mask in f"{text} {pair}":
            same_predictions(page, scope, found, (text, pair), switched)
    if scope.causal:
        said = asked_json(page, "api/write", {"model": "", "text": "the cat", "count": 5})
        labels = list(scope.generate("the cat", 5).part().query.labels)
        assert [step["token"] for step in said["steps"]] == labels[said["prompt_tokens"] :]
    page.close()
