"""How the ranks of a process group find one another for gradwire's own connections.

They are its own, beside those of the group: nothing of gradwire can get in between the collectives
of DDP, whatever backend these use, and its progress thread can poll them.
"""

import os
import secrets
import socket
from itertools import zip_longest
from typing import Any, Dict, List, NamedTuple, Optional

import torch.distributed as dist

from .errors import StartError


class Meeting(NamedTuple):
    """Where the ranks of a group meet; the same on all of them, but for the rank."""

    rank: int
    size: int
    host: str
    port: int
    run: int


def meet(group: Any, facts: Dict[str, Any]) -> Meeting:
    """Agrees on a place. All ranks of the group at once, and with the same facts: what they want to
    do there."""
    if not dist.is_available() or not dist.is_initialized():
        raise StartError(
            "there is no process group: call torch.distributed.init_process_group first"
        )
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    place = (_own_address(), _free_port(), secrets.randbits(63)) if rank == 0 else None
    mine = (place, facts, socket.gethostname())
    all_ranks: List[Any] = [mine]
    if size > 1:
        all_ranks = [None] * size
        dist.all_gather_object(all_ranks, mine, group=group)
    for other, (_, theirs, _) in enumerate(all_ranks):
        _check_same(all_ranks[0][1], theirs, other)
    address = all_ranks[0][0][0]
    if address.startswith("127.") and len({host for _, _, host in all_ranks}) > 1:
        raise StartError(
            f"rank 0 knows no address but {address}, where other hosts do not reach it: set "
            "MASTER_ADDR to an address or a name of its host"
        )
    return Meeting(rank, size, *all_ranks[0][0])


def _check_same(first: Dict[str, Any], theirs: Dict[str, Any], rank: int) -> None:
    for fact in first:
        ours, other = first[fact], theirs.get(fact)
        if ours == other:
            continue
        if isinstance(ours, list) and isinstance(other, list):  # the first that differs will do
            pairs = zip_longest(ours, other, fillvalue="none")
            ours, other = next(pair for pair in pairs if pair[0] != pair[1])
        raise StartError(
            f"rank {rank} differs from rank 0 in its {fact}: {other}, not {ours}; all ranks must "
            "call gradwire alike"
        )


def interface() -> Optional[str]:
    """The network interface that torch's own Gloo would use, if somebody said so."""
    return os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0] or None


def _own_address() -> str:
    """Where the others reach this host."""
    master = os.environ.get("MASTER_ADDR")
    if master and dist.get_rank() == 0:
        return master
    try:
        if master:  # the address on the way to the master is one that the others know, too
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
