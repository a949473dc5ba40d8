"""The steps of a member's own between two exchanges of ``local(...)``, in elastic runs."""

from typing import Any, Dict, List, Optional

import torch

from .room import Room


class Rounds:
    """Counts the steps of a round, and holds the model that all members have in common.

    A round has ``every`` steps, whose samples are parts of one batch. At its end the members exchange
    how far their parameters have moved from the common model. The optimizer's state is the member's
    own: that of a newcomer starts empty.
    """

    def __init__(
        self,
        every: int,
        parameters: Dict[str, torch.nn.Parameter],
        optimizer: torch.optim.Optimizer,
        scheduler: Any,
    ) -> None:
        self.every = every
        self._parameters = parameters
        self._optimizer = optimizer
        self._scheduler = scheduler
        self._common: Dict[str, torch.Tensor] = {}
        #: That this member has used in the round.
        self.samples = 0
        #: Whether the parameters are those of the common model.
        self.is_common = True
        self._position = 0  # in the round
        self._scheduled = 0  # steps of the scheduler in it
        self.begin()

    @property
    def is_within(self) -> bool:
        """Whether the round has begun, and is not at its end."""
        return 0 < self._position < self.every

    def begin(self) -> None:
        """The parameters are the common model."""
        self._common = {n: p.detach().clone() for n, p in self._parameters.items()}
        self.is_common = True
        self._restart()

    def part(self, samples: List[int]) -> List[int]:
        """The samples of the next step, of those of the round."""
        first, end = (len(samples) * at // self.every for at in (self._position, self._position + 1))
        return samples[first:end]

    def count(self, samples: int) -> int:
        """How many samples of so many the steps so far have used."""
        return samples * self._position // self.every

    def step(self, samples: int, *, has_share: bool) -> None:
        """A step of this member's own. Without a share the round is over at once: the member waits
        for the others."""
        if not has_share:
            self._position = self.every
            return
        self.is_common = False
        if samples > 0:
            self._optimizer.step()
        self._optimizer.zero_grad()
        self._advance_scheduler()
        self.samples += samples
        self._position += 1

    def fill_moved(self, room: Room) -> None:
        """How far the parameters have moved, against their direction; nothing without samples."""
        with torch.no_grad():
            moved = {n: self._common[n] - p for n, p in self._parameters.items()}
        room.fill(dict(moved) if self.samples > 0 else {})

    @torch.no_grad()
    def end(self, moves: Optional[Dict[str, torch.Tensor]], *, is_replay: bool) -> None:
        """The common model moves, and the parameters become it. None: the exchange was poisoned, so
        what this member has moved by is sent in the next round; if it is not finite, it is lost."""
        self.is_common = moves is not None or is_replay
        for name, parameter in self._parameters.items():
            common = self._common[name]
            if moves is not None:
                common.sub_(moves[name].to(common.device, common.dtype))
            if self.is_common or not bool(parameter.isfinite().all()):
                parameter.copy_(common)
        while self._scheduled < self.every:  # rounds that this member had no part in
            self._advance_scheduler()
        self._restart()

    def give_up(self) -> None:
        """It is over for this process."""
        self._restart()

    def common_of(self, tensor: Any) -> List[torch.Tensor]:
        """What the common model has for a parameter; nothing for other tensors."""
        return [self._common[n] for n, p in self._parameters.items() if p is tensor]

    def _restart(self) -> None:
        self.samples = self._position = self._scheduled = 0

    def _advance_scheduler(self) -> None:
        self._scheduled += 1
        if self._scheduler is not None:
            self._scheduler.step()
