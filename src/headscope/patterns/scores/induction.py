"""Attention to the token that followed an earlier copy of this one, read on repeated random
tokens so that nothing but the repetition can guide the head."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import pad

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pools import earlier
from headscope.patterns.token_pairs import TokenPairs


def targets(pairs: TokenPairs) -> Tensor:
    copies = earlier(pairs) & pairs.same_token
    after_copy = pad(copies[..., :-1], (1, 0))
    # the token itself follows a copy when a word is doubled; that is not looking back
    return after_copy & (pairs.offset < -1)


pattern = MassPattern(
    name="induction",
    label="induction",
    about="attends to what followed an earlier copy of the token",
    least_score=0.3,
    least_lift=4.0,
    source="repeats",
    causal=True,
    paper="Olsson et al. 2022",
    targets=targets,
    pool=earlier,
)
