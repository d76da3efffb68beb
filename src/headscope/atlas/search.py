"""Search over the kept examples of an atlas: which head attends from what to what, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.atlas.speech import known_speech, parts_of_speech
from headscope.errors import BadInput, HeadscopeError
from headscope.text.spelling import TokenClass, joined

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas

Text = str | re.Pattern[str]
Mask = NDArray[np.bool_]
HEAD = ["kind", "layer", "head"]
ASKED = (
    "query", "key", "head", "layer", "kind", "query_pos", "key_pos", "offset", "weight",
    "same_word", "around",
)  # fmt: skip
UNKNOWN = ("[UNK]", "<unk>")  # two unknown words may differ


class Search:
    """The kept examples as one row for every key, with tokens and words as numbers."""

    def __init__(self, atlas: Atlas) -> None:
        if not atlas.has_text:
            raise BadInput(
                "This atlas does not store its texts, so it cannot be searched; make it "
                "again without text=False (--no-text)."
            )
        self._atlas = atlas
        self._speech: tuple[Any, Any] | None = None
        examples: Any = atlas.frame("examples")
        # an example kept for several measures counts once
        first: Any = examples.drop_duplicates([*HEAD, "document", "query"])
        counts = first["keys"].map(len).to_numpy()
        at = np.repeat(np.arange(len(first)), counts)
        self._examples = first.reset_index(drop=True)
        self._at = at
        self._kind = first["kind"].to_numpy()[at]
        self._layer = first["layer"].to_numpy()[at]
        self._head = first["head"].to_numpy()[at]
        self._query = first["query"].to_numpy()[at].astype(np.int64)
        self._key = np.concatenate(first["keys"].to_list()).astype(np.int64)
        self._weight = np.concatenate(first["weights"].to_list()).astype(np.float32)
        self._number_texts()

    _query_at: NDArray[np.int64]  # the token's number among those of all texts
    _key_at: NDArray[np.int64]

    def _number_texts(self) -> None:
        """Number the tokens and words of all documents, and note each row's."""
        rows: Any = self._atlas.frame("documents")
        keys = list(zip(rows["kind"], rows["document"].astype(int), strict=True))
        lengths = rows["tokens"].map(len).to_numpy()
        start = dict(zip(keys, np.cumsum(lengths) - lengths, strict=True))
        tokens = np.concatenate(rows["tokens"].to_list()) if len(rows) else np.array([], object)
        words = [w for row in rows.itertuples() for w in words_of(row.tokens, row.continues)]
        # pieces of one word are one occurrence of it
        starts = [
            not (at and goes_on)
            for row in rows.itertuples()
            for at, goes_on in enumerate(row.continues)
        ]
        self._occurrence = np.cumsum(starts)
        self._tokens, self._token_names = pd.factorize(tokens)
        self._words, self._word_names = pd.factorize(np.array(words, dtype=object))
        self._alike = self._same_words(rows)
        examples: Any = self._examples
        for side, of_cross in (("query", "decoder"), ("key", "encoder")):
            stands = np.where(examples["kind"] == "cross", of_cross, examples["kind"])
            numbers = zip(stands, examples["document"], strict=True)
            own = np.array([start[kind, int(n)] for kind, n in numbers], dtype=np.int64)[self._at]
            setattr(self, f"_{side}_at", own + getattr(self, f"_{side}"))

    def _same_words(self, rows: Any) -> NDArray[np.intp]:
        """One number for all occurrences of a word, however it is capitalised; -1 for tokens that
        are no word of the text."""
        numbers, names = pd.factorize(np.array([str(w).lower() for w in self._word_names], object))
        unknown = [any(mark.lower() in name for mark in UNKNOWN) for name in names]
        numbers[np.array(unknown, dtype=bool)[numbers]] = -1
        classes = np.concatenate([np.zeros(0, np.int8), *rows["classes"]])
        return np.where(classes <= TokenClass.SPECIAL, -1, numbers[self._words])

    def find(
        self,
        n: int | None = 50,
        *,
        query: Text | None = None,
        key: Text | None = None,
        head: tuple[int, int] | None = None,
        layer: int | None = None,
        kind: str | None = None,
        query_pos: str | None = None,
        key_pos: str | None = None,
        offset: int | tuple[int, int] | None = None,
        weight: float = 0.0,
        same_word: bool = False,
        around: int = 12,
    ) -> pd.DataFrame:
        """Kept examples that fit everything asked for, the heaviest first.

        `query` and `key` are a token or word as the text spells it, or a regular expression
        ("/^un/", or a compiled one). `query_pos` and `key_pos` are parts of speech such as NOUN,
        as the atlas keeps them, or from spaCy if it keeps none. `offset` is key position −
        query position, one number or (least, most).
        `weight` is the least weight, `head` is (layer, head), `same_word` asks for another
        occurrence of the query's word, capitalised or not.
        """
        _check(n, weight, query=query, key=key)
        fits = self._weight >= weight
        if head is not None or layer is not None or kind is not None:
            fits &= self._of_heads(head, layer, kind)
        if offset is not None:
            low, high = _range(offset)
            apart = self._key - self._query
            fits &= (apart >= low) & (apart <= high)
        if same_word:
            fits &= self._alike[self._query_at] == self._alike[self._key_at]
            fits &= self._alike[self._query_at] >= 0
            fits &= self._occurrence[self._query_at] != self._occurrence[self._key_at]
        for text, at in ((query, self._query_at), (key, self._key_at)):
            if text is not None:
                fits &= self._spelled(text)[at]
        for speech, at in ((query_pos, self._query_at), (key_pos, self._key_at)):
            if speech is not None:
                fits &= self._tagged(speech)[at]
        return self._shown(np.flatnonzero(fits), n, around)

    def _of_heads(self, head: Any, layer: int | None, kind: Any) -> Mask:
        """Which rows belong to the requested heads; a missing head raises an error."""
        fits = np.ones(len(self._kind), dtype=bool)
        if head is not None:
            of, number = _pair(head, "head is (layer, head), such as (7, 3)")
            self._atlas.need(of, number, kind)
            fits &= (self._layer == of) & (self._head == number)
        if layer is not None or head is None:
            self._atlas.need(layer, None, kind)
        if layer is not None:
            fits &= self._layer == layer
        return fits if kind is None else fits & (self._kind == kind)

    def _spelled(self, text: Text) -> Mask:
        """Which tokens of all texts, or the words they belong to, match the spelling."""
        names = (self._token_names, self._word_names)
        as_token, as_word = (matches(found, text) for found in names)
        return as_token[self._tokens] | as_word[self._words]

    def _tagged(self, speech: str) -> Mask:
        """Which tokens of all texts belong to a word of that part of speech."""
        if self._speech is None:
            self._speech = pd.factorize(np.array(speech_of_texts(self._atlas), dtype=object))
        tags, names = self._speech
        return (np.asarray(names) == known_speech(speech))[tags]

    def _shown(self, fits: NDArray[np.intp], n: int | None, around: int) -> pd.DataFrame:
        if n is not None and len(fits) > 4 * n:  # sorting all would take longer than finding them
            least = np.partition(self._weight[fits], len(fits) - n)[len(fits) - n]
            fits = fits[self._weight[fits] >= least]
        order = np.lexsort((self._at[fits], -self._weight[fits]))[: len(fits) if n is None else n]
        chosen = fits[order]
        examples: Any = self._examples.iloc[self._at[chosen]]
        frame = examples[[*HEAD, "document", "query"]].reset_index(drop=True)
        frame = frame.assign(
            key=self._key[chosen],
            weight=self._weight[chosen],
            query_token=np.asarray(self._token_names, dtype=object)[
                self._tokens[self._query_at[chosen]]
            ],
            key_token=np.asarray(self._token_names, dtype=object)[
                self._tokens[self._key_at[chosen]]
            ],
        )
        texts = [
            self._atlas.excerpt(row.kind, int(row.document), row.query, [row.key], around)
            for row in frame.itertuples()
        ]
        return frame.assign(text=texts)


def _check(n: Any, weight: Any, **texts: Any) -> None:
    """Refuse a search that cannot match: an empty answer would say that no head does it."""
    if n is not None and not (isinstance(n, (int, np.integer)) and n >= 1):
        instead = f"; name what to look for, as query={n!r}" if isinstance(n, str) else ""
        raise BadInput(f"n is how many examples to give, at least 1, not {n!r}{instead}.")
    if not (isinstance(weight, (int, float, np.number)) and 0 <= weight <= 1):
        raise BadInput(f"weight is the least weight, 0 to 1, not {weight!r}.")
    for side, text in texts.items():
        if text is not None and not isinstance(text, (str, re.Pattern)):
            raise BadInput(f"{side} is a token, a word or an expression, not {text!r}.")
        if isinstance(text, str) and not text.strip():
            raise BadInput(f"Give the {side} to search for, for example 'it' or '/^un/'.")


def _range(offset: Any) -> tuple[int, int]:
    if isinstance(offset, (int, np.integer)):
        return int(offset), int(offset)
    low, high = _pair(
        offset, "offset is key position − query position, one number or (least, most)"
    )
    if low > high:
        raise BadInput(f"offset is (least, most), and {low} is more than {high}.")
    return low, high


def _pair(given: Any, meant: str) -> tuple[int, int]:
    if not isinstance(given, str):
        try:
            first, second = given
            return int(first), int(second)
        except (TypeError, ValueError):
            pass
    raise BadInput(f"{meant}, not {given!r}.")


def speech_of_texts(atlas: Atlas) -> list[str]:
    """The part of speech of every token of all texts; texts without them are parsed."""
    rows: Any = atlas.frame("documents")
    kept = list(rows["speech"]) if "speech" in rows else [()] * len(rows)
    texts = list(zip(rows["tokens"], rows["continues"], kept, strict=True))
    asked = [list(words_once(tokens, goes_on)) for tokens, goes_on, tags in texts if not len(tags)]
    try:
        parsed = iter(parts_of_speech(asked) if asked else ())
    except HeadscopeError as error:
        raise BadInput(
            f"The atlas holds the parts of speech of {len(texts) - len(asked)} of its {len(texts)} "
            "texts, and no parser is installed for the others: run `pip install "
            "'headscope[spacy]'` and "
            "`python -m spacy download en_core_web_sm`, or make the atlas of a treebank."
        ) from error
    found: list[str] = []
    for _, goes_on, tags in texts:
        found += list(tags) if len(tags) else spread(next(parsed), goes_on)
    return found


def matches(names: Iterable[str], text: Text) -> Mask:
    """Which names are the text, or hold what the regular expression describes."""
    if isinstance(text, str) and len(text) > 2 and text[0] == text[-1] == "/":
        try:
            text = re.compile(text[1:-1])
        except re.error as error:
            raise BadInput(f"{text} is not a regular expression: {error}.") from error
    if isinstance(text, str):
        return np.array([name in (text, f"##{text}") for name in names], dtype=bool)
    return np.array([text.search(name) is not None for name in names], dtype=bool)


def words_of(tokens: Iterable[str], continues: Iterable[bool]) -> list[str]:
    """The word that each token belongs to."""
    return spread(list(words_once(tokens, continues)), continues)


def words_once(tokens: Iterable[str], continues: Iterable[bool]) -> Iterable[str]:
    pieces: list[str] = []
    for at, (token, goes_on) in enumerate(zip(tokens, continues, strict=True)):
        if at and not goes_on:
            yield joined(pieces)
            pieces = []
        pieces.append(token)
    yield joined(pieces)


def spread(of_words: list[str], continues: Iterable[bool]) -> list[str]:
    """A word's property for each of its tokens."""
    word, found = -1, []
    for at, goes_on in enumerate(continues):
        word += not (at and goes_on)
        found.append(of_words[word])
    return found
