"""Images as tensors."""

import gzip
from pathlib import Path

import numpy
import torch


def fashion_mnist(directory):
    """60,000 images of 1 x 28 x 28 from -1 to 1, and their labels."""

    def read(name, header_bytes):
        with gzip.open(Path(directory) / f"train-{name}-ubyte.gz") as file:
            return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header_bytes)

    images = read("images-idx3", 16).reshape(-1, 1, 28, 28).astype(numpy.float32) / 127.5 - 1
    return torch.from_numpy(images), torch.from_numpy(read("labels-idx1", 8).astype(numpy.int64))


def cifar10(directory):
    """Images of 3 x 32 x 32 from about -2 to 2, and their labels; the first of five files."""
    path = Path(directory) / "data_batch_1.bin"
    rows = numpy.frombuffer(path.read_bytes(), dtype=numpy.uint8).reshape(-1, 3073)
    images = rows[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32) / 255
    return (
        torch.from_numpy((images - 0.473) / 0.251),
        torch.from_numpy(rows[:, 0].astype(numpy.int64)),
    )
