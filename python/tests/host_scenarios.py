"""What the ranks of tests do with several ranks on a host; see ranks.py."""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire
from models import Net, digest, make_model, one_step

SPECS = (
    "natural | entropy",
    "ef(topk(5%) | natural, down=natural)",
    "powersgd(rank=2)",
    "lgreco(qsgd)",
)


def on_hosts(spec, hosts, steps=8, cap_mb=0.02, **ddp):
    """The digest and the values of the model, and what this rank sent."""
    options = {"hosts": hosts} if hosts is not None else {}
    model, optimizer, hook = make_model(spec, cap_mb, options, **ddp)
    for step in range(steps):
        one_step(model, optimizer, step)
    result = {
        "digest": digest(model),
        "values": torch.cat([p.detach().reshape(-1) for p in model.parameters()]).tolist(),
    }
    if hook is not None:
        stats = hook.stats()
        result.update(sent=stats["bytes_sent"], ranks=stats["ranks"])
        result["elements"] = sum(entry["elements"] for entry in stats["parameters"].values())
        hook.close()
    return result


def on_hosts_by_all(hosts):
    """The same by methods with and without a memory, one after the other."""
    return {spec: on_hosts(spec, hosts)["digest"] for spec in SPECS}


def on_hosts_auto():
    """As torchrun says it, and by the names of the hosts."""
    os.environ["GROUP_RANK"] = str(dist.get_rank() // 2)
    os.environ["LOCAL_WORLD_SIZE"] = "2"
    by_torchrun = on_hosts("ef(topk(5%))", "auto", steps=3)
    del os.environ["GROUP_RANK"]
    return {"torchrun": by_torchrun, "name": on_hosts("none", "auto", steps=3)}


def among_some(spec):
    """A model of the first four ranks. The last rank does something else."""
    group = dist.new_group([0, 1, 2, 3])
    if dist.get_rank() == 4:
        return None
    torch.manual_seed(1)
    model = DistributedDataParallel(Net(), process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    try:
        hook = gradwire.attach(model, spec, hosts=2)
    except gradwire.Error as error:
        return str(error)
    for step in range(3):
        one_step(model, optimizer, step)
    hook.close()
    return digest(model)


# --- What is kept ---


def save_on_hosts(spec, directory, before, after, hosts):
    model, optimizer, hook = make_model(spec, 0.02, {"hosts": hosts})
    for step in range(before):
        one_step(model, optimizer, step)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    state["gradwire"] = hook.full_state_dict()
    if dist.get_rank() == 0:
        torch.save(state, os.path.join(directory, "all.pt"))
    for step in range(before, before + after):
        one_step(model, optimizer, step)
    return digest(model)


def resume_on_hosts(spec, directory, before, after, hosts):
    model, optimizer, hook = make_model(spec, 0.02, {"hosts": hosts})
    state = torch.load(os.path.join(directory, "all.pt"))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    try:
        hook.load_state_dict(state["gradwire"])
    except gradwire.Error as error:
        return str(error)
    assert hook.step == before
    for step in range(before, before + after):
        one_step(model, optimizer, step)
    return digest(model)


# --- Mistakes ---


def host_mistakes():
    calls = {}

    def attach(spec="none", hosts=2, **ddp):
        model = DistributedDataParallel(nn.Linear(8, 8), **ddp)
        try:
            gradwire.attach(model, spec, hosts=hosts).close()
        except gradwire.Error as error:
            return str(error)
        return "nothing"

    calls["number"] = attach(hosts=3)
    calls["text"] = attach(hosts="all")
    calls["list"] = attach(hosts=["a", "b"])
    calls["uneven"] = attach(hosts=["a", "a", "a", "b"])
    calls["unused"] = attach(find_unused_parameters=True)
    calls["whole"] = attach("dgc(1%, clip=1)")
    calls["differ"] = attach("natural" if dist.get_rank() == 1 else "none")
    return calls


def lost_rank(spec, directory):
    """The last rank ends in the middle of training. The first rank has the store of the process group,
    through which the others agree on the cause, so it ends last."""
    model, optimizer, hook = make_model(spec, 0.02, {"hosts": 2, "timeout": 5.0})
    for step in range(3):
        one_step(model, optimizer, step)
    if dist.get_rank() == 3:
        os._exit(1)
    result = None
    try:
        one_step(model, optimizer, 3)
    except RuntimeError as error:
        result = {"message": str(error), "rank": getattr(hook.failure, "rank", None)}
    here = Path(directory)
    (here / str(dist.get_rank())).touch()
    deadline = time.monotonic() + 60
    while dist.get_rank() == 0 and len(list(here.iterdir())) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    return result
