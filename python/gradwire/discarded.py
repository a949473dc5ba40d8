"""Detects backward passes whose gradients the program may throw away.

A method with a memory keeps the unsent part of every gradient. If the program zeroes a gradient
instead of using it, as a GAN does with the discriminator's gradients of the generator's pass, the
unsent part still arrives later. The program should mark such a pass with ``Hook.ignore()``.

The sign of such a pass: two backward passes without a change of the parameters between them.
"""

import warnings
from typing import Any, Iterable, List

import torch

#: So many of the smallest parameters are compared, because some programs change the parameters in
#: ways that torch does not count.
_COMPARED = 2


class DiscardWatch:
    """Warns once."""

    def __init__(self, spec: str, parameters: Iterable[torch.nn.Parameter]) -> None:
        self._spec = spec
        self._watched = sorted(parameters, key=lambda parameter: parameter.numel())[:_COMPARED]
        self._versions: List[int] = []
        self._values: List[torch.Tensor] = []

    def begin(self) -> None:
        """A backward pass begins to deliver gradients."""
        if not self._watched:
            return
        if self._versions and not self._have_changed():
            warnings.warn(
                "the model had two backward passes without an optimizer step between them, and "
                f"{self._spec} keeps the unsent part of both. If the program throws the gradients "
                "of one pass away, put this pass into `with hook.ignore():`. If it accumulates "
                "gradients, put all passes but the last into `with model.no_sync():`",
                stacklevel=2,
            )
            self._watched = []
            return
        self._versions = [parameter._version for parameter in self._watched]
        self._values = [parameter.detach().clone() for parameter in self._watched]

    def forget(self) -> None:
        """The last pass says nothing: it was poisoned, so the program may skip its step."""
        self._versions = []

    def _have_changed(self) -> bool:
        now: Any = zip(self._watched, self._versions, self._values)
        return any(
            parameter._version != version or not torch.equal(parameter.detach(), values)
            for parameter, version, values in now
        )
