"""Plays scenarios for tests: imports torch once, and forks a process for each rank, since the import
takes longer than most scenarios. See ranks.py.

Reads one line of JSON for each play: ranks, scenario, arguments, environment, directory. Answers with
the process group of the play, and with a second line at its end. Of each rank, the directory gets
what it returned, what it wrote to stderr, and its exit code.
"""

import atexit
import contextlib
import importlib
import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import gradwire  # noqa: F401, for all ranks

if hasattr(torch, "compile"):
    import torch._dynamo  # noqa: F401, which DDP would import


def find(name):
    """The scenario of that name. Only its own module is imported, since some need packages that take
    long to import, or are not always installed."""
    for path in Path(__file__).parent.glob("*scenarios.py"):
        if f"\ndef {name}(" in path.read_text():
            return getattr(importlib.import_module(path.stem), name)
    raise SystemExit(f"there is no scenario {name}")


def play_rank(rank, scenario, arguments, environment, directory):
    """One rank, to the end of its program."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(directory / f"errors{rank}", os.O_WRONLY | os.O_CREAT), 2)
    os.environ.clear()
    os.environ.update(environment, RANK=str(rank), LOCAL_RANK=str(rank))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    # Kept until the program ends. If a scenario destroys the group, a model may hold it last, and
    # torch 1.13 then joins the group's thread with the interpreter's lock held. That thread waits for
    # the lock if it still frees a tensor.
    world = dist.distributed_c10d._get_default_group()
    atexit.register(lambda: world)
    result = find(scenario)(**arguments)
    (directory / f"result{rank}").write_text(json.dumps(result))


def play(ranks, directory, **what):
    """All ranks, in a process group of their own."""
    os.setpgid(0, 0)
    directory = Path(directory)
    processes = []
    for rank in range(ranks):
        process = os.fork()
        if process == 0:
            return play_rank(rank, directory=directory, **what)
        processes.append(process)
    for rank, process in enumerate(processes):
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        (directory / f"code{rank}").write_text(str(code))


def main():
    answers = os.dup(1)
    os.dup2(2, 1)  # what ranks print is for people
    for line in sys.stdin:
        what = json.loads(line)
        with contextlib.suppress(ImportError):  # the ranks say so
            find(what["scenario"])  # imports its module once for all ranks and plays
        process = os.fork()
        if process == 0:
            return play(**what)
        os.write(answers, f"{process}\n".encode())
        os.waitpid(process, 0)
        os.write(answers, b"end\n")


if __name__ == "__main__":
    main()
