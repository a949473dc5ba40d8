"""Several ranks on a host: which they are, and how they add up gradients before hosts exchange them.

The ranks of a host add up their gradients over the caller's own backend, and each of them gets a part
of the sum: a range of rows of every parameter. It exchanges this part with the ranks of the other
hosts that have the same one. What crosses the network does not depend on the number of ranks on a
host.
"""

import os
import secrets
import socket
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
import torch.distributed as dist

from .errors import Error
from .meeting import check_same, gather as gather_facts, global_ranks
from .tensors import Names, Piece, shape_of

#: "auto"; a number of hosts, with as many consecutive ranks each; or the host of every rank.
HostsOption = Union[str, int, Sequence[Any]]


#: Smaller parameters are not cut, since every part has a header in every message.
_CUT_ELEMENTS_MIN = 4096


class Host(NamedTuple):
    """The ranks of one host, as one of them sees them."""

    index: int  # of this rank among them
    ranks: int
    local: Any  # their process group
    peers: Any  # the process group of the ranks with this index on all hosts
    run: int  # a random number that all ranks share


def find_host(
    group: Any, hosts: HostsOption, facts: Dict[str, Any], seconds_max: float
) -> Optional[Host]:
    """None if every host has one rank. All ranks of the group call it, with the same facts."""
    mine = (_label(group, hosts), facts, secrets.randbits(63))
    all_ranks = gather_facts(group, mine, seconds_max)
    _, first_facts, run = all_ranks[0]
    for rank, (_, theirs, _) in enumerate(all_ranks):
        check_same(first_facts, theirs, rank)
    members = global_ranks(group)
    by_host: Dict[Any, List[int]] = {}
    for rank, (label, _, _) in enumerate(all_ranks):
        by_host.setdefault(label, []).append(members[rank])
    counts = {str(label): len(ranks) for label, ranks in by_host.items()}
    if len(set(counts.values())) > 1:
        raise Error(
            f"hosts= needs the same number of ranks on every host, and there are {counts}: start as "
            "many on each, or attach without hosts="
        )
    return _make_groups(group, list(by_host.values()), run)


def _label(group: Any, hosts: HostsOption) -> Any:
    """What tells the host of this rank apart from others."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    if hosts == "auto":
        # As torchrun has it. Without torchrun, the host's own name.
        names = (os.environ.get("GROUP_RANK"), os.environ.get("LOCAL_WORLD_SIZE"))
        return f"group {names[0]}" if all(names) else socket.gethostname()
    if isinstance(hosts, int) and not isinstance(hosts, bool):
        if hosts < 1 or size % hosts != 0:
            raise Error(f"hosts={hosts} does not divide the {size} ranks into hosts of equal size")
        return rank * hosts // size
    if isinstance(hosts, (list, tuple)) and len(hosts) == size:
        return hosts[rank]
    raise Error(
        f"hosts= takes 'auto', a number of hosts, or a list of the hosts of all {size} ranks, not "
        f"{hosts!r}"
    )


def _is_whole(group: Any) -> bool:
    return dist.get_world_size(group) == dist.get_world_size()


def _make_groups(group: Any, hosts: List[List[int]], run: int) -> Optional[Host]:
    ranks = len(hosts[0])
    if ranks == 1:
        return None
    mine = dist.get_rank()
    more = {} if _is_whole(group) else {"backend": dist.get_backend(group)}
    try:
        if not _is_whole(group):  # others do not take part
            more["use_local_synchronization"] = True
        groups = {}
        for members in hosts + [list(peers) for peers in zip(*hosts)]:
            if _is_whole(group) or mine in members:
                groups[tuple(members)] = dist.new_group(members, **more)
    except TypeError as error:
        raise Error(
            f"torch {torch.__version__} cannot make process groups among some ranks only: with "
            "hosts=, give DistributedDataParallel the group of all ranks"
        ) from error
    (local,) = [members for members in hosts if mine in members]
    index = local.index(mine)
    peers = tuple(members[index] for members in hosts)
    return Host(index, ranks, groups[tuple(local)], groups[peers], run)


# --- Parts of parameters ---


class Part(NamedTuple):
    """A range of elements of a parameter, in the order in which they lie in memory."""

    elements: int
    stand_in: torch.Tensor  # its shape, without memory


class Parts:
    """How parameters are cut, and which parts are this rank's."""

    def __init__(self, parameters: Dict[str, torch.Tensor], host: Host) -> None:
        self._host = host
        self._cut: Dict[torch.Tensor, List[Part]] = {}
        #: Of this rank's parts, by what stands for them.
        self.names: Names = {}
        #: The same names, by parameter.
        self.by_parameter: Names = {}
        for number, (name, parameter) in enumerate(parameters.items()):
            shape = shape_of(parameter) or [1]
            ends = _row_ends(shape[0], parameter.numel(), host.ranks, number % host.ranks)
            parts = []
            for first, end in zip(ends, ends[1:]):
                stand_in = torch.empty([end - first] + shape[1:], device="meta")
                parts.append(Part(stand_in.numel(), stand_in))
            self._cut[parameter] = parts
            own = parts[host.index]
            if own.elements > 0:
                first, end = ends[host.index], ends[host.index + 1]
                is_whole = end - first == shape[0]
                part_name = name if is_whole else f"{name}[{first}:{end}]"
                self.names[own.stand_in] = self.by_parameter[parameter] = part_name
        cuts = self._cut.values()
        if min(sum(parts[rank].elements for parts in cuts) for rank in range(host.ranks)) == 0:
            raise Error(f"the model is too small to be cut into a part for each of {host.ranks} ranks")
        self._layouts: Dict[Tuple[int, ...], "Layout"] = {}

    def layout(self, parameters: Sequence[torch.Tensor]) -> "Layout":
        """Of a bucket with these parameters."""
        key = tuple(map(id, parameters))
        if key not in self._layouts:
            self._layouts[key] = Layout([self._cut[p] for p in parameters], self._host)
        return self._layouts[key]


def _row_ends(rows: int, elements: int, ranks: int, owner: int) -> List[int]:
    """Where the part of each rank begins, and the end of the last. A small parameter is not cut: one
    rank has it all."""
    if elements < _CUT_ELEMENTS_MIN:
        return [rows if rank > owner else 0 for rank in range(ranks + 1)]
    return [rank * rows // ranks for rank in range(ranks + 1)]


class Layout:
    """Where the parts of a bucket's parameters lie when those of one rank are put together."""

    def __init__(self, cut: List[List[Part]], host: Host) -> None:
        ranks = range(host.ranks)
        self._by_parameter = [part.elements for parts in cut for part in parts]
        sizes = [[parts[rank].elements for parts in cut] for rank in ranks]
        self.elements = max(map(sum, sizes))  # of a rank, padded
        self._by_rank: List[int] = []
        for own in sizes:
            self._by_rank += own + [self.elements - sum(own)]
        self._padding = [torch.zeros(self.elements - sum(own)) for own in sizes]
        #: This rank's parts.
        self.own: List[Piece] = []
        first = 0
        for parts in cut:
            part = parts[host.index]
            if part.elements > 0:
                self.own.append(Piece(part.stand_in, first, part.elements))
            first += part.elements
        count = len(cut)
        self._to_ranks = [[p * host.ranks + rank for p in range(count)] for rank in ranks]
        self._to_parameters = [rank * (count + 1) + p for p in range(count) for rank in ranks]

    def pack(self, values: torch.Tensor) -> torch.Tensor:
        """A row for each rank of the host, of floats that lie parameter by parameter."""
        views = values.split(self._by_parameter)
        ordered = []
        for order, padding in zip(self._to_ranks, self._padding):
            ordered += [views[i] for i in order] + [padding.to(values.device)]
        return torch.cat(ordered).view(len(self._to_ranks), self.elements)

    def unpack(self, rows: torch.Tensor, target: torch.Tensor) -> None:
        """The reverse, with the parts of all ranks."""
        views = rows.view(-1).split(self._by_rank)
        target.copy_(torch.cat([views[i] for i in self._to_parameters]))


# --- Within a host ---


class LostWithinHost(RuntimeError):
    """Torch's own collective among the ranks of this host failed; it does not say whom it misses."""


@contextmanager
def _within_host() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise LostWithinHost(str(error)) from error


class Sum:
    """This rank's part of a sum that is under way."""

    def __init__(self, host: Host, rows: torch.Tensor) -> None:
        self._rows = rows
        with _within_host():
            self._start(host, rows)

    def _start(self, host: Host, rows: torch.Tensor) -> None:
        try:
            self.part = torch.empty_like(rows[0])
            self._work = [
                dist.reduce_scatter(self.part, list(rows), group=host.local, async_op=True)
            ]
        except RuntimeError as error:
            if "support" not in str(error):
                raise
            # Gloo of torch 1.13: one part after the other goes to its rank.
            ranks = global_ranks(host.local)
            self._work = [
                dist.reduce(row, rank, group=host.local, async_op=True)
                for row, rank in zip(rows, ranks)
            ]
            self.part = rows[host.index]

    def wait(self) -> torch.Tensor:
        with _within_host():
            for work in self._work:
                work.wait()
        return self.part


def gather(host: Host, part: torch.Tensor) -> torch.Tensor:
    """The parts of all ranks of the host, a row each."""
    rows = part.new_empty(host.ranks, part.numel())
    with _within_host():
        dist.all_gather(list(rows), part, group=host.local)
    return rows
