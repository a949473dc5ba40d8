"""What the ranks of tests do with further features of PyTorch; see ranks.py."""

import copy
import inspect
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

import gradwire
from gradwire import tensors
from models import Net, digest, make_model, one_step

SPECS = ("plain", "none", "ef(topk(5%) | natural)")


def _train(spec, wrap, steps=6):
    """The digest of a model after a few steps; ``wrap`` gives the DDP model, and what is called."""
    torch.manual_seed(1)
    model, called = wrap(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    hook = None if spec == "plain" else gradwire.attach(model, spec)
    for step in range(steps):
        one_step(called, optimizer, step)
    if hook:
        assert hook.step == steps
        hook.close()
    return digest(model)


# --- Late ranks ---


def late_ranks():
    """How often a rank is late depends on the machine. The last one stalls now and then."""
    model, optimizer, hook = make_model("ef(topk(5%) | natural)", options={"grace": 0.6})
    for step in range(30):
        if dist.get_rank() == 2 and step % 10 == 9:
            time.sleep(0.05)
        one_step(model, optimizer, step)
        if step == 20:
            assert hook.state_dict()
            assert hook.memories()
    assert hook.step == 30
    hook.close()
    return digest(model)


def late_refusals():
    model = DistributedDataParallel(Net())
    given = {
        "no error memory": ("natural", {"grace": 0.5}),
        "use down=none": ("sasg(topk(1%), down=natural)", {"grace": 0.5}),
        "has no owners": ("ef(topk(1%))", {"grace": 0.5, "topology": "gather"}),
        "above 0 and at most 1": ("ef(topk(1%))", {"grace": 75}),
        "takes no hosts=": ("ef(topk(1%))", {"grace": 0.5, "hosts": "auto"}),
    }
    refusals = {}
    for reason, (spec, options) in given.items():
        try:
            gradwire.attach(model, spec, **options)
            refusals[reason] = "not refused"
        except gradwire.Error as error:
            refusals[reason] = str(error)
    return refusals


# --- torch.compile ---


def compiled_before_ddp(backend):
    dist._DEFAULT_FIRST_BUCKET_BYTES = 10_000  # torch.compile wants it to be the smallest

    def wrap(net):
        model = DistributedDataParallel(torch.compile(net, backend=backend), bucket_cap_mb=0.02)
        return model, model

    return {spec: _train(spec, wrap) for spec in SPECS}


def compiled_after_ddp(backend):
    dist._DEFAULT_FIRST_BUCKET_BYTES = 10_000

    def wrap(net):
        model = DistributedDataParallel(net, bucket_cap_mb=0.02)
        return model, torch.compile(model, backend=backend)

    return {spec: _train(spec, wrap) for spec in SPECS}


def compiled_states(backend):
    """Trains on after a state was loaded, eager and compiled, from states of both kinds."""
    dist._DEFAULT_FIRST_BUCKET_BYTES = 10_000

    def make(is_compiled):
        torch.manual_seed(1)
        net = torch.compile(Net(), backend=backend) if is_compiled else Net()
        model = DistributedDataParallel(net, bucket_cap_mb=0.02)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        return model, optimizer, gradwire.attach(model, "ef(topk(5%) | natural)")

    digests, saved = [], []
    for is_compiled in (False, True):
        model, optimizer, hook = make(is_compiled)
        for step in range(3):
            one_step(model, optimizer, step)
        saved.append((hook.state_dict(), [p.detach().clone() for p in model.parameters()]))
    for is_compiled in (False, True):
        for state, values in saved:
            model, optimizer, hook = make(is_compiled)
            hook.load_state_dict(state)
            with torch.no_grad():
                for parameter, value in zip(model.parameters(), values):
                    parameter.copy_(value)
            for step in range(3, 6):
                one_step(model, optimizer, step)
            digests.append(digest(model))
    return digests


class _Prefixed(nn.Module):
    """Its parameters have the names that torch.compile gives them."""

    def __init__(self, net):
        super().__init__()
        self.add_module("_orig_mod", net)

    def forward(self, x):
        return self._modules["_orig_mod"](x)


def prefixed_states():
    """A state as gradwire 0.1 saved it for a compiled model, and one of today."""
    digests = []
    for is_old in (True, False):
        plain_name = tensors.plain_name
        if is_old:
            tensors.plain_name = lambda name: name
        torch.manual_seed(1)
        model = DistributedDataParallel(_Prefixed(Net()))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        hook = gradwire.attach(model, "ef(topk(5%))")
        tensors.plain_name = plain_name
        one_step(model, optimizer, 0)
        assert ("_orig_mod.last.weight" in hook.stats()["parameters"]) == is_old
        eager = DistributedDataParallel(copy.deepcopy(model.module._modules["_orig_mod"]))
        optimizer = torch.optim.SGD(eager.parameters(), lr=0.05)
        gradwire.attach(eager, "ef(topk(5%))").load_state_dict(hook.state_dict())
        one_step(eager, optimizer, 1)
        digests.append(digest(eager))
    return digests


# --- Options of DDP ---


def _message(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


def mixed_precision():
    """DDP's own mixed precision uses the hook that gradwire needs."""
    if "mixed_precision" not in inspect.signature(DistributedDataParallel.__init__).parameters:
        return None
    from torch.nn.parallel.distributed import _MixedPrecision

    config = _MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
    model = DistributedDataParallel(Net(), mixed_precision=config)
    return _message(lambda: gradwire.attach(model, "natural"))


def python_reducer():
    """DDP without buckets, for a compiled backward pass."""
    import torch._dynamo

    torch._dynamo.config.optimize_ddp = "python_reducer"
    model = DistributedDataParallel(Net())
    return _message(lambda: gradwire.attach(model, "natural"))


# --- Uneven inputs ---


def uneven(spec, **join):
    """Rank 1 has three batches more than rank 0."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Net(), bucket_cap_mb=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    if spec != "plain":
        gradwire.attach(model, spec)
    with Join([model], **join):
        for step in range(5 + 3 * dist.get_rank()):
            one_step(model, optimizer, step)
    return digest(model)


def uneven_mean():
    """Join can divide by the ranks that are still there, which a hook does not get to know."""
    try:
        uneven("natural", divide_by_initial_world_size=False)
    except RuntimeError as error:
        return str(error)
    return ""


def uneven_without_join():
    """Rank 0 ends its loop early, and leaves; rank 1 waits for it."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Net(), bucket_cap_mb=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    hook = gradwire.attach(model, "ef(topk(5%))", timeout=30.0)
    try:
        for step in range(5 + 3 * dist.get_rank()):
            one_step(model, optimizer, step)
    except RuntimeError as error:
        return {"what": str(error), "rank": getattr(hook.failure, "rank", None)}
    return None
