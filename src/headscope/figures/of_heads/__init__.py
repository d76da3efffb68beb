"""Numbers of heads drawn: a map of layers and heads, dots by layer, dots in a plane."""
