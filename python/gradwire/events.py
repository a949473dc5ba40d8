"""Tells what happens to an elastic run, on a thread of its own."""

import atexit
import threading
import weakref
from typing import Callable

from . import _native

_open: "weakref.WeakSet[Teller]" = weakref.WeakSet()


class Teller:
    """Calls ``tell_one`` with each text of :attr:`events`, until it is closed."""

    def __init__(self, tell_one: Callable[[str], None]) -> None:
        self.events = _native.ElasticEvents()
        self._thread = threading.Thread(
            target=_tell, args=(self.events, tell_one), name="gradwire events", daemon=True
        )
        self._thread.start()
        _open.add(self)

    def close(self) -> None:
        """Tells what is left, and ends the thread."""
        self.events.close()
        if self._thread is not threading.current_thread():
            self._thread.join()


def _tell(events: _native.ElasticEvents, tell_one: Callable[[str], None]) -> None:
    for text in iter(events.take, None):
        tell_one(text)


@atexit.register
def _close_all() -> None:
    """A thread that waits in the extension while Python ends would abort the process."""
    for teller in list(_open):
        teller.close()
