"""What the ranks of tests do with secrets; see ranks.py."""

import os

import torch.distributed as dist

import gradwire
from models import digest, make_model, one_step


def _secret(given):
    """Bytes come as hexadecimal digits behind a mark."""
    if given is not None and given.startswith("bytes:"):
        return bytes.fromhex(given[len("bytes:") :])
    return given


def with_secrets(given, by_environment=False):
    """The digest of a model after two steps, or the error. ``given`` has a secret for each rank."""
    secret = _secret(given[dist.get_rank()])
    options = {"timeout": 3.0, "secret": secret}
    if by_environment:
        os.environ["GRADWIRE_SECRET_FILE"] = secret
        options.pop("secret")
    try:
        model, optimizer, hook = make_model("ef(topk(5%))", options=options)
    except gradwire.Error as error:
        return str(error)
    for step in range(2):
        one_step(model, optimizer, step)
    hook.close()
    return digest(model)
