"""What the ranks of tests do with accelerate; see ranks.py."""

import accelerate
import torch
from torch import nn

from gradwire.integrations.accelerate import attach_accelerator
from models import Net, batch, digest


def accelerated(spec, directory, first=0, steps=20, saves=True):
    """Goes on from the directory where the first step is not 0."""
    accelerator = accelerate.Accelerator(cpu=True)
    torch.manual_seed(1)
    net = Net()
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.05))
    hook = None
    if spec != "plain":
        hook = attach_accelerator(accelerator, model, spec, optimizer=optimizer)
    if first:
        accelerator.load_state(directory)
        assert hook.step == first
    for step in range(first, steps):
        inputs, targets = batch(step)
        optimizer.zero_grad()
        accelerator.backward(nn.functional.cross_entropy(model(inputs), targets))
        optimizer.step()
    if saves:
        accelerator.save_state(directory)
    return digest(model)
