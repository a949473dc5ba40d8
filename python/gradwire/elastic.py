"""Training whose processes come and go, for plain PyTorch loops without torch.distributed."""

import atexit
import os
import signal
import socket
import threading
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import torch
from torch import nn

from . import _native
from .checks import check_codec_threads, check_seed, check_spec
from .errors import Error
from .events import Teller
from .local import warn_of_gain
from .packing import pack, unpack
from .room import Room
from .rounds import Rounds
from .sampler import ElasticSampler
from .security import File, Security
from .waiting import tell

# Runs that are not over.
_open: "weakref.WeakSet[ElasticRun]" = weakref.WeakSet()

#: Gives the caller's own state, and takes that of another member.
State = Tuple[Callable[[], Any], Callable[[Any], None]]


def join(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    spec: str,
    *,
    sampler: Optional[ElasticSampler] = None,
    global_batch: Optional[int] = None,
    listen: str = "127.0.0.1:0",
    join: Union[str, Sequence[str], None] = None,
    address: Optional[str] = None,
    secret: Optional[Union[File, bytes]] = None,
    state: Optional[State] = None,
    scheduler: Any = None,
    members_least: int = 1,
    silence: float = 10.0,
    wait: float = 600.0,
    topology: str = "auto",
    hosts: str = "auto",
    seed: int = 0,
    codec_threads: Optional[int] = None,
    donate_bytes_per_second: float = 10e6,
    on_update: Optional[Callable[[Dict[str, Any]], None]] = None,
    on_event: Optional[Callable[[str], None]] = None,
    handles_interrupts: bool = True,
) -> "ElasticRun":
    """Founds an elastic run, or joins one with ``join="host:port,..."`` (any members).

    A newcomer gets parameters, optimizer, scheduler, sampler and ``state`` from the members while
    they train on. ``state=(save, load)`` is the caller's own state, the same on all members: tensors,
    numbers, texts, lists and dictionaries.

    ``spec`` is a codec alone, ``ef``, ``ef21`` or ``diana`` with an exact downlink, or ``local(...)``
    around one of these; a batch is then that of a whole round. ``optimizer`` and ``scheduler`` are
    stepped by the run: do not call their ``step()``. With ``hosts="auto"``, members whose addresses
    have the same host add up in shared memory, and one of them exchanges the sums of hosts. Waits until
    this process is a member. Raises StartError.
    """
    return ElasticRun(
        model, optimizer, spec, sampler=sampler, global_batch=global_batch, listen=listen, join=join,
        address=address, secret=secret, state=state, scheduler=scheduler,
        members_least=members_least, silence=silence, wait=wait, topology=topology, hosts=hosts, seed=seed,
        codec_threads=codec_threads, donate_bytes_per_second=donate_bytes_per_second,
        on_update=on_update, on_event=on_event, handles_interrupts=handles_interrupts,
    )  # fmt: skip


class ElasticRun:
    """A process's part in an elastic run. Made by :func:`join`.

        while run.next():
            if run.samples:
                loss(model(inputs[run.samples]), targets[run.samples]).backward()
            run.step()

    :meth:`next` says what this process computes: :attr:`samples`, if there is a sampler; otherwise
    share :attr:`share` of :attr:`shares` of the step's batch. A newcomer has no share in its first
    step. ``loss`` is the mean over the given samples.
    """

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, spec: str, **given: Any):
        check_spec(spec)
        check_seed(given["seed"])
        check_codec_threads(given["codec_threads"])
        self._model = model
        self._optimizer = optimizer
        self._scheduler = given["scheduler"]
        self._sampler: Optional[ElasticSampler] = given["sampler"]
        self._state: Optional[State] = given["state"]
        self._on_update = given["on_update"]
        self._parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        if not self._parameters:
            raise Error("the model has no parameters to train")
        self._exchanged = Room(self._parameters)  # gradients, or how far parameters have moved
        buffers = {n: b for n, b in model.named_buffers() if b.is_floating_point()}
        self._buffers = Room(buffers)
        # What newcomers get: buffers differ between members until they are averaged.
        self._common_buffers = {n: b.detach().clone() for n, b in model.named_buffers()}

        #: Of the present step, after next().
        self.step_number = 0
        self.share: Optional[int] = None
        self.shares = 1
        self.samples: List[int] = []
        self.view = self.rank = 0
        self.members = 1

        self._rounds: Optional[Rounds] = None
        if _native.gives_model(spec):
            traits = _native.probe(spec, self._exchanged.shapes(), "auto")
            warn_of_gain(str(traits["spec"]), float(traits["gain"]), optimizer, stacklevel=4)
            self._rounds = Rounds(int(traits["every"]), self._parameters, optimizer, self._scheduler)
        self._kept = b""  # what newcomers get beside the model, as of the last exchange
        security = Security(secret=given["secret"]).or_environment()
        security.check()
        addresses = given["join"] or []
        if isinstance(addresses, str):
            addresses = [part.strip() for part in addresses.split(",")]
        global_batch = given["global_batch"]
        if self._sampler is not None:
            global_batch = self._sampler.global_batch
        if global_batch is None:
            raise Error("join() needs sampler= or global_batch=, the samples of one step of all members")
        self._global_batch = int(global_batch)
        options = dict(security.native(), listen=given["listen"], join=list(addresses))
        if given["address"]:
            options["address"] = given["address"]
        self._keep()
        self._teller = Teller(given["on_event"] or tell)
        with _ended_by_interrupt(), _closed_on_failure(self._teller):
            self._group: Any = _native.ElasticGroup(
                self._exchanged.shapes(), spec, self._apply, self._save, self._load,
                buffers=self._buffers.shapes(), global_batch=global_batch,
                members_least=given["members_least"], silence=given["silence"], wait=given["wait"],
                topology=given["topology"], hosts=given["hosts"], seed=given["seed"],
                codec_threads=given["codec_threads"] or 0,
                donate_bytes_per_second=given["donate_bytes_per_second"],
                events=self._teller.events, **options,
            )  # fmt: skip
        #: What other processes can join.
        self.address: str = self._group.address
        self._end: Optional[Tuple[str, str, int]] = None
        self._committed = 0
        self._interrupts: Optional[_Interrupts] = None
        _open.add(self)
        if given["handles_interrupts"]:
            self._interrupts = _Interrupts(self._group)

    # --- A training loop ---

    def next(self) -> bool:
        """Waits for the next step. False: it is over for this process, and :attr:`end` says why."""
        if self._rounds is not None and self._rounds.is_within:
            self.step_number += 1
            self._deal()
            return True
        turn = self._group.next() if self._group is not None else None
        if turn is None:
            self._finish()
            return False
        self.share, self.shares = turn["share"], turn["shares"]
        self.view, self.rank, self.members = turn["view"], turn["rank"], turn["members"]
        every = self._rounds.every if self._rounds is not None else 1
        self.step_number = (turn["step"] - 1) * every + 1
        self._deal()
        return True

    def _deal(self) -> None:
        if self._sampler is None:
            return
        self.samples = self._sampler.share(self.share, self.shares)
        if self._rounds is not None:
            self.samples = self._rounds.part(self.samples)

    @property
    def is_common(self) -> bool:
        """Whether the parameters are those that all members have: always, except within a round of
        ``local(...)``, and after one that met a NaN or an infinity."""
        return self._rounds is None or self._rounds.is_common

    def _finish(self) -> None:
        """The group goes, and with it its threads; it would keep this object alive otherwise."""
        if self._group is None:
            return
        self._end = self._group.end
        self._committed = self._group.committed
        self._teller.close()
        if self._interrupts:
            self._interrupts.end()
        self._group = None
        _open.discard(self)

    def __iter__(self) -> Iterator["ElasticRun"]:
        while self.next():
            yield self

    def step(self, samples: Optional[int] = None, *, is_last: bool = False) -> bool:
        """Averages the gradients over the members, and applies them with the optimizer.

        ``samples`` is how many the gradients are the mean over; a sampler knows it. ``is_last``: the
        process leaves after this step. All members should say so in the same step. False: it is over
        for this process.
        """
        if samples is None:
            if self._sampler is None:
                raise Error("step() needs samples=, how many samples this process has used")
            samples = len(self.samples)
        if self._rounds is not None:
            return self._local_step(self._rounds, samples, is_last)
        self._exchanged.fill({n: p.grad for n, p in self._parameters.items()} if samples else {})
        rate = float(self._optimizer.param_groups[0]["lr"])
        if self._group is None:
            return False
        report = self._group.step(self._exchanged.addresses(), samples, 0, rate, is_last)
        return report is not None

    def _local_step(self, rounds: Rounds, samples: int, is_last: bool) -> bool:
        rounds.step(samples, has_share=self.share is not None)
        if rounds.is_within and not is_last:
            return True
        if self._group is None:
            return False
        if self._sampler is not None:
            parts = [self._sampler.share(share, self.shares) for share in range(self.shares)]
            batch = sum(rounds.count(len(part)) for part in parts)
        else:
            batch = rounds.count(self._global_batch)
        rounds.fill_moved(self._exchanged)
        report = self._group.step(
            self._exchanged.addresses(), rounds.samples, max(batch, 1), 1.0, is_last
        )
        if report is None:
            rounds.give_up()
        return report is not None

    def average_buffers(self) -> bool:
        """Averages the model's buffers, such as BatchNorm's, over the members: before an evaluation,
        and by all members in the same step. It takes the place of step()."""
        if not self._buffers.names:
            raise Error("the model has no buffers of floats to average")
        if not self.is_common:
            raise Error(
                "average_buffers() takes the place of a round of local(...), and this one has begun: "
                "call it where run.is_common is True"
            )
        if self._group is None:
            return False
        self._buffers.fill(dict(self._model.named_buffers()))
        return self._group.average(self._buffers.addresses()) is not None

    def leave(self) -> None:
        """Leaves in order after the present step: next() returns False then."""
        if self._group is not None:
            self._group.leave()

    @property
    def committed(self) -> int:
        """The last step that was applied here."""
        return self._group.committed if self._group is not None else self._committed

    @property
    def end(self) -> Optional[Tuple[str, str, int]]:
        """After the end: a reason, the reason in words, and the last step that all members have
        surely made."""
        return self._end

    # --- What the group calls, on this thread ---

    def _apply(self, update: Dict[str, Any]) -> None:
        if update["is_average"]:
            self._apply_average(update)
        else:
            if self._rounds is not None:
                self._rounds.end(
                    None if update["is_poisoned"] else self._exchanged.views(update["outputs"]),
                    is_replay=update["is_replay"],
                )
            else:
                self._apply_gradients(update)
            if self._sampler is not None:
                self._sampler.advance(update["shares"], update["lost_shares"])
        if self._on_update is not None:
            self._on_update(update)
        self._keep()

    def _apply_average(self, update: Dict[str, Any]) -> None:
        outputs = self._buffers.views(update["outputs"])
        if update["is_poisoned"]:
            return
        buffers = dict(self._model.named_buffers())
        for name, mean in outputs.items():
            buffers[name].copy_(mean)
            self._common_buffers[name].copy_(mean)

    def _apply_gradients(self, update: Dict[str, Any]) -> None:
        if not update["is_poisoned"]:
            for name, mean in self._exchanged.views(update["outputs"]).items():
                parameter = self._parameters[name]
                # A copy: outputs are used again.
                parameter.grad = mean.to(parameter.device, parameter.dtype, copy=True)
            self._optimizer.step()
        self._optimizer.zero_grad()
        if self._scheduler is not None:
            self._scheduler.step()

    def _keep(self) -> None:
        """With local steps a newcomer may ask within a round, when these have gone on."""
        if self._rounds is not None:
            self._kept = pack(self._steps_and_user())

    def _steps_and_user(self) -> Dict[str, Any]:
        optimizer = self._optimizer.state_dict()
        if self._rounds is not None:
            optimizer = {"param_groups": optimizer["param_groups"], "state": {}}
        return {
            "optimizer": optimizer,
            "scheduler": self._scheduler.state_dict() if self._scheduler is not None else None,
            "user": self._state[0]() if self._state is not None else None,
        }

    def _save(self) -> bytes:
        model = self._model.state_dict()
        model.update((n, b) for n, b in self._common_buffers.items() if n in model)
        if self._rounds is not None:
            shared = self._model.state_dict(keep_vars=True)  # under two names, where weights are tied
            model.update((n, c) for n, p in shared.items() for c in self._rounds.common_of(p))
        return pack(
            {
                "model": dict(model),
                "steps": self._kept if self._rounds is not None else pack(self._steps_and_user()),
                "sampler": self._sampler.state_dict() if self._sampler is not None else None,
            }
        )

    def _load(self, data: bytes) -> None:
        state = unpack(data)
        self._model.load_state_dict(state["model"])
        steps = unpack(state["steps"])
        self._optimizer.load_state_dict(steps["optimizer"])
        self._common_buffers = {n: b.detach().clone() for n, b in self._model.named_buffers()}
        if self._scheduler is not None:
            self._scheduler.load_state_dict(steps["scheduler"])
        if self._sampler is not None:
            self._sampler.load_state_dict(state["sampler"])
        if self._state is not None:
            self._state[1](steps["user"])
        if self._rounds is not None:
            self._rounds.begin()
        self._keep()


@atexit.register
def _leave_all() -> None:
    """The program ends in the middle of a run: the others see a lost member. All threads of the run
    end before Python does; one that waits in the extension then would abort the process."""
    for run in list(_open):
        run._group.abandon()
        run._finish()


os.register_at_fork(after_in_child=_open.clear)  # a child has no part in its parent's runs


@contextmanager
def _ended_by_interrupt() -> Iterator[None]:
    """Ctrl-C ends a process that waits for the run: nobody depends on it yet."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _closed_on_failure(teller: Teller) -> Iterator[None]:
    try:
        yield
    except BaseException:
        teller.close()
        raise


class _Interrupts:
    """Ctrl-C leaves in order, also while the extension waits; a second one ends at once."""

    def __init__(self, group: Any) -> None:
        self._is_active = threading.current_thread() is threading.main_thread()
        if not self._is_active:
            return
        self._group = group
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._handler = signal.signal(signal.SIGINT, lambda number, frame: None)
        self._descriptor = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        interrupts = 0
        while True:
            received = self._reader.recv(1)
            if not received:
                return self._reader.close()
            if received[0] != signal.SIGINT:
                continue
            interrupts += 1
            group = self._group
            if group is None:
                continue
            if interrupts == 1:
                tell("leaving after this step; Ctrl-C again ends at once")
                group.leave()
            else:
                group.abandon()

    def end(self) -> None:
        if not self._is_active:
            return
        self._is_active = False
        signal.set_wakeup_fd(self._descriptor)
        signal.signal(signal.SIGINT, self._handler)
        self._writer.close()
        self._group = None
