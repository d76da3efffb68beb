"""A document with coreference: its words, and the mentions among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from headscope.corpus.coreference.mentions import Kind, kind_of


@dataclass(frozen=True)
class Mention:
    """A span of words that refers to something."""

    start: int  # first word
    end: int  # one past the last word
    head: int  # the word that stands for the mention
    cluster: str  # mentions of one cluster refer to the same thing


@dataclass(frozen=True)
class CoreferenceDocument:
    """A text in words with its mentions; all word tuples have one entry per word."""

    name: str
    where: str  # file:line of the first word
    words: tuple[str, ...]
    sentences: tuple[int, ...]  # sentence number of each word
    mentions: tuple[Mention, ...]  # by start, the longer first
    upos: tuple[str, ...]  # "" where unknown
    xpos: tuple[str, ...]
    features: tuple[str, ...]
    both_sides: bool = False  # the antecedent may also follow (GAP)

    def kind(self, mention: Mention) -> Kind:
        """Pronoun, proper name or nominal, by the part of speech of the mention's head."""
        return self._kinds[mention.head]

    @cached_property
    def _kinds(self) -> dict[int, Kind]:
        return {
            m.head: kind_of(
                self.words[m.head],
                self.upos[m.head],
                self.xpos[m.head],
                m.head == 0 or self.sentences[m.head] != self.sentences[m.head - 1],
            )
            for m in self.mentions
        }
