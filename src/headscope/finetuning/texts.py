"""The texts two models are compared on, batched so that both read the same tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.arguments import need_count
from headscope.errors import BadInput
from headscope.reading.inputs.decoder_text import encode_both
from headscope.tasks.files import table_texts
from headscope.tasks.glue import is_glue, read_glue
from headscope.tasks.task import Task
from headscope.text.batching import by_length, text_lengths

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Batch, Text

SPLIT = "dev"  # of a GLUE folder
Texts = list[tuple[str, str | None]]
BATCH = 16
MAX_TOKENS = 128


def text_pairs(corpus: Any, limit: int | None) -> Texts:
    """The texts of a corpus, each with its second sentence if it has one."""
    need_count(limit, "limit")
    if isinstance(corpus, (str, Path)):
        path = Path(corpus)
        if is_glue(path):
            corpus = read_glue(path, SPLIT)
        elif path.suffix.lower() in (".tsv", ".csv"):  # as lines they would include their labels
            corpus = table_texts(path)
    if isinstance(corpus, Task):
        chosen = corpus.first(limit)
        pairs: Sequence[str | None] = chosen.text_pairs or [None] * len(chosen)
        return list(zip(chosen.texts, pairs, strict=True))
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.documents import Reader

    found: Texts = []
    for document in Reader().documents(corpus, Faults()):
        found.append((document.text, document.pair))
        if limit is not None and len(found) >= limit:
            break
    if not found:
        raise BadInput("The corpus holds no text to compare the models on.")
    return found


def split_read(corpus: Any) -> str | None:
    """The name of the split that is read, where a corpus has several."""
    return SPLIT if isinstance(corpus, (str, Path)) and is_glue(Path(corpus)) else None


def in_order(texts: Texts) -> Texts:
    """Texts sorted by length, so that little is padded."""
    sizes = text_lengths([text for text, _ in texts], [pair for _, pair in texts])
    return [texts[place] for place in by_length(sizes)]


def batch_of(scope: Scope, texts: Texts, longest: int) -> Batch:
    """Texts as both models read them, cut to the longest allowed length."""
    firsts, seconds = [text for text, _ in texts], [pair for _, pair in texts]
    if scope.encoder_decoder:  # without a second sentence the decoder reads the text again
        spoken: list[Text | None] = [pair or text for text, pair in texts]
        return encode_both(scope, firsts, spoken, truncate=True, max_tokens=longest)[0]
    return scope.encode(firsts, seconds, truncate=True, max_tokens=longest)


def batches_of(scope: Scope, texts: Texts) -> list[Batch]:
    """All texts of a small corpus, batched as a comparison reads them."""
    order = in_order(texts)
    return [
        batch_of(scope, order[start : start + BATCH], MAX_TOKENS)
        for start in range(0, len(order), BATCH)
    ]
