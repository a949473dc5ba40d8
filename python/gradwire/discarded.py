"""Detects backward passes whose gradients the program throws away.

A method with a memory keeps the unsent part of every gradient. If the program zeroes a gradient
instead of using it, as a GAN does with the discriminator's gradients of the generator's pass, the
unsent part still arrives later. The program should mark such a pass with ``Hook.ignore()``.

The sign of such a pass: when the next pass brings a gradient, that of the last pass is gone from
``parameter.grad``, and no parameter has changed in between. A program that adds up the gradients of
several passes, before one step of its optimizer, leaves them there.
"""

import warnings
from typing import Any, Callable, Iterable, List, Optional

import torch

from .bucket import Bucket
from .interrupts import guarded
from .remembered import Remembered
from .tensors import Names, Piece

#: So many of the smallest parameters are watched. One that the optimizer does not have never changes.
_WATCHED = 2


class DiscardWatch:
    """Warns once. ``parameters`` are the candidates, and ``names`` has the tensors that come in
    buckets, by the same names."""

    def __init__(self, spec: str, parameters: Names, names: Names) -> None:
        self._spec = spec
        smallest = sorted(parameters, key=lambda parameter: parameter.numel())[:_WATCHED]
        by_name = {parameters[parameter]: _Watched(parameter, self._check) for parameter in smallest}
        self._watched = list(by_name.values())
        self._pieces = Remembered(
            lambda pieces: [
                (piece, by_name[names[piece.parameter]])
                for piece in pieces
                if names[piece.parameter] in by_name
            ]
        )
        self._has_stepped = False  # a parameter has changed before this pass

    def note_means(self, is_finite: bool, buckets: Iterable[Bucket]) -> None:
        """The means of a pass, before the program gets them. If they are not finite, the program may
        well skip its step."""
        self._has_stepped = False
        if not self._watched:
            return
        for bucket in buckets:
            for piece, watched in self._pieces(bucket.pieces):
                watched.has_mean = is_finite and bool(bucket.values(piece).any())

    def stop(self) -> None:
        for watched in self._watched:
            watched.stop()
        self._watched = []

    def _check(self, watched: "_Watched") -> None:
        self._has_stepped = self._has_stepped or watched.has_changed()
        if self._has_stepped or not watched.has_lost_its_mean():
            return
        if any(other.has_changed() for other in self._watched):
            return
        self.stop()
        warnings.warn(
            f"the program threw the gradients of a backward pass away, and {self._spec} keeps the "
            "unsent part of them. Put such a pass into `with hook.ignore():`",
            stacklevel=3,
        )


class _Watched:
    """A parameter at the time of its last gradient."""

    def __init__(self, parameter: torch.Tensor, check: Callable[["_Watched"], None]) -> None:
        self._parameter = parameter
        self._version = 0
        self._values: Optional[torch.Tensor] = None  # some programs change values uncounted by torch
        self._check = check
        #: The last pass gave it a mean other than zero.
        self.has_mean = False
        self._handle: Any = parameter.register_hook(_on_gradient_of(self))

    def remember(self) -> None:
        self._version = self._parameter._version
        self._values = self._parameter.detach().clone()
        self.has_mean = False

    def has_changed(self) -> bool:
        if self._values is None:
            return False
        if self._parameter._version != self._version:
            return True
        return not torch.equal(self._parameter.detach(), self._values)

    def has_lost_its_mean(self) -> bool:
        gradient = self._parameter.grad
        return self.has_mean and (gradient is None or not bool(gradient.any()))

    def stop(self) -> None:
        self._handle.remove()


def _on_gradient_of(watched: _Watched) -> Callable[[torch.Tensor], None]:
    """Torch calls it before it adds the gradient to ``parameter.grad``."""

    @guarded
    def on_gradient(gradient: torch.Tensor) -> None:
        watched._check(watched)
        watched.remember()

    return on_gradient
