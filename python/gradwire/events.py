"""Tells what happens to an elastic run, on a thread of its own."""

import threading
from typing import Callable

from . import _native


class Teller:
    """Calls ``tell_one`` with each text of :attr:`events`, until it is closed.

    A thread that waits in the extension while Python ends would abort the process, so every teller
    must be closed.
    """

    def __init__(self, tell_one: Callable[[str], None]) -> None:
        self.events = _native.ElasticEvents()
        self._thread = threading.Thread(
            target=_tell, args=(self.events, tell_one), name="gradwire events", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Tells what is left, and ends the thread."""
        self.events.close()
        if self._thread is not threading.current_thread():
            self._thread.join()


def _tell(events: _native.ElasticEvents, tell_one: Callable[[str], None]) -> None:
    for text in iter(events.take, None):
        tell_one(text)
