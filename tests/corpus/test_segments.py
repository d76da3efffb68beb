"""Segments: whole documents, and the sentence pairs of Clark et al. (2019)."""

from __future__ import annotations

import numpy as np

from headscope.corpus.text.batches import Encoder, chunks
from headscope.corpus.text.documents import Document
from headscope.corpus.text.segments import Segment, segments
from tests.tiny import tiny_tokenizer

SENTENCES = tuple(
    f"the cat sat on the {w} and the dog ran ." for w in "mat house tree store".split()
)
DOCUMENTS = [Document(" ".join(SENTENCES * 3), sentences=SENTENCES * 3) for _ in range(5)]


def pairs(documents=DOCUMENTS, longest=40, seed=0):
    return list(segments(documents, "pairs", tiny_tokenizer(), longest=longest, seed=seed))


def test_pairs_fill_the_segment_and_never_more():
    tokenizer = tiny_tokenizer()
    found = pairs()
    lengths = [len(tokenizer(s.text, s.pair)["input_ids"]) for s in found]
    assert len(found) >= 10 and max(lengths) <= 40
    assert np.mean(np.array(lengths) >= 38) > 0.5


def test_pairs_are_made_of_neighbouring_sentences_of_one_document():
    for segment in pairs():
        assert segment.text in DOCUMENTS[0].text
        assert segment.pair and segment.pair in DOCUMENTS[0].text


def test_pairs_depend_on_the_seed_and_the_document_alone():
    assert pairs() == pairs()
    assert [s.text for s in pairs()] != [s.text for s in pairs(seed=1)]
    alone = list(pairs(DOCUMENTS[:2]))
    assert pairs()[: len(alone)] == alone


def test_a_document_of_one_sentence_makes_no_pair():
    assert pairs([Document("the cat sat .")]) == []
    assert pairs([Document("")]) == []


def test_a_sentence_that_makes_no_tokens_is_in_no_pair():
    nothing = "\x01\x02"
    made = pairs([Document("", sentences=(nothing, SENTENCES[0], nothing, SENTENCES[1]))])
    assert [(s.text, s.pair) for s in made] == [SENTENCES[:2]]
    assert pairs([Document("", sentences=(nothing, nothing))]) == []


def test_documents_stay_whole_and_given_pairs_stay_pairs():
    given = [Document("one"), Document("two", "three")]
    for cut in ("documents", "pairs"):
        found = list(segments(given, cut, tiny_tokenizer(), longest=40))
        assert Segment(found[-1].number, 1, "two", "three") == found[-1]
    assert [s.text for s in segments(given, "documents", None, longest=40)] == ["one", "two"]


def test_chunks_hold_every_segment_once():
    many = [Segment(n, n, "the cat") for n in range(10)]
    assert [len(c) for c in chunks(many, 4)] == [4, 4, 2]


def test_batches_group_like_lengths_and_respect_the_limit(tiny_bert):
    texts = ["the cat " * (1 + 7 * (n % 4)) for n in range(20)]
    given = [Segment(n, n, text) for n, text in enumerate(texts)]
    found = list(Encoder.of(tiny_bert, most_tokens=100).batches(given))
    assert sorted(n for b in found for n in b.documents.tolist()) == list(range(20))
    for batch in found:
        rows, width = batch.inputs["input_ids"].shape
        assert rows * width <= 100
        assert min(len(tokens) for tokens in batch.tokens) >= width - 14


def test_a_text_longer_than_the_model_is_cut(tiny_bert):
    batch = next(Encoder.of(tiny_bert, most_tokens=99).batches([Segment(0, 0, "cat " * 500)]))
    assert len(batch.tokens[0]) == tiny_bert.max_tokens


def test_a_text_that_makes_no_tokens_is_left_out(tiny_gpt2):
    given = [Segment(0, 0, "the cat"), Segment(1, 1, " "), Segment(2, 2, "a dog")]
    found = list(Encoder.of(tiny_gpt2, most_tokens=99).batches(given))
    assert sorted(n for b in found for n in b.documents.tolist()) == [0, 2]
    assert list(Encoder.of(tiny_gpt2, most_tokens=99).batches(given[1:2])) == []
