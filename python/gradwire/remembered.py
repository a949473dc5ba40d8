"""Results that are computed once for each list of pieces."""

from typing import Callable, Dict, Generic, List, Tuple, TypeVar

from .tensors import Piece

Result = TypeVar("Result")


class Remembered(Generic[Result]):
    """A function of the pieces of a bucket. DDP's buckets have the same list, as an object, in every
    step, so that a step need not look at every piece."""

    def __init__(self, function: Callable[[List[Piece]], Result]) -> None:
        self._function = function
        self._known: Dict[int, Tuple[List[Piece], Result]] = {}  # the list keeps its id from others

    def __call__(self, pieces: List[Piece]) -> Result:
        known = self._known.get(id(pieces))
        if known is None:
            known = self._known[id(pieces)] = pieces, self._function(pieces)
        return known[1]
