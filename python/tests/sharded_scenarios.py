"""What the ranks of tests do with FSDP2; see ranks.py. The hosts are rows of a mesh."""

import hashlib
import os

import torch
import torch.distributed as dist
from torch import nn

import gradwire
from models import batch

try:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
except ImportError:  # of torch 1.13: the tests are skipped
    pass


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 3 * width)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Blocks(nn.Module):
    """Rows that two ranks cannot share evenly, a frozen parameter, and one with a single row."""

    def __init__(self, width=33, layers=3):
        super().__init__()
        self.first = nn.Linear(32, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.shift = nn.Parameter(torch.zeros(1, width))
        self.frozen = nn.Parameter(torch.ones(5), requires_grad=False)
        self.last = nn.Linear(width, 10)

    def forward(self, x, skips=None, repeats=1):
        x = self.first(x) + self.shift
        for _ in range(repeats):
            for index, block in enumerate(self.blocks):
                if index != skips:
                    x = block(x)
        return self.last(x) * self.frozen.mean()


def make_mesh(hosts):
    shape = (hosts, dist.get_world_size() // hosts)
    return init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"))


def make_sharded(spec, hosts, policy=None, replicate="mesh", momentum=0.9, **options):
    """With the spec "native" FSDP2 averages between hosts by itself."""
    mesh = make_mesh(hosts)
    torch.manual_seed(1)
    model = Blocks()
    more = {"mesh": mesh if spec == "native" else mesh["shard"]}
    if policy:
        kinds = {name: getattr(torch, kind) for name, kind in policy.items()}
        more["mp_policy"] = MixedPrecisionPolicy(**kinds)
    for block in model.blocks:
        fully_shard(block, **more)
    fully_shard(model, **more)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=momentum)
    hook = None
    if spec != "native":
        ranks = mesh["replicate"] if replicate == "mesh" else mesh["replicate"].get_group()
        hook = gradwire.attach(model, spec, replicate=ranks, optimizer=optimizer, **options)
    return model, optimizer, hook


def replicated_train(spec, steps=8):
    """The same model with DDP: the losses of this rank."""
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(Blocks())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    gradwire.attach(model, spec, optimizer=optimizer)
    return [sharded_step(model, optimizer, step) for step in range(steps)]


def sharded_step(model, optimizer, step, passes=1, set_up=None, **forward):
    losses = []
    for part in range(passes):
        if set_up:
            set_up(model, part == passes - 1)
        inputs, targets = batch(passes * step + part)
        loss = nn.functional.cross_entropy(model(inputs, **forward), targets)
        loss.backward()
        losses.append(loss.item())
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return sum(losses) / passes


def full(model):
    """All parameters, on every rank."""
    return [parameter.full_tensor().detach().to(torch.float64) for parameter in model.parameters()]


def sharded_digest(model):
    total = hashlib.sha256()
    for value in full(model):
        total.update(value.numpy().tobytes())
    return total.hexdigest()


SET_UPS = {
    "all passes": None,
    "no gradient sync": lambda model, is_last: model.set_requires_gradient_sync(is_last),
    "no all-reduce": lambda model, is_last: model.set_requires_all_reduce(is_last),
}


def sharded_train(spec, hosts=2, steps=8, passes=1, set_up="all passes", forwards=None, divisor=None, **options):
    """Losses, the digest and the values of the model, and what the hook says."""
    model, optimizer, hook = make_sharded(spec, hosts, **options)
    if divisor:
        for module in model.modules():
            if hasattr(module, "set_gradient_divide_factor"):
                module.set_gradient_divide_factor(divisor)
    losses = []
    for step in range(steps):
        forward = forwards[step % len(forwards)] if forwards else {}
        losses.append(
            sharded_step(model, optimizer, step, passes, SET_UPS[set_up], **forward)
        )
    return {
        "losses": losses,
        "digest": sharded_digest(model),
        "values": torch.cat([value.reshape(-1) for value in full(model)]).tolist(),
        "stats": hook.stats() if hook else None,
        "summary": hook.summary() if hook else "",
    }


def sharded_local(spec, steps):
    """Steps of each host's own: the model within a round, the common one, and the one at the end."""
    model, optimizer, local = make_sharded(spec, 2, momentum=0.0)
    for step in range(steps):
        inputs, targets = batch(step)
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
    end = {"values": torch.cat([value.reshape(-1) for value in full(model)]).tolist()}
    if local is None:  # FSDP2's own
        return end
    inputs, _ = batch(99, 0)  # the same everywhere
    with torch.no_grad():
        end["between"] = sharded_digest(model)
        own = model(inputs).sum().item()  # FSDP2 keeps whole parameters after it
        with local.common_model():
            end["common"] = sharded_digest(model)
            end["common output"] = model(inputs).sum().item()
        end["after"] = sharded_digest(model)
        end["is restored"] = model(inputs).sum().item() == own
    model.reshard()
    local.load_state_dict(local.state_dict())
    local.exchange()
    return dict(end, end=sharded_digest(model), stats=local.stats())


def used_on_one_host(spec, steps=6):
    """A block that only the first host uses, or none, from the first step on."""
    model, optimizer, hook = make_sharded(spec, 2)
    host = dist.get_rank() // 2
    for step in range(steps):
        skips = 1 if host == 1 or step % 3 == 0 else None
        sharded_step(model, optimizer, step, skips=skips)
    return sharded_digest(model)


# --- What is kept ---


def sharded_save(spec, directory, before, after, hosts, with_dcp=False):
    model, optimizer, hook = make_sharded(spec, hosts)
    for step in range(before):
        sharded_step(model, optimizer, step)
    if with_dcp:
        state = {"model": model.state_dict(), "gradwire": hook, "optimizer": momentum(optimizer)}
        dcp.save(state, checkpoint_id=os.path.join(directory, "dcp"))
    else:
        state = {"model": [p.full_tensor().detach() for p in model.parameters()]}
        state["optimizer"] = [value.full_tensor() for value in momentum(optimizer).values()]
        state["gradwire"] = hook.state_dict()
        torch.save(state, os.path.join(directory, f"rank{dist.get_rank()}.pt"))
    for step in range(before, before + after):
        sharded_step(model, optimizer, step)
    return sharded_digest(model)


def momentum(optimizer):
    """Of SGD, by the index of the parameter, in 0.. that have one."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return {
        f"momentum{index}": optimizer.state[parameter]["momentum_buffer"]
        for index, parameter in enumerate(parameters)
        if "momentum_buffer" in optimizer.state.get(parameter, {})
    }


def sharded_resume(spec, directory, before, after, hosts, saved_ranks, saved_hosts, with_dcp=False):
    model, optimizer, hook = make_sharded(spec, hosts)
    if with_dcp:
        sharded_step(model, optimizer, 99)  # whatever it is, it is replaced
        mine = hook if saved_hosts == hosts else hook.saved_by(saved_hosts)
        state = {"model": model.state_dict(), "gradwire": mine, "optimizer": momentum(optimizer)}
        dcp.load(state, checkpoint_id=os.path.join(directory, "dcp"))
        model.load_state_dict(state["model"])
    else:
        states = [
            torch.load(os.path.join(directory, f"rank{rank}.pt")) for rank in range(saved_ranks)
        ]
        sharded_step(model, optimizer, 99)
        fill([p for p in model.parameters()], states[0]["model"])
        fill(list(momentum(optimizer).values()), states[0]["optimizer"])
        if saved_ranks == dist.get_world_size():
            hook.load_state_dict(states[dist.get_rank()]["gradwire"])
        else:
            hook.load_state_dict([state["gradwire"] for state in states])
    assert hook.step == before, hook.step
    for step in range(before, before + after):
        sharded_step(model, optimizer, step)
    return {"digest": sharded_digest(model), "memory": hook.stats()["memory_bytes"]}


def fill(sharded, values):
    from torch.distributed.tensor import distribute_tensor

    with torch.no_grad():
        for target, value in zip(sharded, values):
            placed = distribute_tensor(value, target.device_mesh, target.placements)
            target.copy_(placed)


def other_sharding(spec):
    """A state of two parts is none of four."""
    model, optimizer, hook = make_sharded(spec, 2)
    sharded_step(model, optimizer, 0)
    state = hook.state_dict()
    hook.close()
    model, optimizer, hook = make_sharded(spec, 1)
    return complaint(lambda: hook.load_state_dict(state))


# --- Mistakes ---


def complaint(call):
    try:
        call()
    except gradwire.Error as error:
        return str(error)
    return "nothing"


def sharded_mistakes():
    mesh = make_mesh(2)
    calls = {}

    def model(**more):
        net = nn.Linear(8, 8)
        fully_shard(net, mesh=mesh["shard"], **more)
        return net

    def attach(net, spec="none", **more):
        return complaint(lambda: gradwire.attach(net, spec, **more))

    ranks = {"replicate": mesh["replicate"]}
    calls["no ranks"] = attach(model())
    calls["wrong ranks"] = attach(model(), replicate=mesh)
    calls["plain"] = attach(nn.Linear(8, 8), **ranks)
    calls["hosts"] = attach(model(), hosts="auto", **ranks)
    calls["whole"] = attach(model(), "dgc(1%, clip=1)", **ranks)
    calls["parameters"] = attach(model(), "lasg", **ranks)
    calls["shards"] = attach(model(), replicate=mesh["shard"])
    policy = MixedPrecisionPolicy(reduce_dtype=torch.float16)
    calls["half"] = attach(model(mp_policy=policy), **ranks)
    replicated = nn.Linear(8, 8)
    fully_shard(replicated, mesh=mesh)
    calls["replicated"] = attach(replicated, **ranks)
    calls["first fsdp"] = attach(FullyShardedDataParallel(nn.Linear(8, 8), device_id=torch.device("cpu")))
    summed = model()
    summed.set_force_sum_reduction_for_comms(True)
    calls["summed"] = attach(summed, **ranks)
    hooked = model()
    hooked.weight.register_post_accumulate_grad_hook(lambda parameter: None)
    calls["hooked"] = attach(hooked, **ranks)
    closed = model()
    hook = gradwire.attach(closed, "none", **ranks)
    hook.close()
    calls["closed"] = complaint(lambda: closed(torch.ones(2, 8)).sum().backward())
    open_ = model()
    hook = gradwire.attach(open_, "none", **ranks)
    calls["state"] = complaint(lambda: hook.load_state_dict([1]))
    calls["other state"] = complaint(lambda: hook.load_state_dict({"a": 1}))
    calls["saved by"] = complaint(lambda: hook.saved_by(0))
    return calls


def lost_host(spec):
    """The ranks of the second host end in the middle of training."""
    model, optimizer, hook = make_sharded(spec, 2, timeout=5.0)
    sharded_step(model, optimizer, 0)
    if dist.get_rank() >= 2:
        os._exit(1)
    inputs, targets = batch(1)
    try:
        nn.functional.cross_entropy(model(inputs), targets).backward()
    except Exception as error:
        again = complaint(lambda: model(inputs).sum().backward())
        return {
            "type": type(error).__name__,
            "rank": hook.failure.rank,
            "message": str(error),
            "again": again,
        }
    return None


def sharded_record(directory):
    model, optimizer, hook = make_sharded("ef(topk(5%) | natural)", 2, record=directory)
    for step in range(12):
        hook.log(loss=sharded_step(model, optimizer, step), samples=8)
    hook.close()
    return hook.summary()
