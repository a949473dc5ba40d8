"""Compressed averaging for ``torch.nn.parallel.DistributedDataParallel``."""

import time
import weakref
from typing import Any, Callable, Iterable, List, Optional

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from .adam import AdamUpdates, check_optimizer
from .bucket import Bucket, BucketLayouts
from .discarded import DiscardWatch
from .errors import Error
from .first_cause import explain
from .hook import Hook
from .host_bucket import HostBucket
from .hosts import Host, HostsOption, Parts, find_host
from .interrupts import guarded
from .participant import Options
from .recognition import check_types
from .tensors import Names, shape_of, trained_parameters


class DdpHook(Hook):
    """Averages the gradients of one DDP model."""

    def __init__(
        self,
        model: DistributedDataParallel,
        spec: str,
        *,
        hosts: Optional[HostsOption],
        optimizer: Optional[torch.optim.Optimizer],
        scaler: Optional[Any],
        options: Options,
    ) -> None:
        parameters = trained_parameters(
            model.module, ignored=getattr(model, "parameters_to_ignore", ())
        )
        check_types(parameters)
        self._watches_use = bool(getattr(model, "find_unused_parameters", False)) and not bool(
            getattr(model, "static_graph", False)
        )
        # Where a host has several ranks, each averages its part of the parameters with its peers.
        group = model.process_group
        by_parameter: Names = {parameter: name for name, parameter in parameters.items()}
        names, place = by_parameter, (0, 1)
        self._host = _find_host(group, hosts, spec, options)
        self._parts: Optional[Parts] = None
        if self._host is not None:
            self._check_watches_nothing()
            self._parts = Parts(parameters, self._host)
            names, by_parameter = self._parts.names, self._parts.by_parameter
            group, place = self._host.peers, (self._host.index, self._host.ranks)
        shapes = [(name, shape_of(tensor)) for tensor, name in names.items()]
        shapes.reverse()
        super().__init__(
            spec, shapes, optimizer=optimizer, scaler=scaler, options=options, place=place
        )
        self._model = weakref.ref(model)
        slot = _slot_of(model)
        if slot.hook is not None:
            slot.hook.close()

        self._join(group, shapes, model.module, names, by_parameter)
        self._group = model.process_group  # for states of all ranks
        watched = by_parameter if self._traits["has_memory"] else {}
        self._discards = DiscardWatch(self.spec, watched, names)

        self._updates: Optional[AdamUpdates] = None
        if self._traits["owns_moments"] and optimizer is not None:
            self._updates = AdamUpdates(
                self.spec,
                optimizer,
                by_parameter,
                self.memories,
                self._adam_steps,
                lambda: self._scale or 1.0,
            )
            self._averaging.moments = self._updates.moments

        self._layouts = BucketLayouts()

        # Which gradients came, in their order, since the model was last called.
        self._ready: List[str] = []
        self._watches: List[Any] = [model.register_forward_pre_hook(_ForwardWatch(self))]
        for parameter, name in by_parameter.items():
            self._watches.append(parameter.register_hook(self._watch(name)))
        slot.hook = self
        self._start()

    def _check_takes_moments(self, optimizer: Any) -> None:
        if self._host is not None:
            raise Error(f"{self._given_spec} does not work with hosts=: attach without it")
        if self._watches_use:
            raise Error(
                f"{self._given_spec} cannot tell unused parameters from others: wrap the model with "
                "find_unused_parameters=False"
            )
        check_optimizer(self.spec, optimizer)

    def _adam_steps(self) -> int:
        return self.step - int(self.stats()["poisoned"])

    def _check_watches_nothing(self) -> None:
        if self._watches_use:
            raise Error(
                "hosts= averages parts of parameters, and cannot tell which parameters no rank has "
                "used: wrap the model with find_unused_parameters=False, or attach without hosts="
            )

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
        self._check_join()
        if self._is_ignoring:
            return default_hooks.allreduce_hook(self._group, ddp_bucket)
        bucket = self._bucket(ddp_bucket)
        tasks: List[Callable[[], None]] = []
        if bucket.index == 0:
            if self._is_open:
                raise self._end(Error("the last backward pass was not completed"))
            self._is_open = True
            rates, factor = self._rates.now(), self._scale_factor()
            tasks.append(lambda: self._try(lambda: self._averaging.begin(rates, factor)))
        used_so_far = set(self._ready) if self._watches_use else None
        tasks.append(lambda: self._add(bucket, used_so_far))
        if bucket.is_last:
            self._is_open = False
            now, ready = time.monotonic(), self._ready
            used = list(ready) if self._watches_use else None
            order = [] if self._watches_use else ready
            tasks.append(lambda: self._try(lambda: self._finish(order, used, now)))
            if self._watches and not self._watches_use:
                self._unwatch()
        self._worker.put(*tasks)
        return bucket.future

    def _check_join(self) -> None:
        model = self._model()
        is_joining = getattr(getattr(model, "_join_config", None), "enable", False)
        if is_joining and not getattr(model, "_divide_by_initial_world_size", True):
            raise self._end(
                Error(
                    "Join(divide_by_initial_world_size=False) averages over the ranks that still "
                    "have inputs, and a communication hook does not know which: use "
                    "divide_by_initial_world_size=True"
                )
            )

    def _finish(self, order: List[str], used: Optional[List[str]], last_ready: float) -> None:
        self._averaging.finish(order, used, last_ready, self._note_means)
        self._note_step(self._rates.last)

    def _note_means(self, is_finite: bool, buckets: Iterable[Bucket]) -> None:
        if self._updates is not None:
            self._updates.take(is_finite, buckets)
        else:
            self._discards.note_means(is_finite, buckets)

    def _end(self, error: BaseException) -> BaseException:
        return super()._end(error if self._host is None else explain(self._host, error))

    def _bucket(self, ddp_bucket: Any) -> Bucket:
        try:
            if self._host is None or self._parts is None:
                return Bucket(ddp_bucket, self._layouts)
            return HostBucket(ddp_bucket, self._layouts, self._host, self._parts)
        except RuntimeError as error:  # of gradwire, or of torch if the host has lost a rank
            raise self._end(error)

    def _stop(self, seconds: Optional[float] = None) -> bool:
        self._unwatch()
        if self._updates is not None:
            self._updates.close()
        self._discards.stop()
        return super()._stop(seconds)


def _find_host(
    group: Any, hosts: Optional[HostsOption], spec: str, options: Options
) -> Optional[Host]:
    if hosts is None:
        return None
    facts = {"method": spec, "seed": options.seed, "topology": options.topology}
    return find_host(group, hosts, facts, options.timeout)


class _Slot:
    """What DDP holds for the hook of a model, since DDP takes a hook only once. Copies of the model,
    by ``copy.deepcopy`` or ``torch.save``, have an empty slot that nothing calls."""

    def __init__(self) -> None:
        self.hook: Optional[DdpHook] = None

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

    def __init__(self, hook: Optional[DdpHook] = None) -> None:
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
