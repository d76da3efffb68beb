"""Data for the page: containers, packed arrays, masks, thumbnails."""
