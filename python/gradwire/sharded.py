"""Compressed averaging between hosts for models that ``fully_shard`` (FSDP2) shards within a host."""

import copy
import time
import weakref
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.distributed as dist

from . import state as states
from .errors import Error
from .hook import Hook
from .participant import Options
from .recognition import is_fully_sharded
from .shard import Shard
from .tensors import Names, NamedShapes, shape_of


class ShardedHook(Hook):
    """Averages between hosts what each rank holds of the gradients; :func:`attach` makes it.

    FSDP2 calls for one parameter group after the other, when the gradients are reduced within the
    host. They are exchanged while the backward pass goes on, and its end waits for the means. All
    hosts exchange all groups in every pass: one that had no part in it counts as zeros.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        spec: str,
        *,
        replicate: Any,
        optimizer: Optional[torch.optim.Optimizer],
        scaler: Optional[Any],
        options: Options,
    ) -> None:
        group = group_of(replicate)
        modules = sharded_modules(model)
        module_names = {module: name for name, module in model.named_modules()}
        self._shards = [Shard(parameter_group(module), module_names) for module in modules]
        self._shards.reverse()  # as their gradients come, more or less
        names: Names = {}
        by_parameter: Names = {}
        for shard in self._shards:
            names.update(shard.names)
            by_parameter.update(shard.by_parameter)
        shapes: NamedShapes = [(name, shape_of(part)) for part, name in names.items()]
        place = common_place(self._shards)
        super().__init__(
            spec, shapes, optimizer=optimizer, scaler=scaler, options=options, place=place
        )

        self._arrived: List[Shard] = []  # in this pass
        self._awaits_end = False
        self._join(group, shapes, model, names, by_parameter)
        for module, shard in zip(modules, reversed(self._shards)):
            module.set_all_reduce_hook(_OnReduced(self, shard))
            if hasattr(module, "set_reduce_scatter_unused_params"):
                module.set_reduce_scatter_unused_params(True, recurse=False)
        self._watch = model.register_forward_pre_hook(_PassWatch(self))
        self._start()

    # --- While training ---

    def _on_reduced(self, shard: Shard, reduced: torch.Tensor) -> None:
        """A part of the model that is used twice in a pass comes twice. Then the first exchange is
        finished before the second begins."""
        self._check_works()
        if self._is_ignoring:
            dist.all_reduce(reduced, group=self._group)
            reduced.mul_(shard.factor(self._meeting.size) / self._meeting.size)
            return
        if shard in self._arrived:
            self._complete()
        if not shard.take(reduced):
            return
        if not self._is_open:
            self._open()
        self._arrived.append(shard)
        self._worker.put(lambda: self._add(shard, None))

    def _open(self) -> None:
        self._is_open = True
        rates, factor = self._rates.now(), self._scale_factor()
        self._worker.put(lambda: self._try(lambda: self._averaging.begin(rates, factor)))
        if not self._awaits_end:
            self._awaits_end = True
            # FSDP2 queued the end of its own pass before, so that this comes after it.
            torch.autograd.Variable._execution_engine.queue_callback(self._on_end)

    def _on_end(self) -> None:
        """The end of the backward pass."""
        self._awaits_end = False
        if self._is_open:
            self._complete()

    def _complete(self) -> None:
        """Waits for the means of all groups, and puts them where the optimizer finds them."""
        for shard in self._shards:
            if shard not in self._arrived:
                shard.take_nothing()
                self._worker.put(lambda shard=shard: self._add(shard, None))
        now = time.monotonic()
        self._worker.put(lambda: self._try(lambda: self._finish(now)))
        self._worker.wait()
        self._is_open, self._arrived = False, []
        self._check_works()
        with torch.no_grad():
            for shard in self._shards:
                shard.give(shard.factor(self._meeting.size))

    def _finish(self, last_ready: float) -> None:
        self._averaging.finish([], None, last_ready)
        self._note_step(self._rates.last)

    def _before_pass(self) -> None:
        if self._is_open:
            raise self._end(Error("the last backward pass was not completed"))

    # --- States ---

    def state_dict(self) -> Dict[str, Any]:
        """Everything that the next step depends on but for the model, under a key that no other rank
        has. So ``torch.distributed.checkpoint`` saves the states of all ranks side by side."""
        mine = super().state_dict()
        method = states.method_bytes(mine)
        return {_key(self._meeting.rank, self._place[0]): {**mine, "method": method}}

    def full_state_dict(self, *, on_all_ranks: bool = False) -> Optional[states.FullState]:
        """The states of all ranks in one dictionary; see :meth:`Hook.full_state_dict`."""
        hosts, parts = self._meeting.size, self._place[1]
        if hosts * parts != dist.get_world_size():
            raise Error(
                f"full_state_dict works with models on all {dist.get_world_size()} ranks, and this "
                f"one is on {hosts * parts}: save state_dict() on each of them"
            )
        return states.gather(super().state_dict(), None, on_all_ranks)

    def load_state_dict(self, state: Any) -> None:
        """Continues from a saved state. All ranks call it at the same point.

        Each rank gives its own state, or all give what :meth:`full_state_dict` returned. For another
        number of hosts, give the full state, or the list of the states of all old ranks.
        """
        if isinstance(state, dict) and "states" in state:
            state = state["states"]
        given = state if isinstance(state, (list, tuple)) else [state]
        flat = [one for each in given for one in _states_in(each)]
        flat.sort(key=lambda one: one["rank"])
        place = (self._meeting.rank, self._meeting.size, self._place[0])
        own = [one for one in flat if (one["rank"], one["ranks"], states.part_of(one)[0]) == place]
        super().load_state_dict(own[0] if own else flat)

    def saved_by(self, hosts: int) -> "SavedBy":
        """What ``torch.distributed.checkpoint.load`` takes for this hook where another number of
        hosts has saved."""
        return SavedBy(self, hosts)

    def _stop(self, seconds: Optional[float] = None) -> bool:
        self._watch.remove()
        return super()._stop(seconds)


class SavedBy:
    """The states that so many hosts saved, for the loading side of a distributed checkpoint."""

    def __init__(self, hook: ShardedHook, hosts: int) -> None:
        if isinstance(hosts, bool) or not isinstance(hosts, int) or hosts < 1:
            raise Error(f"hosts= takes the number of hosts that have saved, not {hosts!r}")
        self._hook = hook
        self._hosts = hosts

    def state_dict(self) -> Dict[str, Any]:
        (template,) = self._hook.state_dict().values()
        keys = [_key(host, self._hook._place[0]) for host in range(self._hosts)]
        return {key: copy.deepcopy(template) for key in keys}  # each is filled in

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self._hook.load_state_dict(state)


class _OnReduced:
    """What FSDP2 calls for one group of parameters."""

    def __init__(self, hook: ShardedHook, shard: Shard) -> None:
        self._hook = hook
        self._shard = shard

    def __call__(self, reduced: torch.Tensor) -> None:
        self._hook._on_reduced(self._shard, reduced)


class _PassWatch:
    """The model is called again."""

    def __init__(self, hook: ShardedHook) -> None:
        self._hook = weakref.ref(hook)

    def __call__(self, module: torch.nn.Module, inputs: Any) -> None:
        hook = self._hook()
        if hook is not None:
            hook._before_pass()


def _key(host: int, part: int) -> str:
    return f"host {host}, part {part}"


def _states_in(given: Any) -> List[states.State]:
    """Of a dictionary of :meth:`ShardedHook.state_dict`, or a state of a full one."""
    is_keyed = isinstance(given, dict) and all(_is_key(key) for key in given)
    found = [_unpacked(state) for state in given.values()] if is_keyed else [given]
    for state in found:
        states.part_of(state)  # checks it
    return found


def _is_key(key: Any) -> bool:
    return isinstance(key, str) and key.startswith("host ")


def _unpacked(state: Any) -> Any:
    """The method's part is bytes, because a distributed checkpoint loads a tensor only into one of
    the same size."""
    if not isinstance(state, dict) or not isinstance(state.get("method"), bytes):
        return state
    return {**state, "method": torch.frombuffer(bytearray(state["method"]), dtype=torch.uint8)}


def group_of(replicate: Any) -> Any:
    """The process group that a mesh stands for, or the group itself."""
    if isinstance(replicate, dist.ProcessGroup):
        return replicate
    if hasattr(replicate, "get_group") and getattr(replicate, "ndim", 0) == 1:
        return replicate.get_group()
    raise Error(
        "replicate= takes the ranks of all hosts that hold the same part of the model: a process "
        f"group, or a mesh of one dimension such as mesh['replicate'], not {replicate!r}"
    )


def sharded_modules(model: Any) -> List[Any]:
    """One module for each group of parameters, the model itself first."""
    if not hasattr(model, "set_all_reduce_hook"):
        raise Error(f"torch {torch.__version__} has no hook for FSDP2: take torch 2.7 or later")
    found: Dict[Any, Any] = {}
    for module in model.modules():
        if is_fully_sharded(module):
            group = parameter_group(module)
            if group is not None and any(p.sharded_param.requires_grad for p in group.fsdp_params):
                found.setdefault(group, module)
    if not found:
        raise Error("no parameter of the model requires a gradient: there is nothing to average")
    return list(found.values())


def parameter_group(module: Any) -> Any:
    """None where all parameters belong to the groups of modules within."""
    state = module._get_fsdp_state()
    if not hasattr(state, "_fsdp_param_groups"):  # before torch 2.12
        return state._fsdp_param_group
    if len(state._fsdp_param_groups) > 1:
        raise Error(
            "fully_shard was given a shard_placement_fn with several meshes, for which torch has no "
            "hook: give all parameters of a module one mesh"
        )
    return state._fsdp_param_groups[0] if state._fsdp_param_groups else None


def common_place(shards: List[Shard]) -> Tuple[int, int]:
    if any(shard.is_replicated for shard in shards):
        raise Error(
            "fully_shard was given a mesh with a dimension to replicate over, so FSDP2 averages "
            "between hosts by itself: give it the dimension within a host, such as mesh['shard']"
        )
    places = {shard.place for shard in shards}
    if len(places) > 1:
        raise Error("all modules of the model must be sharded over the same ranks")
    return places.pop()
