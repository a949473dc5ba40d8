"""The cost of the DDP hook's Python code, with 200 small parameters.

One rank: tools/bench-ddp starts two of them. The yardstick is a step with a hook that does nothing,
followed by the same exchange, called directly. It has the same computation, the same exchange and
the same waiting for the other rank. What a step with gradwire's hook takes beyond it is the cost of
the hook's Python code.
"""

import argparse
import sys
import time
from statistics import median

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire
from gradwire.tensors import floats_of

LAYERS, WIDTH = 100, 32  # each layer has a weight and a bias
METHODS = ("none", "natural | entropy", "ef(topk(1%) | natural)")


def small_layers():
    layers = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*layers)


def nothing(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


class Steps:
    """Of a DDP model with one way to average."""

    def __init__(self, attach):
        torch.manual_seed(1)
        self.model = DistributedDataParallel(small_layers())
        self.inputs = torch.randn(8, WIDTH)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.hook = attach(self.model)

    def step(self):
        self.optimizer.zero_grad(set_to_none=False)  # gradients stay where they are in memory
        self.model(self.inputs).square().mean().backward()
        self.exchange()
        self.optimizer.step()

    def exchange(self):
        """The hook has done it."""


class DirectSteps(Steps):
    """With a hook that does nothing, and then an exchange by the method of another model's hook."""

    def __init__(self, other):
        super().__init__(lambda model: model.register_comm_hook(None, nothing))
        for _ in range(5):
            other.step()
        self._step = other.hook.step  # and waits until that hook is idle
        averaging = other.hook._averaging
        self._averager = averaging.averager
        self._names = [name for name, _ in averaging.shapes]
        self._floats = []

    def exchange(self):
        if not self._floats:
            parameters = dict(self.model.module.named_parameters())
            self._floats = [floats_of(parameters[name].grad) for name in self._names]
        self._averager.begin(self._step, 1.0, [])
        self._averager.submit(0, self._floats)
        self._averager.finish(0.0)
        self._step += 1


def milliseconds(player, steps):
    """For one step: the median."""
    for _ in range(5):
        player.step()
    dist.barrier()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        player.step()
        times.append(time.perf_counter() - start)
    return 1000 * median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    players = {"plain": Steps(lambda model: None)}
    for method in METHODS:
        players[method] = Steps(lambda model: gradwire.attach(model, method))
        players[f"{method} direct"] = DirectSteps(players[method])
    times = {name: [] for name in players}
    for _ in range(options.rounds):
        for name, player in players.items():
            times[name].append(milliseconds(player, options.steps))
    if dist.get_rank() == 0:
        best = {name: min(rounds) for name, rounds in times.items()}
        print("Milliseconds per step: the median of a round, the best of all rounds.\n")
        print("| method | step | with a direct exchange | the hook's cost |\n|---|---|---|---|")
        print(f"| plain DDP | {best['plain']:.2f} | | |")
        for method in METHODS:
            step, direct = best[method], best[f"{method} direct"]
            name = method.replace("|", "\\|")
            print(f"| {name} | {step:.2f} | {direct:.2f} | {step - direct:.2f} |")
        sys.stdout.flush()
    for method in METHODS:
        players[method].hook.close()


if __name__ == "__main__":
    main()
