"""Sounds with a transcript: each word's tokens and moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked
from headscope.errors import BadInput, HeadscopeError
from headscope.media.sound import Sound, open_sound, pauses
from headscope.reading.inputs.processors import (
    feature_extractor_of,
    moved,
    processor_of,
    tensors_of,
)
from headscope.reading.inputs.sounds import sound_positions, transcript
from headscope.roles.plans import Plan, tokens_of
from headscope.roles.timing import Timing
from headscope.text.of_ids import tokens_of_ids
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope

Floats = NDArray[np.float64]


def encoded_sound(
    scope: Scope, number: int, document: Linked, faults: Faults
) -> tuple[dict[str, Tensor], Plan] | None:
    """The inputs of a sound and its transcript, and their plan; None if unreadable."""
    assert document.sound is not None and document.other is not None
    processor = processor_of(scope, "sound")
    extractor = feature_extractor_of(processor)
    if extractor is None or not scope.encoder_decoder:
        raise BadInput(f"{scope.name} has no decoder that attends to a sound; load a Whisper.")
    try:
        sound = open_sound(document.sound, None).at(extractor.sampling_rate)
    except HeadscopeError as error:
        faults.note("unreadable file", document.where, str(error))
        return None
    most = extractor.nb_max_frames * extractor.hop_length / extractor.sampling_rate
    if sound.seconds > most:
        message = f"the sound lasts {sound.seconds:.1f} s and {most:.0f} s are heard at a time"
        faults.note("too long", document.where, message)
        return None
    tokenizer = scope.tokenizer or processor.tokenizer
    features = extractor(sound.samples, sampling_rate=extractor.sampling_rate, return_tensors="pt")
    inputs = moved(scope, tensors_of(features))
    # a transcript begins with a blank, as in the model's training
    ids = transcript(scope, tokenizer, f" {document.other}", inputs)
    longest = scope.model.config.max_target_positions
    if ids.shape[1] > longest:
        message = f"the transcript has {ids.shape[1]} tokens and {longest} are read"
        faults.note("too long", document.where, message)
        return None
    inputs["decoder_input_ids"] = ids
    configuration = scope.model.config
    positions = sound_positions(configuration, extractor, configuration.max_source_positions)
    frames = positions.seconds[positions.seconds[:, 0] < sound.seconds].astype(np.float64)
    made = _plan(number, document, tokens_of_ids(tokenizer, ids[0].tolist()), frames, sound, faults)
    return None if made is None else (inputs, made)


def _heard(frames: Floats, start: float, end: float) -> NDArray[np.bool_]:
    """The moments whose middle lies in a word; for a shorter word the nearest one."""
    middle = frames.mean(1)
    inside = (middle >= start - 1e-6) & (middle < end - 1e-6)  # seconds are in single precision
    if not inside.any():
        inside[np.abs(middle - (start + end) / 2).argmin()] = True
    return inside


def _plan(
    number: int, document: Linked, tokens: Tokens, frames: Floats, sound: Sound, faults: Faults
) -> Plan | None:
    """Every token's query is at the position before it, which predicts it.

    All positions of the decoder have a row, because Whisper standardises attention over all of
    them; the path through time begins before the first word and ends at the last token.
    """
    offset = tokens.texts[0].find(str(document.other))
    pieces = [tokens_of((a + offset, b + offset), tokens, 0) for a, b in document.queries]
    if offset < 0 or not all(len(of) and of[0] for of in pieces):
        faults.note("unaligned", document.where, "the tokens do not spell the transcript")
        return None
    begin = int(min(of[0] for of in pieces)) - 1
    last = int(max(of[-1] for of in pieces))
    right = np.zeros((len(tokens), len(frames)), bool)
    times = {pair.query: pair.target for pair in document.pairs}
    words: list[str] = []
    rows: list[tuple[int, int]] = []
    truth: list[tuple[float, float]] = []
    for span, of in zip(document.queries, pieces, strict=True):
        if span not in times:
            continue  # its time was bad, and counted
        start, end = times[span]
        if start >= sound.seconds:
            message = f"a word starts at {start} s in a sound of {sound.seconds:.1f} s"
            faults.note("span outside", document.where, message)
            continue
        right[of - 1] = _heard(frames, start, end)
        words.append(str(document.other)[slice(*span)])
        rows.append((int(of[0]) - 1 - begin, int(of[-1]) - begin))
        truth.append((start, end))
    if not words:
        faults.note("no links", document.where, "no word is heard inside the sound")
        return None
    timing = Timing(tuple(words), tuple(rows), np.array(truth), frames[:, 0], sound.seconds,
                    pauses(sound), slice(begin, last + 1))  # fmt: skip
    along = np.clip((np.arange(len(tokens)) - begin) / max(1, last - begin), 0, 1)
    keys = tuple(np.array([at]) for at in range(len(frames)))
    return Plan(
        number, tuple(np.array([at]) for at in range(len(tokens))), keys, right, right,
        np.ones(right.shape, bool), np.round(along * (len(frames) - 1)),
        tuple(range(len(tokens))), tuple((float(a), float(b)) for a, b in frames), timing,
    )  # fmt: skip
