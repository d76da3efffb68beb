"""BertViz's functions with BertViz's signatures: change the import, and its notebooks work.

    from headscope.bertviz import head_view, model_view, neuron_view

The neuron view works for every model whose q and k can be read, with the classes of current
transformers; `headscope.bertviz.transformers_neuron_view` gives those, so that notebooks which
import BertViz's own copies run as well.
"""

from headscope.bertviz import neuron_view, util
from headscope.bertviz.head_view import head_view
from headscope.bertviz.model_view import model_view

__all__ = ["head_view", "model_view", "neuron_view", "util"]
