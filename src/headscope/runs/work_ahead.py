"""Work ahead: a thread prepares what comes next while the caller is busy with what came last."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
PATIENCE = 0.1  # seconds after which the thread looks whether anybody still waits for it


class _End(Generic[Item]):
    """After the last item; carries what stopped the stream, if something did."""

    def __init__(self, fault: BaseException | None = None) -> None:
        self.fault = fault


def ahead(stream: Iterable[Item], most: int = 1) -> Iterator[Item]:
    """The items of `stream`, at most `most` of them made before they are asked for."""
    ready: queue.Queue[Item | _End[Item]] = queue.Queue(most)
    left = threading.Event()

    def put(item: Item | _End[Item]) -> bool:
        while not left.is_set():
            try:
                ready.put(item, timeout=PATIENCE)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in stream:
                if not put(item):
                    return
            put(_End())
        except BaseException as fault:  # raised again where the item is asked for
            put(_End(fault))

    thread = threading.Thread(target=work, name="headscope-ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(item := ready.get(), _End):
            yield item
        if item.fault is not None:
            raise item.fault
    finally:
        left.set()
