"""Ranks for tests: processes that play a scenario together, and what each of them returns.

A scenario is a function of one of the modules of that name. It is called on every rank with the
process group made, and what it returns goes to the test as JSON. Ranks that hang are killed.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List

SECONDS_MAX = 240


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Ended:
    """How the process of one rank ended."""

    def __init__(self, code: int, result: Any, errors: str) -> None:
        self.code = code
        self.result = result
        self.errors = errors


def environment_of(ranks: int) -> Dict[str, str]:
    """What so many ranks have in common."""
    return dict(
        os.environ,
        WORLD_SIZE=str(ranks),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(free_port()),
        OPENBLAS_NUM_THREADS="1",
        OMP_NUM_THREADS="1",
    )


def run_program(call: List[str], ranks: int) -> None:
    """Runs a Python program on so many ranks; fails if one of them does."""
    environment = environment_of(ranks)
    processes = [
        subprocess.Popen(
            [sys.executable, *call],
            env=dict(environment, RANK=str(rank)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    try:
        errors = [process.communicate(timeout=SECONDS_MAX)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for rank, process in enumerate(processes):
        if process.returncode != 0:
            raise AssertionError(f"rank {rank} of {call[0]} failed:\n{errors[rank]}")


def play(scenario: str, ranks: int, **arguments: Any) -> List[Ended]:
    """Plays a scenario to its end, whatever that is."""
    with tempfile.TemporaryDirectory() as directory:
        processes = []
        environment = environment_of(ranks)
        for rank in range(ranks):
            errors = open(Path(directory) / f"errors{rank}", "w+")
            call = [sys.executable, str(Path(__file__).parent / "player.py"), scenario]
            call += [json.dumps(arguments), str(Path(directory) / f"result{rank}")]
            process = subprocess.Popen(call, env=dict(environment, RANK=str(rank)), stderr=errors)
            processes.append((process, errors))
        try:
            for process, _ in processes:
                process.wait(SECONDS_MAX)
        finally:
            for process, _ in processes:
                process.kill()
                process.wait()
        ended = []
        for rank, (process, errors) in enumerate(processes):
            errors.seek(0)
            result = Path(directory) / f"result{rank}"
            value = json.loads(result.read_text()) if result.exists() else None
            ended.append(Ended(process.returncode, value, errors.read()))
            errors.close()
        return ended


def results(scenario: str, ranks: int, **arguments: Any) -> List[Any]:
    """What all ranks returned; fails if one did not come to its end."""
    ended = play(scenario, ranks, **arguments)
    for rank, end in enumerate(ended):
        if end.code != 0:
            raise AssertionError(f"rank {rank} of {scenario} ended with {end.code}:\n{end.errors}")
    return [end.result for end in ended]
