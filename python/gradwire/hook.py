"""Compressed averaging for ``torch.nn.parallel.DistributedDataParallel``."""

import gc
import os
import time
import warnings
import weakref
from typing import Any, Dict, List, Optional, Sequence, Set, Union

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from . import _native, leaving, state as states
from .averaging import Averaging
from .bucket import Bucket
from .checks import check_place, check_remark, check_seed, check_spec, check_timeout
from .description import description_of
from .errors import Error
from .meeting import Meeting, interface as named_interface, meet
from .summary import stats_of, summary_of
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
        topology=topology,
        seed=seed,
        record=record,
        overwrite=overwrite,
        interface=interface,
        timeout=timeout,
    )


class Hook:
    """Averages the gradients of one DDP model; :func:`attach` makes it.

    What takes time happens on a thread of its own while the backward pass goes on. Every method of
    this class waits for that thread first.
    """

    def __init__(self, model: DistributedDataParallel, spec: str, **options: Any) -> None:
        if not isinstance(model, DistributedDataParallel):
            raise Error(
                f"{type(model).__name__} is no DistributedDataParallel model: wrap it first, as in "
                "attach(DistributedDataParallel(model), ...)"
            )
        check_spec(spec)
        _check_arguments(options)
        parameters = trained_parameters(
            model.module, ignored=getattr(model, "parameters_to_ignore", ())
        )
        shapes = [(name, shape_of(parameter)) for name, parameter in parameters.items()]
        shapes.reverse()
        self._traits = _native.probe(spec, shapes, options["topology"])
        _check_optimizer_fits(self._traits, options["optimizer"])

        self._optimizer = options["optimizer"]
        self._rates: List[float] = []  # of the optimizer's groups in the last step
        self._scaler = options["scaler"]
        self._scale: Optional[float] = None
        self._warned_of_scaler = self._scaler is not None
        #: What ended the averaging, if something did: a :class:`PeerError` has the rank.
        self.failure: Optional[BaseException] = Error("the hook did not come to be")
        self._is_closed = False
        self._last_stats: Optional[Dict[str, Any]] = None  # of a hook that is closed
        self._is_open = False  # a step is under way
        model.register_comm_hook(self, _on_bucket)

        self._meeting: Meeting = meet(model.process_group, _facts(self.spec, shapes, options))
        averager = _native.Averager(
            **self._meeting._asdict(),
            spec=spec,
            topology=options["topology"],
            seed=options["seed"],
            interface=options["interface"] or named_interface() or "",
            start_seconds=options["timeout"],
            peer_timeout_seconds=options["timeout"],
            directory=os.fspath(options["record"]) if options["record"] is not None else "",
            description=description_of(model.module),
            overwrite=options["overwrite"],
        )
        names = {parameter: name for name, parameter in parameters.items()}
        self._averaging = Averaging(averager, names)
        self._worker = Worker("gradwire")
        self.failure = None

        # Which gradients came, in their order, since the model was last called.
        self._ready: List[str] = []
        self._watches_use = bool(getattr(model, "find_unused_parameters", False)) and not bool(
            getattr(model, "static_graph", False)
        )
        self._watches: List[Any] = [model.register_forward_pre_hook(_ForwardWatch(self))]
        for name, parameter in parameters.items():
            self._watches.append(parameter.register_hook(self._watch(name)))
        leaving.add(self)

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
    def spec(self) -> str:
        """The method, in its canonical form."""
        return str(self._traits["spec"])

    @property
    def step(self) -> int:
        """How many steps were done."""
        self._wait()
        return self._averaging.step

    def log(
        self,
        *,
        loss: Optional[float] = None,
        samples: int = 1,
        test_loss: Optional[float] = None,
        accuracy: Optional[float] = None,
    ) -> None:
        """What is known of the step that was just done, for the record.

        Losses are averaged over the samples of all ranks; the others are those of rank 0, with
        ``accuracy`` from 0 to 1. Without a record nothing happens.
        """
        check_remark(loss, samples, test_loss, accuracy)
        self._wait()
        self._check_works()
        self._averaging.averager.log(loss, samples, test_loss, accuracy)

    def remarks(self) -> List[str]:
        """What the method had to say since this was called last: plans, phases, fallbacks."""
        self._wait()
        return list(self._averaging.averager.take_remarks())

    def stats(self) -> Dict[str, Any]:
        """What all steps so far took on this rank.

        ``phases`` are seconds: encoding, exchanging and decoding as the library measured them,
        mostly hidden behind the backward pass, and ``exposed``, how long DDP had to wait after the
        last gradient. ``parameters`` has for each the bytes that this rank had to say of it, where
        the method tells them apart.
        """
        self._wait()
        if self._last_stats is not None:
            return self._last_stats
        averaging = self._averaging
        return stats_of(
            self.spec,
            self._meeting,
            averaging.averager,
            averaging.shapes,
            {"exposed": averaging.exposed_seconds},
        )

    def summary(self) -> str:
        """:meth:`stats` as a table for people."""
        return summary_of(self.stats())

    def memories(self) -> Dict[str, Dict[str, torch.Tensor]]:
        """What the method remembers on this rank: for each parameter its memories, such as
        ``"error"``, what was not sent yet. A rank has only a stretch of what it owns for all."""
        self._check_works()
        saved = self._worker.call(self._averaging.save)
        memories: Dict[str, Dict[str, torch.Tensor]] = {}
        for memory, name, _, values in _native.state_arrays(saved) if saved else []:
            memories.setdefault(name, {})[memory] = torch.from_numpy(values)
        return memories

    def state_dict(self) -> states.State:
        """Everything that the next step depends on, exact to the bit. Each rank has its own: save
        it on every rank."""
        self._check_works()
        return self._worker.call(self._pack)

    def _pack(self) -> states.State:
        averaging = self._averaging
        return states.pack(
            self.spec,
            self._meeting.rank,
            self._meeting.size,
            averaging.step,
            averaging.save(),
            {
                "carried": {name: tensor.clone() for name, tensor in averaging.carried.items()},
                "scale": self._scale,
            },
        )

    def load_state_dict(self, state: Union[states.State, Sequence[states.State]]) -> None:
        """Goes on from there. All ranks at once, each with its own state.

        For another number of ranks give the states of all old ranks, in their order, on every rank.
        """
        self._check_works()
        mine = states.of_rank(state, self.spec, self._meeting.rank, self._meeting.size)
        method, carried = states.method_bytes(mine), states.more_of(mine, "carried")
        self._worker.call(lambda: self._averaging.load(method, mine["step"], carried))
        self._scale = states.more_of(mine, "scale")
        self._rates = []

    def close(self) -> None:
        """The orderly end; waits for all ranks. A program that ends does this by itself."""
        if self._is_closed:
            return
        self._is_closed = True
        leaving.remove(self)
        self._unwatch()
        self._worker.stop()
        self._last_stats = self.stats()
        if self.failure is None and not self._is_open:
            self._averaging.averager.close()
        else:
            self._averaging.averager.abandon()

    # --- Within ---

    def _wait(self) -> None:
        if not self._is_closed:
            self._worker.wait()

    def _check_works(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self._is_closed:
            raise Error("the hook is closed: make the model and the hook anew to go on")

    def leave(self, is_failing: bool) -> None:
        """The program ends. If it fails, the others shall know at once."""
        if is_failing and self.failure is None:
            self.failure = Error("the program failed")
        if self._worker.stop(seconds=5 if is_failing else None):
            self.close()


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


def _check_arguments(options: Dict[str, Any]) -> None:
    check_seed(options["seed"])
    check_timeout(options["timeout"])
    check_place(
        options["topology"], options["interface"], options["record"], options["overwrite"]
    )
    optimizer = options["optimizer"]
    if optimizer is not None and not hasattr(optimizer, "param_groups"):
        raise Error(f"optimizer= takes a torch.optim.Optimizer, not a {type(optimizer).__name__}")
    scaler = options["scaler"]
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


def _facts(spec: str, shapes: NamedShapes, options: Dict[str, Any]) -> Dict[str, Any]:
    """What must be the same on all ranks."""
    facts = {"method": spec, "tensors": shapes}
    facts.update((name, options[name]) for name in ("topology", "seed"))
    facts["record"] = options["record"] is not None
    return facts


def _is_scaler(thing: Any) -> bool:
    try:
        return type(thing).__name__ == "GradScaler" and bool(thing.is_enabled())
    except Exception:  # other people's objects
        return False
