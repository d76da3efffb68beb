"""What travels to the page: containers, packed arrays, masks, thumbnails."""
