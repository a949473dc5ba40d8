"""The state of a hook, as dictionaries for ``torch.save``."""

from typing import Any, Dict, List, Optional, Sequence, Union

import torch
import torch.distributed as dist

from . import _native
from .errors import Error

#: Of the dictionaries; they are refused by a gradwire that does not know them.
_VERSION = 1

State = Dict[str, Any]

#: The states of all ranks, under the key "states".
FullState = Dict[str, Any]


def pack(
    spec: str,
    rank: int,
    ranks: int,
    step: int,
    method: Optional[bytes],
    more: Dict[str, Any],
) -> State:
    """One rank's state. The method's part is a tensor of bytes, exact to the bit; ``more`` is the
    same on all ranks."""
    return {
        "version": _VERSION,
        "spec": spec,
        "rank": rank,
        "ranks": ranks,
        "step": step,
        "method": None
        if method is None
        else torch.frombuffer(bytearray(method), dtype=torch.uint8),
        "more": more,
    }


def gather(mine: State, group: Any, on_all_ranks: bool) -> Optional[FullState]:
    """The full state on rank 0 of the group, or on all ranks. All ranks call it."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    all_states: List[Any] = [mine] if size == 1 else [None] * size
    if size > 1 and (on_all_ranks or dist.get_backend(group) != "gloo"):
        dist.all_gather_object(all_states, mine, group=group)
    elif size > 1:
        is_first = rank == 0
        dist.gather_object(mine, all_states if is_first else None, _first(group), group=group)
    if rank != 0 and not on_all_ranks:
        return None
    return {"version": _VERSION, "spec": mine["spec"], "states": all_states}


def scatter(full: Optional[FullState], group: Any) -> FullState:
    """The full state of rank 0, on all ranks. All ranks call it."""
    given: List[Any] = [full]
    if dist.get_world_size(group) > 1:
        dist.broadcast_object_list(given, src=_first(group), group=group)
    if given[0] is None:
        raise Error("rank 0 has no state to load: give it what hook.full_state_dict() returned")
    return given[0]


def _first(group: Any) -> int:
    return 0 if group is None else dist.get_global_rank(group, 0)


def of_rank(
    state: Union[State, FullState, Sequence[State]], spec: str, rank: int, ranks: int
) -> State:
    """The state from which this rank continues: its own, or its share of those of all old ranks.

    Raises if this is no state, or the state of another method or rank.
    """
    if isinstance(state, dict) and "states" in state:
        state = state["states"]
    mine = state
    if isinstance(state, (list, tuple)):
        is_same_number = len(state) == ranks  # then each rank keeps its own
        mine = state[rank] if is_same_number else reshare(state, rank, ranks)
    _check(mine, spec)
    if (mine["rank"], mine["ranks"]) != (rank, ranks):
        raise Error(
            f"the state is that of rank {mine['rank']} of {mine['ranks']}, and this is rank "
            f"{rank} of {ranks}: give load_state_dict the list of the states of all old ranks"
        )
    return mine


def _check(state: State, spec: Optional[str] = None) -> None:
    fields = ("version", "spec", "rank", "ranks", "step", "method", "more")
    if not isinstance(state, dict) or any(field not in state for field in fields):
        raise Error("this is not the state of a gradwire hook: give what hook.state_dict() returned")
    if state["version"] != _VERSION:
        raise Error(
            f"the state is of version {state['version']}, and this gradwire knows {_VERSION}"
        )
    if spec is not None and state["spec"] != spec:
        raise Error(f"the state is one of {state['spec']}, and the hook is {spec}")


def part_of(state: State) -> Sequence[int]:
    """Which part of the parameters a state belongs to, of how many that a host has."""
    _check(state)
    return state["more"].get("part", (0, 1))


def more_of(state: State, field: str) -> Any:
    """What is beside the method's part."""
    if not isinstance(state["more"], dict) or field not in state["more"]:
        raise Error(f"the state has no '{field}': was it made by another class of gradwire?")
    return state["more"][field]


def method_bytes(state: State) -> Optional[bytes]:
    """The method's part, as the library takes it; nothing where no step was done."""
    packed = state["method"]
    if packed is not None and not isinstance(packed, torch.Tensor):
        raise Error(f"the method's part of a state is a tensor, not a {type(packed).__name__}")
    return None if packed is None else packed.cpu().numpy().tobytes()


def reshare(states: Sequence[State], rank: int, ranks: int) -> State:
    """The state of ``rank`` among ``ranks``, made of the states of all old ranks, in their order.

    Memories of workers keep their mean, those that all ranks share are taken over, and those of
    owners are dealt out anew. :meth:`Hook.load_state_dict` does this for a list of states.
    """
    if not isinstance(states, (list, tuple)) or not states:
        raise Error("reshare takes the list of the states of all old ranks, in their order")
    if not all(isinstance(number, int) for number in (rank, ranks)) or not 0 <= rank < ranks:
        raise Error(f"there is no rank {rank!r} among {ranks!r}")
    _check(states[0])
    for state in states:
        _check(state, states[0]["spec"])
        if state["step"] != states[0]["step"]:
            raise Error(
                f"the state of rank {state['rank']} is that of step {state['step']}, "
                f"and that of rank {states[0]['rank']} of step {states[0]['step']}"
            )
    methods: List[Optional[bytes]] = [method_bytes(state) for state in states]
    method = None
    if all(packed is not None for packed in methods):
        method = _native.reshare(methods, rank, ranks)
    first = states[0]
    return pack(first["spec"], rank, ranks, first["step"], method, first["more"])
