"""The tensors of a model, as a method takes them: names, shapes, and floats in memory."""

from typing import Dict, Iterable, List, NamedTuple, Sequence, Tuple

import torch

from .errors import Error

#: Of a method: the name and the shape of each tensor.
NamedShapes = List[Tuple[str, List[int]]]

#: Of tensors, or of what stands for them.
Names = Dict[torch.Tensor, str]

#: Consecutive floats: their address and their number. The caller keeps the memory alive.
Floats = Tuple[int, int]


def floats_of(tensor: torch.Tensor) -> Floats:
    """Of a tensor of 32-bit floats in the memory of the processor, without gaps."""
    return tensor.data_ptr(), tensor.numel()


def shape_of(parameter: torch.Tensor) -> List[int]:
    """The shape in the order in which the elements lie in memory, which is that of their strides."""
    sizes = zip(parameter.stride(), range(parameter.dim()), parameter.shape)
    return [size for _, _, size in sorted(sizes, key=lambda size: (-size[0], size[1]))]


def plain_name(name: str) -> str:
    """Without the prefix that torch.compile gives to the parameters of a compiled module. So states
    of a compiled model fit an eager one, and the reverse."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def trained_parameters(
    module: torch.nn.Module, ignored: Iterable[str] = ()
) -> Dict[str, torch.nn.Parameter]:
    """By name, those that gradients are made for, in the order in which they are defined."""
    left_out = set(ignored)
    trained = {
        plain_name(name): parameter
        for name, parameter in module.named_parameters()
        if parameter.requires_grad and name not in left_out
    }
    if not trained:
        raise Error("no parameter of the model requires a gradient: there is nothing to average")
    return trained


class Piece(NamedTuple):
    """The gradient of one parameter within a bucket."""

    parameter: torch.Tensor
    first: int  # element of the bucket
    elements: int


def pieces_of(
    buffer: torch.Tensor, parameters: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor]
) -> List[Piece]:
    """Where the gradients of the parameters lie in the bucket's memory."""
    if buffer.is_sparse:
        raise Error("a gradient is sparse: give nn.Embedding sparse=False, or leave it out of DDP")
    if buffer.is_complex() or not buffer.is_floating_point():
        raise Error(f"gradients of type {buffer.dtype} cannot be averaged: they are not real numbers")
    if buffer.device.type not in ("cpu", "cuda"):
        raise Error(f"gradients on {buffer.device} cannot be read: they must be on cpu or cuda")
    begin, size = buffer.data_ptr(), buffer.element_size()
    return [
        Piece(parameter, (gradient.data_ptr() - begin) // size, gradient.numel())
        for parameter, gradient in zip(parameters, gradients)
    ]
