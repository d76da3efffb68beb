"""Whisper's alignment heads (Radford et al. 2022), found again from speech with word times."""
