"""Ctrl-C while torch's C++ code is calling gradwire.

torch turns any exception of a communication hook into a RuntimeError, a KeyboardInterrupt, too. A
program that saves its work in ``except KeyboardInterrupt`` would miss it. So an interrupt that
arrives within a hook waits until the hook has returned; then it reaches the program as always.
"""

import functools
import signal
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Optional, Set, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

#: How long an interrupt waits before it tries again.
_RETRY_SECONDS = 0.01

# The code of functions that C++ calls.
_guarded: Set[CodeType] = set()

# Called when no such function is running.
_handler: Any = None


def guarded(function: Function) -> Function:
    """A function that C++ calls: Ctrl-C waits for its end."""
    _guarded.add(function.__code__)
    return function


def guard_interrupts() -> None:
    """From now on. A handler that the program sets later replaces this one."""
    global _handler
    if threading.current_thread() is not threading.main_thread():
        return  # Python handles signals, and lets programs set handlers, on the main thread only
    current = signal.getsignal(signal.SIGINT)
    if current is _on_interrupt or not callable(current):
        return
    _handler = current
    signal.signal(signal.SIGINT, _on_interrupt)


def _on_interrupt(number: int, frame: Optional[FrameType]) -> Any:
    if not _is_within_guarded(frame):
        return _handler(number, frame)
    retry = threading.Timer(_RETRY_SECONDS, functools.partial(signal.raise_signal, number))
    retry.daemon = True
    retry.start()
    return None


def _is_within_guarded(frame: Optional[FrameType]) -> bool:
    while frame is not None:
        if frame.f_code in _guarded:
            return True
        frame = frame.f_back
    return False
