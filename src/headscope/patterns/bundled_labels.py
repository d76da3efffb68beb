"""The bundled model's labels, measured once over a corpus and shipped beside it."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FILE = "labels.json"


def bundled_labels() -> pd.DataFrame:
    """The bundled model's labels, measured over 400 pairs of sentences.

    Returns
    -------
    pandas.DataFrame
        The columns of `labels`.

    Examples
    --------
    >>> import headscope as hs
    >>> "label" in hs.bundled_labels()
    True
    """
    return _stored().copy()


@cache
def _stored() -> pd.DataFrame:
    import pandas as pd

    text = (resources.files("headscope.models") / "bundled" / FILE).read_text("utf-8")
    return pd.DataFrame(json.loads(text)["labels"])
