"""The description of a run, for its record."""

import json
import os
import sys

import torch


def description_of(model: torch.nn.Module) -> str:
    """As JSON."""
    return json.dumps(
        {
            "program": os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python",
            "model": type(model).__name__,
            "torch": torch.__version__,
        }
    )
