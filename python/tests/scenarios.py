"""What the ranks of tests do; see ranks.py."""

import contextlib
import hashlib
import json
import os
import random
import sys
import time
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradwire


class Net(nn.Module):
    """A few layers whose order of definition is not that of use, and one that may be skipped."""

    def __init__(self, width=64, layers=3):
        super().__init__()
        self.last = nn.Linear(width, 10)
        self.first = nn.Linear(32, width)
        self.middle = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.optional = nn.Linear(width, width)

    def forward(self, x, takes_optional=True):
        x = torch.tanh(self.first(x))
        for layer in self.middle:
            x = torch.tanh(layer(x))
        if takes_optional:
            x = x + torch.tanh(self.optional(x))
        return self.last(x)


def make_model(spec, cap_mb=25.0, options=None, **ddp):
    torch.manual_seed(1)
    model = DistributedDataParallel(Net(), bucket_cap_mb=cap_mb, **ddp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if spec == "plain":
        return model, optimizer, None
    return model, optimizer, gradwire.attach(model, spec, **(options or {}))


def batch(step, rank=None):
    rank = dist.get_rank() if rank is None else rank
    generator = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 32, generator=generator)
    return inputs, inputs[:, :10].argmax(1)


def one_step(model, optimizer, step, **forward):
    inputs, targets = batch(step)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs, **forward), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


def digest(model):
    total = hashlib.sha256()
    for value in model.state_dict().values():
        total.update(value.to(torch.float64).numpy().tobytes())
    return total.hexdigest()


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


def scaler_without_telling():
    global GradScaler
    GradScaler = type("GradScaler", (FakeScaler,), {})
    scaler = GradScaler()
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

    def twice():
        model = wrapped()
        gradwire.attach(model, "natural")
        gradwire.attach(model, "natural")

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
        "twice": message(twice),
        "maximize": message(lambda: lazy(maximize=True)),
        "part": message(part_of_the_parameters),
        "seed": message(lambda: gradwire.attach(wrapped(), "natural", seed=-1)),
        "timeout": message(lambda: gradwire.attach(wrapped(), "natural", timeout=0)),
        "optimizer": message(lambda: gradwire.attach(wrapped(), "natural", optimizer=Net())),
        "nothing": message(lambda: make_model("natural")[2].load_state_dict(None)),
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


# --- Lazy steps ---


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


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    name, arguments, path = sys.argv[1:]
    result = globals()[name](**json.loads(arguments))
    with open(path, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
