"""How much attention goes to linguistic features, from all tokens and from the last [CLS].

After Kovaleva et al. 2019, sections 4.4 and 4.5. A feature's score in a head is the mean, over
the sentences that have the feature, of the largest column mean among its words; sentences
without it are left out (the published code counted them as zero). The sets of words are the
paper's, for Penn and universal tags and for Stanford, ClearNLP and universal relations alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call, Kind
from headscope.checked import checked
from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.treebanks.conllu import Sentence
from headscope.probes.data import Data, Trees, trees
from headscope.probes.passes import (
    PAPER_LENGTH,
    WordBatch,
    check_finite,
    check_nonempty,
    model_inputs,
    self_attention,
    word_batches,
)
from headscope.probes.probe_run import probe_run
from headscope.probes.result import ProbeResult
from headscope.results import of_layers, tidy
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback, State
from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope


FEATURES = ("noun", "verb", "pronoun", "subject", "object", "negation")
SPECIALS = ("opening", "separator")  # [CLS] and [SEP], by their role

_NOUN_TAGS = frozenset({"NN", "NNS", "NNP", "NNPS"})
_PRONOUN_TAGS = frozenset({"PRP", "PRP$"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "agent", "expl"})
_OBJECTS = frozenset({"obj", "dobj", "iobj", "dative", "attr", "oprd"})
# the paper's seventeen words, and what they become when a treebank splits contractions
_NEGATION = frozenset(
    {
        *("neither", "nor", "not", "never", "none", "nothing", "nowhere", "don't", "won't"),
        *("didn't", "hadn't", "haven't", "can't", "isn't", "wasn't", "shouldn't", "couldn't"),
        *("n't", "n’t"),
    }
)


def words_with(feature: str, sentence: Sentence) -> list[int]:
    """The numbers of the words of a sentence that have the feature."""
    return [n for n in range(len(sentence)) if _has(feature, sentence, n)]


def subject_verb_pairs(sentence: Sentence) -> list[tuple[int, int]]:
    """(subject, verb) for every subject that hangs on a verb."""
    return [
        (word, head)
        for word, head in enumerate(sentence.heads)
        if head >= 0 and _has("subject", sentence, word) and _has("verb", sentence, head)
    ]


def noun_pronoun_pairs(sentence: Sentence) -> list[tuple[int, int]]:
    """Every (noun, pronoun) of a sentence; which corefer is not annotated."""
    nouns, pronouns = words_with("noun", sentence), words_with("pronoun", sentence)
    return [(noun, pronoun) for noun in nouns for pronoun in pronouns]


def _has(feature: str, sentence: Sentence, word: int) -> bool:
    tag, universal = sentence.xpos[word], sentence.upos[word]
    relation = sentence.relations[word]
    if feature == "noun":
        return tag in _NOUN_TAGS or (not _penn(tag) and universal in ("NOUN", "PROPN"))
    if feature == "verb":
        return tag.startswith("VB") or (not _penn(tag) and universal in ("VERB", "AUX"))
    if feature == "pronoun":
        return tag in _PRONOUN_TAGS or (not _penn(tag) and universal == "PRON")
    if feature == "subject":
        return relation.partition(":")[0] in _SUBJECTS
    if feature == "object":
        return relation.partition(":")[0] in _OBJECTS
    return sentence.words[word].lower() in _NEGATION


def _penn(tag: str) -> bool:
    return tag not in ("", "_")


PAIRS = ("subject→verb", "verb→subject", "noun→pronoun", "pronoun→noun")


@dataclass(frozen=True, eq=False, repr=False)
class FeaturesResult(ProbeResult):
    """Scores of every head for every feature."""

    heads: pd.DataFrame  # measure, feature, layer, head, score, sentences
    sentences: int

    @property
    def title(self) -> str:
        return "Attention to linguistic features"

    @property
    def table(self) -> pd.DataFrame:
        """Every head's score; a measure is named such as "received: noun"."""
        of = self.heads.rename(columns={"score": "value", "sentences": "count"})
        return tidy(of, kind=self.kind, measure=of["measure"] + ": " + of["feature"])


@checked
def features(
    scope: Scope,
    treebank: Trees,
    *,
    max_tokens: int | None = PAPER_LENGTH,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> FeaturesResult:
    """How much attention goes to nouns, verbs, subjects, objects, negation and special tokens.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    treebank
        Sentences with trees: CoNLL-U, plain text (parsed by spaCy), or "sample".
    max_tokens, bad_data, limit, output, restart, progress
        As for `dependency`.

    Returns
    -------
    FeaturesResult
        Every head's attention to every feature.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.probe.features(hs.load(), "sample", limit=4, progress=False)
    >>> "layer" in found.table
    True
    """
    faults, data = Faults(bad_data), Data(trees(treebank, bad_data), limit)
    with probe_run(scope, [data], [max_tokens], title="Features",
                   output=output, restart=restart, progress=progress) as run:  # fmt: skip
        sums, part = _FeatureSums(scope), run.part("sums")
        if (state := part.recall()) is not None:
            sums.restore(state)
        for batch in word_batches(scope, data, faults, max_tokens=max_tokens, done=sums.batches):
            with part.step(sums.state):
                sums.add(batch)
            run.tell(sums.sentences, len(data))
        data.faults_into(faults)
        check_nonempty(sums.sentences, "sentences", faults)
        found = FeaturesResult(
            sums.table(), sums.sentences, faults=faults, kind=self_attention(scope)
        )
        if output is not None:
            write_output(found, output, found.heads)
    return found


class _FeatureSums:
    """The largest weights of every sentence that has a feature, added up per head."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._kind: Kind = self_attention(scope)
        layers, heads = scope.layers[self._kind], scope.heads[self._kind]
        features = len(FEATURES) + len(SPECIALS)
        self._arrays: dict[str, NDArray[Any]] = {
            "received": np.zeros((features, layers, heads)),
            "opening": np.zeros((features, heads)),
            "linked": np.zeros((len(PAIRS), layers, heads)),
            "having": np.zeros(features, np.int64),
            "paired": np.zeros(len(PAIRS), np.int64),
        }
        self.batches = self.sentences = 0

    def add(self, batch: WordBatch[Sentence]) -> None:
        tokens = batch.batch.tokens
        marks = _feature_tokens(batch.items, tokens)  # feature b t
        links = _pair_tokens(batch.items, tokens)  # pair b t t
        self._arrays["having"] += marks.any(axis=2).sum(axis=1)
        self._arrays["paired"] += links.any(axis=(2, 3)).sum(axis=1)
        marked, joined = torch.from_numpy(marks), torch.from_numpy(links)
        lengths = torch.tensor([len(of) for of in tokens])
        last = self._arrays["received"].shape[1] - 1

        def sink(call: Call) -> None:
            if call.kind != self._kind:
                return
            weights = call.weights.detach().float().cpu()  # b h t t
            real = torch.arange(weights.shape[2]) < lengths[:, None]
            columns = (weights * real[:, None, :, None]).sum(dim=2) / lengths[:, None, None]
            check_finite(columns, call.layer)
            self._arrays["received"][:, call.layer] += _largest(columns, marked)
            self._arrays["linked"][:, call.layer] += np.stack(
                [_largest(weights.flatten(2), of.flatten(1)[None])[0] for of in joined]
            )
            if call.layer == last:
                self._arrays["opening"] += _largest(weights[:, :, 0], marked)

        with torch.inference_mode():
            self._scope.forward(model_inputs(self._scope, batch.batch), sink)
        self.batches = batch.number + 1
        self.sentences += len(batch.items)

    def state(self) -> State:
        return State({"batches": self.batches, "sentences": self.sentences}, dict(self._arrays))

    def restore(self, state: State) -> None:
        self._arrays = state.arrays
        self.batches = int(state.position["batches"])
        self.sentences = int(state.position["sentences"])

    def table(self) -> pd.DataFrame:
        sums, names = self._arrays, (*FEATURES, *SPECIALS)
        last = sums["received"].shape[1] - 1
        opening = sums["opening"][:, None]
        found = pd.concat(
            [
                _rows("received", names, sums["received"], sums["having"]),
                _rows("from opening, last layer", names, opening, sums["having"], last),
                _rows("between words", PAIRS, sums["linked"], sums["paired"]),
            ],
            ignore_index=True,
        )
        return of_layers(found, self._scope.layer_numbers[self._kind])


def compare_features(one: FeaturesResult, other: FeaturesResult) -> pd.DataFrame:
    """Two models side by side (before and after fine-tuning), and the change."""
    keys = ["measure", "feature", "layer", "head"]
    both = one.heads.merge(other.heads, on=keys, suffixes=("_a", "_b"))
    return both.assign(change=both["score_b"] - both["score_a"])


def _largest(values: Tensor, marked: Tensor) -> NDArray[np.float64]:
    """features h: the sum over sentences of the largest value (b h n) where marked (f b n)."""
    out: list[NDArray[Any]] = []
    for of in marked:
        rows = of.any(dim=1)
        held = values[rows].masked_fill(~of[rows][:, None], -1.0)
        out.append(
            held.amax(dim=2).sum(dim=0).double().numpy()
            if rows.any()
            else np.zeros(values.shape[1])
        )
    return np.stack(out)


def _feature_tokens(items: Sequence[Sentence], tokens: Sequence[Tokens]) -> NDArray[np.bool_]:
    width = max(map(len, tokens))
    marks = np.zeros((len(FEATURES) + len(SPECIALS), len(items), width), bool)
    for row, (sentence, of) in enumerate(zip(items, tokens, strict=True)):
        for index, feature in enumerate(FEATURES):
            marks[index, row, : len(of)] = np.isin(of.word_ids, words_with(feature, sentence))
        marks[len(FEATURES), row, 0] = of.classes[0] == TokenClass.CLS
        marks[len(FEATURES) + 1, row, : len(of)] = of.classes == TokenClass.SEP
    return marks


def _pair_tokens(items: Sequence[Sentence], tokens: Sequence[Tokens]) -> NDArray[np.bool_]:
    width = max(map(len, tokens))
    links = np.zeros((len(PAIRS), len(items), width, width), bool)
    for row, (sentence, of) in enumerate(zip(items, tokens, strict=True)):
        for first, pairs in ((0, subject_verb_pairs(sentence)), (2, noun_pronoun_pairs(sentence))):
            for one, other in pairs:
                query, key = (
                    np.flatnonzero(of.word_ids == one),
                    np.flatnonzero(of.word_ids == other),
                )
                links[first, row, query[:, None], key] = True
                links[first + 1, row, key[:, None], query] = True
    return links


def _rows(
    measure: str,
    names: Sequence[str],
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
    first_layer: int = 0,
) -> pd.DataFrame:
    frames: list[pd.DataFrame] = []
    layer, head = np.indices(sums.shape[1:])
    for name, total, count in zip(names, sums, counts, strict=True):
        if count:
            frames.append(
                pd.DataFrame(
                    {
                        "measure": measure,
                        "feature": name,
                        "layer": layer.ravel() + first_layer,
                        "head": head.ravel(),
                        "score": (total / count).ravel(),
                        "sentences": int(count),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
