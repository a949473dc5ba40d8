"""The end of a program: whoever still averages leaves in order, or tells the others of a failure."""

import atexit
import multiprocessing
import multiprocessing.util
import os
import sys
from typing import Any, List, Set, Tuple

from .errors import Error

# With their process, since one that was forked has no part in it; in the order in which they were
# made, which all ranks share.
_open: List[Tuple[int, Any]] = []


def add(who: Any) -> None:
    """``who.leave(is_failing)`` is called at the end, unless it is removed before."""
    _open.append((os.getpid(), who))
    _watch_the_end()


def remove(who: Any) -> None:
    _open[:] = [entry for entry in _open if entry[1] is not who]


_watched: Set[int] = set()


def _watch_the_end() -> None:
    """A process of multiprocessing may end without what atexit does."""
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
    for process, who in list(_open):
        if process != os.getpid():
            continue
        try:
            who.leave(is_failing)
        except Error as error:
            print(f"gradwire: {error}", file=sys.stderr)
