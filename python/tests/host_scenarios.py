"""What the ranks of tests do with several ranks on a host; see ranks.py."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire
from models import Net, batch, digest, make_model, one_step


def on_hosts(spec, hosts, steps=8, cap_mb=0.02, **ddp):
    """The digest and the values of the model, losses, and what this rank sent."""
    options = {} if spec == "plain" or hosts is None else {"hosts": hosts}
    model, optimizer, hook = make_model(spec, cap_mb, options, **ddp)
    losses = [one_step(model, optimizer, step) for step in range(steps)]
    values = torch.cat([p.detach().reshape(-1) for p in model.parameters()]).tolist()
    result = {"digest": digest(model), "losses": losses, "values": values}
    if hook is not None:
        stats = hook.stats()
        result["sent"] = stats["bytes_sent"]
        result["ranks"] = stats["ranks"]
        result["parameters"] = sorted(stats["parameters"])
    return result
