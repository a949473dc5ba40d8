"""Which kind of model a program gives to ``attach``, and what to do about other kinds."""

from typing import Any

import torch
from torch.nn.parallel import DataParallel, DistributedDataParallel

from .errors import Error


def ddp_of(model: Any) -> DistributedDataParallel:
    """The DDP model, also inside ``torch.compile(ddp)``. Raises for everything else, with advice."""
    inner = getattr(model, "_orig_mod", model)
    if not isinstance(inner, DistributedDataParallel):
        raise Error(_advice(inner))
    if getattr(inner, "mixed_precision", None) is not None:
        raise Error(
            "DDP's mixed_precision= needs the communication hook for itself: leave it out, and use "
            "torch.autocast, or convert the model with model.bfloat16() before it is wrapped"
        )
    if getattr(inner, "_use_python_reducer", False):
        raise Error(
            'torch._dynamo.config.optimize_ddp = "python_reducer" makes DDP work without buckets, '
            "which gradwire needs: leave it at True, and wrap the model again"
        )
    return inner


def plain_of(model: Any, spec: str) -> torch.nn.Module:
    """A model that nothing averages yet, also inside ``torch.compile(model)``. Raises for others."""
    inner = getattr(model, "_orig_mod", model)
    if isinstance(inner, (DistributedDataParallel, DataParallel)) or _has_class(inner, "FSDPModule"):
        raise Error(
            f"{spec} lets every rank take optimizer steps of its own, and {type(inner).__name__} "
            "averages the gradients of each step: give attach the model that is not wrapped"
        )
    if not isinstance(inner, torch.nn.Module):
        raise Error(f"attach takes a torch.nn.Module, not a {type(inner).__name__}")
    return inner


def sharded_of(model: Any) -> torch.nn.Module:
    """The model of ``fully_shard``, also inside ``torch.compile(model)``. Raises for everything else,
    with advice."""
    inner = getattr(model, "_orig_mod", model)
    if is_fully_sharded(inner):
        return inner
    if isinstance(inner, DistributedDataParallel) or _has_class(inner, "FullyShardedDataParallel"):
        raise Error(
            "replicate= is for models that fully_shard (FSDP2) shards, not for "
            f"{type(inner).__name__}: leave it out for DistributedDataParallel"
        )
    raise Error(
        f"replicate= is for models that fully_shard (FSDP2) shards: call fully_shard(model, "
        f"mesh=mesh['shard']) for the whole {type(inner).__name__} first"
    )


def is_fully_sharded(model: Any) -> bool:
    """Whether ``fully_shard`` (FSDP2) was applied to the model."""
    return _has_class(model, "FSDPModule") and not _is_replicated(model)


def check_types(parameters: Any) -> None:
    """Of named parameters: all must be real numbers."""
    for name, parameter in parameters.items():
        if parameter.is_complex() or not parameter.is_floating_point():
            raise Error(
                f"parameter '{name}' has type {parameter.dtype}: gradwire averages gradients of "
                "real numbers only. Store real and imaginary parts as two parameters, or leave "
                "this one out of DDP"
            )


def _advice(model: Any) -> str:
    kind = type(model).__name__
    if _has_class(model, "FullyShardedDataParallel"):
        return (
            "FullyShardedDataParallel (FSDP1) has no place for a hook between hosts: shard the "
            "model with torch.distributed.fsdp.fully_shard (FSDP2), and call "
            "gradwire.attach(model, spec, replicate=GROUP)"
        )
    if is_fully_sharded(model):
        return (
            f"{kind} is sharded by fully_shard: give replicate=, the mesh or process group of the "
            "ranks on other hosts that hold the same shard"
        )
    if _is_replicated(model):
        return (
            "replicate() has no communication hook that gradwire could use: wrap the model with "
            "torch.nn.parallel.DistributedDataParallel instead"
        )
    if isinstance(model, DataParallel):
        return (
            "DataParallel runs in one process, where nothing is exchanged: use "
            "torch.nn.parallel.DistributedDataParallel, with one process for each device"
        )
    if isinstance(model, torch.nn.Module):
        return (
            f"{kind} is no DistributedDataParallel model: wrap it first, as in "
            "attach(DistributedDataParallel(model), ...)"
        )
    return f"attach takes a DistributedDataParallel model, not a {kind}"


def _has_class(model: Any, name: str) -> bool:
    """By name: old versions of torch do not have all of these classes."""
    return any(base.__name__ == name for base in type(model).__mro__)


def _is_replicated(model: Any) -> bool:
    if _has_class(model, "ReplicateModule"):
        return True
    try:
        from torch.distributed._composable.contract import _get_registry

        return "replicate" in (_get_registry(model) or {})
    except (ImportError, AttributeError, TypeError, RuntimeError):
        return False
