"""Parts of speech and relations from the corpus itself, if it is a treebank."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

from headscope.atlas.words import Grammar
from headscope.corpus.bad_data import Faults
from headscope.corpus.open_text import without_compression
from headscope.corpus.sources import files_in
from headscope.corpus.text.documents import endings, is_treebank
from headscope.corpus.treebanks.conllu import Sentence
from headscope.corpus.treebanks.treebank import read_trees

APART = "\0"  # separates stretches that no text crosses


def trees_of(corpus: Any) -> TreebankTags | None:
    """The trees of a corpus that is a treebank, or a folder of treebanks alone."""
    if not isinstance(corpus, (str, Path)) or not Path(corpus).exists():
        return None
    path = Path(corpus)
    files = files_in(path, endings()) if path.is_dir() else [path]
    names = [without_compression(file.name).lower() for file in files]
    if not names or not all(is_treebank(name) for name in names):
        return None
    return TreebankTags(path)


class TreebankTags:
    """A treebank as one long string of its letters, in which texts are found again.

    Case, accents and spaces are left out, because tokenizers may leave them out.
    """

    def __init__(self, path: Path) -> None:
        self._speech: list[str] = []
        self._governor: list[int] = []  # among the words of all sentences; a root's is its own
        self._relation: list[str] = []
        letters: list[str] = []
        of_letter: list[int] = []  # the word that a letter belongs to, -1 between sentences
        begins: list[int] = []  # sentences, among the letters
        for sentence in read_trees(path, Faults()):
            spelled = [letters_of(word) for word in sentence.words]
            begins.append(len(of_letter))
            if not _spells_its_text(sentence, spelled):
                letters.append(APART)
                of_letter.append(-1)
                continue
            first = len(self._speech)
            for number, word in enumerate(spelled):
                head = sentence.heads[number]
                self._speech.append(sentence.upos[number])
                self._relation.append(sentence.relations[number].lower())
                self._governor.append(first + (number if head < 0 else head))
                letters.append(word)
                of_letter += [first + number] * len(word)
        self._letters = "".join(letters)
        self._of_letter = np.array(of_letter, dtype=np.int64)
        # between letters, the ends of all included: 2 between sentences, 1 between words, else 0
        self._edges = np.append(np.diff(self._of_letter, prepend=-2) != 0, True).astype(np.int8)
        self._edges[[*begins, -1]] = 2

    def grammar(self, words: list[str]) -> Grammar | None:
        """The grammar of a text's words; None if the treebank does not have the text."""
        spelled = [letters_of(word) for word in words]
        at = self._where("".join(spelled))
        if at < 0:
            return None
        starts = at + np.cumsum([0, *(len(word) for word in spelled)])[:-1]
        starts = np.minimum(starts, len(self._of_letter) - 1)  # a last word without letters
        mine = self._of_letter[starts].tolist()
        number_of = {word: number for number, word in reversed(list(enumerate(mine)))}
        return Grammar(
            [self._speech[word] for word in mine],
            [
                # a governor that the text does not hold cannot be attended to
                own if self._governor[word] == word else number_of.get(self._governor[word], own)
                for own, word in enumerate(mine)
            ],
            [self._relation[word] for word in mine],
        )

    def _where(self, text: str) -> int:
        """The text's position, -1 if it is missing: the first that begins and ends with a sentence,
        else with a word; “go” is not found within “ago”."""
        best, at = (-1, -1, -1), self._letters.find(text) if text else -1
        while at >= 0 and best[:2] != (2, 2):
            ends = int(self._edges[at]), int(self._edges[at + len(text)])
            if ends > best[:2]:
                best = (*ends, at)
            at = self._letters.find(text, at + 1)
        return best[2]


def letters_of(word: str) -> str:
    """Without case, accents and spaces."""
    apart = unicodedata.normalize("NFD", word.lower())
    return "".join(c for c in apart if not unicodedata.combining(c) and not c.isspace())


def _spells_its_text(sentence: Sentence, spelled: list[str]) -> bool:
    """False if a token of the text is several words of the tree (Spanish del: de, el)."""
    return not sentence.text or "".join(spelled) == letters_of(sentence.text)
