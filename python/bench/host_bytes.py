"""The bytes that a host sends in a step of DDP, with one rank or several on it.

One rank: it is started LOCAL_WORLD_SIZE times on every host, with RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT and GROUP_RANK set, as tools/bench-ddp does. The bytes are those of the host's network
interface, with the headers of all layers. Rank 0 prints one line for each method.
"""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire
from ddp_steps import Transformer

METHODS = ("ddp plain", "none", "natural | entropy", "ef(topk(1%) | natural)")


def sent_bytes():
    """Of the interface that all ranks of this host use."""
    name = os.environ["GLOO_SOCKET_IFNAME"]
    return int(Path(f"/sys/class/net/{name}/statistics/tx_bytes").read_text())


def measure(method, hosts, steps):
    """The bytes of a step, and its seconds."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Transformer())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    more = {"hosts": hosts} if hosts else {}
    hook = None if method == "ddp plain" else gradwire.attach(model, method, **more)
    generator = torch.Generator().manual_seed(dist.get_rank())

    def step():
        text = torch.randint(Transformer.letters, (1, 16), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(text), text.flatten()).backward()
        optimizer.step()

    for _ in range(2):
        step()
    dist.barrier()
    before, start = sent_bytes(), time.monotonic()
    for _ in range(steps):
        step()
    dist.barrier()
    result = (sent_bytes() - before) / steps, (time.monotonic() - start) / steps
    if hook is not None:
        hook.close()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", action="append", help="once for each; without it all")
    parser.add_argument("--hosts", choices=["auto"], help="as attach takes it; without it none")
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    local = int(os.environ["LOCAL_WORLD_SIZE"])
    layout = f"{dist.get_world_size() // local} hosts x {local}, hosts={options.hosts}"
    for method in options.method or METHODS:
        sent, seconds = measure(method, options.hosts, options.steps)
        if dist.get_rank() == 0:
            print(f"{layout:28}  {method:24}  {sent / 1e6:9.3f} MB sent by host 0 per step  "
                  f"{seconds * 1000:8.1f} ms", flush=True)


if __name__ == "__main__":
    main()
