"""The cost of the DDP hook's Python code, with 200 small parameters.

One rank: tools/bench-ddp starts two of them. Two figures for each method:

- The CPU time of the Python code: of what DDP and torch call on the main thread, and of the hook's own
  thread outside the library.
- The time of a step beyond one that has a hook that does nothing, followed by the same exchange,
  called directly. It needs a quiet machine.
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


class CpuTime:
    """The CPU time that threads spend in some functions."""

    def __init__(self):
        self.seconds = 0.0

    def of(self, function):
        def timed(*arguments):
            start = time.thread_time()
            result = function(*arguments)
            self.seconds += time.thread_time() - start
            return result

        return timed


class Library:
    """The library's averager, with the CPU time of its calls."""

    def __init__(self, averager, time_in):
        for name in ("begin", "submit", "finish"):
            setattr(self, name, time_in.of(getattr(averager, name)))


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


class HookSteps(Steps):
    """With a hook of gradwire."""

    def __init__(self, method):
        super().__init__(lambda model: gradwire.attach(model, method))
        self._time_on_main, self._time_in_library = CpuTime(), CpuTime()
        of_main = self._time_on_main.of
        self.hook._on_gradients = of_main(self.hook._on_gradients)
        for watched in self.hook._discards._watched:
            watched.on_gradient = of_main(watched.on_gradient)

    def cpu_seconds(self, steps):
        """Of the hook's Python code in one step: what DDP and torch call, and the hook's own thread
        outside the library."""
        call, averaging = self.hook._worker.call, self.hook._averaging
        averager = averaging.averager
        averaging.averager = Library(averager, self._time_in_library)
        self._time_on_main.seconds = self._time_in_library.seconds = 0.0
        start = call(time.thread_time)
        for _ in range(steps):
            self.step()
        own = call(time.thread_time) - start - self._time_in_library.seconds
        averaging.averager = averager
        return (self._time_on_main.seconds + own) / steps


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
        players[method] = HookSteps(method)
        players[f"{method} direct"] = DirectSteps(players[method])
    times = {name: [] for name in players}
    cpu = {name: [] for name in METHODS}
    for _ in range(options.rounds):
        for name, player in players.items():
            times[name].append(milliseconds(player, options.steps))
        for name in cpu:
            cpu[name].append(1000 * players[name].cpu_seconds(options.steps))
    if dist.get_rank() == 0:
        best = {name: min(rounds) for name, rounds in times.items()}
        print("Milliseconds per step: the best of all rounds.\n")
        print("| method | CPU time of the hook's Python code | step | with a direct exchange |")
        print("|---|---|---|---|")
        print(f"| plain DDP | | {best['plain']:.2f} | |")
        for method in METHODS:
            step, direct = best[method], best[f"{method} direct"]
            name = method.replace("|", "\\|")
            print(f"| {name} | {min(cpu[method]):.3f} | {step:.2f} | {direct:.2f} |")
        sys.stdout.flush()
    for method in METHODS:
        players[method].hook.close()


if __name__ == "__main__":
    main()
