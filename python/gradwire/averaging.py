"""The steps of one rank: buckets of gradients to the library, in the order that all ranks share.

DDP hands out buckets in the same order on all ranks, but what is in them changes once, after the
first step. The order of the tensors is settled in the first step, to be the one in which gradients
become ready from then on; a gradient that comes out of turn waits for its turn.
"""

import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Set

import torch

from . import _native
from .bucket import Bucket
from .errors import Error
from .rates import Rates
from .remembered import Remembered
from .tensors import Floats, NamedShapes, Piece, plain_name, shape_of
from .waiting import told_if_slow


class _Turns:
    """When the pieces of a bucket are submitted."""

    def __init__(self, pieces: List[Piece], places: List[int]) -> None:
        self.places = places  # in the method's order
        #: The first place, if the others follow it one by one.
        self.run: Optional[int] = None
        if places and places == list(range(places[0], places[0] + len(places))):
            self.run = places[0]
        self._pieces = pieces
        self._address = 0
        self._floats: List[Floats] = []

    def floats(self, address: int) -> List[Floats]:
        """Of the pieces, if the bucket's floats begin there. DDP's buckets stay where they are."""
        if address != self._address:
            self._address = address
            self._floats = [(address + 4 * first, count) for _, first, count in self._pieces]
        return self._floats


class Averaging:
    """Not thread-safe: used by the worker thread, or by the caller while the worker is idle."""

    def __init__(self, averager: Any, names: Dict[torch.Tensor, str]) -> None:
        self.averager = averager
        self.step = 0
        self.exposed_seconds = 0.0
        #: Means that DDP drops, since no rank used the parameter: they are due later.
        self.carried: Dict[str, torch.Tensor] = {}
        #: In the order of the method; empty before there is one.
        self.shapes: NamedShapes = []
        #: The settings of Adam for these tensors, where the method is Adam.
        self.moments: Callable[[List[str]], List[Any]] = lambda names: []
        self._is_made = False  # and has loaded its initial state
        self._names = names
        self._places: Dict[str, int] = {}
        self._turns = Remembered(self._turns_of)
        self._loaded: Optional[bytes] = None  # the initial state of the method
        self._buckets: List[Bucket] = []  # of this step
        self._waiting: Dict[int, Floats] = {}  # by position: gradients whose turn has not come
        self._submitted = 0
        self._is_begun = False
        self._last_end = time.monotonic()
        self._rates = Rates(1.0, {})
        self._factor = 1.0  # memories are still to be multiplied by it
        self._added: Dict[str, torch.Tensor] = {}  # carried gradients that were added in this step
        self._kept: Set[str] = set()  # not used now, but with a gradient of passes before

    # --- A step ---

    def begin(self, rates: Rates, factor: float) -> None:
        """Memories are multiplied by the factor first."""
        self._is_begun = True
        self._buckets, self._waiting, self._submitted = [], {}, 0
        self._added, self._kept = {}, set()
        self._rates = rates
        self._factor = factor
        if factor != 1:
            for carried in self.carried.values():
                carried.mul_(factor)
        if self._is_made:
            self._begin_method()

    def _begin_method(self) -> None:
        if self._factor != 1:
            self.averager.rescale(self._factor)
        by_tensor = self._rates.in_order(self.shapes)
        self.averager.begin(self.step, self._rates.common, by_tensor)

    def add(self, bucket: Bucket, used: Optional[Set[str]]) -> None:
        """``used`` are the parameters that this rank has used so far, where that is known."""
        self._buckets.append(bucket)
        bucket.arrive()
        for piece in bucket.pieces if self.carried or used is not None else ():
            name = self._names[piece.parameter]
            if used is not None and name not in used and bool(bucket.values(piece).any()):
                self._kept.add(name)
            carried = self.carried.pop(name, None)
            if carried is not None:
                self._added[name] = carried
                bucket.values(piece).add_(carried)
        if self._is_made:
            self._submit(bucket)

    def finish(
        self,
        ready: List[str],
        used: Optional[List[str]],
        last_ready: float,
        on_means: Callable[[bool, Iterable[Bucket]], None] = lambda is_finite, buckets: None,
    ) -> None:
        """After the last bucket.

        ``ready`` are parameters in the order in which their gradients came, and ``used`` those that
        this rank used, where that is known. ``last_ready`` is when the last bucket came.
        ``on_means`` is called before DDP gets the means, with whether they are finite.
        """
        if not self._is_made:
            self._make(ready)
            self._begin_method()
            for bucket in self._buckets:
                self._submit(bucket)
        is_finite = self.averager.finish(last_ready - self._last_end)
        self.step += 1
        if not is_finite:
            self._take_back()
        if used is not None:
            self._carry_unused(used)
        on_means(is_finite, self._buckets)
        for bucket in self._buckets:
            bucket.deliver()
        self._buckets = []
        self._is_begun = False
        self._last_end = time.monotonic()
        self.exposed_seconds += self._last_end - last_ready

    def fail(self, error: BaseException) -> None:
        """Passes the failure to DDP, which waits."""
        for bucket in self._buckets:
            bucket.fail(error)
        self._buckets = []

    def _submit(self, bucket: Bucket) -> None:
        turns = self._turns(bucket.pieces)
        floats = turns.floats(bucket.address())
        if turns.run == self._submitted:  # as always, once DDP has settled its buckets
            self._submit_next(floats)
        else:
            self._waiting.update(zip(turns.places, floats))
        waited: List[Floats] = []
        while self._submitted + len(waited) in self._waiting:
            waited.append(self._waiting.pop(self._submitted + len(waited)))
        if waited:
            self._submit_next(waited)

    def _submit_next(self, floats: List[Floats]) -> None:
        self.averager.submit(self._submitted, floats)
        self._submitted += len(floats)

    def _turns_of(self, pieces: List[Piece]) -> _Turns:
        """With ``hosts=``, this rank may have no piece of a bucket."""
        return _Turns(pieces, [self._places[self._names[piece.parameter]] for piece in pieces])

    # --- The method ---

    def load(self, method: Optional[bytes], step: int, carried: Dict[str, torch.Tensor]) -> None:
        """The next step makes the method again, with this state."""
        if self._is_begun:
            raise Error("a state can only be loaded between steps, not during a backward pass")
        if method is not None:
            self._check_tensors(_native.describe_state(method))
        self._is_made = False
        self._loaded, self.step = method, step
        self.carried = {plain_name(name): tensor.clone() for name, tensor in carried.items()}

    def save(self) -> Optional[bytes]:
        if self._is_begun:
            raise Error("a state can only be saved between steps, not during a backward pass")
        return self.averager.save() if self._is_made else self._loaded

    def _check_tensors(self, state: Dict[str, Any]) -> None:
        saved = {name: list(shape) for name, shape in state["tensors"]}
        ours = {name: shape_of(parameter) for parameter, name in self._names.items()}
        for name in sorted(set(saved) | set(ours)):
            if name not in ours:
                raise Error(f"the state has a tensor '{name}' that the model has not")
            if name not in saved:
                raise Error(f"the state has no tensor '{name}'")
            if ours[name] != saved[name]:
                raise Error(f"tensor '{name}' has shape {ours[name]}, saved with {saved[name]}")

    def _make(self, ready: List[str]) -> None:
        shapes = {
            self._names[piece.parameter]: shape_of(piece.parameter)
            for bucket in self._buckets
            for piece in bucket.pieces
        }
        if self._loaded is not None:
            order = [name for name, _ in _native.describe_state(self._loaded)["tensors"]]
        else:
            order = self._agree(list(shapes), ready)
        made = [(name, shapes[name]) for name in order]
        self.averager.make(made, self.moments(order))
        if self._loaded is not None:
            self.averager.load(self._loaded)
            self._loaded = None
        self.shapes, self._is_made = made, True
        self._places = {name: place for place, name in enumerate(order)}
        self._turns = Remembered(self._turns_of)

    def _agree(self, arrived: List[str], ready: List[str]) -> List[str]:
        """Rank 0's order for all: as gradients became ready, then the rest as they arrived."""
        known = set(arrived)
        order = list(dict.fromkeys([name for name in ready if name in known] + arrived))
        names = sorted(arrived)
        numbers = {name: number for number, name in enumerate(names)}
        with told_if_slow(lambda: "waiting for the first backward pass of the other ranks"):
            agreed = self.averager.agree([numbers[name] for name in order])
        return [names[number] for number in agreed]

    # --- Unused parameters ---

    def _carry_unused(self, used: List[str]) -> None:
        """DDP leaves the gradient of a parameter alone that no rank used. What came for it, out of
        memories, is kept, and added to the gradient the next time."""
        names = [name for name, _ in self.shapes]
        mine = self._kept.union(used)
        counts = self.averager.sum([int(name in mine) for name in names])
        unused = {name for name, count in zip(names, counts) if count == 0}
        if not unused:
            return
        for bucket in self._buckets:
            for piece in bucket.pieces:
                name = self._names[piece.parameter]
                if name not in unused:
                    continue
                values = bucket.values(piece)
                if bool(values.any()) and bool(torch.isfinite(values).all()):
                    self.carried[name] = values.clone()
                values.zero_()

    def _take_back(self) -> None:
        """A poisoned exchange changes no memory, so the carried gradients have to be added again."""
        for bucket in self._buckets:
            for piece in bucket.pieces:
                added = self._added.get(self._names[piece.parameter])
                if added is not None and not bool(torch.isfinite(bucket.values(piece)).all()):
                    self.carried[self._names[piece.parameter]] = added
