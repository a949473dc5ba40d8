"""What the ranks of tests do without DDP, by methods that decide who uploads; see ranks.py."""

import hashlib
import os

import torch
import torch.distributed as dist
from torch import nn

import gradwire
from models import batch


def lazy(spec, steps, directory=None, resumes=False, saved_ranks=None):
    torch.manual_seed(dist.get_rank())  # all begin as rank 0 nevertheless
    model = nn.Sequential(
        nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-4)
    stepper = gradwire.LazyStep(model, spec, optimizer)
    path = os.path.join(directory, f"lazy{dist.get_rank()}.pt") if directory else None
    first = 0
    if resumes:
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        if saved_ranks:
            paths = [os.path.join(directory, f"lazy{rank}.pt") for rank in range(saved_ranks)]
            stepper.load_state_dict([torch.load(path)["gradwire"] for path in paths])
        else:
            stepper.load_state_dict(saved["gradwire"])
        torch.set_rng_state(saved["random"])
        first = steps // 2
    losses = []
    for step in range(first, steps):
        if path and not resumes and step == steps // 2:
            torch.save(
                {
                    "model": model.state_dict(),
                    "gradwire": stepper.state_dict(),
                    "random": torch.get_rng_state(),
                },
                path,
            )
        inputs, targets = batch(step)

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            return loss

        losses.append(stepper.step(closure).item())
    skipped = stepper.uploads_skipped()
    parameters = hashlib.sha256()
    for parameter in model.parameters():
        parameters.update(parameter.detach().numpy().tobytes())
    summary = stepper.summary()
    return {
        "digest": parameters.hexdigest(),
        "losses": losses,
        "skipped": skipped,
        "summary": summary,
    }


def lazy_end(fails):
    """Two steps and an orderly end; or rank 1 fails in the second step. What is left afterwards."""
    model = nn.Linear(32, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    stepper = gradwire.LazyStep(model, "sasg(topk(5%))", optimizer)

    def step(number):
        def closure():
            if fails and number == 1 and dist.get_rank() == 1:
                raise ValueError("no such batch")
            inputs, targets = batch(number)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            return loss

        stepper.step(closure)

    def message(call):
        try:
            call()
        except (gradwire.Error, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        return "nothing"

    first = [message(lambda: step(number)) for number in range(2)]
    stepper.close()
    stepper.close()
    return {
        "steps": first,
        "later": [message(lambda: step(2)), message(stepper.state_dict)],
        "failure": getattr(stepper.failure, "rank", None),
        "done": stepper.stats()["steps"],
        "summary": stepper.summary(),
        "remarks": stepper.remarks(),
    }
