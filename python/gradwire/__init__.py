"""gradwire: data-parallel training that communicates less.

    import gradwire
    hook = gradwire.attach(ddp_model, "ef(topk(1%) | natural)")

From then on the gradients of a ``DistributedDataParallel`` model travel as small, checked,
compressed frames. Methods that look at the model itself have :class:`LazyStep`; arrays of numpy have
:func:`encode` and :func:`decode`. docs/pytorch.md is the manual.
"""

import torch  # its libraries are loaded first, so that the extension finds the installed ones

from ._native import __version__
from .attach import attach
from .arrays import codecs, decode, encode, methods
from .errors import Error, FileError, PeerError, SpecError, StartError
from .hook import Hook
from .lazy import LazyStep
from .state import reshare

__all__ = [
    "Error",
    "FileError",
    "Hook",
    "LazyStep",
    "PeerError",
    "SpecError",
    "StartError",
    "__version__",
    "attach",
    "codecs",
    "decode",
    "encode",
    "methods",
    "reshare",
]
