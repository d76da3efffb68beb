"""Coreference written in CoNLL-U as `Entity=` (OntoGUM, GUM, CorefUD), with trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headscope.corpus.bad_data import Faults
from headscope.corpus.coreference.brackets import Brackets
from headscope.corpus.coreference.documents import CoreferenceDocument, Mention
from headscope.corpus.coreference.mentions import head_in_tree
from headscope.corpus.treebanks.conllu import Sentence, sentences


def documents(name: str, lines: Iterable[str], faults: Faults) -> Iterator[CoreferenceDocument]:
    """Yield the documents of one file; a file without `# newdoc` is one document."""
    group: list[Sentence] = []
    for sentence in sentences(name, lines, faults):
        if group and sentence.document != group[0].document:
            yield _document(name, group, faults)
            group = []
        group.append(sentence)
    if group:
        yield _document(name, group, faults)


def _document(name: str, group: list[Sentence], faults: Faults) -> CoreferenceDocument:
    brackets = Brackets(name, faults)
    heads: list[int] = []
    for sentence in group:
        first = len(heads)
        for number, misc in enumerate(sentence.misc):
            for item in misc.split("|"):
                if item.startswith("Entity="):
                    brackets.see(first + number, item[len("Entity=") :], sentence.lines[number])
        heads.extend(head + first if head >= 0 else -1 for head in sentence.heads)
    return CoreferenceDocument(
        name=group[0].document or name,
        where=group[0].where,
        words=tuple(word for s in group for word in s.words),
        sentences=tuple(number for number, s in enumerate(group) for _ in s.words),
        mentions=tuple(
            Mention(start, end, head_in_tree(start, end, heads), cluster)
            for start, end, cluster in brackets.end()
        ),
        upos=tuple(tag for s in group for tag in s.upos),
        xpos=tuple(tag for s in group for tag in s.xpos),
        features=tuple(features for s in group for features in s.features),
    )
