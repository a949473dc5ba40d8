"""The errors that gradwire raises, and checks of arguments that many calls have. Each message says
what, where, and what to do."""

import math
from typing import Any


class Error(RuntimeError):
    """Something in the world failed: a peer, a file, an option."""


class SpecError(Error, ValueError):
    """A spec such as ``"ef(topk(1%))"`` cannot be understood, or makes no sense."""


class FileError(Error):
    """A file, or bytes of one, cannot be read, written or understood."""


class StartError(Error):
    """The ranks did not come together, or do not fit together."""


class PeerError(Error):
    """A rank was lost: it died, fell silent or sent what it should not."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        #: The rank that is the first cause.
        self.rank = rank


def check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise Error(f"seed= takes a whole number from 0 to 2^64 - 1, not {seed!r}")


def check_timeout(timeout: Any) -> None:
    """In seconds."""
    is_number = isinstance(timeout, (int, float)) and math.isfinite(timeout)
    if not is_number or not 0.1 <= timeout <= 1e6:
        raise Error(f"timeout= takes seconds from 0.1 to 1,000,000, not {timeout!r}")
