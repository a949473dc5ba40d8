"""A bucket of DDP's on its way: its gradients as floats that the library can read and write."""

import operator
from typing import Any, Dict, List, Optional, Tuple

import torch

from .tensors import Floats, Piece, floats_of_pieces, pieces_of


class BucketLayouts:
    """Where gradients lie in DDP's buckets. It is looked up once, since with many small parameters
    that takes longer than their exchange; DDP changes its buckets only after the first step."""

    def __init__(self) -> None:
        self._known: Dict[int, Tuple[List[torch.Tensor], List[Piece]]] = {}  # by bucket

    def pieces(self, bucket: Any) -> List[Piece]:
        parameters = bucket.parameters()
        known, pieces = self._known.get(bucket.index(), ([], []))
        # Tensors compare element by element, so lists of them cannot be compared by ==.
        if len(known) != len(parameters) or not all(map(operator.is_, known, parameters)):
            pieces = pieces_of(bucket.buffer(), parameters, bucket.gradients())
            self._known[bucket.index()] = parameters, pieces
        return pieces


class Bucket:
    """Gradients of 32-bit floats in the processor's memory are worked on where they are. All others
    are copied: to 32-bit floats, and from a device through pinned memory."""

    def __init__(self, bucket: Any, layouts: BucketLayouts) -> None:
        self.index: int = bucket.index()
        self.is_last: bool = bucket.is_last()
        self.buffer: torch.Tensor = bucket.buffer()
        self.pieces = layouts.pieces(bucket)
        self._arrival: Optional[torch.cuda.Event] = None
        self._floats = self.buffer
        self._depart()
        devices = [self.buffer.device] if self.buffer.is_cuda else None
        self._done: "torch.futures.Future[Any]" = torch.futures.Future(devices=devices)
        #: What DDP waits for.
        self.future: "torch.futures.Future[torch.Tensor]" = self._done.then(_deliver)

    def _depart(self) -> None:
        if self.buffer.is_cuda:
            # Half the bytes travel if the conversion is done on this side.
            pinned = torch.empty(self.buffer.shape, dtype=self.buffer.dtype, pin_memory=True)
            self._floats = pinned.copy_(self.buffer, non_blocking=True)
            self._arrival = torch.cuda.Event()
            self._arrival.record()

    def arrive(self) -> None:
        """Waits until the gradients are here, as floats."""
        if self._arrival is not None:
            self._arrival.synchronize()
        if self._floats.dtype != torch.float32 or not self._floats.is_contiguous():
            self._floats = self._floats.to(torch.float32).contiguous()

    def values(self, piece: Piece) -> torch.Tensor:
        """The floats of one parameter."""
        return self._floats.view(-1).narrow(0, piece.first, piece.elements)

    def floats(self, pieces: List[Piece]) -> List[Floats]:
        return floats_of_pieces(self._floats, pieces)

    def deliver(self) -> None:
        """The floats are the means now: DDP can continue."""
        self._return()
        self._done.set_result(self.buffer)

    def _return(self) -> None:
        if self._floats is not self.buffer:
            self.buffer.copy_(self._floats)

    def fail(self, error: BaseException) -> None:
        """DDP raises this where it waits, unless it has got its means already."""
        if not self._done.done():
            self._done.set_result(error)


def _deliver(done: "torch.futures.Future[Any]") -> torch.Tensor:
    """DDP waits in C++ for this future. If it raises here, DDP raises the same message."""
    result = done.value()
    if isinstance(result, BaseException):
        raise result
    return result
