"""The one door to a model's attention: `with capture(model, sink): model(**inputs)`."""

from headscope.capture.call import Again, Call, Kind, Output, Queries, ReadAt, Sink
from headscope.capture.door import capture

__all__ = ["Again", "Call", "Kind", "Output", "Queries", "ReadAt", "Sink", "capture"]
