"""Results: what every table of heads answers to, and how it is kept in one file."""

from headscope.results.result import COLUMNS as COLUMNS
from headscope.results.result import HeadResult as HeadResult
from headscope.results.result import of_layers as of_layers
from headscope.results.result import tidy as tidy
