"""gradwire in programs that use Hugging Face's accelerate:

    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    hook = attach_accelerator(accelerator, model, "natural | entropy", optimizer=optimizer)

``accelerator.save_state`` and ``load_state`` then hold the memories of all ranks.
"""

from typing import TYPE_CHECKING, Any, Dict, Optional

import torch
from torch.nn.parallel import DistributedDataParallel

from ..attach import attach
from ..errors import Error
from ..hook import Hook

if TYPE_CHECKING:
    from accelerate import Accelerator


def attach_accelerator(
    accelerator: "Accelerator",
    model: torch.nn.Module,
    spec: str,
    *,
    optimizer: Optional[torch.optim.Optimizer] = None,
    **options: Any,
) -> Optional[Hook]:
    """Attaches to a model that ``accelerator.prepare`` returned, before its first backward pass.

    Returns the hook; nothing in a program with one process, where there is nothing to average.

    Args:
        accelerator: of the program.
        model: from ``accelerator.prepare``.
        spec: a method or a codec, as for :func:`gradwire.attach`.
        optimizer: the prepared optimizer, or the one that it wraps.
        options: further arguments of :func:`gradwire.attach`. ``scaler=`` is found.
    """
    check_options(options, "scaler")
    if not isinstance(model, DistributedDataParallel):
        if accelerator.num_processes == 1:
            return None
        raise Error(
            f"gradwire averages the gradients of DDP, and this is a {type(model).__name__}: give "
            "the model that accelerator.prepare returned, without FSDP and DeepSpeed"
        )
    hook = attach(
        model, spec, optimizer=inner_optimizer(optimizer), scaler=scaler_of(accelerator), **options
    )
    accelerator.register_for_checkpointing(_AllRanks(hook))
    return hook


class _AllRanks:
    """The states of all ranks. accelerate asks all ranks for a state, and saves that of rank 0. It
    loads it on all ranks."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def state_dict(self) -> Dict[str, Any]:
        return self._hook.full_state_dict() or {}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self._hook.load_state_dict(state)


def inner_optimizer(optimizer: Any) -> Any:
    """Without accelerate's wrapper."""
    return getattr(optimizer, "optimizer", optimizer)


def scaler_of(accelerator: Any) -> Any:
    return getattr(accelerator, "scaler", None)


def check_options(options: Any, *found: str) -> None:
    for name in found:
        if name in options:
            raise Error(f"{name}= is found without you: leave it out")
