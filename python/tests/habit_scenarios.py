"""What training scripts do beside the plain loop; see ranks.py."""

import copy
import io
import math
import os
import signal
import threading
import time
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

import gradwire
from models import Net, batch, digest, make_model, one_step

# --- Learning rates ---


def _schedule(optimizer, kind, steps):
    rates = torch.optim.lr_scheduler
    if kind == "cosine":
        return rates.CosineAnnealingLR(optimizer, steps, eta_min=1e-5)
    if kind == "restarts":
        return rates.CosineAnnealingWarmRestarts(optimizer, steps // 4)
    if kind == "warm-up":
        return rates.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / (steps / 2)))
    if kind == "step":
        return rates.StepLR(optimizer, steps // 3, gamma=0.1)
    momentum = any(group["momentum"] for group in optimizer.param_groups)
    return rates.CyclicLR(
        optimizer, 1e-4, optimizer.param_groups[0]["lr"], steps // 8, cycle_momentum=momentum
    )


def scheduled(kind, specs):
    """Trains by each method with a schedule of learning rates, with and without momentum and
    clipping."""
    return [
        {"momentum": momentum, "clip": clip, **{s: _scheduled(s, kind, momentum, clip) for s in specs}}
        for momentum in (0, 0.9)
        for clip in (0, 1.0)
    ]


def _scheduled(spec, kind, momentum, clip, steps=120):
    """The mean of the last losses, and the largest norm of a gradient."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Net())
    rate = 0.02 if momentum else 0.1
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
    schedule = _schedule(optimizer, kind, steps)
    hook = None
    if spec != "plain":
        hook = gradwire.attach(model, spec, optimizer=optimizer)
    losses, largest = [], 0.0
    for step in range(steps):
        inputs, targets = batch(step % 40)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
        largest = max(largest, float(norm))
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    if hook is not None:
        hook.close()
    return {"loss": sum(losses[-20:]) / 20, "largest": largest, "digest": digest(model)}


def group_rates(spec, kind):
    """Two groups whose rates change by factors of their own."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Net())
    parts = [list(layer.parameters()) for layer in model.module.children()]
    optimizer = torch.optim.SGD(
        [
            {"params": parts[0], "lr": 0.1},
            {"params": [p for part in parts[1:] for p in part], "lr": 0.01},
        ],
        lr=0.1,
    )
    rates = torch.optim.lr_scheduler
    if kind == "eta_min":
        schedule = rates.CosineAnnealingLR(optimizer, 12, eta_min=0.005)
    else:
        schedule = rates.LambdaLR(optimizer, [lambda t: 0.9**t, lambda t: min(1.0, (t + 1) / 6)])
    hook = gradwire.attach(model, spec, optimizer=optimizer)
    losses = []
    for step in range(12):
        losses.append(one_step(model, optimizer, step))
        schedule.step()
    return {"digest": digest(model), "steps": hook.step, "losses": losses}


def adaptive(spec):
    """The warnings for an optimizer with second moments."""
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.AdamW(model.parameters())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gradwire.attach(model, spec, optimizer=optimizer)
    return [str(warning.message) for warning in caught if "AdamW" in str(warning.message)]


# --- Gradients that are thrown away ---


def thrown_away(ignores):
    """One pass in three is not used, as in a GAN. Whether the memory knows of it, and warnings."""
    model, optimizer, hook = make_model("ef(topk(5%))")
    one_step(model, optimizer, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(1, 6):
            inputs, targets = batch(step)
            model.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            if ignores:
                before = hook.state_dict()["method"]
                with hook.ignore():
                    loss.backward()
                assert torch.equal(before, hook.state_dict()["method"])
                mean = [p.grad.clone() for p in model.parameters()]
                model.zero_grad()
                with model.no_sync():
                    nn.functional.cross_entropy(model(inputs), targets).backward()
                for own, exact in zip(model.parameters(), mean):
                    dist.all_reduce(own.grad)
                    torch.testing.assert_close(own.grad / dist.get_world_size(), exact)
            else:
                loss.backward()
            model.zero_grad()
            one_step(model, optimizer, step)
    told = [str(warning.message) for warning in caught if "ignore()" in str(warning.message)]
    return {"digest": digest(model), "steps": hook.step, "warnings": told}


def accumulated(spec, clears):
    """Two passes for each step without no_sync, as a GAN's discriminator has with real and fake
    images; gradients are cleared before the forward or the backward pass. The warnings."""
    model, optimizer, _ = make_model(spec)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(12):
            if clears == "first":
                model.zero_grad()
            for part in range(2):
                inputs, targets = batch(2 * step + part)
                loss = nn.functional.cross_entropy(model(inputs), targets)
                if clears == "late" and part == 0:
                    optimizer.zero_grad(set_to_none=False)
                loss.backward()
            optimizer.step()
    return [str(warning.message) for warning in caught if "ignore()" in str(warning.message)]


def changed_behind_torch():
    """Programs that change parameters through ``.data``: no warning."""
    model, _, _ = make_model("ef(topk(5%))")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(4):
            inputs, targets = batch(step)
            model.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            for parameter in model.parameters():
                parameter.data.add_(parameter.grad.data, alpha=-0.1)
    return [str(warning.message) for warning in caught if "ignore()" in str(warning.message)]


# --- Ctrl-C ---


def interrupted():
    """Ctrl-C at moments that grow apart; the exception that the program gets each time."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may let tests ignore it
    dist._DEFAULT_FIRST_BUCKET_BYTES = 1
    model, optimizer, hook = make_model("ef(topk(5%))", cap_mb=0.001)
    one_step(model, optimizer, 0)
    on_gradients, within = hook._on_gradients, []

    def interrupt(bucket):  # in the middle of the hook, where it hurts
        if len(within) == 3:
            signal.raise_signal(signal.SIGINT)
        within.append(bucket.index())
        return on_gradients(bucket)

    hook._on_gradients = interrupt
    caught = "nothing"
    try:
        one_step(model, optimizer, 1)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:  # the interrupt comes a moment after the hook
            time.sleep(0.001)
    except BaseException as error:
        caught = type(error).__name__
    hook._on_gradients = on_gradients
    return {"caught": caught, "buckets": len(within), "saved": hook.state_dict()["step"]}


# --- Copies ---


def copied_whole():
    """Copies of an attached model, by all the ways that plain DDP allows."""
    model, optimizer, hook = make_model("ef(topk(5%))")
    one_step(model, optimizer, 0)
    ways = {}
    copy.deepcopy(model)
    ways["deepcopy"] = True
    AveragedModel(model).update_parameters(model)
    ways["averaged"] = True
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    options = {} if torch.__version__.startswith("1.") else {"weights_only": False}
    again = torch.load(file, **options)
    ways["saved"] = digest(again) == digest(model)
    one_step(model, optimizer, 1)
    return {**ways, "steps": hook.step}


# --- Starts and ends ---


def attached_by_one(timeout):
    """Only rank 0 calls attach."""
    model = DistributedDataParallel(Net())
    if dist.get_rank() != 0:
        time.sleep(timeout + 2)
        return ""
    try:
        gradwire.attach(model, "natural", timeout=timeout)
    except gradwire.StartError as error:
        return str(error)
    return "attached"


def ends_after_catching(timeout):
    """Rank 1 catches its exception and ends as if all were well; what rank 0 gets, and when."""
    model, optimizer, hook = make_model("ef(topk(5%))", options={"timeout": timeout})
    for step in range(100):
        if step == 5 and dist.get_rank() == 1:
            return "left"
        start = time.monotonic()
        try:
            one_step(model, optimizer, step)
        except RuntimeError as error:
            return {"what": str(error), "seconds": time.monotonic() - start}
    return "all steps"


def attached_twice():
    """A second hook takes the place of the first."""
    model, optimizer, first = make_model("ef(topk(5%))")
    one_step(model, optimizer, 0)
    second = gradwire.attach(model, "natural")
    one_step(model, optimizer, 1)
    try:
        first.state_dict()
    except gradwire.Error as error:
        return {"first": str(error), "steps": second.step, "digest": digest(model)}
    return None


def dropped():
    """Threads of a hook whose model the program drops."""
    before = threading.active_count()
    for _ in range(3):
        model, optimizer, hook = make_model("natural")
        one_step(model, optimizer, 0)
        del model, optimizer, hook
    deadline = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    files = len(os.listdir("/proc/self/fd"))
    return {"threads": threading.active_count() - before, "files": files}


# --- States ---


def full_state(spec, path):
    """One checkpoint by rank 0 for all ranks; another model continues from it."""
    model, optimizer, hook = make_model(spec)
    for step in range(3):
        one_step(model, optimizer, step)
    full = hook.full_state_dict()
    assert (full is None) == (dist.get_rank() != 0)
    if full is not None:
        torch.save(full, path)
    everywhere = hook.full_state_dict(on_all_ranks=True)
    kept = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    for step in range(3, 6):
        one_step(model, optimizer, step)
    digests = [digest(model)]
    dist.barrier()
    for way in ("rank 0", "read by all", "gathered"):
        again, optimizer, hook = make_model(spec)
        again.load_state_dict(kept[0])
        optimizer.load_state_dict(copy.deepcopy(kept[1]))  # today's torch keeps what it is given
        if way == "rank 0":
            hook.load_full_state_dict(full)
        else:
            hook.load_state_dict(torch.load(path) if way == "read by all" else everywhere)
        for step in range(3, 6):
            one_step(again, optimizer, step)
        digests.append(digest(again))
    return digests


# --- Models of other kinds ---


def advice():
    """The messages for models that attach cannot take."""

    def message(model):
        try:
            gradwire.attach(model, "natural")
        except gradwire.Error as error:
            return str(error)
        return "attached"

    class Complex(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(2, dtype=torch.complex64))
            self.bias = nn.Parameter(torch.zeros(2))

    messages = {
        "module": message(Net()),
        "nothing": message(None),
        "data parallel": message(nn.DataParallel(Net())),
    }
    try:
        messages["complex"] = message(DistributedDataParallel(Complex()))
    except RuntimeError:
        pass  # DDP of torch 1.13 does not take it
    taken = DistributedDataParallel(Net())
    taken.register_comm_hook(None, lambda state, bucket: None)
    messages["taken"] = message(taken)
    try:
        from torch.distributed.fsdp import FullyShardedDataParallel

        messages["fsdp1"] = message(FullyShardedDataParallel(Net(), device_id=torch.device("cpu")))
    except (ImportError, RuntimeError, ValueError, AssertionError):
        pass  # torch 1.13 does not make one without a GPU
    return messages
