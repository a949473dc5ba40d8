"""Which samples a step of an elastic run learns from, and which of them are a member's."""

from typing import Any, Dict, List, Optional, Sequence

import torch

from .errors import Error


class ElasticSampler:
    """Deals the samples ``0`` to ``size - 1`` out to the members of an elastic run.

    An epoch is a permutation of all samples that follows from ``seed`` and the epoch's number. It is
    cut into batches of ``global_batch`` samples, whatever the number of members; they share a batch
    by rank. If a member is lost in a step, its share comes back at the end of the epoch. So every
    sample is used once in every epoch.

    All members hold the same sampler: :func:`gradwire.join` advances it with every step, and gives
    its state to newcomers.
    """

    def __init__(self, size: int, global_batch: int, seed: int = 0) -> None:
        if size < 1 or global_batch < 1:
            raise Error("ElasticSampler needs at least one sample, and a global batch of at least one")
        self.size = size
        self.global_batch = global_batch
        self.seed = seed
        self.epoch = 0
        self._position = 0  # in the order of the epoch, the samples that came back behind it
        self._returned: List[int] = []
        self._order: Optional[List[int]] = None

    def batch(self) -> List[int]:
        """The samples of the next step, of all members together."""
        order = self._epoch_order()
        if self._position < len(order):
            return order[self._position : self._position + self.global_batch]
        return self._returned[: self.global_batch]

    def share(self, share: Optional[int], shares: int) -> List[int]:
        """The part of the batch that is share ``share`` of ``shares``; none without a share."""
        if share is None:
            return []
        batch = self.batch()
        return batch[len(batch) * share // shares : len(batch) * (share + 1) // shares]

    def advance(self, shares: int, lost_shares: Sequence[int]) -> None:
        """The step was made, without the shares of lost members."""
        batch = self.batch()
        lost = [sample for share in lost_shares for sample in self.share(share, shares)]
        if self._position < self.size:
            self._position += len(batch)
        else:
            del self._returned[: len(batch)]
        self._returned += lost
        if self._position >= self.size and not self._returned:
            self.epoch += 1
            self._position = 0
            self._order = None

    def state_dict(self) -> Dict[str, Any]:
        return {"epoch": self.epoch, "position": self._position, "returned": list(self._returned)}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.epoch = int(state["epoch"])
        self._position = int(state["position"])
        self._returned = [int(sample) for sample in state["returned"]]
        self._order = None

    def _epoch_order(self) -> List[int]:
        if self._order is None:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
            self._order = torch.randperm(self.size, generator=generator).tolist()
        return self._order
