"""Measures of heads over patches of a picture and moments of a sound."""
