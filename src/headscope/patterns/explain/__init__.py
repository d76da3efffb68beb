"""Why a head shows a pattern: its neurons, and three named mechanisms."""

from headscope.patterns.explain.explanation import Explanation as Explanation
from headscope.patterns.explain.explanation import explain as explain
from headscope.patterns.explain.position import position_aware as position_aware
from headscope.patterns.explain.sentence import sentence_sign as sentence_sign
from headscope.patterns.explain.separator import separator_matching as separator_matching
