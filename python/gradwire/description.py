"""The description of a run, for its record."""

import json
import os
import sys
from typing import Any, Dict, Optional

import torch


def description_of(model: torch.nn.Module, grace: Optional[float] = None) -> str:
    """As JSON."""
    description: Dict[str, Any] = {
        "program": os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python",
        "model": type(model).__name__,
        "torch": torch.__version__,
    }
    if grace is not None:
        description["grace"] = grace
    return json.dumps(description)
