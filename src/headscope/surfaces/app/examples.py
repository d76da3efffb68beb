"""Example texts. Each is a lesson: it opens a head with a clear behaviour, says in two sentences
what to see, and suggests something to try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.patterns.as_statistics import part_of_pattern
from headscope.patterns.pattern import pattern_named
from headscope.reading import Part
from headscope.statistics.of_reading import measure_part

Needs = Literal["", "mask", "causal", "writes", "translates", "both ways"]


@dataclass(frozen=True)
class Example:
    title: str
    text: str
    text_pair: str | None = None
    needs: Needs = ""  # what the example requires of a model
    measure: str = ""  # the head with the largest value is opened
    says: str = ""
    unclear: str = ""  # the text if no head of the model does it clearly
    tries: str = ""
    view: str = "head"
    writes: bool = False  # the model continues the text


CLEAR = 0.5  # least share of the attention for a sentence about a head

EXAMPLES: list[Example] = [
    Example(
        "two sentences",
        "I went to the store.",
        "At the store, I bought fresh strawberries.",
        needs="both ways",
        measure="next_word",
        says=(
            "This head looks from each word to the one after it. Nearly every line leads "
            "one step down, whatever the words are: it reads positions, not meanings."
        ),
        unclear=(
            "Of all heads this one looks most at the next word, though not clearly. "
            "Where its lines lead elsewhere, something else guides it."
        ),
        tries=(
            "Press → for the head beside it, or open the neuron view to see which few neurons "
            "do it."
        ),
    ),
    Example(
        "question and answer",
        "Where did the children play after the rain stopped?",
        "They played in the garden behind the old house.",
        needs="both ways",
        measure="same_word_other",
        says=(
            "This head looks from a word to the same word in the other sentence. "
            "Words that stand in one sentence only have no such word to look at."
        ),
        unclear=(
            "Of all heads this one looks most from a word to the same word in the other sentence, "
            "though not clearly."
        ),
        tries="Under Display, set “sentences” to A→B, and click “the” to hold its lines.",
    ),
    Example(
        "a masked word",
        "She opened the door and walked into the [MASK].",
        needs="mask",
        measure="previous_word",
        says=(
            "The model guesses the masked word; its guesses stand under Predictions. "
            "This head hands each position the word before it, which at the mask is “the”."
        ),
        unclear=(
            "The model guesses the masked word; its guesses stand under Predictions. "
            "Of all heads this one looks most at the word before."
        ),
        tries="Rank the heads, switch the first one off, and see what becomes of the guesses.",
    ),
    Example(
        "a repeated phrase",
        "The quick brown fox saw the quick brown fox and the quick brown fox ran.",
        needs="both ways",
        measure="same_word",
        says=(
            "This head looks from a word to its other copies. “Saw” and “ran” stand here once, so "
            "they have nothing of the kind to look at."
        ),
        unclear="Of all heads this one looks most at copies of the word, though not clearly.",
        tries="Click “fox” to hold its lines; then type a text of your own with a word twice.",
    ),
    Example(
        "a phrase begins again",
        "The quick brown fox saw the old grey owl. Later the quick brown fox saw the old grey owl.",
        needs="causal",
        measure="induction",
        says=(
            "In the second half this head looks back to what came after the same word before: "
            "from “quick” to “brown”, from “brown” to “fox”. "
            "That is how a model repeats what it has read; it is called induction."
        ),
        unclear=(
            "Of all heads this one looks most at what followed an earlier copy of the word, "
            "though not clearly."
        ),
        tries="Click a word of the second half; hide the first token if many lines end there.",
    ),
    Example(
        "let it write",
        "Once upon a time there was a little girl who",
        needs="writes",
        writes=True,
        says=(
            "The model goes on from here, one token at a time; a rule marks where it begins. "
            "Step through what it wrote to see what it weighed, and what this head looked at."
        ),
        tries="Press “write more” for more tokens, or stop it and change the beginning.",
        view="text",
    ),
    Example(
        "a translation",
        "translate English to German: The house is small.",
        "Das Haus ist klein.",
        needs="translates",
        says=(
            "Attention is of three kinds here: the encoder reads the English, the decoder the "
            "German, and cross attention leads from the German to the English. "
            "Choose the kind under “attention”."
        ),
        tries="Choose cross attention, and see which head leads from “Haus” to “house”.",
    ),
    Example(
        "a longer text",
        "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
        "nothing to do: once or twice she had peeped into the book her sister was reading, but it "
        "had no pictures or conversations in it, “and what is the use of a book,” thought Alice "
        "“without pictures or conversations?”\n\n"
        "So she was considering in her own mind (as well as she could, for the hot day made her "
        "feel very sleepy and stupid), whether the pleasure of making a daisy-chain would be worth "
        "the trouble of getting up and picking the daisies, when suddenly a White Rabbit with pink "
        "eyes ran close by her.\n\n"
        "There was nothing so very remarkable in that; nor did Alice think it so very much out of "
        "the way to hear the Rabbit say to itself, “Oh dear! Oh dear! I shall be late!” (when she "
        "thought it over afterwards, it occurred to her that she ought to have wondered at this, "
        "but at the time it all seemed quite natural); but when the Rabbit actually took a watch "
        "out of its waistcoat-pocket, and looked at it, and then hurried on, Alice started to her "
        "feet, for it flashed across her mind that she had never before seen a rabbit with either "
        "a waistcoat-pocket, or a watch to take out of it, and burning with curiosity, she ran "
        "across the field after it.",
        measure="same_word",
        says=(
            "A long text is read as text: the more strongly a word is shaded, the more of the "
            "selected word's attention it gets. The words that get most are listed below."
        ),
        tries="Click another word, or Shift+click to select a whole sentence.",
        view="text",
    ),
]


def fitting(entry: Mapping[str, Any]) -> list[int]:
    """Numbers of the examples that suit a model, from its entry for the page."""
    alone = not entry["encoder_decoder"]
    able = {
        "": True,
        "mask": entry["masks"],
        "both ways": alone and not entry["causal"],
        "causal": alone and entry["causal"],
        "writes": alone and entry["writes"],
        "translates": entry["encoder_decoder"],
    }
    return [number for number, example in enumerate(EXAMPLES) if able[example.needs]]


def for_page() -> list[dict[str, Any]]:
    kept = ("title", "text", "text_pair", "view", "writes")
    return [{name: asdict(example)[name] for name in kept} for example in EXAMPLES]


def lesson_for(
    text: str, text_pair: str | None, part: Part, numbers: Mapping[str, NDArray[np.floating]]
) -> dict[str, Any] | None:
    """The lesson of the example with this text, None for any other text.

    numbers: layers × heads of every measure of this reading.
    """
    for example in EXAMPLES:
        if (example.text, example.text_pair) == (text, text_pair or None):
            return _taught(example, part, numbers)
    return None


def _taught(
    example: Example, part: Part, numbers: Mapping[str, NDArray[np.floating]]
) -> dict[str, Any] | None:
    kept = ("title", "says", "tries", "view")
    lesson: dict[str, Any] = {name: getattr(example, name) for name in kept}
    values = induction(part) if example.measure == "induction" else numbers.get(example.measure)
    if not example.measure:
        return lesson
    if values is None or not np.isfinite(values).any():
        return None  # the example's measure is missing here
    best = int(np.nanargmax(values))
    layer, head = divmod(best, values.shape[1])
    score = float(values.flat[best])
    if score < CLEAR and example.unclear:
        lesson["says"] = example.unclear
    return lesson | {"layer": part.numbers[layer], "head": head, "score": score}


def induction(part: Part) -> NDArray[np.float64] | None:
    """Layers × heads: the pattern's score on this text, not on repeated random tokens."""
    score = part_of_pattern(pattern_named("induction"), "score")
    return measure_part(part, [score]).get(score.name)
