"""``attach``: the one call that a program adds."""

import os
from typing import Any, Optional, Union

import torch

from . import _native
from .checks import check_spec
from .ddp import DdpHook
from .errors import Error
from .hook import Hook
from .hosts import HostsOption
from .local import LocalSteps
from .parts import PlainParts, ShardedParts
from .participant import Options
from .recognition import ddp_of, plain_of, sharded_of
from .security import Security
from .sharded import ShardedHook
from .tensorboard import Place

#: Arguments that methods do not take where ranks take steps of their own.
_NOT_WITH_LOCAL_STEPS = {
    "hosts": "{spec} takes no hosts=: every rank takes steps of its own",
    "scaler": (
        "{spec} needs a step of every rank, and a GradScaler leaves steps out on some ranks: use "
        "autocast with bfloat16, which needs no scaler"
    ),
}

#: Arguments that do not go with late ranks.
_NOT_WITH_GRACE = {
    "hosts": "grace= takes no hosts=: the ranks of a host wait for one another",
    "scaler": (
        "grace= takes no scaler=: owners work on their memories between steps, when a GradScaler "
        "rescales them; use autocast with bfloat16, which needs no scaler"
    ),
    "replicate": "grace= is for DDP: the ranks of fully_shard wait for one another",
}


def attach(
    model: torch.nn.Module,
    spec: str,
    *,
    replicate: Optional[Any] = None,
    hosts: Optional[HostsOption] = None,
    optimizer: Optional[torch.optim.Optimizer] = None,
    scaler: Optional[Any] = None,
    topology: str = "auto",
    seed: int = 0,
    record: Optional[Union[str, "os.PathLike[str]"]] = None,
    overwrite: bool = False,
    interface: Optional[str] = None,
    timeout: float = 60.0,
    codec_threads: Optional[int] = None,
    streams: int = 1,
    grace: Optional[float] = None,
    tensorboard: Optional[Place] = None,
    secret: Optional[Union[str, "os.PathLike[str]", bytes]] = None,
    tls_cert: Optional[Union[str, "os.PathLike[str]"]] = None,
    tls_key: Optional[Union[str, "os.PathLike[str]"]] = None,
    tls_ca: Optional[Union[str, "os.PathLike[str]"]] = None,
) -> Union[Hook, LocalSteps]:
    """Averages the gradients of a model with the method that ``spec`` names, from now on.

    All ranks of the model's process group call it at the same point, after the model was wrapped and
    before its first backward pass. The rest of the program stays as it is. A second call replaces
    the first hook.

    Args:
        model: a ``DistributedDataParallel``, or a model that ``fully_shard`` (FSDP2) was applied to;
            for ``local(...)`` one of the latter, or the plain model, which is not wrapped. The
            ranks of a plain model are those of the default process group.
        spec: a method or a codec, such as ``"ef(topk(1%) | natural)"``; see ``gradwire methods``.
        replicate: for ``fully_shard``: the mesh or process group of the ranks on all hosts that hold
            the same shard of the model.
        hosts: for DDP with several ranks on a host, which then average among themselves first:
            ``"auto"``, the number of hosts, or a list with the host of each rank.
        optimizer: the optimizer of the model. Memories then follow its learning rates, and methods
            that do not fit the optimizer are refused or warned about. ``local(...)`` needs it.
        scaler: the ``GradScaler`` in use, if there is one. Memories are rescaled with it.
        topology: the route of messages: auto, scatter, gather, ring or server.
        seed: the seed of all random numbers; the same on all ranks.
        record: a directory for the record of the run. ``gradwire report`` makes a page from it.
        overwrite: whether an existing record may be replaced.
        interface: the network interface, such as ``"eth0"``. The default is that of
            ``GLOO_SOCKET_IFNAME``, or the interface on the route to rank 0.
        timeout: seconds that ranks wait for each other at the start, and the peer timeout
            afterwards.
        codec_threads: threads of this rank that encode and decode. The default is the number of
            cores of the host, divided by the number of ranks on it.
        streams: connections for data to each peer, from 1 to 64; the same on all ranks. Several of
            them fill links that are fast and far.
        grace: a share of the ranks, such as 0.75, for DDP and methods with an error memory, such as
            ``ef(...)``. When it has delivered, and a short time has passed, a step no longer waits
            for late ranks; they keep what was not counted in their memory. This bridges stalls of
            up to 8 steps. A rank that is always slow stays slow: DDP computes each of its
            gradients. Wrap a model with buffers with ``broadcast_buffers=False``: otherwise DDP
            itself waits in every step, as it does with ``find_unused_parameters=True``.
        tensorboard: a directory for event files, or a ``SummaryWriter``: bytes and times of each
            step, and the figures that the program gives to ``Hook.log``. Rank 0 writes them.
        secret: the path of a file of ``gradwire secret``, or 32 random bytes: all connections of
            gradwire are then encrypted, and only ranks with this secret take part. The default is
            the file that ``GRADWIRE_SECRET_FILE`` names, if it is set.
        tls_cert, tls_key, tls_ca: instead of a secret: PEM files of this rank's certificate, its
            key, and the authority that signed the certificates of all ranks.

    Raises:
        SpecError: the spec is wrong.
        StartError: a rank is missing, or the ranks' settings differ.
        Error: the method does not fit the model or the optimizer.
    """
    options = Options(
        topology,
        seed,
        record,
        overwrite,
        interface,
        timeout,
        codec_threads,
        tensorboard,
        Security(secret, tls_cert, tls_key, tls_ca),
        streams,
        grace,
    )
    check_spec(spec)
    if grace is not None:
        for name, value in (("hosts", hosts), ("scaler", scaler), ("replicate", replicate)):
            if value is not None:
                raise Error(_NOT_WITH_GRACE[name])
    if _native.gives_model(spec):
        for name, value in (("hosts", hosts), ("scaler", scaler)):
            if value is not None:
                raise Error(_NOT_WITH_LOCAL_STEPS[name].format(spec=spec))
        parts = (
            PlainParts(plain_of(model, spec))
            if replicate is None
            else ShardedParts(sharded_of(model), replicate)
        )
        return LocalSteps(parts, spec, optimizer=optimizer, options=options)
    if replicate is not None:
        if hosts is not None:
            raise Error("hosts= is for DDP: a model of fully_shard takes replicate= alone")
        return ShardedHook(
            sharded_of(model),
            spec,
            replicate=replicate,
            optimizer=optimizer,
            scaler=scaler,
            options=options,
        )
    return DdpHook(
        ddp_of(model), spec, hosts=hosts, optimizer=optimizer, scaler=scaler, options=options
    )
