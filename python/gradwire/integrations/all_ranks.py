"""A hook's state for frameworks that save checkpoints on one rank and load them on all."""

from typing import Any, Dict, List

import torch.distributed as dist

from ..hook import Hook


def gather(hook: Hook) -> List[Any]:
    """The states of all ranks, in their order. All ranks call it."""
    states: List[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(states, hook.state_dict())
    return states


def deal_out(states: List[Any], hook: Hook) -> None:
    """Goes on from what :func:`gather` returned, with any number of ranks. All ranks call it."""
    hook.load_state_dict(states)


class AllRanks:
    """``state_dict`` and ``load_state_dict`` of a hook, for all ranks together."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def state_dict(self) -> Dict[str, Any]:
        return {"ranks": gather(self._hook)}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        deal_out(state["ranks"], self._hook)
