"""``adam(...)`` behind a program's own ``torch.optim.AdamW``.

The method is AdamW itself: it owns both moments, and gives out updates. The optimizer keeps the
learning rates, betas, epsilon and decay, which the method takes from its groups. Its ``step()`` is
wrapped: it decays the weights and subtracts the updates, and AdamW's own step finds no gradients.
``state_dict()`` is wrapped, too: it has the moments of the method as ``exp_avg`` and ``exp_avg_sq``.
"""

import types
import warnings
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import torch

from .bucket import Bucket
from .errors import Error
from .tensors import Names

#: Of one tensor: beta1, beta2, epsilon and decay.
Moments = Tuple[float, float, float, float]

#: What Adam keeps, by the names of torch and of the method's memories.
_MIRRORED = {"exp_avg": "first moment", "exp_avg_sq": "second moment"}

#: Options of AdamW that are other methods, or need the step to run on a device.
_REFUSED = ("amsgrad", "maximize", "capturable", "differentiable", "fused")


def check_optimizer(spec: str, optimizer: Optional[torch.optim.Optimizer]) -> None:
    if optimizer is None:
        raise Error(f"{spec} takes the place of AdamW: pass optimizer=torch.optim.AdamW(...)")
    if not isinstance(optimizer, torch.optim.AdamW):
        raise Error(
            f"{spec} takes the place of torch.optim.AdamW, and the optimizer is a "
            f"{type(optimizer).__name__}: use AdamW, or another method"
        )
    for option in _REFUSED:
        if any(group.get(option) for group in optimizer.param_groups):
            raise Error(f"{spec} has no {option}=True: leave this option of AdamW out")


class AdamUpdates:
    """The updates of one model, from the exchange to the optimizer's step. ``memories`` and ``steps``
    give those of the method, and ``scale`` that of its gradients: moments are scaled as they are,
    updates are not. What a GradScaler does to ``p.grad`` does not reach the updates."""

    def __init__(
        self,
        spec: str,
        optimizer: torch.optim.Optimizer,
        by_parameter: Names,
        memories: Callable[[], Dict[str, Dict[str, torch.Tensor]]],
        steps: Callable[[], int],
        scale: Callable[[], float],
    ) -> None:
        self._spec = spec
        self._optimizer = optimizer
        self._names = by_parameter
        self._memories = memories
        self._steps = steps
        self._scale = scale
        self._updates: Dict[torch.Tensor, torch.Tensor] = {}
        self._is_active = True
        self._settings = {
            by_parameter[parameter]: (*map(float, group["betas"]), float(group["eps"]), 0.0)
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter in by_parameter
        }
        if any(self._has_moments(parameter) for parameter in by_parameter):
            warnings.warn(
                f"the optimizer has moments already, and {spec} begins with its own: its warm-up "
                "starts now. To continue a run, load the hook's state with load_state_dict",
                stacklevel=5,
            )
        self._wrap()

    def moments(self, names: List[str]) -> List[Moments]:
        """For each tensor. The decay is done in the optimizer's step, which has the weights."""
        usual = (0.9, 0.999, 1e-8, 0.0)
        return [self._settings.get(name, usual) for name in names]

    def close(self) -> None:
        """The optimizer works by itself again."""
        self._is_active = False

    # --- A step ---

    def take(self, is_finite: bool, buckets: Iterable[Bucket]) -> None:
        """The updates of a backward pass, before DDP gets them as gradients. What the program does
        to gradients until its step, such as clipping, does not change them."""
        if self._updates:
            raise Error(
                f"two backward passes without an optimizer step between them: {self._spec} has made "
                "an update of each. Put all passes but the last into `with model.no_sync():`, or "
                "passes whose gradients are thrown away into `with hook.ignore():`"
            )
        if not is_finite:
            return
        for bucket in buckets:
            for piece in bucket.pieces:
                update = torch.empty_like(piece.parameter, dtype=torch.float32)
                flat = update.as_strided((piece.elements,), (1,))
                self._updates[piece.parameter] = update
                flat.copy_(bucket.values(piece))

    @torch.no_grad()
    def _apply(self) -> None:
        updates, self._updates = self._updates, {}
        for group in self._optimizer.param_groups:
            shrink = 1 - float(group["lr"]) * float(group["weight_decay"])
            for parameter in group["params"]:
                update = updates.get(parameter)
                if update is not None and parameter.grad is not None:
                    parameter.mul_(shrink).sub_(update)

    # --- The optimizer ---

    def _wrap(self) -> None:
        """Schedulers wrap ``step`` as well, before or after, and need a bound method for that."""
        optimizer = self._optimizer
        step, state_dict = optimizer.step, optimizer.state_dict

        def new_step(_: Any, closure: Optional[Callable[[], Any]] = None) -> Any:
            if not self._is_active:
                return step(closure)
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            self._apply()
            gradients = [(parameter, parameter.grad) for parameter in self._names]
            for parameter, _gradient in gradients:
                parameter.grad = None
            try:
                step()  # for parameters that DDP does not have, and whoever counts steps
            finally:
                for parameter, gradient in gradients:
                    parameter.grad = gradient
            return loss

        def new_state_dict(_: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_active:
                self._mirror()
            try:
                return state_dict(*args, **kwargs)
            finally:
                if self._is_active:
                    self._forget()

        # Schedulers that have wrapped the step before look for their mark on it.
        new_step.__dict__.update(getattr(step, "__dict__", {}))
        optimizer.step = types.MethodType(new_step, optimizer)  # type: ignore[method-assign]
        optimizer.state_dict = types.MethodType(  # type: ignore[method-assign]
            new_state_dict, optimizer
        )

    def _has_moments(self, parameter: torch.Tensor) -> bool:
        return "exp_avg" in self._optimizer.state.get(parameter, {})

    def _mirror(self) -> None:
        """The optimizer has the method's moments, as if it had made them."""
        memories, steps, scale = self._memories(), float(self._steps()), self._scale()
        for parameter, name in self._names.items():
            moments = memories.get(name, {})
            if not all(memory in moments for memory in _MIRRORED.values()):
                continue
            state = {"step": torch.tensor(steps)}
            for key, memory in _MIRRORED.items():
                state[key] = torch.empty_like(parameter, requires_grad=False)
                state[key].as_strided((parameter.numel(),), (1,)).copy_(moments[memory])
                state[key] /= scale if key == "exp_avg" else scale**2
            self._optimizer.state[parameter] = state

    def _forget(self) -> None:
        for parameter in self._names:
            self._optimizer.state.pop(parameter, None)
