"""The example under torchrun, which starts all ranks again after one has failed."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "train_ddp.py"


def torchrun(program, state):
    """Trains 30 steps on two ranks; what it printed."""
    call = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    call += ["--max-restarts", "1", str(program), "--data", "generated", "--steps", "30"]
    call += ["--state", str(state), "--save-every", "10", "--method", "ef(topk(1%) | natural)"]
    environment = dict(os.environ, OMP_NUM_THREADS="1", USE_LIBUV="0")
    # torch 2.13 keeps the store of the first start, with the addresses of ranks that are gone. In half
    # of the restarts, Gloo would read them and fail: "connectFullMesh failed ... Connection refused".
    environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    ended = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=300)
    if ended.returncode != 0:
        raise AssertionError(f"torchrun ended with {ended.returncode}:\n{ended.stderr}")
    return ended.stdout


def states(directory):
    return [torch.load(directory / f"rank{rank}.pt") for rank in range(2)]


@unittest.skipIf(
    torch.__version__.startswith("1.") and sys.version_info >= (3, 11),
    "torchrun of torch 1.13 does not run on Python 3.11",
)
class Torchrun(unittest.TestCase):
    def test_after_a_restart_it_goes_on_with_its_memories(self):
        with tempfile.TemporaryDirectory() as directory:
            straight, restarted = Path(directory) / "straight", Path(directory) / "restarted"
            self.assertNotIn("resuming", torchrun(EXAMPLE, straight))
            self.assertIn("resuming from step 10", torchrun(HERE / "killed_once.py", restarted))
            for expected, state in zip(states(straight), states(restarted)):
                self.assertEqual(state["step"], 30)
                self.assertTrue(
                    torch.equal(state["gradwire"]["method"], expected["gradwire"]["method"])
                )
                for name, values in expected["model"].items():
                    self.assertTrue(torch.equal(state["model"][name], values), name)


if __name__ == "__main__":
    unittest.main()
