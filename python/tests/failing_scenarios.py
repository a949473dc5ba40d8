"""What the ranks of tests do wrong, and what they get to hear; see ranks.py."""

import copy
import multiprocessing
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire
from models import Net, make_model, one_step

# --- Ends ---


def dies(how):
    """Rank 1 goes in the middle of training; what the others get."""
    model, optimizer, hook = make_model(
        "ef(topk(5%))", cap_mb=0.01, options={"timeout": 5.0}
    )
    start = None
    try:
        for step in range(1000):
            if step == 5 and dist.get_rank() == 1:
                if how == "killed":
                    os._exit(3)
                if how == "exits":
                    sys.exit(4)
                raise ValueError("an error of the program")
            start = time.monotonic()
            one_step(model, optimizer, step)
    except RuntimeError as error:
        seconds = time.monotonic() - start
        later = ""
        try:
            hook.state_dict()
        except gradwire.PeerError as again:
            later = str(again)
        return {
            "what": str(error),
            "seconds": seconds,
            "rank": getattr(hook.failure, "rank", None),
            "later": later,
        }
    return None


# --- In the middle of a step ---


class _Fails(torch.autograd.Function):
    """A layer whose backward pass does not come to its end."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        raise ValueError("out of memory, say")


def saved_in_a_step():
    """A backward pass fails after its first bucket; a program that saves then gets an error."""
    torch.manual_seed(1)
    dist._DEFAULT_FIRST_BUCKET_BYTES = 1
    model = DistributedDataParallel(Net(), bucket_cap_mb=0.001)
    hook = gradwire.attach(model, "ef(topk(5%))")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    one_step(model, optimizer, 0)
    between = hook.state_dict()["step"]
    model.module.first.register_forward_hook(lambda module, inputs, out: _Fails.apply(out))
    messages = []
    try:
        one_step(model, optimizer, 1)
    except ValueError as error:
        messages.append(str(error))
    for call in (hook.state_dict, hook.memories, lambda: hook.load_state_dict({})):
        try:
            call()
        except gradwire.Error as error:
            messages.append(str(error))
    return {"between": between, "messages": messages}


def copied():
    """Copies of an attached model, as they are made for averages of weights."""
    model, optimizer, hook = make_model("ef(topk(5%))", find_unused_parameters=True)
    first = copy.deepcopy(model.module)
    before = copy.deepcopy(model)
    one_step(model, optimizer, 0)
    after = copy.deepcopy(model)
    del before, after
    return {"steps": hook.step, "parameters": len(list(first.parameters()))}


def _forked(rank, port, directory):
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    model, optimizer, hook = make_model("natural", options={"record": directory})
    for step in range(30):
        one_step(model, optimizer, step)


def forked(directory, port):
    """Ranks that multiprocessing has forked, which end without a word."""
    dist.destroy_process_group()
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=_forked, args=(rank, port, directory)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(100)
    return [worker.exitcode for worker in workers]


# --- Wrong calls ---


def wrong_calls():
    """The messages that users get."""

    def message(call):
        try:
            call()
        except (gradwire.Error, ValueError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
        return "nothing"

    def wrapped():
        return DistributedDataParallel(Net())

    def momentum():
        model = wrapped()
        gradwire.attach(model, "dgc(1%)", optimizer=torch.optim.Adam(model.parameters()))

    def sparse():
        model = DistributedDataParallel(nn.Embedding(10, 3, sparse=True))
        gradwire.attach(model, "natural")
        model(torch.tensor([1, 2])).sum().backward()

    def of_another_method():
        model = wrapped()
        hook = gradwire.attach(model, "natural")
        state = hook.state_dict()
        state["spec"] = "none"
        hook.load_state_dict(state)

    def closed():
        model, optimizer, hook = make_model("natural")
        one_step(model, optimizer, 0)
        hook.close()
        hook.close()
        one_step(model, optimizer, 1)

    def lazy(**options):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=1, **options)
        gradwire.LazyStep(model, "sasg(topk(1%))", optimizer)

    def part_of_the_parameters():
        model = Net()
        optimizer = torch.optim.SGD(model.first.parameters(), lr=1)
        gradwire.LazyStep(model, "sasg(topk(1%))", optimizer)

    return {
        "no ddp": message(lambda: gradwire.attach(Net(), "natural")),
        "spec": message(lambda: gradwire.attach(wrapped(), "ef(topk(1%) | naturl)")),
        "lazy": message(lambda: gradwire.attach(wrapped(), "sasg(topk(1%))")),
        "not lazy": message(
            lambda: gradwire.LazyStep(Net(), "natural", torch.optim.SGD(Net().parameters(), lr=1))
        ),
        "momentum": message(momentum),
        "sparse": message(sparse),
        "state": message(of_another_method),
        "no state": message(lambda: make_model("natural")[2].load_state_dict({})),
        "closed": message(closed),
        "topology": message(lambda: gradwire.attach(wrapped(), "natural", topology="star")),
        "maximize": message(lambda: lazy(maximize=True)),
        "part": message(part_of_the_parameters),
        "seed": message(lambda: gradwire.attach(wrapped(), "natural", seed=-1)),
        "timeout": message(lambda: gradwire.attach(wrapped(), "natural", timeout=0)),
        "optimizer": message(lambda: gradwire.attach(wrapped(), "natural", optimizer=Net())),
        "nothing": message(lambda: make_model("natural")[2].load_state_dict(None)),
        "no text": message(lambda: gradwire.attach(wrapped(), None)),
        "ring": message(lambda: gradwire.attach(wrapped(), "ef(topk(1%))", topology="ring")),
        "flag": message(lambda: gradwire.attach(wrapped(), "natural", overwrite="yes")),
        "remark": message(lambda: make_model("natural")[2].log(loss="low")),
        "reshare": message(lambda: gradwire.reshare([make_model("none")[2].state_dict()], 5, 2)),
    }


def different_models():
    wider = nn.Linear(3, 4 + dist.get_rank(), bias=False)
    optimizer = torch.optim.SGD(wider.parameters(), lr=1)
    try:
        gradwire.LazyStep(wider, "lasg", optimizer, timeout=5.0)
    except gradwire.StartError as error:
        return str(error)
    return ""


def different_specs():
    spec = "natural" if dist.get_rank() == 0 else "none"
    try:
        model, optimizer, hook = make_model(spec, options={"timeout": 5.0})
        one_step(model, optimizer, 0)
    except RuntimeError as error:
        return str(error)
    return ""
