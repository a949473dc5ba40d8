"""How the ranks of a process group find each other for gradwire's own connections.

The connections are beside those of the group: gradwire never interferes with the collectives of
DDP, whatever their backend, and its progress thread can poll them.

The ranks meet through the store of the process group, not through a collective. A store can say
which ranks are missing, and a wait for it ends at the timeout.
"""

import os
import pickle
import secrets
import socket
import time
from datetime import timedelta
from itertools import zip_longest
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch.distributed as dist

from .errors import StartError
from .waiting import told_if_slow


class Meeting(NamedTuple):
    """Where the ranks of a group meet; the same on all of them, except for the rank."""

    rank: int
    size: int
    host: str
    port: int
    run: int


def meet(group: Any, facts: Dict[str, Any], seconds_max: float) -> Meeting:
    """Agrees on an address. All ranks of the group call it, with the same facts: the settings that
    have to be equal. Raises StartError if a rank is missing after ``seconds_max``."""
    if not dist.is_available() or not dist.is_initialized():
        raise StartError(
            "there is no process group: call torch.distributed.init_process_group first"
        )
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    address = (_own_address(), _free_port(), secrets.randbits(63)) if rank == 0 else None
    mine = (address, facts, socket.gethostname())
    all_ranks = gather(group, mine, seconds_max)
    for other, (_, theirs, _) in enumerate(all_ranks):
        check_same(all_ranks[0][1], theirs, other)
    host = all_ranks[0][0][0]
    if host.startswith("127.") and len({name for _, _, name in all_ranks}) > 1:
        raise StartError(
            f"rank 0 has no address except {host}, which other hosts cannot reach: set "
            "MASTER_ADDR to an address or a name of its host"
        )
    return Meeting(rank, size, *all_ranks[0][0])


# --- Through the store ---

#: How many meetings each group of global ranks has had in this process: all ranks count alike.
_meetings: Dict[Any, int] = {}


def gather(group: Any, mine: Any, seconds_max: float) -> List[Any]:
    """What each rank of the group gives. All ranks of the group call it."""
    members = global_ranks(group)
    if len(members) == 1:
        return [mine]
    number = _meetings[members] = _meetings.get(members, -1) + 1
    store = dist.PrefixStore(
        f"gradwire/{'-'.join(map(str, members))}/{number}",
        dist.distributed_c10d._get_default_store(),
    )
    rank = dist.get_rank(group)
    store.set(str(rank), pickle.dumps(mine))
    missing = [other for other in range(len(members)) if other != rank]
    deadline = time.monotonic() + seconds_max

    def waits_for() -> str:
        return f"waiting for {_ranks(missing)} to call gradwire, up to {seconds_max:g} s"

    with told_if_slow(waits_for):
        while missing:
            left = deadline - time.monotonic()
            try:
                store.wait([str(missing[0])], timedelta(seconds=max(left, 0.001)))
            except RuntimeError as error:  # torch has several types for this
                late = [other for other in missing if not _is_there(store, other)]
                raise StartError(
                    f"{_ranks(late)} did not call gradwire within {seconds_max:g} s: all ranks of "
                    "the process group have to call it at the same point (timeout= sets the time)"
                ) from error
            missing.pop(0)
    return [pickle.loads(store.get(str(other))) for other in range(len(members))]


def global_ranks(group: Any) -> Tuple[int, ...]:
    if group is None:
        return tuple(range(dist.get_world_size()))
    return tuple(dist.get_global_rank(group, rank) for rank in range(dist.get_world_size(group)))


def _is_there(store: Any, rank: int) -> bool:
    try:
        store.wait([str(rank)], timedelta(milliseconds=1))
        return True
    except RuntimeError:
        return False


def _ranks(ranks: List[int]) -> str:
    noun = "rank" if len(ranks) == 1 else "ranks"
    return f"{noun} {', '.join(map(str, ranks))}"


def check_same(first: Dict[str, Any], theirs: Dict[str, Any], rank: int) -> None:
    """Raises if the facts of a rank differ from those of rank 0."""
    for fact in first:
        ours, other = first[fact], theirs.get(fact)
        if ours == other:
            continue
        if isinstance(ours, list) and isinstance(other, list):  # the first difference is enough
            pairs = zip_longest(ours, other, fillvalue="none")
            ours, other = next(pair for pair in pairs if pair[0] != pair[1])
        raise StartError(
            f"rank {rank} differs from rank 0 in its {fact}: {other}, not {ours}; all ranks must "
            "call gradwire alike"
        )


# --- Addresses ---


def interface() -> Optional[str]:
    """The network interface of torch's own Gloo, if the environment sets one."""
    return os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0] or None


def _own_address() -> str:
    """An address of this host that the others can reach."""
    master = os.environ.get("MASTER_ADDR")
    if master and dist.get_rank() == 0:
        return master
    try:
        if master:  # the others also know the address on the route to the master
            family, kind, protocol, _, address = socket.getaddrinfo(
                master, 1, type=socket.SOCK_DGRAM
            )[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(address)
                return probe.getsockname()[0]
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]
