#!/usr/bin/env python3
"""Trains a small network on Fashion-MNIST with DistributedDataParallel and a method of gradwire.

    python3 examples/train_ddp.py --workers 4 --method 'ef(topk(1%) | natural)'
    python3 examples/train_ddp.py --workers 4 --method plain
    torchrun --nproc-per-node 4 --max-restarts 3 examples/train_ddp.py --state DIR

It starts its workers itself, on this machine. Where RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
are set, as torchrun and most schedulers do, it is one of them. The lines that use gradwire are
marked; a program of your own needs no more. After a failure it resumes from its last state: with
--resume, and by itself where torchrun restarts it.

Without Fashion-MNIST on the machine it trains on generated images.
"""

import argparse
import gzip
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire

DATA = Path("/usr/share/datasets/fashion-mnist")  # apt-get install dataset-fashion-mnist
GENERATED = "generated"


def read_idx(path, header_bytes):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header_bytes)


def read_set(directory, name):
    """Images from -0.8 to 2, and their labels."""
    images = read_idx(directory / f"{name}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    labels = read_idx(directory / f"{name}-labels-idx1-ubyte.gz", 8)
    images = (torch.from_numpy(images.astype(numpy.float32) / 255) - 0.286) / 0.353
    return images, torch.from_numpy(labels.astype(numpy.int64))


def generate_set(count, seed):
    """Ten patterns, each image one of them under noise; and their labels."""
    generator = torch.Generator().manual_seed(0)
    patterns = torch.randn(10, 1, 28, 28, generator=generator)
    generator.manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    noise = torch.randn(count, 1, 28, 28, generator=generator)
    return 0.2 * patterns[labels] + noise, labels


def load_data(data):
    """The images and labels to train on, then those of the test."""
    if data == GENERATED:
        return *generate_set(10_000, seed=1), *generate_set(2_000, seed=2)
    return *read_set(Path(data), "train"), *read_set(Path(data), "t10k")


def make_network():
    """409,034 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 256),
        nn.ReLU(),
        nn.Linear(256, 10),
    )


def accuracy_of(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = sum(
            int((model(some).argmax(1) == which).sum())
            for some, which in zip(images.split(500), labels.split(500))
        )
    model.train()
    return right / len(labels)


def state_path(directory, rank):
    return Path(directory) / f"rank{rank}.pt"


def is_restarted():
    """torchrun says how often it has started the workers again after a failure."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def load_newest(directory, rank, size):
    """The newest state that all ranks have, or None. A kill between two ranks' writing leaves one of
    them a step behind, so each keeps the state before its last one, too."""
    path = state_path(directory, rank)
    found = [torch.load(one) for one in (path, path.with_suffix(".before")) if one.exists()]
    steps = [None] * size
    dist.all_gather_object(steps, [state["step"] for state in found])
    common = set.intersection(*map(set, steps))
    if not common:
        return None
    return next(state for state in found if state["step"] == max(common))


def train(options):
    """One worker. Returns the accuracy on the test set."""
    rank, size = dist.get_rank(), dist.get_world_size()
    images, labels, test_images, test_labels = load_data(options.data)

    torch.manual_seed(options.seed)
    model = DistributedDataParallel(make_network())
    optimizer = torch.optim.SGD(model.parameters(), lr=options.learning_rate)
    hook = None
    if options.method != "plain":
        hook = gradwire.attach(  # <- gradwire
            model,
            options.method,
            optimizer=optimizer,
            seed=options.seed,
            record=options.record,
            overwrite=options.overwrite or is_restarted(),
        )

    steps_an_epoch = len(labels) // (size * options.batch)
    first, saved = 0, None
    if options.resume or (options.state and is_restarted()):
        saved = load_newest(options.state, rank, size)
        if saved is None and options.resume:
            raise SystemExit(f"{options.state} has no state that all {size} ranks have")
    if saved is not None:
        if rank == 0:
            print(f"resuming from step {saved['step']}", flush=True)
        model.load_state_dict(saved["model"])
        first = saved["step"]
        if hook:
            hook.load_state_dict(saved["gradwire"])  # <- gradwire
    start = time.monotonic()
    order, accuracy = None, None
    for step in range(first, options.steps):
        epoch, place = divmod(step, steps_an_epoch)
        if order is None or place == 0:
            generator = torch.Generator().manual_seed(1000 * options.seed + epoch)
            order = torch.randperm(len(labels), generator=generator)[rank::size]
        batch = order[place * options.batch : (place + 1) * options.batch]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()

        done = step + 1
        is_end = done == options.steps
        accuracy = None
        if rank == 0 and (is_end or done % options.evaluate_every == 0):
            accuracy = accuracy_of(model.module, test_images, test_labels)
            speed = (done - first) / (time.monotonic() - start)
            print(f"step {done}: loss {loss.item():.3f}, accuracy {100 * accuracy:.2f}%, "
                  f"{speed:.1f} steps a second", flush=True)
        if hook:
            hook.log(loss=loss.item(), samples=options.batch, accuracy=accuracy)  # <- gradwire
        if options.state and (is_end or done % options.save_every == 0):
            save(options.state, rank, model, hook, done)
    if hook and rank == 0:
        print(hook.summary())  # <- gradwire
    return accuracy


def save(directory, rank, model, hook, step):
    """Each rank its own file, as gradwire's memory is that of a rank."""
    path = state_path(directory, rank)
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {"model": model.state_dict(), "step": step}
    if hook:
        state["gradwire"] = hook.state_dict()  # <- gradwire
    torch.save(state, path.with_suffix(".new"))
    if path.exists():
        path.replace(path.with_suffix(".before"))
    path.with_suffix(".new").rename(path)


def start_workers(count):
    """This program once more for each worker; its exit code."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = dict(os.environ, WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1")
    environment.update(MASTER_PORT=str(port), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    workers = [
        subprocess.Popen([sys.executable, *sys.argv], env=dict(environment, RANK=str(rank)))
        for rank in range(count)
    ]
    return max(abs(worker.wait()) for worker in workers)


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", default="ef(topk(1%) | natural)",
                        help="a spec of gradwire, or plain for DDP alone")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=938)
    parser.add_argument("--batch", type=int, default=32, help="images of a worker in a step")
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluate-every", type=int, default=200)
    parser.add_argument("--record", help="a directory that 'gradwire report' makes a page of")
    parser.add_argument("--overwrite", action="store_true", help="a record that is there may go")
    parser.add_argument("--state", help="a directory for checkpoints")
    parser.add_argument("--save-every", type=int, default=200)
    parser.add_argument("--resume", action="store_true", help="go on from --state")
    parser.add_argument("--data", help=f"a directory of Fashion-MNIST's files, or {GENERATED}; "
                        f"default: {DATA}, or {GENERATED} if that is missing")
    options = parser.parse_args()
    if options.resume and not options.state:
        parser.error("--resume needs the --state to go on from")
    if options.data is None:
        options.data = str(DATA) if DATA.is_dir() else GENERATED
        if options.data == GENERATED and os.environ.get("RANK", "0") == "0":
            print(f"{DATA} is missing (apt-get install dataset-fashion-mnist): training on "
                  "generated images", file=sys.stderr)
    if options.data != GENERATED and not Path(options.data).is_dir():
        parser.error(f"there is no directory {options.data}")
    return options


def main():
    options = read_options()
    if "RANK" not in os.environ:
        return start_workers(options.workers)
    torch.set_num_threads(1)
    # Some builds of torch, such as Debian 13's, lack libuv, which the rendezvous would use.
    os.environ.setdefault("USE_LIBUV", "0")
    dist.init_process_group("gloo", init_method="env://")
    train(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
