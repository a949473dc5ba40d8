"""gradwire: data-parallel training that communicates less.

    import gradwire
    hook = gradwire.attach(ddp_model, "ef(topk(1%) | natural)")

From then on the gradients of a ``DistributedDataParallel`` model travel as small, checked,
compressed frames. Methods that look at the model itself have :class:`LazyStep`; with ``local(...)``
every rank takes steps of its own (:class:`LocalSteps`). :func:`join` trains with processes that come
and go (docs/elastic_python.md). Arrays of numpy have :func:`encode` and
:func:`decode`. docs/pytorch.md is the manual.
"""

try:
    import torch  # before the extension, so that both share the libraries that torch has loaded
except ImportError as error:
    raise ImportError(
        "gradwire needs PyTorch 1.13 or later, and `import torch` failed: install the build of torch "
        f"that fits this machine, such as by `pip install torch` ({error})"
    ) from error

from ._native import __version__
from .attach import attach
from .arrays import codecs, decode, encode, methods
from .elastic import ElasticRun, join
from .errors import Error, FileError, PeerError, SpecError, StartError
from .hook import Hook
from .lazy import LazyStep
from .local import LocalSteps
from .sampler import ElasticSampler
from .state import reshare

__all__ = [
    "ElasticRun",
    "ElasticSampler",
    "Error",
    "FileError",
    "Hook",
    "LazyStep",
    "LocalSteps",
    "PeerError",
    "SpecError",
    "StartError",
    "__version__",
    "attach",
    "codecs",
    "decode",
    "encode",
    "join",
    "methods",
    "reshare",
]
