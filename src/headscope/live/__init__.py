"""The model in the page: a live page runs it in the reader's browser."""

from headscope.live.page import live_page

__all__ = ["live_page"]
