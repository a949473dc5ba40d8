"""The part of one parameter group's gradients that a rank holds under FSDP2.

After a backward pass, FSDP2 adds up the gradients of a parameter group over the ranks of a host. Each
rank gets a range of rows of every parameter, padded to the size of the first rank's, in one flat
tensor. This file knows that layout; it reads attributes of torch that are not public.
"""

from typing import Any, Dict, List, Optional, Tuple

import torch

from .errors import Error
from .tensors import Floats, Names, Piece, floats_of_pieces, plain_name


class Shard:
    """Takes gradients from FSDP2, gives them to the library as floats, as a bucket of DDP does, and
    adds the means of the hosts to the gradients of the parameters.

    It has floats of its own. FSDP2 goes on with zeros in the meantime, so that gradients may be
    accumulated, converted or moved to another device while the exchange is under way.
    """

    def __init__(self, group: Any, module_names: Dict[torch.nn.Module, str]) -> None:
        self._group = group
        self._parameters: List[Any] = [
            parameter for parameter in group.fsdp_params if parameter.sharded_param.requires_grad
        ]
        self._firsts: List[int] = []  # element of the flat tensor, by parameter
        self.pieces: List[Piece] = []
        #: Of the pieces. The tensors hold no memory: they stand for a range of rows.
        self.names: Names = {}
        #: The same names, by the parameter that the optimizer has.
        self.by_parameter: Names = {}
        self.elements = 0
        for parameter in self._parameters:
            self._firsts.append(self.elements)
            stand_in = torch.empty(parameter.sharded_size, device="meta")
            if stand_in.numel() > 0:
                self.pieces.append(Piece(stand_in, self.elements, stand_in.numel()))
                name = _name_of(parameter, module_names)
                self.names[stand_in] = self.by_parameter[parameter.sharded_param] = name
            self.elements += parameter.padded_sharded_param_size.numel()
        self._floats: Optional[torch.Tensor] = None
        self._arrival: Optional[torch.cuda.Event] = None
        self._held: Optional[torch.Tensor] = None  # of passes that did not ask for an exchange
        self.check()

    @property
    def place(self) -> Tuple[int, int]:
        """Which part of the parameters this is, of how many."""
        mesh = self._group.mesh_info
        return mesh.shard_mesh_rank, mesh.shard_mesh_size

    @property
    def is_replicated(self) -> bool:
        """Whether FSDP2 itself averages between hosts."""
        return self._group.mesh_info.replicate_mesh_dim is not None

    def check(self) -> None:
        """Whether FSDP2 leaves the gradients as they are from here on: everything that it would do
        to them later is done to zeros."""
        policy = self._group.mp_policy
        for parameter in self._parameters:
            kept = parameter.sharded_param
            kind = policy.reduce_dtype or policy.param_dtype or kept.dtype
            if kind not in (torch.float32, torch.bfloat16):
                raise Error(
                    f"FSDP2 adds up gradients as {kind}, and divides them after the exchange: give "
                    "fully_shard mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.float32)"
                )
            if getattr(kept, "_post_accumulate_grad_hooks", None):
                raise Error(
                    "a parameter has a hook of register_post_accumulate_grad_hook, which would run "
                    "before the hosts have averaged its gradient: take the optimizer's step after "
                    "the backward pass"
                )
        if getattr(self._group, "force_sum_reduction_for_comms", False):
            raise Error(
                "FSDP2 divides gradients after the exchange where set_force_sum_reduction_for_comms"
                "(True) was called: leave it out"
            )

    # --- During a backward pass ---

    def take(self, reduced: torch.Tensor) -> bool:
        """Takes what FSDP2 reduced within the host. False if the program wants no exchange in this
        pass, as it says with ``set_requires_all_reduce(False)``."""
        self.check()
        if reduced.numel() != self.elements:
            raise Error(
                f"{reduced.numel():,} elements of gradients came for a group of parameters that "
                f"has {self.elements:,}: every parameter of a group needs a gradient in every pass "
                "(torch 2.13 fills in zeros), and requires_grad must not change"
            )
        if self._held is not None:
            reduced.add_(self._held)
            self._held = None
        if not self._group.all_reduce_grads:
            self._held = reduced.clone()
            reduced.zero_()
            return False
        if self._floats is None:
            self._floats = self._make_floats(reduced.is_cuda)
        self._floats.copy_(reduced, non_blocking=True)
        if reduced.is_cuda:
            self._arrival = torch.cuda.Event()
            self._arrival.record()
        reduced.zero_()
        return True

    def take_nothing(self) -> None:
        """This group had no part in the pass. The hosts expect its gradients all the same."""
        if self._floats is None:
            self._floats = self._make_floats(is_cuda=False)
        self._floats.zero_()

    def give(self, factor: float) -> None:
        """Adds the means, times a factor, to the gradients of the parameters."""
        floats = self._known_floats()
        for parameter, first in zip(self._parameters, self._firsts):
            kept = parameter.sharded_param
            if kept.grad is None:
                kept.grad = _zeros_like(kept)
            gradient = kept.grad.to_local()
            mean = floats.narrow(0, first, gradient.numel()).view(gradient.shape)
            gradient.add_(mean.to(gradient.device), alpha=factor)

    def factor(self, hosts: int) -> float:
        """For :meth:`give`: with a divisor of the program's own FSDP2 adds up, and does not average,
        between hosts."""
        return 1.0 if self._group.gradient_divide_factor is None else float(hosts)

    # --- As a bucket ---

    def arrive(self) -> None:
        if self._arrival is not None:
            self._arrival.synchronize()

    def values(self, piece: Piece) -> torch.Tensor:
        return self._known_floats().narrow(0, piece.first, piece.elements)

    def floats(self, pieces: List[Piece]) -> List[Floats]:
        return floats_of_pieces(self._known_floats(), pieces)

    def deliver(self) -> None:
        """The pass waits for all groups, and then calls :meth:`give`."""

    def fail(self, error: BaseException) -> None:
        """The pass that waits raises the hook's failure."""

    def _make_floats(self, is_cuda: bool) -> torch.Tensor:
        return torch.empty(self.elements, dtype=torch.float32, pin_memory=is_cuda)

    def _known_floats(self) -> torch.Tensor:
        assert self._floats is not None
        return self._floats


def _name_of(parameter: Any, module_names: Dict[torch.nn.Module, str]) -> str:
    """With the range that this rank holds, as in ``layers.0.weight[128:256]``."""
    owner = parameter._module_info
    path = ".".join(filter(None, (module_names[owner.module], owner.param_name)))
    name = plain_name(path)
    mesh = parameter.mesh_info
    if mesh.shard_mesh_size == 1:
        return name
    dimension = parameter.fsdp_placement.dim
    first = mesh.shard_mesh_rank * parameter.padded_sharded_param_size[dimension]
    end = first + parameter.sharded_size[dimension]
    return f"{name}[{':, ' * dimension}{first}:{end}]"


def _zeros_like(kept: Any) -> torch.Tensor:
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        torch.zeros_like(kept.to_local()),
        kept.device_mesh,
        kept.placements,
        run_check=False,
        shape=kept.shape,
        stride=kept.stride(),
    )
