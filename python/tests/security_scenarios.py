"""What the ranks of tests do with secrets; see ranks.py."""

import os
import socket
import threading
import time

import torch.distributed as dist

import gradwire
from gradwire import meeting, participant
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


def with_a_stranger():
    """Somebody else connects to rank 0 before rank 1 does; how many connections a rank refused."""
    store = dist.PrefixStore("stranger", dist.distributed_c10d._get_default_store())
    own_meet, own_port = participant.meet, meeting._free_port

    def come_later(*arguments):
        met = own_meet(*arguments)
        if met.rank != 0:
            store.wait(["refused"])
        return met

    def port_that_a_stranger_knows():
        port = own_port()
        threading.Thread(target=be_a_stranger, args=(port,)).start()
        return port

    def be_a_stranger(port):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=30) as stranger:
                    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    stranger.recv(1)
                break
            except ConnectionResetError:  # refused while its bytes were still on the way
                break
            except ConnectionRefusedError:  # nobody listens yet
                time.sleep(0.01)
        store.set("refused", "yes")

    participant.meet, meeting._free_port = come_later, port_that_a_stranger_knows
    model, optimizer, hook = make_model("natural", options={"streams": 3})
    one_step(model, optimizer, 0)
    refused = hook.stats()["refused_connections"]
    hook.close()
    return refused
