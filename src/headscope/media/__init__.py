"""Pictures and sounds: opened safely, and where each position of a model lies in them."""

from headscope.media.picture import Picture, open_picture
from headscope.media.places import PlaceKind, Places
from headscope.media.sound import Sound, open_sound

__all__ = ["Picture", "PlaceKind", "Places", "Sound", "open_picture", "open_sound"]
