"""What the gallery shows: a reading, a view of it, and one sentence about it, thirty times.

`reading` and `view` are lines of Python as the page prints them; they are run as they stand, with
`minilm`, `smollm2` and `whisper` as those models, `picture` as a handwritten digit, `recording` as
the sentence `spoken` and `pages` as the paragraphs that the bundled atlas was made of.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    slug: str
    title: str
    sentence: str
    reading: str
    view: str

    @property
    def made(self) -> str:
        """What the first line makes."""
        return "atlas" if "atlas(" in self.reading else "reading"

    @property
    def needs(self) -> str:
        """The model this entry asks for beyond what comes with headscope; empty for none."""
        names = {"minilm": "(minilm)", "smollm2": "(smollm2)", "whisper": "whisper."}
        return next((name for name, said in names.items() if said in self.reading), "")


STORE = '"I went to the store.", "At the store, I bought fresh strawberries."'
PAIR = f"hs.load().read({STORE})"
RIVER = (
    '"The committee met on Tuesday to discuss the bridge over the river. Its chair, who had seen "'
    '\n    "the damage herself, asked the engineers how long the repair would take. They said that '
    'the bridge "\n    "could be opened in spring."'
)
KEYS = '"The keys to the old cabinet are on the table."'
AGAIN = '"Ada Lovelace wrote the first program. A century later, Ada Lovelace was famous."'

BUNDLED = (
    Entry(
        "next-word",
        "The next word",
        "Head 2-2 of the bundled model looks at the word that follows.",
        PAIR,
        "hs.head_view(reading, 2, [2])",
    ),
    Entry(
        "previous-word",
        "The previous word",
        "Head 2-6 looks back by one word.",
        PAIR,
        "hs.head_view(reading, 2, [6])",
    ),
    Entry(
        "same-word-other-sentence",
        "The same word, across the pair",
        "Head 3-0 joins words that stand in both sentences; the filter keeps lines from A to B.",
        PAIR,
        'hs.head_view(reading, 3, [0], filter="ab")',
    ),
    Entry(
        "delimiter",
        "Resting on a delimiter",
        "Head 1-5 puts most of its weight on [SEP].",
        PAIR,
        "hs.head_view(reading, 1, [5])",
    ),
    Entry(
        "bag-of-words",
        "A bag of words",
        "Head 0-1 spreads its attention over the whole sentence.",
        PAIR,
        "hs.head_view(reading, 0, [1])",
    ),
    Entry(
        "heads-together",
        "Eight heads at once",
        "All heads of layer 2, a colour each.",
        PAIR,
        "hs.head_view(reading, 2, range(8))",
    ),
    Entry(
        "whole-words",
        "Whole words",
        "Pieces joined to words: weights summed over keys, averaged over queries.",
        'hs.load().read("Unbelievably, the glaciologists recalibrated their instruments.")',
        "hs.head_view(reading.words(), 2, [2])",
    ),
    Entry(
        "without-specials",
        "Without special tokens",
        "[CLS] and [SEP] hidden, the remaining weights renormalised to one.",
        PAIR,
        'hs.head_view(reading, 2, [2], specials="renormalised")',
    ),
    Entry(
        "lying-down",
        "Lying down",
        "The same lines with the text running from left to right.",
        f"hs.load().read({KEYS})",
        'hs.head_view(reading, 2, [2], orientation="horizontal")',
    ),
    Entry(
        "every-head",
        "Every head at a glance",
        "12 layers × 8 heads as thumbnails; a click opens one.",
        PAIR,
        "hs.model_view(reading)",
    ),
    Entry(
        "neurons",
        "Why a weight is what it is",
        "q, k, their product neuron by neuron, the score and the softmax of one query.",
        PAIR,
        "hs.neuron_view(reading, 2, 2, 4)",
    ),
    Entry(
        "matrix",
        "One map",
        "Head 2-2 as a matrix, queries down, keys across.",
        PAIR,
        "hs.matrix_view(reading, 2, 2)",
    ),
    Entry(
        "difference",
        "The difference of two readings",
        "What head 3-0 does differently once head 2-2 is switched off.",
        PAIR,
        f"hs.matrix_view(reading, 3, 0, other=hs.load().without(heads=[(2, 2)]).read({STORE}))",
    ),
    Entry(
        "head-map-of-a-text",
        "A number for every head",
        "Layers × heads, coloured by the attention that goes to the next token of this text.",
        PAIR,
        'hs.head_map(reading, "next_word")',
    ),
    Entry(
        "head-map-of-a-corpus",
        "A number for every head, over a corpus",
        "The entropy of every head over sixty passages of the sample corpus.",
        'hs.survey(hs.load(), "sample", limit=60, progress=False)',
        'hs.head_map(reading, "entropy")',
    ),
    Entry(
        "running-text",
        "A running text",
        "Words shaded by the attention that the selected word gives them.",
        f"hs.load().read({RIVER})",
        "hs.text_view(reading)",
    ),
    Entry(
        "who-looks-here",
        "Who looks here",
        "The same text turned round: words shaded by the attention they give to one of them.",
        f"hs.load().read({RIVER})",
        "hs.text_view(reading, 2, [6], key=7)",
    ),
    Entry(
        "prediction-of-a-mask",
        "What made the answer",
        "The heads that pushed the answer of a mask up and down, and from which words.",
        'hs.attribute(hs.load(), "She opened the door and walked into the [MASK].")',
        "hs.prediction_view(reading)",
    ),
    Entry(
        "weighted-by-norm",
        "Attention weighted by what it carries",
        "Head 1-5, which rests on [SEP], weighted by the norm of what it moves.",
        f"hs.circuits.weighted(hs.load(), {STORE})",
        "hs.matrix_view(reading, 1, 5)",
    ),
    Entry(
        "head-off",
        "A head switched off",
        "The whole model with head 2-2 disabled.",
        f"hs.load().without(heads=[(2, 2)]).read({STORE})",
        "hs.model_view(reading)",
    ),
)
PICTURES = (
    Entry(
        "digit",
        "A picture",
        "A handwritten digit, shaded by what the class token looks at.",
        'hs.load("digits").read(image=picture)',
        "hs.image_view(reading)",
    ),
    Entry(
        "digit-first-layer",
        "A picture, first layer",
        "The same picture, shaded by what head 0-0 looks at.",
        'hs.load("digits").read(image=picture)',
        "hs.image_view(reading, 0, [0])",
    ),
    Entry(
        "digit-every-head",
        "Every head over patches",
        "A vision transformer's 4 × 4 heads over 64 patches; stripes are patches many look at.",
        'hs.load("digits").read(image=picture)',
        "hs.model_view(reading)",
    ),
)
SOUNDS = (
    Entry(
        "sound",
        "A sound and its words",
        "Whisper hears a sentence; over the spectrogram each word stands where it is heard.",
        "whisper.read(spoken, audio=recording)",
        'hs.sound_view(reading, 5, [4], query=7, budget="4 MB")',
    ),
    Entry(
        "sound-matrix",
        "Words against moments",
        "The same head as a map: every word looks a little further on.",
        "whisper.read(spoken, audio=recording)",
        'hs.matrix_view(reading, 5, 4, kind="cross", budget="4 MB")',
    ),
)
REAL = (
    Entry(
        "minilm",
        "MiniLM, one head",
        "A sentence encoder that many search engines run, opened on its clearest head.",
        f"hs.load(minilm).read({STORE})",
        "hs.head_view(reading)",
    ),
    Entry(
        "minilm-every-head",
        "MiniLM, every head",
        "6 layers × 12 heads; many rest on [SEP].",
        f"hs.load(minilm).read({STORE})",
        "hs.model_view(reading)",
    ),
    Entry(
        "minilm-text",
        "MiniLM over a running text",
        "The same model over three sentences.",
        f"hs.load(minilm).read({RIVER})",
        "hs.text_view(reading)",
    ),
    Entry(
        "decoder",
        "A decoder",
        "SmolLM2-135M, read from a GGUF file: no head sees the future.",
        f"hs.load(smollm2).read({AGAIN})",
        "hs.head_view(reading)",
    ),
    Entry(
        "decoder-sinks",
        "Where a decoder rests",
        "Layers × heads, coloured by the attention that goes to the first token.",
        f"hs.load(smollm2).read({AGAIN})",
        'hs.head_map(reading, "sink")',
    ),
    Entry(
        "decoder-neurons",
        "Rotary positions in a score",
        "q and k of a decoder after rotation, neuron by neuron.",
        f"hs.load(smollm2).read({KEYS})",
        "hs.neuron_view(reading)",
    ),
    Entry(
        "generated",
        "A generated answer",
        "What the model looked at while it wrote.",
        'hs.load(smollm2).generate("The capital of France is", max_new_tokens=12)',
        "hs.text_view(reading)",
    ),
    Entry(
        "prediction-of-a-decoder",
        "What made the next token",
        "The heads behind a decoder's next token, and the words they took it from.",
        'hs.attribute(hs.load(smollm2), "The Eiffel Tower stands in the city of")',
        "hs.prediction_view(reading)",
    ),
)
ATLASES = (
    Entry(
        "atlas",
        "The atlas of the bundled model",
        "Every head over chapters of four novels, and the texts behind its numbers.",
        "bundled_atlas()",
        "hs.atlas_view(atlas)",
    ),
    Entry(
        "atlas-minilm",
        "The atlas of MiniLM",
        "72 heads over the same paragraphs, as a map: heads that attend alike are close.",
        "hs.atlas(hs.load(minilm), pages, max_tokens=128)",
        'hs.atlas_view(atlas, per_head=120, panels="clusters")',
    ),
    Entry(
        "atlas-smollm2",
        "The atlas of SmolLM2",
        "270 heads of a decoder over the same paragraphs, layer by layer.",
        "hs.atlas(hs.load(smollm2), pages, limit=100, max_tokens=64)",
        'hs.atlas_view(atlas, per_head=40, panels="layers")',
    ),
)
ENTRIES = (*BUNDLED, *PICTURES, *SOUNDS, *REAL, *ATLASES)
