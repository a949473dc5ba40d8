"""What a rank holds of a model whose parameters are exchanged: all of it, or its shard."""

from typing import Any, Dict, List, Optional, Tuple, Union

import torch
import torch.distributed as dist

from .lazy import broadcast_model
from .meeting import Meeting
from .recognition import check_types
from .shard import Shard
from .sharded import common_place, group_of, parameter_group, sharded_modules
from .tensors import trained_parameters


class PlainParts:
    """A model that every rank holds."""

    #: The ranks that exchange: the default process group.
    group: Optional[Any] = None
    #: Which part of the parameters this is, of how many that a host has.
    place: Tuple[int, int] = (0, 1)

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        #: By the name that the method knows.
        self.parameters: Dict[str, torch.nn.Parameter] = trained_parameters(model)
        check_types(self.parameters)

    def begin_as_first(self, meeting: Meeting) -> None:
        """All ranks begin as the first one."""
        broadcast_model(self.model, self.group, meeting)

    def part(self, tensor: torch.Tensor) -> torch.Tensor:
        """What this rank holds of a parameter or of its gradient: the same memory."""
        return tensor.detach()

    def changed(self) -> None:
        """The parameters have been replaced, outside of an optimizer's step."""


class ShardedParts(PlainParts):
    """A model that ``fully_shard`` (FSDP2) shards within a host. The ranks that hold the same shard on
    all hosts exchange it; the ranks of a host take their steps together, as FSDP2 does."""

    def __init__(self, model: torch.nn.Module, replicate: Any) -> None:
        self.model = model
        self.group = group_of(replicate)
        self._modules = sharded_modules(model)
        names = {module: name for name, module in model.named_modules()}
        shards = [Shard(parameter_group(module), names) for module in self._modules]
        self.place = common_place(shards)
        self.parameters = {n: p for shard in shards for p, n in shard.by_parameter.items()}
        check_types(self.parameters)

    def begin_as_first(self, meeting: Meeting) -> None:
        parts = [self.part(tensor) for tensor in self.model.state_dict().values()]
        mine = [part.cpu() for part in parts] if meeting.rank == 0 else None
        values: List[Any] = [mine]
        dist.broadcast_object_list(values, src=dist.get_global_rank(self.group, 0), group=self.group)
        with torch.no_grad():
            for part, value in zip(parts, values[0]):
                part.copy_(value)

    def part(self, tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.detach()
        return tensor.to_local() if hasattr(tensor, "to_local") else tensor

    def changed(self) -> None:
        """Whole parameters that FSDP2 still holds from a forward pass are those of before."""
        for module in self._modules:
            module.reshard()


Parts = Union[PlainParts, ShardedParts]
