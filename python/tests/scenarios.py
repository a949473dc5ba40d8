"""What the ranks of tests do with DDP; see ranks.py."""

import contextlib
import os
import random
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire
from models import Net, batch, digest, make_model, one_step

# --- Training ---


def train(spec, steps=8, cap_mb=25.0, ddp=None, options=None, first_bucket=None, accumulate=1):
    """The digest of the model, its losses, and what the hook says."""
    if first_bucket is not None:
        dist._DEFAULT_FIRST_BUCKET_BYTES = first_bucket
    ddp = ddp or {}
    model, optimizer, hook = make_model(spec, cap_mb, options, **ddp)
    losses = []
    for step in range(steps):
        forward = {}
        if ddp.get("find_unused_parameters"):
            # Sometimes all ranks skip it, sometimes one.
            forward["takes_optional"] = step % 3 == 0 or (step % 3 == 1 and dist.get_rank() == 0)
        for part in range(accumulate - 1):
            with model.no_sync():
                inputs, targets = batch(1000 + step * accumulate + part)
                nn.functional.cross_entropy(model(inputs, **forward), targets).backward()
        losses.append(one_step_kept(model, optimizer, step, accumulate, **forward))
    return {
        "digest": digest(model),
        "losses": losses,
        "stats": hook.stats() if hook else None,
        "summary": hook.summary() if hook else "",
    }


def one_step_kept(model, optimizer, step, accumulate, **forward):
    """A step that goes on with what was accumulated."""
    inputs, targets = batch(step)
    if accumulate == 1:
        optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs, **forward), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def in_buckets(spec, buckets, steps=12):
    """Twenty layers of the same size, in so many buckets; the digest, and the buckets of a step."""
    layer_bytes = 32 * 32 * 4
    cap = 20 // buckets * layer_bytes
    dist._DEFAULT_FIRST_BUCKET_BYTES = cap
    torch.manual_seed(1)
    layers = [nn.Linear(32, 32, bias=False) for _ in range(20)]
    model = DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=cap / 2**20)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    hook = gradwire.attach(model, spec)
    seen = []
    on_gradients = hook._on_gradients
    hook._on_gradients = lambda bucket: (seen.append(bucket.index()), on_gradients(bucket))[1]
    for step in range(steps):
        del seen[:]
        one_step(model, optimizer, step)
    return {"digest": digest(model), "buckets": len(seen)}


def values(spec, steps=6):
    """All parameters after a few steps."""
    model, optimizer, hook = make_model(spec)
    for step in range(steps):
        one_step(model, optimizer, step)
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]).tolist()


def two_models(spec):
    """Two models and their hooks in one process, whose backward passes alternate."""
    first, first_optimizer, first_hook = make_model(spec)
    second, second_optimizer, second_hook = make_model("natural | entropy", cap_mb=0.01)
    for step in range(5):
        one_step(first, first_optimizer, step)
        one_step(second, second_optimizer, step)
    # Both in one backward pass.
    inputs, targets = batch(99)
    loss = nn.functional.cross_entropy(first(inputs) + second(inputs), targets)
    loss.backward()
    first_optimizer.step()
    second_optimizer.step()
    return [digest(first), digest(second), first_hook.step, second_hook.step]


def mixed_types(spec):
    """Parameters of three types, each with a bucket of its own."""

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            types = (torch.float16, torch.float64, torch.float32)
            self.parts = nn.ParameterList(
                nn.Parameter(torch.ones(6, 7).to(kind)) for kind in types
            )
            self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)

        def forward(self, x):
            return sum((part.float() * x).sum() for part in self.parts) * self.frozen.sum()

    model = DistributedDataParallel(Mixed())
    hook = gradwire.attach(model, spec)
    gradients = None
    for step in range(3):
        model.zero_grad()
        x = torch.full((6, 7), float(dist.get_rank() + step))
        model(x).backward()
        gradients = [part.grad.float().mean().item() for part in model.module.parts]
    kinds = [str(part.grad.dtype) for part in model.module.parts]
    return {"gradients": gradients, "types": kinds, "names": sorted(hook.stats()["parameters"])}


def channels_last(spec):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))
    net = net.to(memory_format=torch.channels_last)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if spec != "plain":
        gradwire.attach(model, spec)
    for step in range(4):
        torch.manual_seed(10 * step + dist.get_rank())
        inputs = torch.randn(2, 3, 12, 12).to(memory_format=torch.channels_last)
        optimizer.zero_grad()
        model(inputs).pow(2).mean().backward()
        optimizer.step()
    return [p.detach().sum().item() for p in model.parameters()]


def boarded(directory, steps):
    """Writes event files; the rate is halved after two steps, and every other loss is logged."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    hook = gradwire.attach(model, "natural", optimizer=optimizer, tensorboard=directory)
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = 0.5 if step <= 2 else 0.25
        one_step(model, optimizer, step)
        assert hook.step == step
        if step % 2 == 0:
            hook.log(loss=float(step))
    hook.close()


# --- What is kept ---


def save(spec, directory, before, after, **options):
    """Trains, saves on every rank, trains on."""
    model, optimizer, hook = make_model(spec, cap_mb=0.02, **options)
    for step in range(before):
        one_step(model, optimizer, step)
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "gradwire": hook.state_dict(),
    }
    torch.save(state, os.path.join(directory, f"rank{dist.get_rank()}.pt"))
    for step in range(before, before + after):
        one_step(model, optimizer, step)
    return digest(model)


def resume(spec, directory, before, after, saved_ranks, **options):
    """Goes on from there, with as many ranks or with others."""
    model, optimizer, hook = make_model(spec, cap_mb=0.02, **options)
    states = [
        torch.load(os.path.join(directory, f"rank{rank}.pt")) for rank in range(saved_ranks)
    ]
    own = states[min(dist.get_rank(), saved_ranks - 1)]
    model.load_state_dict(own["model"])
    optimizer.load_state_dict(own["optimizer"])
    if saved_ranks == dist.get_world_size():
        hook.load_state_dict(own["gradwire"])
    else:
        try:
            hook.load_state_dict(own["gradwire"])
            raise AssertionError("another number of ranks was not refused")
        except gradwire.Error as error:
            assert "list of" in str(error), error
        hook.load_state_dict([state["gradwire"] for state in states])
    assert hook.step == before
    for step in range(before, before + after):
        one_step(model, optimizer, step)
    return digest(model)


def conservation(spec):
    """With parameters that nobody uses now and then, all that was a gradient arrives: what was
    applied, and what ranks still hold, add up to the mean of the gradients."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Net(), find_unused_parameters=True)
    hook = gradwire.attach(model, spec)
    weight = model.module.optional.weight
    applied = torch.zeros_like(weight)
    given = torch.zeros_like(weight)
    keeps = []

    def keep(gradient):
        keeps.append(gradient.clone())

    weight.register_hook(keep)
    for step in range(9):
        model.zero_grad(set_to_none=step % 2 == 0)
        del keeps[:]
        inputs, targets = batch(step)
        output = model(inputs, takes_optional=step % 3 != 2)
        nn.functional.cross_entropy(output, targets).backward()
        mean = keeps[0] if keeps else torch.zeros_like(weight)
        dist.all_reduce(mean)
        given += mean / dist.get_world_size()
        if weight.grad is not None:
            applied += weight.grad
    state = hook.state_dict()
    held = hook.memories()["optional.weight"]["error"].view_as(weight).clone()
    dist.all_reduce(held)
    held /= dist.get_world_size()
    carried = state["more"]["carried"].get("optional.weight")
    if carried is not None:
        held += carried.view_as(weight)
    lost = (given - applied - held).abs().max().item()
    return {"lost": lost, "given": given.abs().max().item(), "carried": carried is not None}


# --- Scales of the loss ---


class FakeScaler:
    """What gradwire needs of a GradScaler."""

    def __init__(self):
        self.scale = 8.0

    def get_scale(self):
        return self.scale

    def is_enabled(self):
        return True


def scaled(changes, tells, reloads=False):
    """Trains with scaled losses; the model must not see the scale. It may change just before a
    state is loaded."""
    scaler = FakeScaler()
    options = {"scaler": scaler} if tells else {}
    model, optimizer, hook = make_model("ef(topk(5%))", options=options)
    for step in range(10):
        if changes and step == 5:
            if reloads:
                state = hook.state_dict()
            scaler.scale = 2.0
            if reloads:
                hook.load_state_dict(state)
        inputs, targets = batch(step)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        (loss * scaler.scale).backward()
        for parameter in model.parameters():
            parameter.grad /= scaler.scale
        optimizer.step()
    return digest(model)


class EnabledScaler(FakeScaler, torch.cuda.amp.GradScaler):
    """A GradScaler of torch is not enabled without a GPU."""


def scaler_without_telling():
    scaler = EnabledScaler()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, optimizer, hook = make_model("ef(topk(5%))")
        one_step(model, optimizer, 0)
        one_step(model, optimizer, 1)
    assert scaler.get_scale() == 8.0
    return [str(warning.message) for warning in caught if "GradScaler" in str(warning.message)]


def accumulated_unused(spec, view):
    """A parameter that is used in a part of the batch which is not averaged, and not in the last."""
    torch.manual_seed(1)
    model = DistributedDataParallel(
        Net(), find_unused_parameters=True, gradient_as_bucket_view=view
    )
    if spec != "plain":
        gradwire.attach(model, spec)
    gradients = []
    for step, takes in enumerate([(True, False), (True, False), (True, True), (False, True)]):
        model.zero_grad(set_to_none=False)
        for part, takes_optional in enumerate(takes):
            with contextlib.nullcontext() if part == 1 else model.no_sync():
                inputs, targets = batch(2 * step + part)
                output = model(inputs, takes_optional=takes_optional)
                nn.functional.cross_entropy(output, targets).backward()
        weight = model.module.optional.weight
        gradients.append(0.0 if weight.grad is None else weight.grad.double().sum().item())
    return gradients


def poison(spec):
    """A NaN on one rank is one on all, and nothing is remembered of it."""
    model, optimizer, hook = make_model(spec)
    one_step(model, optimizer, 0)
    before = hook.state_dict()["method"]
    inputs, targets = batch(1)
    if dist.get_rank() == 1:
        inputs[0, 0] = float("nan")
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), targets).backward()
    is_nan = all(bool(torch.isnan(p.grad).any()) for p in model.parameters())
    after = hook.state_dict()["method"]
    return {"nan": is_nan, "same": bool(torch.equal(before, after)), "stats": hook.stats()["poisoned"]}


# --- Records ---


def recorded(directory):
    model, optimizer, hook = make_model(
        "ef(topk(5%) | natural)", options={"record": directory, "optimizer": None}
    )
    for step in range(45):
        loss = one_step(model, optimizer, step)
        hook.log(loss=loss, samples=8, accuracy=step / 45 if step % 10 == 9 else None)
    hook.close()
    assert "45 steps" in hook.summary()
    return hook.spec


# --- The long run ---


def anything_goes(steps):
    """Random sizes of buckets, accumulation and skipped parameters; models anew now and then."""
    choose = random.Random(5)  # the same on all ranks
    own = random.Random(6 + dist.get_rank())
    specs = ["natural | entropy", "ef(topk(2%) | natural)", "powersgd(rank=2)", "qsgd(bits=4)"]
    done, digests = 0, []
    while done < steps:
        cap = choose.choice([0.001, 0.004, 0.02, 1.0])
        spec = choose.choice(specs)
        unused = choose.random() < 0.5
        dist._DEFAULT_FIRST_BUCKET_BYTES = choose.choice([1, 3000, 1024 * 1024])
        model, optimizer, hook = make_model(
            spec,
            cap,
            find_unused_parameters=unused,
            gradient_as_bucket_view=choose.random() < 0.5,
        )
        for _ in range(50):
            parts = choose.choice([1, 1, 2, 3])
            optimizer.zero_grad(set_to_none=choose.random() < 0.5)
            for part in range(parts):
                is_last = part == parts - 1
                takes = own.random() < 0.3 if unused and is_last else not unused
                with contextlib.nullcontext() if is_last else model.no_sync():
                    inputs, targets = batch(done * 3 + part)
                    output = model(inputs, takes_optional=takes)
                    nn.functional.cross_entropy(output, targets).backward()
            optimizer.step()
            done += 1
        assert hook.step == 50
        hook.close()
        digests.append(digest(model))
    return digests
