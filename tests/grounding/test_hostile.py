"""What cannot be grounded is said in a sentence, and nothing is lost."""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.errors import HeadscopeError
from headscope.grounding.log import ground_log
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES

QUESTION = "the cat ?"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('no system role here') }}", "chat template refuses.*no system role"),
        ("{% for m in messages %}{{ m.nothing.at.all }}{% endfor %}", "chat template refuses"),
        ("{{ messages[0]['content'] | upper }}", "rewrites its messages"),
        ("{% if %}", "chat template refuses"),
    ],
)
def test_a_template_that_fails_is_a_sentence(template, said):
    broken = scope_with(template)
    for call in (
        lambda: hs.ground(broken, QUESTION, ["a cat sat"], "a cat"),
        lambda: broken.read(messages=QUESTION, documents=["a cat sat"]),
        lambda: broken.generate(messages=QUESTION, documents=["a cat sat"]),
        lambda: hs.monitor.fit(
            broken,
            [{"messages": [{"role": "user", "content": "the cat"}], "documents": ["one"],
              "label": n % 2} for n in range(12)],
            progress=False,
        ),
    ):  # fmt: skip
        with pytest.raises(HeadscopeError, match=said):
            call()


def test_one_bad_request_does_not_stop_a_log(tmp_path):
    lines = [
        '{"messages": [{"role": "user", "content": "who ?"}], "documents": [""], "answer": "a"}',
        '{"messages": [{"role": "user", "content": "who ?"}], "documents": ["a cat"],'
        ' "answer": "a cat"}',
        '{"messages": [{"role": "king", "content": "who ?"}], "documents": ["a"], "answer": "a"}',
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    table = ground_log(scope_with(TEMPLATES["chatml"]), tmp_path / "log.jsonl", progress=False)
    assert table["error"].notna().tolist() == [True, False, True]
    assert "Document 1 is empty" in table["error"][0] and "king" in table["error"][2]
