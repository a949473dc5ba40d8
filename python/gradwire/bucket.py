"""A bucket of DDP's on its way: its gradients as floats that the library can read and write."""

import operator
from typing import Any, Dict, List, Optional

import torch

from .tensors import Piece, pieces_of


class _Layout:
    """Where the gradients of one of DDP's buckets lie."""

    def __init__(self, bucket: Any) -> None:
        buffer = bucket.buffer()
        self.parameters: List[torch.Tensor] = bucket.parameters()
        self.pieces = pieces_of(buffer, self.parameters, bucket.gradients())
        self._memory = buffer.data_ptr(), buffer.numel()
        self._uses = 0

    def fits(self, bucket: Any, buffer: torch.Tensor) -> bool:
        """DDP makes its buckets anew once, after its first averaged pass. So the parameters are
        compared a few times, and from then on only the memory."""
        if self._memory != (buffer.data_ptr(), buffer.numel()):
            return False
        self._uses += 1
        if self._uses > _CHECKED_PASSES:
            return True
        now = bucket.parameters()
        # Tensors compare element by element, so lists of them cannot be compared by ==.
        return len(now) == len(self.parameters) and all(map(operator.is_, now, self.parameters))


#: In so many passes the parameters of a bucket are compared.
_CHECKED_PASSES = 16


class BucketLayouts:
    """The layouts of DDP's buckets. Each is found once, since with many small parameters that takes
    longer than their exchange."""

    def __init__(self) -> None:
        self._known: Dict[int, _Layout] = {}  # by bucket

    def pieces(self, bucket: Any, buffer: torch.Tensor) -> List[Piece]:
        """The same list, as an object, while the bucket stays as it is."""
        known = self._known.get(bucket.index())
        if known is None or not known.fits(bucket, buffer):
            known = self._known[bucket.index()] = _Layout(bucket)
        return known.pieces


class Bucket:
    """Gradients of 32-bit floats in the processor's memory are worked on where they are. All others
    are copied: to 32-bit floats, and from a device through pinned memory."""

    def __init__(self, bucket: Any, layouts: BucketLayouts) -> None:
        self.index: int = bucket.index()
        self.is_last: bool = bucket.is_last()
        self.buffer: torch.Tensor = bucket.buffer()
        self.pieces = layouts.pieces(bucket, self.buffer)
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

    def address(self) -> int:
        """Of the floats."""
        return self._floats.data_ptr()

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
