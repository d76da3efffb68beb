"""Sentences spoken by espeak-ng, which says itself when each word begins."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from headscope.media.sound import Sound

WORD, END = 1, 0  # kinds of events
LEAD = 0.5  # seconds of silence before the first word


class Event(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int),
        ("message", ctypes.c_uint),
        ("text_position", ctypes.c_int),  # counted from one
        ("length", ctypes.c_int),
        ("milliseconds", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user", ctypes.c_void_p),
        ("more", ctypes.c_char * 8),
    ]


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(Event)
)


def spoken(text: str, words_a_minute: int = 150) -> tuple[Sound, list[float]]:
    """The sound at 16 kHz, and when each word of the text begins in it."""
    library: Any = ctypes.CDLL("libespeak-ng.so.1")
    rate = library.espeak_Initialize(2, 0, None, 0)  # synchronous, samples handed over
    pieces: list[np.ndarray] = []
    starts: list[float] = []

    def take(samples: Any, count: int, events: Any) -> int:
        if samples and count > 0:
            pieces.append(np.ctypeslib.as_array(samples, (count,)).copy())
        at = 0
        while events[at].kind != END:
            if events[at].kind == WORD:
                starts.append(LEAD + events[at].milliseconds / 1000)
            at += 1
        return 0

    kept = _Callback(take)  # must outlive the call
    library.espeak_SetSynthCallback(kept)
    library.espeak_SetVoiceByName(b"en")
    library.espeak_SetParameter(1, words_a_minute, 0)
    given = text.encode()
    library.espeak_Synth(given, len(given) + 1, 0, 1, 0, 1, None, None)
    library.espeak_Synchronize()
    said = Sound((np.concatenate(pieces) / 32768).astype(np.float32), rate).at(16_000).samples
    silence = np.zeros(int(LEAD * 16_000), np.float32)
    return Sound(np.concatenate([silence, said]), 16_000, "spoken.wav"), starts
