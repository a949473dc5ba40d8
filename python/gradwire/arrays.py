"""Arrays of numpy as small bytes, and lists of codecs and methods."""

from typing import Any, Dict, List

import numpy

from . import _native
from .checks import check_seed, check_spec
from .errors import Error


def encode(array: Any, spec: str, *, seed: int = 0, threads: int = 1) -> bytes:
    """Writes an array as the bytes of a ``.gw`` file, by the codec that ``spec`` names.

    The array becomes 32-bit floats first. Codecs that round at random take their numbers from
    ``seed``: the same array, spec and seed give the same bytes on every machine. ``gradwire
    inspect`` and ``gradwire decode`` read what is written to a file.

    >>> small = gradwire.encode(gradient, "topk(1%) | natural")
    """
    check_spec(spec)
    check_seed(seed)
    _check_threads(threads)
    if numpy.iscomplexobj(array):
        raise Error("encode takes real numbers: give .real and .imag apart")
    floats = numpy.asarray(array, dtype=numpy.float32, order="C")
    return _native.encode(floats, spec, seed, threads)


def decode(encoded: bytes, *, threads: int = 1) -> numpy.ndarray:
    """Decodes what :func:`encode` wrote to an array of the same shape.

    Damaged bytes raise a :class:`FileError` that names the position.
    """
    _check_threads(threads)
    if not isinstance(encoded, (bytes, bytearray, memoryview)):
        raise Error(f"decode takes the bytes that encode gave, not a {type(encoded).__name__}")
    return _native.decode(bytes(encoded), threads)


def codecs(elements: int = 1 << 20) -> List[Dict[str, Any]]:
    """Lists an example of each codec, with its guarantee for tensors of that many elements."""
    if isinstance(elements, bool) or not isinstance(elements, int) or elements < 1:
        raise Error(f"elements= takes a whole number from 1 on, not {elements!r}")
    return _native.codecs(elements)


def methods() -> List[Dict[str, Any]]:
    """Lists an example of each method, with its memory and a description."""
    return _native.methods()


def _check_threads(threads: Any) -> None:
    if not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise Error(f"threads= takes a whole number from 1 to 1024, not {threads!r}")
