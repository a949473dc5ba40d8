"""Steps of methods that look at the model to decide who uploads: sasg, lasg."""

import ctypes
import os
from typing import Any, Callable, Dict, List, Optional, Union

import torch
import torch.distributed as dist

from . import state as states
from .errors import Error
from .meeting import Meeting
from .participant import Options, Participant
from .security import Security
from .tensors import NamedShapes, floats_of, trained_parameters


class LazyStep(Participant):
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

    _IS_CLOSED = "it is closed: make a LazyStep anew to go on"

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
        codec_threads: Optional[int] = None,
        streams: int = 1,
        secret: Optional[Union[str, "os.PathLike[str]", bytes]] = None,
        tls_cert: Optional[Union[str, "os.PathLike[str]"]] = None,
        tls_key: Optional[Union[str, "os.PathLike[str]"]] = None,
        tls_ca: Optional[Union[str, "os.PathLike[str]"]] = None,
    ) -> None:
        parameters = trained_parameters(model)
        shapes = [(name, list(parameter.shape)) for name, parameter in parameters.items()]
        shapes.reverse()
        options = Options(
            topology,
            seed,
            record,
            overwrite,
            interface,
            timeout,
            codec_threads,
            security=Security(secret, tls_cert, tls_key, tls_ca),
            streams=streams,
        )
        super().__init__(spec, shapes, options)
        is_lazy = self._traits["needs_parameters"] and not self._traits["gives_model"]
        if not is_lazy or self._traits["owns_moments"]:
            raise Error(f"{self.spec} does not need closures: take gradwire.attach")
        _check_optimizer(spec, optimizer, list(parameters.values()))
        self._meet(group, shapes)
        broadcast_model(model, group, self._meeting)
        self._connect(model)
        self._averager.make(shapes)
        self._model = model
        self._optimizer = optimizer
        # As the method has them: the last parameter first.
        self._ordered = list(reversed(list(parameters.values())))
        self._values = [torch.empty(p.shape, dtype=torch.float32) for p in self._ordered]
        self._gradients = [torch.empty(p.shape, dtype=torch.float32) for p in self._ordered]
        self._old_gradients = [torch.empty(p.shape, dtype=torch.float32) for p in self._ordered]
        self._moved_squared: Optional[float] = None
        self._made_shapes = shapes
        self._steps = 0
        self._start()

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
            [],
            [floats_of(values) for values in self._values],
            gradient_at,
            self._moved_squared,
        )
        self._averager.submit(0, [floats_of(gradient) for gradient in self._gradients])
        is_finite = self._averager.finish(0.0)
        self._steps += 1
        if is_finite:
            self._move(rate)
        return result

    def uploads_skipped(self) -> int:
        """How often this rank had nothing new to say."""
        return int(self.stats()["uploads_skipped"])

    # --- As a participant ---

    def _steps_done(self) -> int:
        return self._steps

    def _shapes(self) -> NamedShapes:
        return self._made_shapes

    def _save(self) -> Optional[bytes]:
        return self._averager.save() if self._steps else None

    def _more_state(self) -> Dict[str, Any]:
        return {"moved_squared": self._moved_squared}

    def _load(self, mine: states.State) -> None:
        method = states.method_bytes(mine)
        moved_squared = states.more_of(mine, "moved_squared")
        self._averager.make(self._made_shapes)
        if method is not None:
            self._averager.load(method)
        self._steps = mine["step"]
        self._moved_squared = moved_squared

    # --- Within a step ---

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


def broadcast_model(model: torch.nn.Module, group: Any, meeting: Meeting) -> None:
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
