"""The end of a program: whoever still averages leaves in order, or tells the others of a failure."""

import atexit
import os
import sys
from typing import Any, List, Tuple

from .errors import Error

# With their process, since one that was forked has no part in it; in the order in which they were
# made, which all ranks share.
_open: List[Tuple[int, Any]] = []


def add(who: Any) -> None:
    """``who.leave(is_failing)`` is called at the end, unless it is removed before."""
    _open.append((os.getpid(), who))


def remove(who: Any) -> None:
    _open[:] = [entry for entry in _open if entry[1] is not who]


@atexit.register
def _leave_all() -> None:
    is_failing = getattr(sys, "last_value", None) is not None
    for process, who in list(_open):
        if process != os.getpid():
            continue
        try:
            who.leave(is_failing)
        except Error as error:
            print(f"gradwire: {error}", file=sys.stderr)
