"""A line on standard error when a rank waits for others longer than a user expects."""

import sys
import threading
from contextlib import contextmanager
from typing import Callable, Iterator

#: Shorter waits are normal: ranks start at different times.
_PATIENCE_SECONDS = 5.0


@contextmanager
def told_if_slow(what: Callable[[], str]) -> Iterator[None]:
    """While the block runs longer than a few seconds, the user is told once what it waits for."""
    timer = threading.Timer(_PATIENCE_SECONDS, lambda: tell(what()))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def tell(text: str) -> None:
    print(f"gradwire: {text}", file=sys.stderr, flush=True)
