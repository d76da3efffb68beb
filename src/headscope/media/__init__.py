"""Pictures and sounds: opened safely, and where each position of a model lies in them."""
