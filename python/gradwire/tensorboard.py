"""Event files for TensorBoard, written by torch's own SummaryWriter."""

import os
from typing import Any, Dict, Optional, Union

from .errors import Error
from .figures import Figures

#: A directory, or a SummaryWriter of the program.
Place = Union[str, "os.PathLike[str]", Any]


def check_tensorboard(place: Optional[Place]) -> None:
    """Raises where :class:`Board` could not write."""
    if place is None or hasattr(place, "add_scalar"):
        return
    if not isinstance(place, (str, os.PathLike)):
        raise Error(
            "tensorboard= takes the path of a directory, or a SummaryWriter of "
            f"torch.utils.tensorboard, not {place!r}"
        )
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError as error:
        raise Error(
            f"tensorboard= needs the package tensorboard ({error}): pip install tensorboard"
        ) from error


class Board:
    """Scalars of one hook, by step. Rank 0 has one. Its calls may come from any thread, one at a
    time."""

    def __init__(self, place: Place) -> None:
        check_tensorboard(place)
        self._place = place
        self._is_own = not hasattr(place, "add_scalar")
        self._writer: Any = None if self._is_own else place
        self._figures = Figures()

    def add_step(
        self, step: int, stats: Dict[str, Any], learning_rate: Optional[float] = None
    ) -> None:
        """After each step: ``step`` steps are done, and ``stats`` is what the hook says of them."""
        scalars = self._figures.take(stats)
        if learning_rate is not None:
            scalars["train/learning_rate"] = learning_rate
        self._write(step, scalars)

    def add_metrics(
        self,
        step: int,
        *,
        loss: Optional[float] = None,
        test_loss: Optional[float] = None,
        accuracy: Optional[float] = None,
    ) -> None:
        """What the program knows of the model after so many steps."""
        metrics = {"train/loss": loss, "test/loss": test_loss, "test/accuracy": accuracy}
        self._write(step, {tag: float(v) for tag, v in metrics.items() if v is not None})

    def close(self) -> None:
        """Everything is on the disk afterwards. A writer of the program stays open."""
        if self._writer is None:
            return
        self._writer.flush()
        if self._is_own:
            self._writer.close()

    def _write(self, step: int, scalars: Dict[str, float]) -> None:
        if self._writer is None and scalars:
            from torch.utils.tensorboard import SummaryWriter

            # Made with the first step, since a loaded state says which one that is. TensorBoard
            # hides what an earlier run left in the directory from this step on.
            self._writer = SummaryWriter(os.fspath(self._place), purge_step=step)
        for tag, value in scalars.items():
            self._writer.add_scalar(tag, value, step)
