"""Which head links the words of a frame to the word that evokes it."""
