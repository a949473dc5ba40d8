"""Compressed averaging for ``torch.nn.parallel.DistributedDataParallel``."""

import gc
import os
import time
import warnings
import weakref
from typing import Any, Callable, Dict, List, Optional, Set, Union

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from . import _native, state as states
from .averaging import Averaging
from .bucket import Bucket
from .errors import Error
from .participant import Options, Participant
from .tensors import NamedShapes, shape_of, trained_parameters
from .worker import Worker


def attach(
    model: DistributedDataParallel,
    spec: str,
    *,
    optimizer: Optional[torch.optim.Optimizer] = None,
    scaler: Optional[Any] = None,
    topology: str = "auto",
    seed: int = 0,
    record: Optional[Union[str, "os.PathLike[str]"]] = None,
    overwrite: bool = False,
    interface: Optional[str] = None,
    timeout: float = 60.0,
) -> "Hook":
    """From now on the gradients of a DDP model are averaged as ``spec`` says. That is all.

    All ranks of the model's process group call it at the same place, after the model was wrapped and
    before its first backward pass. Nothing else of the program changes.

    Args:
        model: the wrapped model.
        spec: a method or a codec, such as ``"ef(topk(1%) | natural)"``; see ``gradwire methods``.
        optimizer: what the gradients are for. With it, memories follow its learning rate, and a
            method with a momentum of its own refuses an optimizer that has one, too.
        scaler: the ``GradScaler`` in use, if there is one: memories are rescaled with it.
        topology: the way that messages take: auto, scatter, gather, ring or server.
        seed: of all random numbers; the same on all ranks.
        record: a directory for the record of the run, which ``gradwire report`` turns into a page.
        overwrite: whether a record that is there already may go.
        interface: the network interface to use, such as ``"eth0"``; otherwise that of
            ``GLOO_SOCKET_IFNAME``, or the one on the way to rank 0.
        timeout: seconds that ranks wait for each other at the start, and after which a rank that
            is silent is given up.

    Raises:
        SpecError: the spec cannot be understood.
        StartError: the ranks did not come together, or do not agree.
        Error: the method does not fit the model or the optimizer.
    """
    return Hook(
        model,
        spec,
        optimizer=optimizer,
        scaler=scaler,
        options=Options(topology, seed, record, overwrite, interface, timeout),
    )


class Hook(Participant):
    """Averages the gradients of one DDP model; :func:`attach` makes it.

    What takes time happens on a thread of its own while the backward pass goes on. Every method of
    this class waits for that thread first.
    """

    _IS_CLOSED = "the hook is closed: make the model and the hook anew to go on"

    def __init__(
        self,
        model: DistributedDataParallel,
        spec: str,
        *,
        optimizer: Optional[torch.optim.Optimizer],
        scaler: Optional[Any],
        options: Options,
    ) -> None:
        _check_arguments(model, optimizer, scaler)
        parameters = trained_parameters(
            model.module, ignored=getattr(model, "parameters_to_ignore", ())
        )
        shapes = [(name, shape_of(parameter)) for name, parameter in parameters.items()]
        shapes.reverse()
        super().__init__(spec, shapes, options)
        _check_optimizer_fits(self._traits, optimizer)

        self._optimizer = optimizer
        self._rates: List[float] = []  # of the optimizer's groups in the last step
        self._scaler = scaler
        self._scale: Optional[float] = None
        self._warned_of_scaler = self._scaler is not None
        self._is_open = False  # a step is under way
        self.failure = Error("the hook did not come to be")
        model.register_comm_hook(self, _on_bucket)

        self._meet(model.process_group, shapes)
        self._connect(model.module)
        names = {parameter: name for name, parameter in parameters.items()}
        self._averaging = Averaging(self._averager, names)
        self._worker = Worker("gradwire")

        # Which gradients came, in their order, since the model was last called.
        self._ready: List[str] = []
        self._watches_use = bool(getattr(model, "find_unused_parameters", False)) and not bool(
            getattr(model, "static_graph", False)
        )
        self._watches: List[Any] = [model.register_forward_pre_hook(_ForwardWatch(self))]
        for name, parameter in parameters.items():
            self._watches.append(parameter.register_hook(self._watch(name)))
        self._start()

    # --- While training ---

    def _watch(self, name: str) -> Any:
        watcher = weakref.ref(self)

        def ready(gradient: torch.Tensor) -> None:
            hook = watcher()
            if hook is not None:
                hook._ready.append(name)

        return ready

    def _unwatch(self) -> None:
        for watch in self._watches:
            watch.remove()
        self._watches = []

    def _on_gradients(self, ddp_bucket: Any) -> "torch.futures.Future[torch.Tensor]":
        self._check_works()
        bucket = Bucket(ddp_bucket)
        if bucket.index == 0:
            if self._is_open:
                raise self._end(Error("the last backward pass did not come to its end"))
            self._is_open = True
            rate, factor = self._learning_rate(), self._scale_factor()
            self._worker.put(lambda: self._try(lambda: self._averaging.begin(rate, factor)))
        used_so_far = set(self._ready) if self._watches_use else None
        self._worker.put(lambda: self._add(bucket, used_so_far))
        if bucket.is_last:
            self._is_open = False
            now, ready = time.monotonic(), self._ready
            used = list(ready) if self._watches_use else None
            order = [] if self._watches_use else ready
            self._worker.put(
                lambda: self._try(lambda: self._averaging.finish(order, used, now))
            )
            if self._watches and not self._watches_use:
                self._unwatch()
        return bucket.future

    def _add(self, bucket: Bucket, used: Optional[Set[str]]) -> None:
        if self.failure is not None:
            bucket.fail(self.failure)
        else:
            self._try(lambda: self._averaging.add(bucket, used))

    def _try(self, task: Any) -> None:
        """On the worker: a failure is for those who wait."""
        if self.failure is not None:
            return
        try:
            task()
        except BaseException as error:  # whatever it is, somebody waits
            self._averaging.fail(self._end(error))

    def _end(self, error: BaseException) -> BaseException:
        self.failure = error
        return error

    def _learning_rate(self) -> float:
        if self._optimizer is None:
            return 1.0
        rates = [float(group["lr"]) for group in self._optimizer.param_groups]
        before, self._rates = self._rates, rates
        changes = [now / then for now, then in zip(rates, before) if now > 0 and then > 0]
        if self._traits["has_memory"] and changes and max(changes) > 1.000001 * min(changes):
            raise self._end(
                Error(
                    f"the learning rates of the optimizer's groups went from {before} to {rates}, "
                    "by factors of their own, and what is remembered can follow only one: change "
                    "them alike, or attach without optimizer="
                )
            )
        return rates[0]

    def _scale_factor(self) -> float:
        """By how much the scale of the loss has changed since the last step."""
        if self._scaler is None:
            self._warn_of_scaler()
            return 1.0
        scale = float(self._scaler.get_scale())
        before, self._scale = self._scale, scale
        return 1.0 if before is None or before == scale else scale / before

    def _warn_of_scaler(self) -> None:
        """Once, in the first step: a scaler that nobody told about makes memories wrong."""
        if self._warned_of_scaler or not self._traits["has_memory"]:
            return
        self._warned_of_scaler = True
        if any(_is_scaler(thing) for thing in gc.get_objects()):
            warnings.warn(
                f"a GradScaler is in use, and {self.spec} remembers gradients: when the scale "
                "changes, what it remembers will be off. Give it: gradwire.attach(..., "
                "scaler=scaler)"
            )

    # --- For the program ---

    @property
    def step(self) -> int:
        """How many steps were done."""
        self._wait()
        return self._averaging.step

    def memories(self) -> Dict[str, Dict[str, torch.Tensor]]:
        """What the method remembers on this rank: for each parameter its memories, such as
        ``"error"``, what was not sent yet. A rank has only a stretch of what it owns for all."""
        self._check_works()
        saved = self._call(self._save)
        memories: Dict[str, Dict[str, torch.Tensor]] = {}
        for memory, name, _, values in _native.state_arrays(saved) if saved else []:
            memories.setdefault(name, {})[memory] = torch.from_numpy(values)
        return memories

    # --- As a participant ---

    def _steps_done(self) -> int:
        return self._averaging.step

    def _shapes(self) -> NamedShapes:
        return self._averaging.shapes

    def _more_phases(self) -> Dict[str, float]:
        return {"exposed": self._averaging.exposed_seconds}

    def _save(self) -> Optional[bytes]:
        return self._averaging.save()

    def _more_state(self) -> Dict[str, Any]:
        carried = {name: tensor.clone() for name, tensor in self._averaging.carried.items()}
        return {"carried": carried, "scale": self._scale}

    def _load(self, mine: states.State) -> None:
        method, carried = states.method_bytes(mine), states.more_of(mine, "carried")
        self._call(lambda: self._averaging.load(method, mine["step"], carried))
        self._scale = states.more_of(mine, "scale")
        self._rates = []

    def _is_within_step(self) -> bool:
        return self._is_open

    def _call(self, task: Callable[[], Any]) -> Any:
        return self._worker.call(task)

    def _wait(self) -> None:
        if not self._is_closed:
            self._worker.wait()

    def _stop(self, seconds: Optional[float] = None) -> bool:
        self._unwatch()
        return self._worker.stop(seconds)


class _ForwardWatch:
    """A new pass begins: what was ready before does not count. Copies of the model do without."""

    def __init__(self, hook: Optional[Hook] = None) -> None:
        self._hook = weakref.ref(hook) if hook is not None else lambda: None

    def __call__(self, module: torch.nn.Module, inputs: Any) -> None:
        hook = self._hook()
        if hook is not None:
            hook._ready = []

    def __reduce__(self) -> Any:
        return (_ForwardWatch, ())


def _on_bucket(state: Hook, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """What DDP calls. It looks at these names and annotations."""
    return state._on_gradients(bucket)


def _check_arguments(model: Any, optimizer: Any, scaler: Any) -> None:
    if not isinstance(model, DistributedDataParallel):
        raise Error(
            f"{type(model).__name__} is no DistributedDataParallel model: wrap it first, as in "
            "attach(DistributedDataParallel(model), ...)"
        )
    if optimizer is not None and not hasattr(optimizer, "param_groups"):
        raise Error(f"optimizer= takes a torch.optim.Optimizer, not a {type(optimizer).__name__}")
    if scaler is not None and not hasattr(scaler, "get_scale"):
        raise Error(f"scaler= takes a GradScaler, not a {type(scaler).__name__}")


def _check_optimizer_fits(traits: Dict[str, Any], optimizer: Optional[torch.optim.Optimizer]) -> None:
    if traits["needs_parameters"]:
        raise Error(
            f"{traits['spec']} decides with the model in hand who uploads, which a hook of DDP "
            "cannot do: take gradwire.LazyStep"
        )
    if not traits["owns_momentum"] or optimizer is None:
        return
    for group in optimizer.param_groups:
        if group.get("momentum", 0) or "betas" in group:
            raise Error(
                f"{traits['spec']} has a momentum of its own, which the optimizer would count "
                "twice: take torch.optim.SGD without momentum"
            )


def _is_scaler(thing: Any) -> bool:
    try:
        return type(thing).__name__ == "GradScaler" and bool(thing.is_enabled())
    except Exception:  # other people's objects
        return False
