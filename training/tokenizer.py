"""Train the uncased WordPiece tokenizer on the training documents.

    python -m training.tokenizer corpus/*.txt.xz --pieces 12288 --also '##berries' -o run/tokenizer

`--also` gives pieces a place of their own, counted in the total. The bundled model has one,
`##berries`, so that the pieces of "strawberries" are a word and its ending; learnt by frequency
alone they are straw ##ber ##ries up to 16,000 pieces.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from training.corpus import documents, is_held_out

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]  # ids 0 to 4; the recipe relies on them
PAD, UNK, CLS, SEP, MASK = range(5)
POSITIONS = 512


def train(
    texts: Iterable[str], pieces: int, also: Sequence[str] = (), alphabet: int = 200
) -> list[str]:
    """The vocabulary in id order, most useful pieces first."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # pyright: ignore[reportCallIssue]
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=pieces - len(also),
        special_tokens=SPECIALS,
        limit_alphabet=alphabet,
        min_frequency=5,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    vocabulary = tokenizer.get_vocab()
    learnt = sorted(vocabulary, key=vocabulary.__getitem__)
    return learnt + [piece for piece in also if piece not in vocabulary]


def fast(vocabulary: list[str]) -> Tokenizer:
    """The tokenizer that stages the corpus: no specials added, those belong to the pairs."""
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(vocab=ids, unk_token="[UNK]"))  # pyright: ignore[reportCallIssue]
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def save(vocabulary: list[str], folder: Path) -> None:
    """Write the files `AutoTokenizer` opens, and vocab.txt for people."""
    from transformers import BertTokenizer  # slow to import; staging and training do without

    tokenizer = fast(vocabulary)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)],
    )
    folder.mkdir(parents=True, exist_ok=True)
    whole = BertTokenizer(
        tokenizer_object=tokenizer, do_lower_case=True, model_max_length=POSITIONS
    )
    whole.save_pretrained(str(folder))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")


def load_vocabulary(folder: Path) -> list[str]:
    return (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]


def _training_paragraphs(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        for document in documents(path):
            if not is_held_out(document):
                yield from document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--pieces", type=int, default=12288)
    parser.add_argument("--also", nargs="*", default=[], help="pieces to hold whatever their rank")
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    vocabulary = train(_training_paragraphs(options.corpus), options.pieces, options.also)
    save(vocabulary, options.out)
    print(f"{len(vocabulary)} pieces -> {options.out}")


if __name__ == "__main__":
    main()
