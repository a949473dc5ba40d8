"""The figures of a hook's last steps, as numbers for a logger."""

from typing import Any, Dict, Optional

from .summary import ring_bytes


class Figures:
    """The means over the steps between two calls. For one hook, and one thread at a time."""

    def __init__(self) -> None:
        self._before: Optional[Dict[str, Any]] = None

    def take(self, stats: Dict[str, Any]) -> Dict[str, float]:
        """``stats`` is what ``hook.stats()`` returned. Empty if no step was done since the last call.

        The names are those of docs/run_record.md, which ``gradwire train --tensorboard`` has, too.
        """
        before, self._before = self._before, stats
        steps = stats["steps"] - (before["steps"] if before else 0)
        if steps <= 0:
            return {}
        sent = (stats["bytes_sent"] - (before["bytes_sent"] if before else 0)) / steps
        figures = {"gradwire/bytes_per_step": sent}
        if sent > 0:
            figures["gradwire/ratio"] = ring_bytes(stats) / sent
        for phase, seconds in stats["phases"].items():
            spent = seconds - (before["phases"][phase] if before else 0)
            figures[f"gradwire/{phase}_ms"] = 1000 * spent / steps
        return figures
