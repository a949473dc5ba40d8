"""The ranks of one test: imports torch once, and forks a process for each rank, since the import
takes longer than most scenarios. See ranks.py.

    player.py RANKS SCENARIO ARGUMENTS DIRECTORY

Of each rank, DIRECTORY gets what it returned, what it wrote to stderr, and its exit code.
"""

import importlib
import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import gradwire  # noqa: F401, for all ranks


def find(name):
    """The scenario of that name. Only its own module is imported, since some need packages that are
    not always installed."""
    for path in Path(__file__).parent.glob("*scenarios.py"):
        if f"\ndef {name}(" in path.read_text():
            return getattr(importlib.import_module(path.stem), name)
    raise SystemExit(f"there is no scenario {name}")


def play(rank, scenario, arguments, directory):
    """One rank, to the end of its program."""
    errors = os.open(directory / f"errors{rank}", os.O_WRONLY | os.O_CREAT)
    os.dup2(errors, sys.stderr.fileno())
    os.environ["RANK"] = str(rank)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    result = find(scenario)(**json.loads(arguments))
    (directory / f"result{rank}").write_text(json.dumps(result))


def main():
    ranks, scenario, arguments, directory = int(sys.argv[1]), *sys.argv[2:4], Path(sys.argv[4])
    processes = []
    for rank in range(ranks):
        process = os.fork()
        if process == 0:
            return play(rank, scenario, arguments, directory)
        processes.append(process)
    for rank, process in enumerate(processes):
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        (directory / f"code{rank}").write_text(str(code))


if __name__ == "__main__":
    main()
