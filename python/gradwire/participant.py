"""What :class:`Hook` and :class:`LazyStep` have in common: one rank's part in averaging the gradients
of one model, from the meeting of the ranks to the end of the program.

A participant meets the other ranks, connects to them, and from then on has a record, totals, a state
to save, and an end. How gradients come to it, and on which thread, is up to the derived class.
"""

import os
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from . import _native, leaving, state as states
from .checks import (
    check_codec_threads,
    check_grace,
    check_place,
    check_remark,
    check_seed,
    check_spec,
    check_streams,
    check_timeout,
)
from .description import description_of
from .errors import Error
from .meeting import Meeting, interface as named_interface, meet
from .security import Security
from .summary import stats_of, summary_of
from .tensorboard import Board, Place, check_tensorboard
from .tensors import NamedShapes
from .waiting import tell, told_if_slow


def _warn_if_exposed(address: str) -> None:
    if address:
        warnings.warn(
            f"{address} is a public address, and gradwire's connections are not encrypted: anybody "
            "on the way can read the gradients. 'gradwire secret FILE' and secret=FILE prevent it",
            stacklevel=4,
        )


def _tell_refused(rank: int, count: int) -> None:
    if count > 0:
        connections = "connection" if count == 1 else "connections"
        tell(f"rank {rank} has refused {count} {connections} of strangers while the ranks met")


class Options(NamedTuple):
    """What every participant is given beside its model and its method; :func:`attach` explains it."""

    topology: str
    seed: int
    record: Optional[Union[str, "os.PathLike[str]"]]
    overwrite: bool
    interface: Optional[str]
    timeout: float
    codec_threads: Optional[int] = None
    tensorboard: Optional[Place] = None
    security: Security = Security()
    streams: int = 1
    grace: Optional[float] = None

    def check(self) -> None:
        check_seed(self.seed)
        check_tensorboard(self.tensorboard)
        check_timeout(self.timeout)
        self.security.check()
        check_codec_threads(self.codec_threads)
        check_streams(self.streams)
        check_grace(self.grace)
        check_place(self.topology, self.interface, self.record, self.overwrite)


class Participant:
    """A derived class calls :meth:`_meet`, :meth:`_connect` and :meth:`_start`, in this order."""

    #: The message of calls after the end.
    _IS_CLOSED = "it is closed"

    #: Which part of the parameters this rank averages, of how many that a host has.
    _place: Tuple[int, int] = (0, 1)

    _group: Any
    _meeting: Meeting
    _averager: Any

    def __init__(self, spec: str, shapes: NamedShapes, options: Options) -> None:
        """Refuses what can be refused without the other ranks."""
        check_spec(spec)
        options.check()
        if options.grace is not None:
            reason = _native.why_not_late(spec, options.topology)
            if reason:
                raise Error(reason)
        self._given_spec = spec
        self._options = options
        self._security = options.security.or_environment()
        self._traits = _native.probe(spec, shapes, options.topology)
        self._health = leaving.Health()
        self._is_closed = False
        self._board: Optional[Board] = None
        self._last_stats: Optional[Dict[str, Any]] = None  # when the averager is gone

    @property
    def failure(self) -> Optional[BaseException]:
        """What ended the averaging, if something did: a :class:`PeerError` has the rank."""
        return self._health.failure

    @failure.setter
    def failure(self, error: Optional[BaseException]) -> None:
        self._health.failure = error

    # --- The start ---

    def _meet(self, group: Any, shapes: NamedShapes) -> None:
        """All ranks of the group at once. Raises where they do not want the same."""
        options = self._options
        facts = {
            "method": self.spec,
            "tensors": shapes,
            "topology": options.topology,
            "seed": options.seed,
            "record": options.record is not None,
            "encryption": self._security.kind(),
            "streams": options.streams,
            "grace": options.grace,
        }
        self._group = group
        self._meeting = meet(group, facts, options.timeout)

    def _connect(self, model: torch.nn.Module) -> None:
        """All ranks at once, after they met."""
        options = self._options
        with told_if_slow(lambda: "waiting for connections between the ranks"):
            self._averager = _native.Averager(
                **self._meeting._asdict(),
                spec=self._given_spec,
                parts=self._place[1],
                topology=options.topology,
                seed=options.seed,
                interface=options.interface or named_interface() or "",
                start_seconds=options.timeout,
                peer_timeout_seconds=options.timeout,
                codec_threads=options.codec_threads or 0,
                streams=options.streams,
                grace=options.grace or 0.0,
                directory=os.fspath(options.record) if options.record is not None else "",
                description=description_of(model, options.grace),
                overwrite=options.overwrite,
                **self._security.native(),
            )
        _warn_if_exposed(self._averager.exposed_address())
        _tell_refused(self._meeting.rank, self._averager.refused_connections())

    def _start(self) -> None:
        """From now on the end of the program is an end of this, too."""
        options = self._options
        if options.tensorboard is not None and self._meeting.rank == 0:
            self._board = Board(options.tensorboard)
        self.failure = None
        leaving.add(self, self._averager, self._ending(), self._health)

    # --- What derived classes say of themselves ---

    def _steps_done(self) -> int:
        raise NotImplementedError

    def _shapes(self) -> NamedShapes:
        """In the order of the method; empty before there is one."""
        raise NotImplementedError

    def _more_phases(self) -> Dict[str, float]:
        """Seconds, beside those of the library."""
        return {}

    def _save(self) -> Optional[bytes]:
        """The method's state; nothing where no step was done."""
        raise NotImplementedError

    def _more_state(self) -> Dict[str, Any]:
        """The part of the state beside the method's; the same on all ranks."""
        raise NotImplementedError

    def _load(self, mine: states.State) -> None:
        """Loads a state of this rank. Checks it before it changes anything."""
        raise NotImplementedError

    def _call(self, task: Callable[[], Any]) -> Any:
        """What the task returns, on the thread that averages."""
        return task()

    def _wait(self) -> None:
        """Waits until that thread has finished its tasks."""

    def _stop(self, seconds: Optional[float] = None) -> bool:
        """Ends that thread. Whether it has ended within that time."""
        return True

    def _ending(self) -> Callable[[], Any]:
        """Ends that thread, too, but does not refer to this object."""
        return lambda: True

    def _note_step(self, learning_rate: Optional[float]) -> None:
        """After a step, on the thread that averages."""
        if self._board is not None:
            self._board.add_step(self._steps_done(), self._stats_now(), learning_rate)

    # --- For the program ---

    @property
    def spec(self) -> str:
        """The method, in its canonical form."""
        return str(self._traits["spec"])

    def log(
        self,
        *,
        loss: Optional[float] = None,
        samples: int = 1,
        test_loss: Optional[float] = None,
        accuracy: Optional[float] = None,
    ) -> None:
        """What is known of the step that was just done, for the record.

        Losses are averaged over the samples of all ranks; the others are those of rank 0, with
        ``accuracy`` from 0 to 1. Without a record nothing happens.
        """
        check_remark(loss, samples, test_loss, accuracy)
        self._wait()
        self._check_works()
        self._averager.log(loss, samples, test_loss, accuracy)
        if self._board is not None:
            self._board.add_metrics(
                self._steps_done(), loss=loss, test_loss=test_loss, accuracy=accuracy
            )

    def remarks(self) -> List[str]:
        """Remarks of the method since the last call: plans, phases, fallbacks."""
        self._wait()
        return list(self._averager.take_remarks())

    def stats(self) -> Dict[str, Any]:
        """Totals of all steps so far on this rank: bytes, seconds, counts.

        ``phases`` are seconds: encoding, exchanging and decoding as the library measured them, and
        for a :class:`Hook`, where these are mostly hidden behind the backward pass, ``exposed``: how
        long DDP had to wait after the last gradient. ``parameters`` has for each the bytes that this
        rank had to say of it, where the method tells them apart.
        """
        self._wait()
        return self._last_stats if self._last_stats is not None else self._stats_now()

    def _stats_now(self) -> Dict[str, Any]:
        return stats_of(
            self.spec, self._meeting, self._averager, self._shapes(), self._more_phases()
        )

    def summary(self) -> str:
        """:meth:`stats` as a table for people."""
        return summary_of(self.stats())

    def state_dict(self) -> states.State:
        """Everything that the next step depends on but for the model, exact to the bit. Each rank
        has its own: save it on every rank. With ``grace=``, all ranks call it at the same point."""
        self._check_works()
        return self._call(self._pack)

    def _pack(self) -> states.State:
        return states.pack(
            self.spec,
            self._meeting.rank,
            self._meeting.size,
            self._steps_done(),
            self._save(),
            self._more_state(),
        )

    def full_state_dict(self, *, on_all_ranks: bool = False) -> Optional[states.FullState]:
        """The states of all ranks in one dictionary, for programs that write one checkpoint.

        All ranks call it at the same point. Rank 0 gets the dictionary, the others get None, unless
        ``on_all_ranks`` is set, as ``torch.distributed.checkpoint`` needs it.
        """
        return states.gather(self.state_dict(), self._group, on_all_ranks)

    def load_state_dict(
        self, state: Union[states.State, states.FullState, Sequence[states.State]]
    ) -> None:
        """Continues from a saved state. All ranks call it at the same point.

        Each rank gives its own state, or all give what :meth:`full_state_dict` returned. For another
        number of ranks, give the full state, or the list of the states of all old ranks in their
        order, on every rank.
        """
        self._check_works()
        self._load(states.of_rank(state, self.spec, self._meeting.rank, self._meeting.size))

    def load_full_state_dict(self, state: Optional[states.FullState]) -> None:
        """Continues from a full state that only rank 0 has read. All ranks call it at the same
        point; the others give None."""
        self._check_works()
        self.load_state_dict(states.scatter(state, self._group))

    # --- The end ---

    def close(self) -> None:
        """The orderly end; waits for all ranks. A program that ends does this by itself."""
        if self._is_closed:
            return
        self._is_closed = True
        leaving.remove(self)
        self._stop()
        if not self._health.is_good():
            self._abandon()
            return
        self._keep_last()
        self._averager.close()

    def leave(self, is_failing: bool) -> None:
        """The program ends. If it fails, the others shall know at once."""
        if is_failing and self.failure is None:
            self.failure = Error("the program failed")
        if self._stop(seconds=5 if is_failing else None):
            self.close()

    def _abandon(self) -> None:
        """The others are told that this rank gave up. May be called again."""
        self._keep_last()
        self._averager.abandon()

    def _keep_last(self) -> None:
        self._last_stats = self.stats()
        if self._board is not None:
            self._board.close()

    def _check_works(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self._is_closed:
            raise Error(self._IS_CLOSED)
