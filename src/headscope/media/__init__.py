"""Pictures and sounds: opened safely, and where each position of a model lies in them."""

from headscope.media.picture import Picture, open_picture
from headscope.media.positions import PositionKind, Positions
from headscope.media.sound import Sound, open_sound

__all__ = ["Picture", "PositionKind", "Positions", "Sound", "open_picture", "open_sound"]
