"""Steps of methods that look at the model to decide who uploads: sasg, lasg."""

import ctypes
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import torch
import torch.distributed as dist

from . import _native, leaving, state as states
from .checks import check_place, check_remark, check_seed, check_spec, check_timeout
from .description import description_of
from .errors import Error
from .meeting import Meeting, interface as named_interface, meet
from .summary import stats_of, summary_of
from .tensors import floats_of, trained_parameters


class LazyStep:
    """Trains a model by a method that needs the gradient of one batch at two places.

    Instead of ``optimizer.step()``, with a closure that computes the loss of the step's batch and
    its gradient::

        stepper = gradwire.LazyStep(model, "sasg(topk(1%))", optimizer)
        for inputs, targets in loader:
            def closure():
                optimizer.zero_grad()
                loss = criterion(model(inputs), targets)
                loss.backward()
                return loss
            loss = stepper.step(closure)

    The closure may be called twice. The second time the parameters are older ones, random numbers
    are the same, and what it does to buffers, such as running means, is undone.

    The model is not wrapped by DDP; all ranks begin with the parameters of rank 0. The optimizer is
    ``torch.optim.SGD`` without momentum: its learning rate and weight decay are used, and the method
    itself gives the update.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        spec: str,
        optimizer: torch.optim.Optimizer,
        *,
        group: Optional[Any] = None,
        topology: str = "auto",
        seed: int = 0,
        record: Optional[Union[str, "os.PathLike[str]"]] = None,
        overwrite: bool = False,
        interface: Optional[str] = None,
        timeout: float = 60.0,
    ) -> None:
        self._model = model
        self._optimizer = optimizer
        self._parameters = trained_parameters(model)
        check_spec(spec)
        check_seed(seed)
        check_timeout(timeout)
        check_place(topology, interface, record, overwrite)
        shapes = [(name, list(p.shape)) for name, p in self._parameters.items()]
        shapes.reverse()
        traits = _native.probe(spec, shapes, topology)
        if not traits["needs_parameters"]:
            raise Error(f"{traits['spec']} does not need closures: take gradwire.attach")
        _check_optimizer(spec, optimizer, list(self._parameters.values()))
        #: The method, in its canonical form.
        self.spec: str = traits["spec"]
        facts = {"method": self.spec, "topology": topology, "seed": seed, "tensors": shapes}
        self._meeting: Meeting = meet(group, {**facts, "record": record is not None})
        _broadcast(model, group, self._meeting)
        self._averager = _native.Averager(
            **self._meeting._asdict(),
            spec=spec,
            topology=topology,
            seed=seed,
            interface=interface or named_interface() or "",
            start_seconds=timeout,
            peer_timeout_seconds=timeout,
            directory=os.fspath(record) if record is not None else "",
            description=description_of(model),
            overwrite=overwrite,
        )
        self._averager.make(shapes)
        # As the method has them: the last parameter first.
        self._ordered = list(reversed(list(self._parameters.values())))
        self._values = [torch.empty(p.shape, dtype=torch.float32) for p in self._ordered]
        self._gradients = [torch.empty(p.shape, dtype=torch.float32) for p in self._ordered]
        self._old_gradients = [torch.empty(p.shape, dtype=torch.float32) for p in self._ordered]
        self._moved_squared: Optional[float] = None
        self._shapes = shapes
        self._steps = 0
        self._is_closed = False
        self._last_stats: Optional[Dict[str, Any]] = None  # when it is closed
        #: What ended it, if something did: a :class:`PeerError` has the rank.
        self.failure: Optional[BaseException] = None
        leaving.add(self)

    def step(self, closure: Callable[[], Any]) -> Any:
        """One step of all ranks; returns what the closure returned.

        Where it raises, the other ranks are told, and there is no further step.
        """
        self._check_works()
        try:
            return self._step(closure)
        except BaseException as error:
            self.failure = error
            self._abandon()
            raise

    def _step(self, closure: Callable[[], Any]) -> Any:
        random = _RandomState()
        buffers = [buffer.clone() for buffer in self._model.buffers()]
        with torch.enable_grad():
            result = closure()
        _copy([p.detach() for p in self._ordered], self._values)
        self._take_gradients(self._gradients)

        def gradient_at(addresses: List[int]) -> List[int]:
            self._find_gradient(addresses, closure, random, buffers)
            return [gradient.data_ptr() for gradient in self._old_gradients]

        rate = _learning_rate(self.spec, self._optimizer)
        self._averager.begin(
            self._steps,
            rate,
            [floats_of(values) for values in self._values],
            gradient_at,
            self._moved_squared,
        )
        for place, gradient in enumerate(self._gradients):
            self._averager.submit(place, floats_of(gradient))
        is_finite = self._averager.finish(0.0)
        self._steps += 1
        if is_finite:
            self._move(rate)
        return result

    def _check_works(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self._is_closed:
            raise Error("it is closed: make a LazyStep anew to go on")

    def log(
        self,
        *,
        loss: Optional[float] = None,
        samples: int = 1,
        test_loss: Optional[float] = None,
        accuracy: Optional[float] = None,
    ) -> None:
        """What is known of the step that was just done, for the record, as of a :class:`Hook`."""
        check_remark(loss, samples, test_loss, accuracy)
        self._check_works()
        self._averager.log(loss, samples, test_loss, accuracy)

    def uploads_skipped(self) -> int:
        """How often this rank had nothing new to say."""
        return int(self.stats()["uploads_skipped"])

    def stats(self) -> Dict[str, Any]:
        """What all steps so far took on this rank, as of a :class:`Hook`."""
        if self._last_stats is not None:
            return self._last_stats
        return stats_of(self.spec, self._meeting, self._averager, self._shapes, {})

    def summary(self) -> str:
        """:meth:`stats` as a table for people."""
        return summary_of(self.stats())

    def state_dict(self) -> states.State:
        """Everything that the next step depends on, but for the model. Save it on every rank."""
        self._check_works()
        method = self._averager.save() if self._steps else None
        return states.pack(
            self.spec,
            self._meeting.rank,
            self._meeting.size,
            self._steps,
            method,
            {"moved_squared": self._moved_squared},
        )

    def load_state_dict(self, state: Union[states.State, Sequence[states.State]]) -> None:
        """Goes on from there. All ranks at once, each with its own state.

        For another number of ranks give the states of all old ranks, in their order, on every rank.
        """
        self._check_works()
        mine = states.of_rank(state, self.spec, self._meeting.rank, self._meeting.size)
        method = states.method_bytes(mine)
        moved_squared = states.more_of(mine, "moved_squared")
        self._averager.make(self._shapes)
        if method is not None:
            self._averager.load(method)
        self._steps = mine["step"]
        self._moved_squared = moved_squared

    def close(self) -> None:
        """The orderly end; waits for all ranks. A program that ends does this by itself."""
        if self._is_closed:
            return
        self._is_closed = True
        leaving.remove(self)
        if self.failure is None:
            self._last_stats = self.stats()
            self._averager.close()

    def leave(self, is_failing: bool) -> None:
        """The program ends. If it fails, the others shall know at once."""
        if is_failing and self.failure is None:
            self._abandon()
        else:
            self.close()

    def _abandon(self) -> None:
        self._last_stats = self.stats()
        self._averager.abandon()

    def _take_gradients(self, target: List[torch.Tensor]) -> None:
        for parameter, gradient in zip(self._ordered, target):
            if parameter.grad is None:
                gradient.zero_()
            else:
                gradient.copy_(parameter.grad)

    def _find_gradient(
        self,
        addresses: List[int],
        closure: Callable[[], Any],
        random: "_RandomState",
        buffers: List[torch.Tensor],
    ) -> None:
        """Of the same batch at other parameters; then all is as it was."""
        random_now = _RandomState()
        buffers_now = [buffer.clone() for buffer in self._model.buffers()]
        with torch.no_grad():
            for parameter, values, address in zip(self._ordered, self._values, addresses):
                memory = (ctypes.c_float * values.numel()).from_address(address)
                old = torch.frombuffer(memory, dtype=torch.float32)
                parameter.copy_(old.view(parameter.shape))
            _copy(buffers, list(self._model.buffers()))
        random.restore()
        try:
            with torch.enable_grad():
                closure()
            self._take_gradients(self._old_gradients)
        finally:
            random_now.restore()
            with torch.no_grad():
                _copy(self._values, [p.detach() for p in self._ordered])
                _copy(buffers_now, list(self._model.buffers()))

    def _move(self, rate: float) -> None:
        moved = 0.0
        decays = {
            parameter: float(group.get("weight_decay", 0.0))
            for group in self._optimizer.param_groups
            for parameter in group["params"]
        }
        with torch.no_grad():
            for parameter, values, update in zip(self._ordered, self._values, self._gradients):
                if decays[parameter]:
                    update.add_(values, alpha=rate * decays[parameter])
                parameter.sub_(update.to(parameter.device))
                difference = parameter.detach().to("cpu", torch.float32) - values
                moved += float(difference.double().pow(2).sum())
        self._moved_squared = moved


class _RandomState:
    """Of torch's random numbers, to draw the same again."""

    def __init__(self) -> None:
        self._host = torch.get_rng_state()
        self._devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []

    def restore(self) -> None:
        torch.set_rng_state(self._host)
        if self._devices:
            torch.cuda.set_rng_state_all(self._devices)


def _copy(sources: List[torch.Tensor], targets: List[torch.Tensor]) -> None:
    for source, target in zip(sources, targets):
        target.copy_(source)


def _broadcast(model: torch.nn.Module, group: Any, meeting: Meeting) -> None:
    """All ranks begin as rank 0."""
    if meeting.size == 1:
        return
    mine = {name: value.cpu() for name, value in model.state_dict().items()}
    values: List[Any] = [mine if meeting.rank == 0 else None]
    first = 0 if group is None else dist.get_global_rank(group, 0)
    dist.broadcast_object_list(values, src=first, group=group)
    model.load_state_dict(values[0])


def _learning_rate(spec: str, optimizer: torch.optim.Optimizer) -> float:
    rates = {float(group["lr"]) for group in optimizer.param_groups}
    if len(rates) > 1:
        raise Error(f"{spec} works with one learning rate for all parameters")
    return rates.pop()


def _check_optimizer(
    spec: str, optimizer: torch.optim.Optimizer, parameters: List[torch.nn.Parameter]
) -> None:
    if not isinstance(optimizer, torch.optim.SGD):
        raise Error(f"{spec} gives an update that is subtracted as it is: take torch.optim.SGD")
    _learning_rate(spec, optimizer)
    known = {parameter for group in optimizer.param_groups for parameter in group["params"]}
    if not known.issuperset(parameters):
        raise Error("the optimizer has not all parameters of the model that require a gradient")
    if any(group.get("maximize", False) for group in optimizer.param_groups):
        raise Error(f"{spec} minimises: take torch.optim.SGD with maximize=False")
    if any(group["momentum"] for group in optimizer.param_groups):
        raise Error(
            f"{spec} gives an update with the learning rate in it, so there is no gradient for a "
            "momentum: take torch.optim.SGD with momentum=0"
        )
    if any(parameter.dtype != torch.float32 for parameter in parameters):
        raise Error(f"{spec} takes models of 32-bit floats")
