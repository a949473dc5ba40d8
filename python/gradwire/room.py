"""Floats of some tensors in one stretch, for exchanges of elastic runs."""

import ctypes
from typing import Dict, List, Optional, Sequence, Tuple

import torch


class Room:
    """One stretch of floats with a part for each of some tensors, as the extension takes them."""

    def __init__(self, tensors: Dict[str, torch.Tensor]) -> None:
        self.names = list(tensors)
        self._shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        counts = [tensor.numel() for tensor in tensors.values()]
        self._memory = torch.zeros(sum(counts), dtype=torch.float32)
        self._parts = dict(zip(tensors, self._memory.split(counts))) if counts else {}

    def shapes(self) -> List[Tuple[str, List[int]]]:
        return [(name, list(self._shapes[name]) or [1]) for name in self.names]

    def addresses(self) -> List[Tuple[int, int]]:
        return [(part.data_ptr(), part.numel()) for part in self._parts.values()]

    def fill(self, values: Dict[str, Optional[torch.Tensor]]) -> None:
        for name, part in self._parts.items():
            value = values.get(name)
            if value is None:
                part.zero_()
            else:
                part.copy_(value.detach().reshape(-1))

    def views(self, addresses: Sequence[int]) -> Dict[str, torch.Tensor]:
        """Tensors on memory of the extension, which is valid during a callback."""
        views = {}
        for name, address in zip(self.names, addresses):
            count = self._parts[name].numel()
            memory = (ctypes.c_float * count).from_address(address)
            view = torch.frombuffer(memory, dtype=torch.float32) if count else torch.empty(0)
            views[name] = view.reshape(self._shapes[name])
        return views
