"""The learning rates of an optimizer, by parameter."""

from typing import Any, Dict, List, NamedTuple, Optional

import torch

from .tensors import NamedShapes


class Rates(NamedTuple):
    """Of one step."""

    #: Of parameters that have no rate of their own.
    common: float
    #: By parameter; empty if all have the common one.
    by_name: Dict[str, float]

    def in_order(self, shapes: NamedShapes) -> List[float]:
        """One rate for each tensor; empty if all have the common one."""
        if not self.by_name:
            return []
        return [self.by_name.get(name, self.common) for name, _ in shapes]


class RatesOfGroups:
    """Reads the rates of the optimizer's groups. Without an optimizer, all rates are 1."""

    def __init__(
        self, optimizer: Optional[torch.optim.Optimizer], names: Dict[torch.Tensor, str]
    ) -> None:
        self._optimizer = optimizer
        self._names = names
        #: The first group's rate in the last step; None without an optimizer.
        self.last: Optional[float] = None

    def now(self) -> Rates:
        groups: List[Dict[str, Any]] = self._optimizer.param_groups if self._optimizer else []
        rates = [float(group["lr"]) for group in groups]
        if not rates:
            return Rates(1.0, {})
        self.last = rates[0]
        if len(set(rates)) == 1:
            return Rates(rates[0], {})
        by_name = {
            self._names[parameter]: rate
            for group, rate in zip(groups, rates)
            for parameter in group["params"]
            if parameter in self._names
        }
        return Rates(rates[0], by_name)
