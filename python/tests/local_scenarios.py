"""What the ranks of tests do with ``local(...)``; see ranks.py."""

import hashlib
import os
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire
from models import batch


def _model():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))


def _digest(model):
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def _optimizer(name, model):
    if name == "sgd":
        return torch.optim.SGD(model.parameters(), lr=0.05)
    return torch.optim.AdamW(model.parameters(), lr=0.01)


def _train(model, optimizer, first, last):
    losses = []
    for step in range(first, last):
        inputs, targets = batch(step)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def local_learns(spec, steps, optimizer="adamw"):
    torch.manual_seed(dist.get_rank())  # all begin as rank 0 nevertheless
    model = _model()
    optimiser = _optimizer(optimizer, model)
    local = gradwire.attach(model, spec, optimizer=optimiser)
    losses = _train(model, optimiser, 0, steps)
    between = _digest(model)
    with local.common_model():
        common = _digest(model)
    after = _digest(model)
    local.exchange()
    end = _digest(model)
    return {
        "losses": losses,
        "between": between,
        "common": common,
        "after": after,
        "end": end,
        "bytes": local.stats()["bytes_sent"],
        "remarks": local.remarks(),
    }


def local_like_ddp(spec, steps):
    """The parameters of plain DDP, and of local steps that are exchanged at each step."""
    torch.manual_seed(3)
    plain, ours = _model(), _model()
    ours.load_state_dict(plain.state_dict())
    wrapped = DistributedDataParallel(plain)
    first = torch.optim.SGD(plain.parameters(), lr=0.05)
    _train(wrapped, first, 0, steps)
    second = torch.optim.SGD(ours.parameters(), lr=0.05)
    gradwire.attach(ours, spec, optimizer=second)
    _train(ours, second, 0, steps)
    pairs = zip(plain.parameters(), ours.parameters())
    return max(float((a - b).abs().max()) for a, b in pairs)


def local_resumed(spec, cut, steps, directory):
    """The digests of a run in one piece, and of one that is saved and loaded after `cut` steps."""
    digests = []
    path = os.path.join(directory, f"local{dist.get_rank()}.pt")
    for is_cut in (False, True):
        torch.manual_seed(4)
        model = _model()
        optimizer = _optimizer("adamw", model)
        local = gradwire.attach(model, spec, optimizer=optimizer)
        if is_cut:
            _train(model, optimizer, 0, cut)
            torch.save([model.state_dict(), optimizer.state_dict(), local.state_dict()], path)
            local.close()
            torch.manual_seed(5)
            model = _model()
            optimizer = _optimizer("adamw", model)
            local = gradwire.attach(model, spec, optimizer=optimizer)
            saved = torch.load(path)
            model.load_state_dict(saved[0])
            optimizer.load_state_dict(saved[1])
            local.load_state_dict(saved[2])
            _train(model, optimizer, cut, steps)
        else:
            _train(model, optimizer, 0, steps)
        local.exchange()
        digests.append(_digest(model))
        local.close()
    return digests


def local_refused():
    model = _model()
    adamw = torch.optim.AdamW(model.parameters())

    def message(call):
        try:
            call()
        except gradwire.Error as error:
            return str(error)
        return "nothing"

    spec = "local(none, every=4)"
    other = torch.optim.AdamW(_model().parameters())
    return {
        "ddp": message(
            lambda: gradwire.attach(DistributedDataParallel(model), spec, optimizer=adamw)
        ),
        "none": message(lambda: gradwire.attach(model, spec)),
        "other": message(lambda: gradwire.attach(model, spec, optimizer=other)),
        "hosts": message(lambda: gradwire.attach(model, spec, optimizer=adamw, hosts="auto")),
        "scaler": message(
            lambda: gradwire.attach(
                model, spec, optimizer=adamw, scaler=torch.cuda.amp.GradScaler(enabled=False)
            )
        ),
        "lazy": message(lambda: gradwire.LazyStep(model, spec, adamw)),
        "plain": message(lambda: gradwire.attach(model, "natural", optimizer=adamw)),
    }


def local_warns():
    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gradwire.attach(model, "diloco", optimizer=optimizer)
    return [str(warning.message) for warning in caught]
