"""Patterns: named behaviours of heads, how they are scored, and why heads show them."""

from headscope.patterns.as_statistics import pattern_measures as pattern_measures
from headscope.patterns.bundled_labels import bundled_labels as bundled_labels
from headscope.patterns.known import pattern_named as pattern_named
from headscope.patterns.known import patterns as patterns
from headscope.patterns.labels import labels as labels
from headscope.patterns.labels import pattern_table as pattern_table
from headscope.patterns.labels import quick_labels as quick_labels
from headscope.patterns.leave_two_out import predictive as predictive
from headscope.patterns.stability import label_stability as label_stability
