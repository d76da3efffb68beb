"""Five kinds of attention map: vertical, diagonal, both, block, heterogeneous."""

from headscope.patterns.kinds.classify import KINDS as KINDS
from headscope.patterns.kinds.classify import classify as classify
from headscope.patterns.kinds.classify import map_kinds as map_kinds
from headscope.patterns.kinds.classify import shares as shares
