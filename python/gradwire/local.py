"""``local(...)``: every rank takes optimizer steps of its own, and the ranks exchange every few steps
how far their parameters moved."""

import contextlib
import ctypes
import types
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch

from . import state as states
from .errors import Error
from .participant import Options, Participant
from .parts import Parts
from .tensors import NamedShapes, floats_of

#: Outer gains above this are too much for optimizers whose steps have no limit of their own.
_GAIN_MAX = 2.0


class LocalSteps(Participant):
    """What :func:`attach` returns for ``local(...)``.

    The optimizer's ``step()`` is wrapped: after its own work, the method has the parameters. Every
    rank must take the same number of steps. The optimizer's state is the rank's own.

    Between exchanges the parameters of ranks differ. ``with steps.common_model():`` puts the model
    that all ranks have in common in their place, for evaluation and for checkpoints of the model.
    Call :meth:`exchange` after the last step.
    """

    _IS_CLOSED = "it is closed: attach again to go on"

    def __init__(
        self,
        parts: Parts,
        spec: str,
        *,
        optimizer: Optional[torch.optim.Optimizer],
        options: Options,
    ) -> None:
        parameters = parts.parameters
        shapes = [(n, list(parts.part(p).shape)) for n, p in parameters.items()]
        self._parts, self._place = parts, parts.place
        super().__init__(spec, shapes, options)
        self._optimizer = _checked(self.spec, optimizer, list(parameters.values()))
        warn_of_gain(self.spec, float(self._traits["gain"]), self._optimizer, stacklevel=4)
        self._meet(parts.group, shapes)
        parts.begin_as_first(self._meeting)
        self._connect(parts.model)
        self._averager.make(shapes)
        self._ordered = list(parameters.values())
        # Of parameters that the method cannot work on in place.
        self._copies: Dict[int, torch.Tensor] = {}
        self._made_shapes = shapes
        self._steps = 0
        self._is_active = True
        self._wrap()
        self._start()

    def exchange(self) -> None:
        """An exchange of all that has moved, now: the parameters are then the same on all ranks. All
        ranks call it at the same point, such as after the last step."""
        self._guarded(lambda: self._run(lambda: None, is_last=True))

    @contextlib.contextmanager
    def common_model(self) -> Iterator[None]:
        """The parameters are those of the common model, as of the last exchange; afterwards they are
        this rank's own again."""
        self._check_works()
        parts = [self._parts.part(parameter) for parameter in self._ordered]
        own = [part.clone() for part in parts]
        with torch.no_grad():
            for i, part in enumerate(parts):
                values = self._model_values(i)
                if values is not None:
                    part.copy_(values.view(part.shape))
        self._parts.changed()
        try:
            yield
        finally:
            with torch.no_grad():
                for part, values in zip(parts, own):
                    part.copy_(values)
            self._parts.changed()

    # --- As a participant ---

    def _steps_done(self) -> int:
        return self._steps

    def _shapes(self) -> NamedShapes:
        return self._made_shapes

    def _save(self) -> Optional[bytes]:
        return self._averager.save() if self._steps else None

    def _more_state(self) -> Dict[str, Any]:
        return {}

    def _load(self, mine: states.State) -> None:
        method = states.method_bytes(mine)
        self._averager.make(self._made_shapes)
        if method is not None:
            self._averager.load(method)
        self._steps = mine["step"]

    def _stop(self, seconds: Optional[float] = None) -> bool:
        self._is_active = False
        return super()._stop(seconds)

    # --- A step ---

    def _wrap(self) -> None:
        """Schedulers wrap ``step`` as well, before or after, and need a bound method for that."""
        optimizer, step = self._optimizer, self._optimizer.step

        def new_step(_: Any, closure: Optional[Callable[[], Any]] = None) -> Any:
            if not self._is_active:
                return step(closure) if closure is not None else step()
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            self._guarded(lambda: self._run(step))
            return loss

        # Schedulers that have wrapped the step before look for their mark on it.
        new_step.__dict__.update(getattr(step, "__dict__", {}))
        optimizer.step = types.MethodType(new_step, optimizer)  # type: ignore[method-assign]

    def _guarded(self, task: Callable[[], None]) -> None:
        """Where it raises, the other ranks are told, and there is no further step."""
        self._check_works()
        try:
            task()
        except BaseException as error:
            self.failure = error
            self._abandon()
            raise

    @torch.no_grad()
    def _run(self, step: Callable[[], Any], is_last: bool = False) -> None:
        takes_parameters = self._averager.takes_parameters(self._steps)
        rate = float(self._optimizer.param_groups[0]["lr"])
        before = [floats_of(values) for values in self._values(self._ordered)]
        if not takes_parameters and is_last:
            return  # the parameters are the same on all ranks
        self._averager.begin(self._steps, rate, [], before, is_last=is_last)
        if takes_parameters:
            step()
            self._submit(self._ordered)
            self._averager.finish(0.0)
            self._take_back(self._ordered)
            self._parts.changed()
        elif self._average_gradients():
            step()
        self._steps += 1
        self._note_step(rate)

    def _average_gradients(self) -> bool:
        """Whether all is finite."""
        for parameter in self._ordered:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [parameter.grad for parameter in self._ordered if parameter.grad is not None]
        self._submit(gradients)
        is_finite = bool(self._averager.finish(0.0))
        self._take_back(gradients)
        return is_finite

    def _submit(self, tensors: List[torch.Tensor]) -> None:
        self._averager.submit(0, [floats_of(values) for values in self._values(tensors)])

    def _values(self, tensors: List[torch.Tensor]) -> List[torch.Tensor]:
        """The tensors as floats in the processor's memory: themselves, or copies."""
        parts = [self._parts.part(tensor) for tensor in tensors]
        return [part if _is_plain(part) else self._copy(i, part) for i, part in enumerate(parts)]

    def _copy(self, i: int, part: torch.Tensor) -> torch.Tensor:
        if i not in self._copies:
            self._copies[i] = torch.empty(part.shape, dtype=torch.float32)
        return self._copies[i].copy_(part)

    def _take_back(self, tensors: List[torch.Tensor]) -> None:
        for i, tensor in enumerate(tensors):
            part = self._parts.part(tensor)
            if not _is_plain(part):
                part.copy_(self._copies[i])

    def _model_values(self, i: int) -> Optional[torch.Tensor]:
        floats = self._averager.model(i)
        if floats is None:
            return None
        address, elements = floats
        memory = (ctypes.c_float * elements).from_address(address)
        return torch.frombuffer(memory, dtype=torch.float32)


def warn_of_gain(
    spec: str, gain: float, optimizer: torch.optim.Optimizer, *, stacklevel: int
) -> None:
    """Where the outer step is too long for the optimizer. ``stacklevel`` is that of the program."""
    has_moments = any("betas" in group for group in optimizer.param_groups)
    if has_moments or gain <= _GAIN_MAX:
        return
    warnings.warn(
        f"{spec} moves the model {gain:.0f} times as far as the ranks, in the long run, and the "
        f"steps of {type(optimizer).__name__} have no limit of their own: expect a higher loss or "
        "divergence. Take outer=sgd(1), or AdamW",
        stacklevel=stacklevel,
    )


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.dtype == torch.float32 and tensor.device.type == "cpu" and tensor.is_contiguous()


def _checked(
    spec: str, optimizer: Optional[torch.optim.Optimizer], parameters: List[torch.nn.Parameter]
) -> torch.optim.Optimizer:
    if optimizer is None:
        raise Error(f"{spec} works behind the steps of an optimizer: pass optimizer=")
    if not hasattr(optimizer, "param_groups"):
        raise Error(f"optimizer= takes a torch.optim.Optimizer, not a {type(optimizer).__name__}")
    known = {parameter for group in optimizer.param_groups for parameter in group["params"]}
    if not known.issuperset(parameters):
        raise Error("the optimizer has not all parameters of the model that require a gradient")
    return optimizer
