"""Nested states as bytes, and back: the same state gives the same bytes in every process, so that a
newcomer can fetch parts of it from several members. No pickle: nothing that comes from the network is
executed.
"""

import struct
from typing import Any, List, Tuple

import torch

from .errors import Error

_DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
    torch.int16, torch.int8, torch.uint8, torch.bool,
]  # fmt: skip


def pack(value: Any) -> bytes:
    """Dictionaries, lists, tuples, tensors, numbers, texts, bytes, booleans and None."""
    parts: List[bytes] = []
    _pack(value, parts)
    return b"".join(parts)


def unpack(data: bytes) -> Any:
    """Raises Error for bytes that pack() does not write."""
    try:
        value, at = _unpack(memoryview(data), 0, 0)
    except (struct.error, IndexError, ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise Error(f"a packed state cannot be understood: {error}") from error
    if at != len(data):
        raise Error("a packed state has bytes behind its end")
    return value


def _sized(tag: bytes, content: bytes) -> bytes:
    return tag + struct.pack("<Q", len(content)) + content


def _pack(value: Any, parts: List[bytes]) -> None:
    if value is None:
        parts.append(b"N")
    elif isinstance(value, bool):
        parts.append(b"1" if value else b"0")
    elif isinstance(value, int):
        parts.append(_sized(b"i", str(value).encode()))
    elif isinstance(value, float):
        parts.append(b"f" + struct.pack("<d", value))
    elif isinstance(value, str):
        parts.append(_sized(b"s", value.encode()))
    elif isinstance(value, (bytes, bytearray)):
        parts.append(_sized(b"b", bytes(value)))
    elif isinstance(value, torch.Tensor):
        _pack_tensor(value, parts)
    elif isinstance(value, dict):
        parts.append(b"d" + struct.pack("<Q", len(value)))
        for key, content in value.items():
            _pack(key, parts)
            _pack(content, parts)
    elif isinstance(value, (list, tuple)):
        parts.append((b"t" if isinstance(value, tuple) else b"l") + struct.pack("<Q", len(value)))
        for content in value:
            _pack(content, parts)
    else:
        raise Error(
            f"a state has a {type(value).__name__}, which cannot travel to newcomers: keep tensors, "
            "numbers, texts, lists and dictionaries in it"
        )


def _pack_tensor(tensor: torch.Tensor, parts: List[bytes]) -> None:
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype not in _DTYPES:
        raise Error(f"a state has a tensor of {tensor.dtype}, which cannot travel to newcomers")
    parts.append(b"T" + struct.pack("<BB", _DTYPES.index(tensor.dtype), tensor.dim()))
    parts.append(struct.pack(f"<{tensor.dim()}Q", *tensor.shape))
    raw = tensor.reshape(-1).view(torch.uint8) if tensor.numel() else tensor.reshape(-1)
    parts.append(_sized(b"", raw.numpy().tobytes() if tensor.numel() else b""))


def _take(data: memoryview, at: int) -> Tuple[bytes, int]:
    (length,) = struct.unpack_from("<Q", data, at)
    at += 8
    if length > len(data) - at:
        raise ValueError("a part reaches beyond the end")
    return bytes(data[at : at + length]), at + length


def _unpack(data: memoryview, at: int, depth: int) -> Tuple[Any, int]:
    if depth > 64:
        raise ValueError("it is nested too deeply")
    tag, at = bytes(data[at : at + 1]), at + 1
    if tag in (b"N", b"0", b"1"):
        return {b"N": None, b"0": False, b"1": True}[tag], at
    if tag == b"f":
        return struct.unpack_from("<d", data, at)[0], at + 8
    if tag in (b"i", b"s", b"b"):
        content, at = _take(data, at)
        return (content if tag == b"b" else int(content) if tag == b"i" else content.decode()), at
    if tag == b"T":
        return _unpack_tensor(data, at)
    if tag in (b"d", b"l", b"t"):
        (count,) = struct.unpack_from("<Q", data, at)
        at += 8
        contents = []
        for _ in range(count * (2 if tag == b"d" else 1)):
            content, at = _unpack(data, at, depth + 1)
            contents.append(content)
        if tag == b"d":
            return dict(zip(contents[::2], contents[1::2])), at
        return (tuple(contents) if tag == b"t" else contents), at
    raise ValueError(f"an unknown part at byte {at - 1}")


def _unpack_tensor(data: memoryview, at: int) -> Tuple[torch.Tensor, int]:
    number, dimensions = struct.unpack_from("<BB", data, at)
    shape = struct.unpack_from(f"<{dimensions}Q", data, at + 2)
    content, at = _take(data, at + 2 + 8 * dimensions)
    if not content:
        return torch.empty(shape, dtype=_DTYPES[number]), at
    raw = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    return raw.view(_DTYPES[number]).reshape(shape), at
