"""Trains a small network with accelerate and a method of gradwire. The lines that use gradwire are marked.

    pip install accelerate
    torchrun --nproc-per-node 2 examples/accelerate_ddp.py --method 'ef(topk(1%) | natural)'
    torchrun --nproc-per-node 2 examples/accelerate_ddp.py --method plain
    torchrun --nproc-per-node 2 examples/accelerate_ddp.py --resume runs/accelerate --steps 300

The data are random: 20 features, and the sign of a sum.
"""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradwire.integrations.accelerate import attach_accelerator  # <- gradwire


def make_data(samples=6400):
    inputs = torch.randn(samples, 20, generator=torch.Generator().manual_seed(1))
    return TensorDataset(inputs, (inputs.sum(1) > 0).long())


def batches(loader, first, steps):
    """The steps from ``first`` on, over as many epochs as they take."""
    for step in range(steps):
        if step % len(loader) == 0:
            epoch = iter(loader)
        batch = next(epoch)
        if step >= first:
            yield step, batch


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", default="ef(topk(1%) | natural)",
                        help="a spec of gradwire, or plain for DDP alone")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--directory", default="runs/accelerate", help="for the last state")
    parser.add_argument("--resume", help="a directory to go on from")
    options = parser.parse_args()

    set_seed(1)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.5)
    loader = DataLoader(make_data(), batch_size=32)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accelerator.register_for_checkpointing(schedule)
    hook = None
    if options.method != "plain":
        hook = attach_accelerator(accelerator, model, options.method, optimizer=optimizer)  # <-
    first = 0
    if options.resume:
        accelerator.load_state(options.resume)
        first = schedule.last_epoch

    for step, (inputs, labels) in batches(loader, first, options.steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        accelerator.backward(loss)
        optimizer.step()
        schedule.step()
        if (step + 1) % 50 == 0 or step + 1 == options.steps:
            accelerator.print(f"step {step + 1}: loss {loss.item():.3f}")
    accelerator.save_state(options.directory)
    if hook and accelerator.is_main_process:
        print(hook.summary())  # <- gradwire
    accelerator.end_training()


if __name__ == "__main__":
    main()
