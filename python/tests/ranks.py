"""Ranks for tests: processes that play a scenario together, and what each of them returns.

A scenario is a function of one of the modules of that name. It is called on every rank with the
process group made, and what it returns goes to the test as JSON. Ranks that hang are killed.
"""

import atexit
import json
import os
import select
import signal
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
        USE_LIBUV="0",  # some builds of torch lack libuv
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


_player: List["subprocess.Popen[bytes]"] = []  # started by the first play


def play(scenario: str, ranks: int, **arguments: Any) -> List[Ended]:
    """Plays a scenario to its end, whatever that is."""
    if not _player:
        call = [sys.executable, str(Path(__file__).parent / "player.py")]
        pipe = subprocess.PIPE
        environment = environment_of(1)
        _player.append(subprocess.Popen(call, env=environment, stdin=pipe, stdout=pipe, bufsize=0))
        atexit.register(_player[0].stdin.close)
    player = _player[0]
    with tempfile.TemporaryDirectory() as directory:
        what = {"scenario": scenario, "ranks": ranks, "arguments": arguments}
        what.update(environment=environment_of(ranks), directory=directory)
        player.stdin.write(json.dumps(what).encode() + b"\n")
        group = int(player.stdout.readline() or 0)
        if not group:
            raise AssertionError("player.py has ended; its message is above")
        if not select.select([player.stdout], [], [], SECONDS_MAX)[0]:
            os.killpg(group, signal.SIGKILL)
        player.stdout.readline()
        return [_ended(Path(directory), rank) for rank in range(ranks)]


def _ended(directory: Path, rank: int) -> Ended:
    def read(name: str) -> str:
        path = directory / f"{name}{rank}"
        return path.read_text() if path.exists() else ""

    if not read("code"):
        why = f"player.py failed, or the rank was killed after {SECONDS_MAX} seconds"
        errors = f"{why}\n{read('errors')}"
        return Ended(-signal.SIGKILL, None, errors)
    return Ended(int(read("code")), json.loads(read("result") or "null"), read("errors"))


def results(scenario: str, ranks: int, **arguments: Any) -> List[Any]:
    """What all ranks returned; fails if one did not come to its end. The first cause may be any rank's."""
    ended = play(scenario, ranks, **arguments)
    failures = [
        f"rank {rank} of {scenario} ended with {end.code}:\n{end.errors}"
        for rank, end in enumerate(ended)
        if end.code != 0
    ]
    if failures:
        raise AssertionError("\n".join(failures))
    return [end.result for end in ended]
