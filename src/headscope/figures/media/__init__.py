"""Pictures and sounds, shaded by numbers of their positions."""
