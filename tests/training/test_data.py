from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from training.corpus import documents, is_held_out, sentences
from training.masking import mask
from training.pairs import SHORTEST_B, Pairs, Stream
from training.stage import stage
from training.tokenizer import CLS, MASK, SEP, SPECIALS, load_vocabulary


def drawn(staged: Path, length: int, count: int = 4000) -> tuple[Stream, Pairs]:
    stream = Stream.open(staged, "train")
    return stream, stream.draw(count, length, torch.Generator().manual_seed(3))


def test_sentences_end_at_full_stops_but_not_at_titles_or_initials() -> None:
    text = 'Mr. Smith met J. Doe. "Hello!" he said. "You came?" Yes. It cost 3.50 dollars.'
    assert sentences(text) == [
        "Mr. Smith met J. Doe.",
        '"Hello!" he said.',
        '"You came?"',
        "Yes.",
        "It cost 3.50 dollars.",
    ]


def test_held_out_documents_are_never_staged_for_training(corpus: Path, staged: Path) -> None:
    held = sum(is_held_out(d) for d in documents(corpus))
    total = sum(1 for _ in documents(corpus))
    assert 0 < held < total * 0.04
    train = load_file(staged / "made-up.train.safetensors")
    kept = load_file(staged / "made-up.held.safetensors")
    assert len(train["document_starts"]) == total - held
    assert len(kept["document_starts"]) == held


def test_strawberries_is_a_word_and_its_ending(tokenizer_folder: Path) -> None:
    vocabulary = load_vocabulary(tokenizer_folder)
    assert vocabulary[: len(SPECIALS)] == SPECIALS
    assert len(vocabulary) <= 120 and "##berries" in vocabulary


def test_one_split_alone_is_staged_as_it_is_with_the_other(
    corpus: Path, tokenizer_folder: Path, staged: Path, tmp_path: Path
) -> None:
    stage([corpus], tokenizer_folder, tmp_path, workers=1, only="held")
    assert [path.name for path in tmp_path.iterdir()] == ["made-up.held.safetensors"]
    alone, truth = (load_file(f / "made-up.held.safetensors") for f in (tmp_path, staged))
    assert all(torch.equal(alone[name], truth[name]) for name in truth)


@pytest.mark.parametrize("length", [32, 64, 128])
def test_pairs_are_filled_and_segmented_as_in_bert(staged: Path, length: int) -> None:
    _, pairs = drawn(staged, length)
    tokens = pairs.tokens
    assert tokens.shape == (4000, length)
    assert (tokens[:, 0] == CLS).all() and (tokens[:, -1] == SEP).all()
    assert ((tokens == SEP).sum(1) == 2).all() and ((tokens == CLS).sum(1) == 1).all()
    assert torch.equal(pairs.special, (tokens == CLS) | (tokens == SEP))
    first = (tokens == SEP).int().argmax(1)
    assert torch.equal(pairs.segments, (torch.arange(length) > first[:, None]).long())
    assert int((pairs.segments.sum(1) - 1).min()) >= SHORTEST_B


def test_half_of_the_second_segments_are_random_and_the_others_follow(staged: Path) -> None:
    stream, pairs = drawn(staged, 64)
    assert pairs.is_random.float().mean().item() == pytest.approx(0.5, abs=0.03)
    text = stream.tokens.tolist()
    joined = ",".join(map(str, text)) + ","
    for row in range(200):
        content = pairs.tokens[row][~pairs.special[row]].tolist()
        follows = ",".join(map(str, content)) + "," in joined
        if not pairs.is_random[row]:
            assert follows
    loose = [r for r in range(4000) if pairs.is_random[r]][:100]
    found = sum(
        ",".join(map(str, pairs.tokens[r][~pairs.special[r]].tolist())) + "," in joined
        for r in loose
    )
    assert found < 20  # made-up stories repeat themselves, so a few chance matches are right


def test_masking_takes_15_percent_80_10_10_and_never_a_special(staged: Path) -> None:
    _, pairs = drawn(staged, 128)
    vocabulary = 120
    shown, chosen, truth = mask(pairs, vocabulary, torch.Generator().manual_seed(5))
    assert chosen.shape[1] == round(0.15 * 125)
    assert not pairs.special.gather(1, chosen).any()
    assert torch.equal(pairs.tokens.gather(1, chosen), truth)
    untouched = torch.ones_like(pairs.special).scatter(1, chosen, False)
    assert torch.equal(shown[untouched], pairs.tokens[untouched])
    at = shown.gather(1, chosen)
    assert (at == MASK).float().mean().item() == pytest.approx(0.8, abs=0.01)
    kept = (at == truth).float().mean().item()
    assert kept == pytest.approx(0.1 + 0.1 / (vocabulary - len(SPECIALS)), abs=0.01)
    assert int(at.min()) >= MASK  # no [PAD], [UNK], [CLS] or [SEP] comes in by chance
    assert all(len(set(row.tolist())) == len(row) for row in chosen[:50])
