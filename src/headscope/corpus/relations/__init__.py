"""Relations between spans of a text: plain examples, and FrameNet."""
