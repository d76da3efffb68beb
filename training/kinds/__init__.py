"""Labels for the five kinds of map, and the network trained on them."""
