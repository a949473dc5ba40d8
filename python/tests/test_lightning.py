"""gradwire in Lightning's Trainer. Skipped where Lightning is missing."""

import csv
import importlib.util
import tempfile
import unittest
from types import SimpleNamespace

import torch

import gradwire
from ranks import results

IS_MISSING = importlib.util.find_spec("lightning") is None


@unittest.skipIf(IS_MISSING, "the package lightning is not installed")
class InLightning(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = place.name

    def test_without_compression_it_is_what_ddp_does(self):
        plain = results("lightning", 2, spec="plain", directory=self.directory)
        ours = results("lightning", 2, spec="none", directory=self.directory)
        self.assertEqual(plain[0]["digest"], ours[0]["digest"])
        self.assertEqual(ours[0]["digest"], ours[1]["digest"])
        self.assertEqual(ours[0]["steps"], 10)

    def test_checkpoints_hold_the_memories_of_all_ranks(self):
        arguments = {"spec": "ef(topk(5%) | natural)", "directory": self.directory}
        straight = results("lightning", 2, epochs=2, **arguments)[0]
        half = results("lightning", 2, epochs=1, **arguments)[0]
        self.assertEqual(half["memories"], [[0, 1]])  # saved after the fit
        resumed = results(
            "lightning", 2, epochs=2, resume=f"{self.directory}/last.ckpt", **arguments
        )
        for result in resumed:
            self.assertEqual(result["digest"], straight["digest"])
            self.assertEqual(result["steps"], 20)

    def test_a_checkpoint_for_another_number_of_ranks(self):
        arguments = {"spec": "ef(topk(5%) | natural)", "directory": self.directory}
        results("lightning", 2, epochs=1, **arguments)
        path = f"{self.directory}/last.ckpt"
        resumed = results("lightning", 3, epochs=2, resume=path, **arguments)
        self.assertEqual(len({result["digest"] for result in resumed}), 1)

    def test_a_second_fit_goes_on_with_the_memories(self):
        arguments = {"spec": "ef(topk(5%) | natural)", "directory": self.directory}
        straight = results("lightning", 2, epochs=2, **arguments)[0]
        twice = results("lightning", 2, epochs=1, fits=2, **arguments)[0]
        self.assertEqual(twice["digest"], straight["digest"])
        self.assertFalse(twice["is_open"])

    def test_bytes_and_times_are_logged(self):
        result = results("lightning", 2, spec="natural", directory=self.directory)[0]
        with open(result["figures"], newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["step"] for row in rows], ["5", "10"])
        for row in rows:
            self.assertGreater(float(row["gradwire/bytes_per_step"]), 0)
            self.assertGreater(float(row["gradwire/ratio"]), 3)
            self.assertGreater(float(row["gradwire/exposed_ms"]), 0)

    def test_what_cannot_be_averaged_is_refused(self):
        from gradwire.integrations.lightning import GradwireCallback

        with self.assertRaisesRegex(gradwire.Error, "finds optimizer= by itself"):
            GradwireCallback("natural", optimizer=None)
        strategy = SimpleNamespace(model=torch.nn.Linear(2, 2))
        callback = GradwireCallback("natural")
        with self.assertRaisesRegex(gradwire.Error, 'take Trainer\\(strategy="ddp"\\)'):
            callback.on_fit_start(SimpleNamespace(strategy=strategy, world_size=2), None)
        callback.on_fit_start(SimpleNamespace(strategy=strategy, world_size=1), None)
        self.assertIsNone(callback.hook)
        self.assertEqual(callback.state_dict(), {})


if __name__ == "__main__":
    unittest.main()
