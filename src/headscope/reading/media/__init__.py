"""Readings of pictures, of pictures with text, and of sounds."""

from headscope.reading.media.read import Heard, media_reading

__all__ = ["Heard", "media_reading"]
