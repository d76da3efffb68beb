"""Labels of one half of a corpus hold on the other half."""

from __future__ import annotations

from pathlib import Path

import pytest

import headscope as hs


def halves(scope: hs.Scope, corpus: Path, each: int) -> tuple[hs.Survey, hs.Survey]:
    """Surveys of the patterns over two disjoint halves of a corpus."""
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.documents import Reader
    from headscope.corpus.text.segments import segments

    documents = Reader().documents(corpus, Faults("skip"))
    texts = []
    for segment in segments(documents, "pairs", scope.tokenizer, longest=96):
        pair = (segment.text, segment.pair or "")
        texts.append(" ".join(pair) if scope.causal else pair)
        if len(texts) == 2 * each:
            break
    first, second = (
        hs.survey(scope, texts[half::2], hs.pattern_measures(scope), progress=False)
        for half in (0, 1)
    )
    return first, second


@pytest.mark.slow
@pytest.mark.parametrize(("model", "each"), [("bundled", 60), ("minilm", 100), ("smollm2", 60)])
def test_nine_in_ten_labelled_heads_keep_their_label(
    model: str, each: int, shared_data: Path, request
) -> None:
    scope = hs.load() if model == "bundled" else request.getfixturevalue(model)
    first, second = halves(scope, shared_data / "wikitext" / "wiki.valid.raw", each)
    there, back = hs.label_stability(first, second), hs.label_stability(second, first)
    print(f"{model}: {there} and back {back}")
    assert there.heads >= 10
    assert min(there.kept, back.kept) >= 0.9


def test_stability_counts_heads_and_labels_that_come_back(minilm) -> None:
    texts = [("I went to the store.", "At the store, I bought fresh strawberries.")] * 6
    survey = hs.survey(
        minilm, texts, hs.pattern_measures(minilm, ["previous_word"]), progress=False
    )
    same = hs.label_stability(survey, survey)
    assert same.kept == 1.0 and same.labels_kept == 1.0 and same.heads == same.labels >= 1
    gone = hs.Survey(survey.table.assign(value=0.0))
    assert hs.label_stability(survey, gone).kept == 0.0
