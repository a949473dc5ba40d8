"""Steps a second of DDP, by torch's own ways to average and by gradwire's, in one run.

One rank: it is started on every host, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set, as
tools/bench-ddp does. The methods take turns, round after round; rank 0 prints a table.
"""

import argparse
import gzip
import json
import sys
import time
from functools import lru_cache
from pathlib import Path
from statistics import median

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import gradwire

ONE_BUCKET_MB = 1000
IMAGES = Path("/usr/share/datasets/fashion-mnist")

METHODS = (
    "ddp plain",
    "ddp fp16",
    "ddp powersgd",
    "none",
    "natural | entropy",
    "qsgd(bits=4)",
    "ef(topk(1%) | natural)",
    "powersgd(rank=4)",
    "lgreco(qsgd)",
)


@lru_cache(maxsize=None)
def fashion_mnist():
    """Images as rows, and their labels."""

    def read(name, header_bytes):
        with gzip.open(IMAGES / f"train-{name}-ubyte.gz") as file:
            return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header_bytes)

    images = read("images-idx3", 16).reshape(-1, 784).astype(numpy.float32) / 255
    images = (images - 0.286) / 0.353
    return torch.from_numpy(images), torch.from_numpy(read("labels-idx1", 8).astype(numpy.int64))


class Mlp(nn.Sequential):
    """784-2048-2048-10, on Fashion-MNIST: 5.8 million parameters."""

    def __init__(self):
        super().__init__(
            nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)
        )

    @staticmethod
    def batch(generator):
        images, labels = fashion_mnist()
        some = torch.randint(len(labels), (16,), generator=generator)
        return images[some], labels[some]


class Wide(nn.Sequential):
    """Four layers of 1024 x 1024: 4.2 million parameters."""

    def __init__(self):
        layers = []
        for _ in range(4):
            layers += [nn.Linear(1024, 1024), nn.ReLU()]
        super().__init__(*layers)

    @staticmethod
    def batch(generator):
        return torch.randn(16, 1024, generator=generator), torch.randint(
            1024, (16,), generator=generator
        )


class Transformer(nn.Module):
    """Four layers of width 256: 3.2 million parameters."""

    letters, context, width = 64, 64, 256

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(self.letters, self.width)
        layer = nn.TransformerEncoderLayer(
            self.width, 4, 4 * self.width, dropout=0.0, batch_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 4)
        self.last = nn.Linear(self.width, self.letters)

    def forward(self, text):
        return self.last(self.layers(self.embedding(text))).flatten(0, 1)

    @classmethod
    def batch(cls, generator):
        text = torch.randint(cls.letters, (20, cls.context), generator=generator)
        return text, text.roll(1, 1).flatten()


MODELS = {"mlp": Mlp, "wide": Wide, "transformer": Transformer}


class Contestant:
    """One method with a model of its own."""

    def __init__(self, method, kind, seed):
        self.method = method
        torch.manual_seed(seed)
        self.model = self._wrap(kind())
        self.kind = kind
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.generator = torch.Generator().manual_seed(1000 * seed + dist.get_rank())
        self.hook = self._attach()

    def _wrap(self, model):
        is_one_bucket = self.method == "ddp powersgd"  # with more it hangs, or aborts
        usual = dist._DEFAULT_FIRST_BUCKET_BYTES
        if is_one_bucket:
            dist._DEFAULT_FIRST_BUCKET_BYTES = ONE_BUCKET_MB * 1024 * 1024
        cap = {"bucket_cap_mb": ONE_BUCKET_MB} if is_one_bucket else {}
        wrapped = DistributedDataParallel(model, **cap)
        dist._DEFAULT_FIRST_BUCKET_BYTES = usual
        return wrapped

    def _attach(self):
        if self.method == "ddp plain":
            return None
        if self.method == "ddp fp16":
            self.model.register_comm_hook(None, default_hooks.fp16_compress_hook)
            return None
        if self.method == "ddp powersgd":
            state = powerSGD_hook.PowerSGDState(None, 4, start_powerSGD_iter=2)
            self.model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
            return None
        return gradwire.attach(self.model, self.method)

    def step(self):
        inputs, targets = self.kind.batch(self.generator)
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(inputs), targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def learn(self, steps):
        """The mean loss of all ranks over the last quarter of so many steps."""
        losses = [self.step() for _ in range(steps)]
        last = torch.tensor(losses[-max(steps // 4, 1) :]).mean()
        dist.all_reduce(last)
        return last.item() / dist.get_world_size()

    def run(self, seconds, steps_max):
        """Steps a second, over about so many seconds."""
        dist.barrier()
        start = time.monotonic()
        self.step()
        first = time.monotonic() - start
        steps = torch.tensor([min(max(int(seconds / first), 3), steps_max)])
        dist.broadcast(steps, 0)
        dist.barrier()
        start = time.monotonic()
        for _ in range(int(steps)):
            self.step()
        return int(steps) / (time.monotonic() - start)

    def close(self):
        if self.hook:
            self.hook.close()


def measure(methods, kind, options, make=Contestant):
    """By method, what each round gave: steps a second, or a loss."""
    measured = {method: [] for method in methods}
    for turn in range(options.rounds):
        for method in methods:
            contestant = make(method, kind, seed=turn + 1)
            if options.loss_after:
                measured[method].append(contestant.learn(options.loss_after))
            else:
                for _ in range(options.warmup):
                    contestant.step()
                measured[method].append(contestant.run(options.seconds, options.steps_max))
            contestant.close()
            del contestant
            if dist.get_rank() == 0:
                print(f"round {turn + 1}: {method}: {measured[method][-1]:.4g}", file=sys.stderr,
                      flush=True)
    return measured


def show(measured, what):
    base = median(next(iter(measured.values())))
    width = max(map(len, measured))
    print(f"{'method'.ljust(width)}  {what:>14}  times the first")
    for method, rounds in measured.items():
        value = median(rounds)
        spread = f"({min(rounds):.4g} to {max(rounds):.4g})" if len(rounds) > 1 else ""
        print(f"{method.ljust(width)}  {value:14.4g}  {value / base:15.2f}  {spread}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), default="mlp")
    parser.add_argument("--method", action="append", help="once for each; without it all")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement, about")
    parser.add_argument("--warmup", type=int, default=3, help="steps before it")
    parser.add_argument("--steps-max", type=int, default=200)
    parser.add_argument("--loss-after", type=int, metavar="STEPS",
                        help="the loss after so many steps, instead of their speed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not IMAGES.is_dir():
        parser.error(f"{IMAGES} is not there: apt-get install dataset-fashion-mnist")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    measured = measure(options.method or METHODS, MODELS[options.model], options)
    what = "loss" if options.loss_after else "steps a second"
    if dist.get_rank() == 0:
        if options.json:
            print(json.dumps({"model": options.model, "what": what, "rounds": measured}))
        else:
            show(measured, what)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
