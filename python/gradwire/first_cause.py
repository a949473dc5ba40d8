"""Which rank was lost first, where a host has several ranks.

A rank that gives up takes others along, and torch's own collectives do not say whom they miss. So
each rank that fails tells the others its suspect through the store of the process group. The first
suspect counts: ranks that fail later fail because of it.
"""

import threading
from datetime import timedelta
from typing import Callable, List, Optional

import torch.distributed as dist

from .errors import Error, PeerError
from .hosts import Host, LostWithinHost
from .meeting import global_ranks

#: For an answer of the store, which may be lost as well.
_SECONDS_MAX = 2.0

_KEY = "first"


def explain(host: Host, error: BaseException) -> BaseException:
    """The failure of a step, with the rank of the program that is its cause."""
    if isinstance(error, PeerError):
        return _named(_tell(host, global_ranks(host.peers)[error.rank]), error)
    if not isinstance(error, LostWithinHost):
        return error
    suspects = [rank for rank in global_ranks(host.local) if rank != dist.get_rank()]
    if len(suspects) == 1:
        return _named(_tell(host, suspects[0]), error)
    first = _ask(host)
    if first is not None:
        return _named(first, error)
    return Error(f"lost one of the ranks {', '.join(map(str, suspects))} of this host: {error}")


def _named(rank: int, error: BaseException) -> PeerError:
    return PeerError(f"lost rank {rank} of the program: {error}", rank)


def _tell(host: Host, suspect: int) -> int:
    """The first suspect of all ranks; this one's, if nobody was faster or the store is gone."""
    store = _store(host)
    first = _within_time(lambda: store.compare_set(_KEY, "", str(suspect)))
    return int(first) if first else suspect


def _ask(host: Host) -> Optional[int]:
    """The first suspect, if a rank tells one in time."""
    store = _store(host)

    def wait() -> bytes:
        store.wait([_KEY], timedelta(seconds=_SECONDS_MAX))
        return store.get(_KEY)

    first = _within_time(wait)
    return int(first) if first else None


def _store(host: Host) -> dist.PrefixStore:
    default = dist.distributed_c10d._get_default_store()
    return dist.PrefixStore(f"gradwire/lost/{host.run}", default)


def _within_time(call: Callable[[], bytes]) -> Optional[bytes]:
    """What the store answers. On a thread of its own, since calls to a lost store may take minutes."""
    answers: List[bytes] = []

    def ask() -> None:
        try:
            answers.append(call())
        except Exception:  # torch has several types for a store that is gone
            pass

    thread = threading.Thread(target=ask, name="gradwire first cause", daemon=True)
    thread.start()
    thread.join(2 * _SECONDS_MAX)
    return answers[0] if answers else None
