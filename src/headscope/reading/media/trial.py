"""The smallest inputs of a model that reads pictures and text as one: only its processor knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from headscope.errors import BadInput
from headscope.media.picture import Picture
from headscope.reading.media.collecting import moved
from headscope.reading.media.image_tokens import image_token
from headscope.reading.media.with_text import inputs_with_text

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

SIDE = 224  # pixels; more than one window for models that look through windows


def trial_with_picture(scope: Scope) -> dict[str, Tensor] | None:
    """A grey picture and no words; None for other models, and where there is no processor."""
    if scope.tokenizer is None or image_token(scope.model.config) is None:
        return None
    grey = Picture(np.full((SIDE, SIDE, 3), 127, np.uint8))
    try:
        return moved(scope, inputs_with_text(scope, "", [grey]))
    except BadInput:
        return None
