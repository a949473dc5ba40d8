"""What the hooks of DDP and of FSDP2 have in common."""

import gc
import warnings
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Set, Tuple, Union

import torch

from . import _native, state as states
from .averaging import Averaging
from .bucket import Bucket
from .errors import Error
from .interrupts import guard_interrupts
from .participant import Options, Participant
from .rates import RatesOfGroups
from .tensors import Names, NamedShapes
from .worker import Worker


class Hook(Participant):
    """Averages the gradients of one model; :func:`attach` makes it.

    A thread of the hook does the slow work during the backward pass. Every method of this class
    waits for that thread first.
    """

    _IS_CLOSED = "the hook is closed: call gradwire.attach again to continue"

    def __init__(
        self,
        spec: str,
        shapes: NamedShapes,
        *,
        optimizer: Optional[torch.optim.Optimizer],
        scaler: Optional[Any],
        options: Options,
        place: Tuple[int, int] = (0, 1),
    ) -> None:
        _check_arguments(optimizer, scaler)
        if place[0] > 0:
            options = options._replace(record=None, tensorboard=None)  # those of the first part
        super().__init__(spec, shapes, options)
        if self._traits["owns_moments"]:
            self._check_takes_moments(optimizer)
        else:
            _check_optimizer_fits(self._traits, optimizer)
        if place[1] > 1:
            _check_takes_parts(self._traits)
        self._optimizer = optimizer
        self._scaler = scaler
        self._scale: Optional[float] = None
        self._warned_of_scaler = self._scaler is not None
        self._is_ignoring = False
        self.failure = Error("the hook was not completed")
        self._place = place

    def _join(
        self,
        group: Any,
        shapes: NamedShapes,
        model: torch.nn.Module,
        names: Names,
        by_parameter: Names,
    ) -> None:
        """All ranks of the group call it. ``names`` has the tensors that come in buckets, and
        ``by_parameter`` the same names for the parameters that the optimizer has."""
        self._meet(group, shapes)
        self._connect(model)
        self._averaging = Averaging(self._averager, names)
        self._rates = RatesOfGroups(self._optimizer, by_parameter)
        self._worker = Worker("gradwire")
        guard_interrupts()

    def _check_takes_moments(self, optimizer: Any) -> None:
        """Raises where updates cannot take the place of gradients."""
        raise Error(f"{self.spec} gives updates, and works with DistributedDataParallel only")

    # --- While training ---

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
        if _is_scaler_in_use():
            warnings.warn(
                f"a GradScaler is in use, and {self.spec} remembers gradients. Its memory will be "
                "wrong when the scale changes. Pass the scaler: gradwire.attach(..., "
                "scaler=scaler)"
            )

    @property
    def _is_open(self) -> bool:
        """A step is under way."""
        return self._health.is_within_step

    @_is_open.setter
    def _is_open(self, is_open: bool) -> None:
        self._health.is_within_step = is_open

    # --- For the program ---

    @property
    def step(self) -> int:
        """The number of finished steps."""
        self._wait()
        return self._averaging.step

    @contextmanager
    def ignore(self) -> Iterator[None]:
        """For backward passes whose gradients the program throws away: they are averaged exactly,
        by process groups of torch, and the method's memory does not change. All ranks do this at
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
        of past gradients. Of an owner's memories, a rank has only the range that it owns. With
        ``grace=``, all ranks call it at the same point."""
        self._check_works()
        saved = self._call(self._save)
        memories: Dict[str, Dict[str, torch.Tensor]] = {}
        for memory, name, _, values in _native.state_arrays(saved) if saved else []:
            memories.setdefault(name, {})[memory] = torch.from_numpy(values)
        return memories

    def load_state_dict(
        self, state: Union[states.State, states.FullState, Sequence[states.State]]
    ) -> None:
        """Continues from a saved state. All ranks call it at the same point.

        Each rank gives its own state, or all give what :meth:`full_state_dict` returned. For another
        number of ranks, or of hosts, give the full state, or the list of the states of all old ranks
        in their order, on every rank.
        """
        if isinstance(state, dict) and "states" in state:
            state = state["states"]
        if isinstance(state, dict):
            self._check_part(state)
        elif isinstance(state, (list, tuple)):
            state = [one for one in state if self._check_part(one)[0] == self._place[0]]
            if not state:
                raise Error(f"there is no state of part {self._place[0]} of the model")
        super().load_state_dict(state)

    def _check_part(self, state: states.State) -> Sequence[int]:
        """The part of the parameters that a state belongs to."""
        part = states.part_of(state)
        if part[1] != self._place[1]:
            raise Error(
                f"the state was saved with {part[1]} parts of the model on every host, and now "
                f"there are {self._place[1]}: load it with as many ranks on a host as before"
            )
        return part

    # --- As a participant ---

    def _steps_done(self) -> int:
        return self._averaging.step

    def _shapes(self) -> NamedShapes:
        return self._averaging.shapes

    def _more_phases(self) -> Dict[str, float]:
        return {"exposed": self._averaging.exposed_seconds}

    def _save(self) -> Optional[bytes]:
        if self._options.grace is None:
            return self._averaging.save()
        self._await_all()  # a late rank's step may still be open
        try:
            return self._averaging.save()
        finally:
            self._await_all()

    def _await_all(self) -> None:
        self._averager.sum([0])

    def _more_state(self) -> Dict[str, Any]:
        carried = {name: tensor.clone() for name, tensor in self._averaging.carried.items()}
        return {"carried": carried, "scale": self._scale, "part": list(self._place)}

    def _load(self, mine: states.State) -> None:
        method, carried = states.method_bytes(mine), states.more_of(mine, "carried")
        self._call(lambda: self._averaging.load(method, mine["step"], carried))
        self._scale = states.more_of(mine, "scale")

    def _call(self, task: Callable[[], Any]) -> Any:
        return self._worker.call(task)

    def _wait(self) -> None:
        if not self._is_closed:
            self._worker.wait()

    def _stop(self, seconds: Optional[float] = None) -> bool:
        return self._worker.stop(seconds)

    def _ending(self) -> Callable[[], Any]:
        return self._worker.stop


def _check_arguments(optimizer: Any, scaler: Any) -> None:
    if optimizer is not None and not hasattr(optimizer, "param_groups"):
        raise Error(f"optimizer= takes a torch.optim.Optimizer, not a {type(optimizer).__name__}")
    if scaler is not None and not hasattr(scaler, "get_scale"):
        raise Error(f"scaler= takes a GradScaler, not a {type(scaler).__name__}")


def _check_takes_parts(traits: Dict[str, Any]) -> None:
    if traits["needs_whole_gradient"]:
        raise Error(
            f"{traits['spec']} needs the norm of the whole gradient, and a rank has only a part of "
            "it here: use a method without this need"
        )


def _check_optimizer_fits(traits: Dict[str, Any], optimizer: Optional[torch.optim.Optimizer]) -> None:
    if traits["needs_parameters"]:
        raise Error(
            f"{traits['spec']} needs the gradient at older parameters, which a hook cannot "
            "compute: use gradwire.LazyStep"
        )
    if optimizer is None:
        return
    if traits["is_biased"] and any("betas" in group for group in optimizer.param_groups):
        warnings.warn(
            f"{type(optimizer).__name__} divides by a running mean of squared gradients, and "
            f"{traits['spec']} changes these squares: expect a higher loss. With AdamW use "
            "'adam(...)' around the codec, or 'natural | entropy'",
            stacklevel=5,
        )
    if not traits["owns_momentum"]:
        return
    for group in optimizer.param_groups:
        if group.get("momentum", 0) or "betas" in group:
            raise Error(
                f"{traits['spec']} has a momentum of its own, so the optimizer would apply it "
                "twice: use torch.optim.SGD without momentum"
            )


def _is_scaler_in_use() -> bool:
    """Whether the program has a GradScaler. It is looked for among the objects that refer to the
    class. To look at all objects would take references to tensors while torch frees them on other
    threads, and torch warns about that: "Deallocating Tensor that still has live PyObject
    references"."""
    kinds = [getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)]
    for kind in kinds:
        kinds += kind.__subclasses__()
    referrers = gc.get_referrers(*kinds)
    return any(isinstance(thing, kinds[0]) and thing.is_enabled() for thing in referrers)
