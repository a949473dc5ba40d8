"""A bucket of DDP's where a host has several ranks: its gradients are added up within the host first."""

from typing import Any

import torch

from .bucket import Bucket, BucketLayouts
from .hosts import Host, Parts, Sum, gather


class HostBucket(Bucket):
    """The library gets this rank's part of the mean of the host's gradients.

    The sum begins when DDP hands out the bucket, which it does in the same order on all ranks. Parts
    are gathered when the step is finished, in the same order again.
    """

    def __init__(self, bucket: Any, layouts: BucketLayouts, host: Host, parts: Parts) -> None:
        self._host = host
        self._parts = parts
        super().__init__(bucket, layouts)

    def _depart(self) -> None:
        self._layout = self._parts.layout([piece.parameter for piece in self.pieces])
        self._sum = Sum(self._host, self._layout.pack(self.buffer.to(torch.float32).view(-1)))
        self.pieces = self._layout.own

    def arrive(self) -> None:
        self._floats = self._sum.wait().div_(self._host.ranks).cpu()

    def _return(self) -> None:
        rows = gather(self._host, self._floats.to(self.buffer.device))
        self._layout.unpack(rows, self.buffer.view(-1))
