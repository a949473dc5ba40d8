"""``adam(...)`` behind a program's own AdamW; see ranks.py."""

import contextlib
import copy
import io
import warnings

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire
from models import Net, batch, digest

#: Exact means in all steps: AdamW as torch has it.
EXACT = "adam(sign, dense=none)"


def _groups(model):
    """Weights decay, the others do not, and have another rate."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    return [
        {"params": matrices, "weight_decay": 0.1, "betas": (0.8, 0.95)},
        {"params": others, "weight_decay": 0.0, "lr": 0.003},
    ]


def _make(spec, **options):
    torch.manual_seed(1)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.AdamW(_groups(model), lr=0.002, **options)
    hook = None if spec == "plain" else gradwire.attach(model, spec, optimizer=optimizer)
    return model, optimizer, hook


def _backward(model, step, passes=1):
    for number in range(passes):
        inputs, targets = batch(100 * step + number)
        is_last = number + 1 == passes
        with contextlib.nullcontext() if is_last else model.no_sync():  # DDP looks at the forward pass
            loss = nn.functional.cross_entropy(model(inputs), targets) / passes
            loss.backward()
    return loss.item()


def _values(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()]).tolist()


class _Scaler:
    """A GradScaler of torch is not enabled without a GPU. This one does what it does to gradients."""

    scale = 1.0

    def get_scale(self):
        return self.scale

    def step(self, optimizer):
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
        for gradient in gradients:
            gradient /= self.scale
        if all(bool(gradient.isfinite().all()) for gradient in gradients):
            optimizer.step()


def adam_scaled(spec, scales):
    """The parameters and the optimizer's state with a scale of the loss for each step."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.AdamW(_groups(model), lr=0.002)
    scaler = _Scaler()
    gradwire.attach(model, spec, optimizer=optimizer, scaler=scaler)
    for step, scale in enumerate(scales):
        scaler.scale = scale
        optimizer.zero_grad()
        inputs, targets = batch(step)
        (scale * nn.functional.cross_entropy(model(inputs), targets)).backward()
        scaler.step(optimizer)
    state = optimizer.state_dict()["state"]
    moments = [state[i][key].flatten() for i in sorted(state) for key in ("exp_avg", "exp_avg_sq")]
    return _values(model) + torch.cat(moments).tolist()


def adam_parameters(spec, steps=20, passes=1, clips=False, schedules=""):
    """The parameters after some steps, and what the optimizer's state says."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.AdamW(_groups(model), lr=0.002)

    def schedule():
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))

    scheduler = schedule() if schedules == "before" else None
    if spec != "plain":
        gradwire.attach(model, spec, optimizer=optimizer)
    if schedules == "after":
        scheduler = schedule()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(steps):
            optimizer.zero_grad()
            _backward(model, step, passes)
            if clips:
                nn.utils.clip_grad_norm_(model.parameters(), 1e-6)
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
    state = optimizer.state_dict()["state"]
    mirrored = {
        key: torch.cat([state[index][key].flatten() for index in sorted(state)]).tolist()
        for key in ("exp_avg", "exp_avg_sq")
    }
    mirrored["step"] = [float(state[index]["step"]) for index in sorted(state)]
    return {"values": _values(model), "state": mirrored}


def adam_learns(spec, steps=150):
    model, optimizer, hook = _make(spec)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        losses.append(_backward(model, step))
        optimizer.step()
    return {
        "first": sum(losses[:10]) / 10,
        "last": sum(losses[-20:]) / 20,
        "digest": digest(model),
        "remarks": hook.remarks(),
    }


def adam_resumed(spec, cut, steps=16):
    """Straight through, and saved and loaded in the middle: model, optimizer and hook."""

    def train(model, optimizer, first, last):
        for step in range(first, last):
            optimizer.zero_grad()
            _backward(model, step)
            optimizer.step()

    model, optimizer, hook = _make(spec)
    train(model, optimizer, 0, cut)
    saved = io.BytesIO()
    torch.save([model.state_dict(), optimizer.state_dict(), hook.state_dict()], saved)
    train(model, optimizer, cut, steps)
    straight = digest(model)
    hook.close()

    saved.seek(0)
    weights, groups, state = torch.load(saved)
    model, optimizer, hook = _make(spec)
    model.load_state_dict(weights)
    optimizer.load_state_dict(groups)
    hook.load_state_dict(state)
    train(model, optimizer, cut, steps)
    return [straight, digest(model)]


def adam_closed():
    """After close(), the optimizer is torch's own."""
    model, optimizer, hook = _make(EXACT)
    _backward(model, 0)
    optimizer.step()
    hook.close()
    before = copy.deepcopy(_values(model))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return max(abs(a - b) for a, b in zip(before, _values(model)))


def adam_poisoned():
    """A step with a NaN changes neither parameters nor moments."""
    model, optimizer, hook = _make("adam(sign, warmup=2, refresh=0)")
    before = None
    for step in range(5):
        optimizer.zero_grad()
        inputs, targets = batch(step)
        loss = nn.functional.cross_entropy(model(inputs), targets)
        if step == 3:
            before = _values(model), hook.state_dict()["method"]
            loss = loss * float("nan")
        loss.backward()
        optimizer.step()
        if step == 3:
            after = _values(model), hook.state_dict()["method"]
    return [bool(before[0] == after[0]), bool(torch.equal(*map(_bytes, (before[1], after[1]))))]


def _bytes(value):
    return value if isinstance(value, torch.Tensor) else torch.frombuffer(bytearray(value), dtype=torch.uint8)


def adam_two_passes():
    model, optimizer, hook = _make(EXACT)
    try:
        _backward(model, 0)
        _backward(model, 1)
    except RuntimeError as error:
        return str(error)
    return ""


def adam_refused():
    """Messages by what does not fit."""

    def message(make, **options):
        torch.manual_seed(1)
        model = DistributedDataParallel(Net(), **options.pop("ddp", {}))
        try:
            gradwire.attach(model, EXACT, optimizer=make(model.parameters()), **options)
        except gradwire.Error as error:
            return str(error)
        return ""

    optim = torch.optim
    return {
        "none": message(lambda parameters: None),
        "sgd": message(lambda parameters: optim.SGD(parameters, lr=0.1)),
        "adam": message(lambda parameters: optim.Adam(parameters)),
        "amsgrad": message(lambda parameters: optim.AdamW(parameters, amsgrad=True)),
        "maximize": message(lambda parameters: optim.AdamW(parameters, maximize=True)),
        "unused": message(optim.AdamW, ddp={"find_unused_parameters": True}),
    }
