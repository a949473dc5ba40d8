"""A program that starts its ranks itself, by torch.multiprocessing.spawn: a small network, a mean
squared error, SGD."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import common

RANKS, BATCH, RATE = 2, 20, 0.05


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(100, 200)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(200, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def train(rank, options, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    generator = common.start(options)
    target = torch.randn(100, 5) / 10  # the same on all ranks

    model = DistributedDataParallel(ToyModel())
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    hook = common.attach(model, options, optimizer)
    criterion = nn.MSELoss()
    losses = []
    for _ in range(options.steps):
        inputs = torch.randn(BATCH, 100, generator=generator)
        optimizer.zero_grad()
        loss = criterion(model(inputs), inputs @ target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    common.finish(options, losses, [model], [hook])
    dist.barrier()  # torch 2.13 sometimes aborts a rank that is still connected to one that has gone
    dist.destroy_process_group()


def main():
    options = common.read_options(__doc__)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(train, args=(options, port), nprocs=RANKS)


if __name__ == "__main__":
    main()
