"""Totals so far, as numbers and as a table."""

from typing import Any, Dict, List, Optional, Sequence

import torch

from .meeting import Meeting
from .tensors import NamedShapes


def stats_of(
    spec: str,
    meeting: Meeting,
    averager: Any,
    shapes: NamedShapes,
    more_phases: Dict[str, float],
) -> Dict[str, Any]:
    """Of an averager whose method has these tensors; none where it is not made yet."""
    totals = averager.totals()
    by_tensor = totals.pop("tensor_bytes") or [None] * len(shapes)
    phases = {name: totals.pop(name + "_seconds") for name in ("encode", "exchange", "decode")}
    phases.update(more_phases)
    parameters = {}
    for (name, shape), sent in zip(shapes, by_tensor):
        elements = int(torch.Size(shape).numel())
        parameters[name] = {"shape": shape, "elements": elements, "message_bytes": sent}
    return {
        "spec": spec,
        "topology": averager.topology() if shapes else None,
        "rank": meeting.rank,
        "ranks": meeting.size,
        "memory_bytes": averager.memory_bytes() if shapes else 0,
        **totals,
        "refused_connections": averager.refused_connections(),
        "phases": phases,
        "parameters": parameters,
    }


def ring_bytes(stats: Dict[str, Any]) -> float:
    """What a rank sends for a step in a ring all-reduce of 32-bit floats."""
    elements = sum(entry["elements"] for entry in stats["parameters"].values())
    return 2 * (stats["ranks"] - 1) / stats["ranks"] * 4 * elements


def summary_of(stats: Dict[str, Any]) -> str:
    """Of what :func:`stats_of` returns."""
    steps = stats["steps"]
    if steps == 0:
        return f"{stats['spec']}, {stats['ranks']} ranks: no step was done yet"
    ring = ring_bytes(stats)
    sent = stats["bytes_sent"] / steps
    lines = [
        f"{stats['spec']}, {stats['topology']}, rank {stats['rank']} of {stats['ranks']}, "
        f"{steps:,} steps",
        f"  sent {_bytes(sent)} a step{_compared(ring, sent)}; {_bytes(stats['bytes_sent'])} in all",
        "  " + ", ".join(_phase(name, stats["phases"], steps) for name in stats["phases"]),
        f"  memory {_bytes(stats['memory_bytes'])}",
    ]
    if stats["poisoned"]:
        lines.append(f"  {stats['poisoned']:,} steps had a NaN or an infinity: where it was, nothing was remembered")
    if stats["uploads_skipped"]:
        lines.append(f"  {stats['uploads_skipped']:,} uploads were not needed")
    lines.append("")
    lines += _table(stats["parameters"], steps)
    return "\n".join(lines)


def _table(parameters: Dict[str, Any], steps: int) -> List[str]:
    rows: List[Sequence[str]] = [("parameter", "shape", "elements", "bytes a step", "ratio")]
    for name, entry in parameters.items():
        said = entry["message_bytes"]
        each: Optional[float] = None if said is None else said / steps
        rows.append(
            (
                name,
                "x".join(str(size) for size in entry["shape"]) or "1",
                f"{entry['elements']:,}",
                "-" if each is None else f"{each:,.0f}",
                "-" if not each else f"{4 * entry['elements'] / each:.1f}",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        left = [row[i].ljust(widths[i]) for i in (0, 1)]
        right = [row[i].rjust(widths[i]) for i in (2, 3, 4)]
        lines.append("  ".join(left + right).rstrip())
    return lines


def _phase(name: str, phases: Dict[str, float], steps: int) -> str:
    return f"{name} {1000 * phases[name] / steps:.2f} ms"


def _bytes(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


def _compared(ring: float, sent: float) -> str:
    if sent <= 0 or ring <= 0:
        return ""
    ratio = ring / sent
    if 0.95 < ratio < 1.05:
        return ", as much as a ring all-reduce of floats"
    times = f"{ratio:.3g} times less" if ratio > 1 else f"{1 / ratio:.3g} times more"
    return f", {times} than a ring all-reduce of floats"
