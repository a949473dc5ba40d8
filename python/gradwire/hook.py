"""Compressed averaging for ``torch.nn.parallel.DistributedDataParallel``."""

import gc
import os
import time
import warnings
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Union

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from . import _native, state as states
from .averaging import Averaging
from .bucket import Bucket
from .discarded import DiscardWatch
from .errors import Error
from .interrupts import guard_interrupts, guarded
from .participant import Options, Participant
from .rates import RatesOfGroups
from .recognition import check_types, ddp_of
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
    """Averages the gradients of a DDP model with the method that ``spec`` names, from now on.

    All ranks of the model's process group call it at the same point, after the model was wrapped and
    before its first backward pass. The rest of the program stays as it is. A second call replaces
    the first hook.

    Args:
        model: the wrapped model.
        spec: a method or a codec, such as ``"ef(topk(1%) | natural)"``; see ``gradwire methods``.
        optimizer: the optimizer of the model. Memories then follow its learning rates, and methods
            that do not fit the optimizer are refused or warned about.
        scaler: the ``GradScaler`` in use, if there is one. Memories are rescaled with it.
        topology: the route of messages: auto, scatter, gather, ring or server.
        seed: the seed of all random numbers; the same on all ranks.
        record: a directory for the record of the run. ``gradwire report`` makes a page from it.
        overwrite: whether an existing record may be replaced.
        interface: the network interface, such as ``"eth0"``. The default is that of
            ``GLOO_SOCKET_IFNAME``, or the interface on the route to rank 0.
        timeout: seconds that ranks wait for each other at the start, and the peer timeout
            afterwards.

    Raises:
        SpecError: the spec is wrong.
        StartError: a rank is missing, or the ranks' settings differ.
        Error: the method does not fit the model or the optimizer.
    """
    return Hook(
        ddp_of(model),
        spec,
        optimizer=optimizer,
        scaler=scaler,
        options=Options(topology, seed, record, overwrite, interface, timeout),
    )


class Hook(Participant):
    """Averages the gradients of one DDP model; :func:`attach` makes it.

    A thread of the hook does the slow work during the backward pass. Every method of this class
    waits for that thread first.
    """

    _IS_CLOSED = "the hook is closed: call gradwire.attach again to continue"

    def __init__(
        self,
        model: DistributedDataParallel,
        spec: str,
        *,
        optimizer: Optional[torch.optim.Optimizer],
        scaler: Optional[Any],
        options: Options,
    ) -> None:
        _check_arguments(optimizer, scaler)
        parameters = trained_parameters(
            model.module, ignored=getattr(model, "parameters_to_ignore", ())
        )
        check_types(parameters)
        shapes = [(name, shape_of(parameter)) for name, parameter in parameters.items()]
        shapes.reverse()
        super().__init__(spec, shapes, options)
        _check_optimizer_fits(self._traits, optimizer)

        self._scaler = scaler
        self._scale: Optional[float] = None
        self._warned_of_scaler = self._scaler is not None
        self._is_open = False  # a step is under way
        self._is_ignoring = False
        self.failure = Error("the hook was not completed")
        slot = _slot_of(model)
        if slot.hook is not None:
            slot.hook.close()

        self._meet(model.process_group, shapes)
        self._connect(model.module)
        names = {parameter: name for name, parameter in parameters.items()}
        self._averaging = Averaging(self._averager, names)
        self._rates = RatesOfGroups(optimizer, names)
        self._discards = DiscardWatch(
            self.spec, parameters.values() if self._traits["has_memory"] else ()
        )
        self._worker = Worker("gradwire")

        # Which gradients came, in their order, since the model was last called.
        self._ready: List[str] = []
        self._watches_use = bool(getattr(model, "find_unused_parameters", False)) and not bool(
            getattr(model, "static_graph", False)
        )
        self._watches: List[Any] = [model.register_forward_pre_hook(_ForwardWatch(self))]
        for name, parameter in parameters.items():
            self._watches.append(parameter.register_hook(self._watch(name)))
        guard_interrupts()
        slot.hook = self
        self._start()

    # --- While training ---

    def _watch(self, name: str) -> Any:
        watcher = weakref.ref(self)

        @guarded
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
        if self._is_ignoring:
            return default_hooks.allreduce_hook(self._group, ddp_bucket)
        bucket = Bucket(ddp_bucket)
        if bucket.index == 0:
            if self._is_open:
                raise self._end(Error("the last backward pass was not completed"))
            self._is_open = True
            self._discards.begin()
            rates, factor = self._rates.now(), self._scale_factor()
            self._worker.put(lambda: self._try(lambda: self._averaging.begin(rates, factor)))
        used_so_far = set(self._ready) if self._watches_use else None
        self._worker.put(lambda: self._add(bucket, used_so_far))
        if bucket.is_last:
            self._is_open = False
            now, ready = time.monotonic(), self._ready
            used = list(ready) if self._watches_use else None
            order = [] if self._watches_use else ready
            self._worker.put(lambda: self._try(lambda: self._finish(order, used, now)))
            if self._watches and not self._watches_use:
                self._unwatch()
        return bucket.future

    def _add(self, bucket: Bucket, used: Optional[Set[str]]) -> None:
        if self.failure is not None:
            bucket.fail(self.failure)
        else:
            self._try(lambda: self._averaging.add(bucket, used))

    def _finish(self, order: List[str], used: Optional[List[str]], last_ready: float) -> None:
        if not self._averaging.finish(order, used, last_ready):
            self._discards.forget()

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

    def _scale_factor(self) -> float:
        """The scale of the loss, relative to that of the last step."""
        if self._scaler is None:
            self._warn_of_scaler()
            return 1.0
        scale = float(self._scaler.get_scale())
        before, self._scale = self._scale, scale
        return 1.0 if before is None or before == scale else scale / before

    def _warn_of_scaler(self) -> None:
        """In the first step: without ``scaler=``, a change of the scale makes memories wrong."""
        if self._warned_of_scaler or not self._traits["has_memory"]:
            return
        self._warned_of_scaler = True
        if any(_is_scaler(thing) for thing in gc.get_objects()):
            warnings.warn(
                f"a GradScaler is in use, and {self.spec} remembers gradients. Its memory will be "
                "wrong when the scale changes. Pass the scaler: gradwire.attach(..., "
                "scaler=scaler)"
            )

    # --- For the program ---

    @property
    def step(self) -> int:
        """The number of finished steps."""
        self._wait()
        return self._averaging.step

    @contextmanager
    def ignore(self) -> Iterator[None]:
        """For backward passes whose gradients the program throws away: they are averaged exactly,
        by the model's process group, and the method's memory does not change. All ranks do this at
        the same point::

            with hook.ignore():
                generator_loss.backward()   # also runs through the discriminator
        """
        self._wait()
        self._check_works()
        if self._is_open:
            raise Error("ignore() starts between backward passes, not during one")
        was, self._is_ignoring = self._is_ignoring, True
        try:
            yield
        finally:
            self._is_ignoring = was

    def memories(self) -> Dict[str, Dict[str, torch.Tensor]]:
        """The method's memories on this rank, by parameter and name: ``"error"`` is the unsent part
        of past gradients. Of an owner's memories, a rank has only the range that it owns."""
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


class _Slot:
    """What DDP holds for the hook of a model, since DDP takes a hook only once. Copies of the model,
    by ``copy.deepcopy`` or ``torch.save``, have an empty slot that nothing calls."""

    def __init__(self) -> None:
        self.hook: Optional[Hook] = None

    def __reduce__(self) -> Any:
        return (_Slot, ())


_slots: "weakref.WeakKeyDictionary[DistributedDataParallel, _Slot]" = weakref.WeakKeyDictionary()


def _slot_of(model: DistributedDataParallel) -> _Slot:
    if model not in _slots:
        slot = _Slot()
        try:
            model.register_comm_hook(slot, _on_bucket)
        except RuntimeError as error:
            if "register_comm_hook" not in str(error):
                raise
            raise Error(
                "the model has a communication hook of another kind already, and DDP takes only "
                "one: wrap the model again, and give this one to gradwire.attach alone"
            ) from error
        _slots[model] = slot
    return _slots[model]


class _ForwardWatch:
    """At the start of a forward pass, forgets which gradients were ready. Copies of the model have
    a watch that does nothing."""

    def __init__(self, hook: Optional[Hook] = None) -> None:
        self._hook = weakref.ref(hook) if hook is not None else lambda: None

    def __call__(self, module: torch.nn.Module, inputs: Any) -> None:
        hook = self._hook()
        if hook is not None:
            hook._ready = []

    def __reduce__(self) -> Any:
        return (_ForwardWatch, ())


@guarded
def _on_bucket(state: _Slot, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """DDP calls it, and checks these names and annotations."""
    if state.hook is None:
        raise Error("the hook was not completed: gradwire.attach has failed")
    return state.hook._on_gradients(bucket)


def _check_arguments(optimizer: Any, scaler: Any) -> None:
    if optimizer is not None and not hasattr(optimizer, "param_groups"):
        raise Error(f"optimizer= takes a torch.optim.Optimizer, not a {type(optimizer).__name__}")
    if scaler is not None and not hasattr(scaler, "get_scale"):
        raise Error(f"scaler= takes a GradScaler, not a {type(scaler).__name__}")


def _check_optimizer_fits(traits: Dict[str, Any], optimizer: Optional[torch.optim.Optimizer]) -> None:
    if traits["needs_parameters"]:
        raise Error(
            f"{traits['spec']} needs the gradient at older parameters, which a DDP hook cannot "
            "compute: use gradwire.LazyStep"
        )
    if optimizer is None:
        return
    if traits["is_biased"] and any("betas" in group for group in optimizer.param_groups):
        warnings.warn(
            f"{type(optimizer).__name__} divides by a running mean of squared gradients, and "
            f"{traits['spec']} changes these squares: expect a higher loss. With this optimizer "
            "use 'natural | entropy' or 'powersgd(rank=4)'",
            stacklevel=4,
        )
    if not traits["owns_momentum"]:
        return
    for group in optimizer.param_groups:
        if group.get("momentum", 0) or "betas" in group:
            raise Error(
                f"{traits['spec']} has a momentum of its own, so the optimizer would apply it "
                "twice: use torch.optim.SGD without momentum"
            )


def _is_scaler(thing: Any) -> bool:
    try:
        return type(thing).__name__ == "GradScaler" and bool(thing.is_enabled())
    except Exception:  # other people's objects
        return False
