"""Pictures and sounds: safe opening, and each model position's region in them."""
