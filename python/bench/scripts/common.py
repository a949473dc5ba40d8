"""What the scripts of this directory share: options, the process group, and the result.

Each script is a small version of a training script as people publish it. It runs with plain DDP, or
with gradwire, where :func:`attach` is the only change. tools/bench-scripts runs them all.
"""

import argparse
import hashlib
import json
from pathlib import Path

import torch
import torch.distributed as dist

PLAIN = "plain"
LOSSES = 50  # the result is the mean over so many last steps


def read_options(description):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", default=PLAIN, help="a spec of gradwire, or plain for DDP")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", default="datasets/text",
                        help="a directory with tinyshakespeare.txt and wikitext-2/train.txt")
    parser.add_argument("--images", default="/usr/share/datasets/fashion-mnist",
                        help="a directory of Fashion-MNIST's files")
    parser.add_argument("--cifar", default="datasets/cifar10",
                        help="a directory of CIFAR-10's binary files (tools/get-data cifar10)")
    parser.add_argument("--result", help="a file for the result, as JSON")
    return parser.parse_args()


def start(options):
    """The process group of a program that was started once for each rank. Returns the generator of
    this rank's batches; weights come from torch's own, which all ranks seed alike."""
    torch.set_num_threads(1)
    if not dist.is_initialized():
        dist.init_process_group("gloo", init_method="env://")
    torch.manual_seed(options.seed)
    return torch.Generator().manual_seed(1000 * options.seed + dist.get_rank())


def attach(model, options, optimizer=None):
    """The one line that gradwire takes; nothing for plain DDP."""
    if options.method == PLAIN:
        return None
    import gradwire

    return gradwire.attach(model, options.method, optimizer=optimizer, seed=options.seed)


def finish(options, losses, models, hooks, ignored=0):
    """Rank 0 writes the mean of the last losses of all ranks, the ratio of bytes (a ring of floats
    to what was sent), and a digest of the parameters. The first hook ignored so many passes."""
    last = torch.tensor(losses[-LOSSES:]).mean()
    dist.all_reduce(last)
    result = {
        "method": options.method,
        "steps": options.steps,
        "seed": options.seed,
        "loss": last.item() / dist.get_world_size(),
        "ratio": ratio_of([hook for hook in hooks if hook], ignored),
        "digest": digest_of(models),
    }
    if dist.get_rank() == 0:
        if options.result:
            Path(options.result).write_text(json.dumps(result))
        print(json.dumps(result), flush=True)


def digest_of(models):
    total = hashlib.sha256()
    for model in models:
        for parameter in model.parameters():
            total.update(parameter.detach().numpy().tobytes())
    return total.hexdigest()


def ratio_of(hooks, ignored):
    """Ignored passes were averaged by DDP itself."""
    if not hooks:
        return 1.0
    from gradwire.summary import ring_bytes

    stats = [hook.stats() for hook in hooks]
    exact = ignored * ring_bytes(stats[0])
    ring = sum(ring_bytes(one) * one["steps"] for one in stats)
    return (ring + exact) / (sum(one["bytes_sent"] for one in stats) + exact)
