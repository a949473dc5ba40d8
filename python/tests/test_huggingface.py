"""gradwire in Hugging Face's Trainer and in accelerate. Skipped where a package is missing."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from ranks import results

FRAMEWORKS = ("lightning", "pytorch_lightning", "transformers", "accelerate", "tensorboard")


def is_missing(package):
    return importlib.util.find_spec(package) is None


class Case(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = place.name


@unittest.skipIf(is_missing("transformers"), "the package transformers is not installed")
class InTrainer(Case):
    def test_without_compression_it_is_what_ddp_does(self):
        for accumulate in (1, 2):
            with self.subTest(accumulate=accumulate):
                arguments = {"directory": self.directory, "steps": 5, "accumulate": accumulate}
                plain = results("trainer", 2, spec="plain", **arguments)[0]
                ours = results("trainer", 2, spec="none", **arguments)[0]
                self.assertEqual(plain["digest"], ours["digest"])

    def test_checkpoints_hold_the_memories_of_all_ranks(self):
        arguments = {"spec": "ef(topk(5%) | natural)", "directory": self.directory}
        straight = results("trainer", 2, **arguments)
        checkpoint = f"{self.directory}/checkpoint-10"
        for more in ({}, {"directory": f"{self.directory}/elsewhere"}):
            resumed = results("trainer", 2, resume=checkpoint, **{**arguments, **more})
            for result in resumed:
                self.assertEqual(result["digest"], straight[0]["digest"])
                self.assertEqual(result["warnings"], [])

    def test_a_checkpoint_without_memories_is_warned_of(self):
        arguments = {"spec": "ef(topk(5%) | natural)", "directory": self.directory}
        results("trainer", 2, steps=10, **arguments)
        checkpoint = Path(self.directory) / "checkpoint-10"
        (checkpoint / "gradwire.pt").unlink()
        first, second = results("trainer", 2, steps=12, resume=str(checkpoint), **arguments)
        self.assertEqual(len(first["warnings"]), 1)
        self.assertIn("begin empty", first["warnings"][0])
        self.assertEqual(first["digest"], second["digest"])

    def test_bytes_and_losses_are_logged(self):
        record = f"{self.directory}/record"
        result = results("trainer", 2, spec="natural", directory=self.directory, record=record)[0]
        self.assertEqual(len(result["losses"]), 4)
        self.assertEqual(len(result["ratios"]), 4)
        self.assertGreater(min(result["ratios"]), 3)
        lines = (Path(record) / "steps.jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 20)
        self.assertEqual(sum('"loss":null' not in line for line in lines), 4)


@unittest.skipIf(is_missing("accelerate"), "the package accelerate is not installed")
class InAccelerate(Case):
    def test_without_compression_it_is_what_ddp_does(self):
        arguments = {"directory": self.directory, "steps": 5, "saves": False}
        plain = results("accelerated", 2, spec="plain", **arguments)
        self.assertEqual(results("accelerated", 2, spec="none", **arguments), plain)

    def test_checkpoints_hold_the_memories_of_all_ranks(self):
        arguments = {"spec": "ef(topk(5%) | natural)", "directory": self.directory}
        straight = results("accelerated", 2, saves=False, **arguments)
        results("accelerated", 2, steps=10, **arguments)
        self.assertEqual(results("accelerated", 2, first=10, **arguments), straight)


class Imports(unittest.TestCase):
    def test_gradwire_imports_no_framework(self):
        call = f"import gradwire, sys; print([m for m in {FRAMEWORKS} if m in sys.modules])"
        found = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
        self.assertEqual(found.stdout, "[]\n", found.stderr)


if __name__ == "__main__":
    unittest.main()
