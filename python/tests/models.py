"""What the ranks of tests train: a small network, its batches, and its parameters as a digest."""

import hashlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire


class Net(nn.Module):
    """A few layers whose order of definition is not that of use, and one that may be skipped."""

    def __init__(self, width=64, layers=3):
        super().__init__()
        self.last = nn.Linear(width, 10)
        self.first = nn.Linear(32, width)
        self.middle = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.optional = nn.Linear(width, width)

    def forward(self, x, takes_optional=True):
        x = torch.tanh(self.first(x))
        for layer in self.middle:
            x = torch.tanh(layer(x))
        if takes_optional:
            x = x + torch.tanh(self.optional(x))
        return self.last(x)


def make_model(spec, cap_mb=25.0, options=None, **ddp):
    torch.manual_seed(1)
    model = DistributedDataParallel(Net(), bucket_cap_mb=cap_mb, **ddp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if spec == "plain":
        return model, optimizer, None
    return model, optimizer, gradwire.attach(model, spec, **(options or {}))


def batch(step, rank=None):
    rank = dist.get_rank() if rank is None else rank
    generator = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 32, generator=generator)
    return inputs, inputs[:, :10].argmax(1)


def one_step(model, optimizer, step, **forward):
    inputs, targets = batch(step)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs, **forward), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


def digest(model):
    total = hashlib.sha256()
    for value in model.state_dict().values():
        total.update(value.to(torch.float64).numpy().tobytes())
    return total.hexdigest()
