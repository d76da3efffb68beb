"""Static figures in house style: numbers in, matplotlib figures out.

Nothing here knows of models or readings, so every other part may draw with it.
"""

from headscope.figures.of_heads.by_layer import scatter_by_layer
from headscope.figures.of_heads.layer_head_map import layer_head_map, layer_head_maps
from headscope.figures.style import save

__all__ = ["layer_head_map", "layer_head_maps", "save", "scatter_by_layer"]
