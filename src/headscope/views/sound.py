"""The sound view: the spectrogram, shaded by the moments that a word or frame attends to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.media.positions import PositionKind
from headscope.media.sound import spectrogram
from headscope.reading import Part, Reading
from headscope.reading.word_times import spoken_tokens
from headscope.views.shared.caption import caption
from headscope.views.shared.labels import Label
from headscope.views.shared.on_media import (
    MEDIA_MEANINGS,
    MEDIA_OPTIONS,
    drawing,
    media_state,
    opening_query,
)
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame
from headscope.views.wire.media import timed_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "sound"
NEEDS = "sound"
SHOWS = "the spectrogram, shaded by the moments that the selected word or frame attends to"
BUNDLE = "media"  # its script is only in pages with pictures or sounds
OPTIONS = MEDIA_OPTIONS
MEANINGS = MEDIA_MEANINGS
EXAMPLE = 'hs.load("openai/whisper-tiny").read(audio="…")'


def build(
    reading: Reading,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    *,
    kind: Kind | None = None,
    query: int | None = None,
    key: int | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """`query` or `key`: the selected position; by default a word in the middle, or a frame."""
    sending = sending or Sending()
    part = reading.part(kind or kind_with_sound(reading))
    if reading.sound is None or part.key.positions is None:
        raise BadInput("This reading has no sound; make one with scope.read(audio=…).")
    state = media_state(part, layer, heads, query, key, sending, options, opening=opening(part))
    return frame(NAME, reading, state, sending)


def kind_with_sound(reading: Reading) -> Kind:
    """The opening kind: from words to moments if there are words, else between moments."""
    order: tuple[Kind, ...] = ("cross", "encoder")
    for kind in order:
        if kind in reading.parts:
            return kind
    return reading.kinds[0]


def opening(part: Part) -> int:
    """The opening query: a word in the middle of the transcript, or a tower's opening."""
    words = spoken_tokens(part)
    if part.query.positions is None and words.size:
        return int(words[len(words) // 2])
    return opening_query(part)


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same on paper: a spectrogram per head that is on, words over the first."""
    from headscope.figures.shaded_sound import Strip, shaded_sound
    from headscope.figures.style import describe

    sound = reading.sound
    if sound is None:
        raise BadInput("This reading has no sound; make one with scope.read(audio=…).")
    drawn = drawing(reading, state, labels, "sound")
    own = drawn.own.positions
    frames = [] if own is None else [p for p in drawn.in_hand if own.kinds[p] == PositionKind.FRAME]
    figure = shaded_sound(
        spectrogram(sound),
        sound.seconds,
        drawn.positions,
        [Strip(name, values) for name, values in drawn.heads],
        words=[(time.word, time.start, time.end) for time in timed_words(reading)],
        in_hand=[] if own is None else [own.seconds[position].tolist() for position in frames],
        title=drawn.title,
        caption=caption(reading),
        opacity=float(state.get("opacity", 0.8)),
    )
    return describe(figure, view=NAME, **drawn.shown)
