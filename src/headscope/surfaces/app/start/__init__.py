"""The first screen, at once: what the last start answered is answered again while torch comes."""
