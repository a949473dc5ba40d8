"""Checks of arguments that many calls have. Each message says what, where, and what to do."""

import math
import os
from typing import Any

from .errors import Error


def check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise Error(f"seed= takes a whole number from 0 to 2^64 - 1, not {seed!r}")


def check_timeout(timeout: Any) -> None:
    """In seconds."""
    is_number = isinstance(timeout, (int, float)) and math.isfinite(timeout)
    if not is_number or not 0.1 <= timeout <= 1e6:
        raise Error(f"timeout= takes seconds from 0.1 to 1,000,000, not {timeout!r}")


def check_codec_threads(threads: Any) -> None:
    if threads is None:
        return
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise Error(f"codec_threads= takes a whole number from 1 to 1024, not {threads!r}")


def check_streams(streams: Any) -> None:
    if isinstance(streams, bool) or not isinstance(streams, int) or not 1 <= streams <= 64:
        raise Error(f"streams= takes a whole number from 1 to 64, not {streams!r}")


def check_grace(share: Any) -> None:
    if share is None:
        return
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
        raise Error(f"grace= takes a share of the ranks above 0 and at most 1, not {share!r}")


def check_spec(spec: Any) -> None:
    if not isinstance(spec, str):
        raise Error(f"a spec is a text such as 'ef(topk(1%))', not a {type(spec).__name__}")


def check_place(topology: Any, interface: Any, record: Any, overwrite: Any) -> None:
    """The network and the record."""
    if not isinstance(topology, str):
        raise Error(f"topology= takes a name such as 'auto', not {topology!r}")
    if interface is not None and not isinstance(interface, str):
        raise Error(f"interface= takes a name such as 'eth0', not {interface!r}")
    if record is not None and not isinstance(record, (str, os.PathLike)):
        raise Error(f"record= takes the path of a directory, not {record!r}")
    if not isinstance(overwrite, bool):
        raise Error(f"overwrite= takes True or False, not {overwrite!r}")


def check_remark(loss: Any, samples: Any, test_loss: Any, accuracy: Any) -> None:
    """Checks the figures that a program logs for a step."""
    for name, value in (("loss", loss), ("test_loss", test_loss), ("accuracy", accuracy)):
        if value is not None and (isinstance(value, bool) or not _is_number(value)):
            raise Error(f"{name}= takes a number, not {value!r}")
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise Error(f"samples= takes a whole number from 1 on, not {samples!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or hasattr(value, "__float__")
