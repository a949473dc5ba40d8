"""Steps a second of FSDP2 with two ranks on a host: averaged between hosts by torch, and by gradwire.

One rank: it is started LOCAL_WORLD_SIZE times on every host, with RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT set, as tools/bench-ddp does. The methods take turns, round after round; rank 0 prints a
table. Needs torch 2.7 or later.
"""

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import gradwire
from ddp_steps import Contestant, Transformer, measure, show

METHODS = ("native HSDP", "none", "natural | entropy", "ef(topk(1%) | natural)")


class ShortTexts(Transformer):
    """A wider transformer of 12.7 million parameters, with one text of 32 letters for each rank: a
    step is mostly exchange."""

    width = 512

    @classmethod
    def batch(cls, generator):
        text = torch.randint(cls.letters, (1, 32), generator=generator)
        return text, text.roll(1, 1).flatten()


class ShardedContestant(Contestant):
    """One method with a model of its own, sharded within each host."""

    def _wrap(self, model):
        local = int(os.environ["LOCAL_WORLD_SIZE"])
        shape = (dist.get_world_size() // local, local)
        self.mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"))
        mesh = self.mesh if self.method == "native HSDP" else self.mesh["shard"]
        for layer in model.layers.layers:
            fully_shard(layer, mesh=mesh, reshard_after_forward=False)
        return fully_shard(model, mesh=mesh, reshard_after_forward=False)

    def _attach(self):
        if self.method == "native HSDP":
            return None
        return gradwire.attach(self.model, self.method, replicate=self.mesh["replicate"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", action="append", help="once for each; without it all")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement, about")
    parser.add_argument("--warmup", type=int, default=3, help="steps before it")
    parser.add_argument("--steps-max", type=int, default=200)
    parser.add_argument("--loss-after", type=int, metavar="STEPS",
                        help="the loss after so many steps, instead of their speed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    methods = options.method or METHODS
    measured = measure(methods, ShortTexts, options, ShardedContestant)
    if dist.get_rank() == 0:
        show(measured, "loss" if options.loss_after else "steps a second")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
