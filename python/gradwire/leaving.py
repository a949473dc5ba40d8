"""The end of averaging: at the end of the program, or when the program drops a model and its hook.

A participant that works well leaves in order; otherwise the other ranks are told of a failure.
"""

import atexit
import multiprocessing
import multiprocessing.util
import os
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Set

from .errors import Error


class Health:
    """Whether a participant can leave in order."""

    def __init__(self) -> None:
        self.failure: Optional[BaseException] = None
        #: The other ranks wait for this one.
        self.is_within_step = False

    def is_good(self) -> bool:
        return self.failure is None and not self.is_within_step


# By the participant's id, in the order in which they were made, which all ranks share. Only the
# process that made one ends it: a forked one has no part in it.
_open: Dict[int, "weakref.finalize"] = {}
_makers: Dict[int, int] = {}

# Threads that end dropped participants.
_endings: List[threading.Thread] = []


def add(who: Any, averager: Any, stop: Callable[[], Any], health: Health) -> None:
    """``who.leave(is_failing)`` is called at the end of the program, unless it is removed before.
    If ``who`` is dropped, its averager is closed in the background."""
    dropped = weakref.finalize(who, _end_dropped, id(who), averager, stop, health)
    dropped.atexit = False
    _open[id(who)] = dropped
    _makers[id(who)] = os.getpid()
    _watch_the_end()


def remove(who: Any) -> None:
    dropped = _open.pop(id(who), None)
    if dropped is not None:
        dropped.detach()


def _end_dropped(key: int, averager: Any, stop: Callable[[], Any], health: Health) -> None:
    _open.pop(key, None)
    if _makers.pop(key, None) != os.getpid():
        return

    def end() -> None:
        stop()
        try:
            averager.close() if health.is_good() else averager.abandon()
        except Error as error:
            print(f"gradwire: {error}", file=sys.stderr)

    thread = threading.Thread(target=end, name="gradwire end", daemon=True)
    _endings.append(thread)
    thread.start()


_watched: Set[int] = set()


def _watch_the_end() -> None:
    """A process of multiprocessing may end without atexit."""
    if multiprocessing.parent_process() is None or os.getpid() in _watched:
        return
    _watched.add(os.getpid())
    multiprocessing.util.Finalize(None, _leave_all, exitpriority=0)


def _is_failing() -> bool:
    error = sys.exc_info()[1] or getattr(sys, "last_value", None)
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    return error is not None


@atexit.register
def _leave_all() -> None:
    is_failing = _is_failing()
    for key, dropped in list(_open.items()):
        alive = dropped.peek()
        if alive is None or _makers.get(key) != os.getpid():
            continue
        try:
            alive[0].leave(is_failing)
        except Error as error:
            print(f"gradwire: {error}", file=sys.stderr)
    for thread in _endings:
        thread.join()
