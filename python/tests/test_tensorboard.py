"""Event files, as TensorBoard's own reader sees them. Skipped where TensorBoard is missing."""

import importlib.util
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import gradwire
from gradwire.tensorboard import Board, check_tensorboard
from ranks import results

IS_MISSING = importlib.util.find_spec("tensorboard") is None


def scalars(directory):
    """By tag: the steps, and the values."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory), size_guidance={"scalars": 0}).Reload()
    read = {tag: events.Scalars(tag) for tag in events.Tags()["scalars"]}
    return {tag: ([e.step for e in all], [e.value for e in all]) for tag, all in read.items()}


def stats(steps):
    """What a hook would say after so many steps of 500 bytes and 2 ms."""
    return {
        "steps": steps,
        "ranks": 2,
        "bytes_sent": 500 * steps,
        "phases": {"exchange": 0.002 * steps, "exposed": 0.001 * steps},
        "parameters": {"weight": {"elements": 1000}},
    }


@unittest.skipIf(IS_MISSING, "the package tensorboard is not installed")
class InTensorBoard(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = Path(place.name)

    @unittest.skipIf("GRADWIRE_PROGRAM" not in os.environ, "GRADWIRE_PROGRAM is not set")
    def test_the_program_writes_what_tensorboard_reads(self):
        call = [os.environ["GRADWIRE_PROGRAM"], "train", "--model", "mlp(hidden=16)"]
        call += ["--data", "generated", "--workers", "2", "--batch", "16", "--threads", "1"]
        call += ["--method", "natural", "--schedule", "constant", "--learning-rate", "0.125"]
        call += ["--tensorboard", str(self.directory / "board"), "--checkpoint-every", "10"]
        call += ["--out", str(self.directory / "run")]
        subprocess.run([*call, "--steps", "20"], check=True, capture_output=True)
        read = scalars(self.directory / "board")
        for tag in ("train/loss", "train/learning_rate", "gradwire/ratio", "gradwire/exchange_ms"):
            self.assertEqual(read[tag][0], list(range(1, 21)), tag)
        self.assertEqual(read["train/learning_rate"][1], 20 * [0.125])
        self.assertGreater(min(read["gradwire/ratio"][1]), 3)
        self.assertEqual(read["test/accuracy"][0][-1], 20)

        # A resumed run goes on in the same directory.
        subprocess.run([*call, "--steps", "30", "--resume"], check=True, capture_output=True)
        self.assertEqual(scalars(self.directory / "board")["train/loss"][0], list(range(1, 31)))

    def test_a_hook_writes_figures_and_metrics_of_each_step(self):
        results("boarded", 2, directory=str(self.directory), steps=4)
        read = scalars(self.directory)
        for tag in ("gradwire/bytes_per_step", "gradwire/exposed_ms", "train/learning_rate"):
            self.assertEqual(read[tag][0], [1, 2, 3, 4], tag)
        self.assertEqual(read["train/learning_rate"][1], [0.5, 0.5, 0.25, 0.25])
        self.assertEqual(read["train/loss"], ([2, 4], [2, 4]))
        self.assertEqual(len(list(self.directory.iterdir())), 1)  # of rank 0 alone

    def test_a_board_writes_figures_of_each_step(self):
        board = Board(self.directory)
        for step in (1, 2, 4):
            board.add_step(step, stats(step), learning_rate=0.5)
        board.add_metrics(4, loss=0.25, accuracy=0.75)
        board.close()
        read = scalars(self.directory)
        self.assertEqual(read["gradwire/bytes_per_step"], ([1, 2, 4], [500, 500, 500]))
        self.assertEqual(read["gradwire/ratio"], ([1, 2, 4], [8, 8, 8]))
        self.assertAlmostEqual(read["gradwire/exchange_ms"][1][2], 2, places=4)
        self.assertAlmostEqual(read["gradwire/exposed_ms"][1][2], 1, places=4)
        self.assertEqual(read["train/learning_rate"][1], [0.5, 0.5, 0.5])
        self.assertEqual(read["train/loss"], ([4], [0.25]))
        self.assertEqual(read["test/accuracy"], ([4], [0.75]))
        self.assertNotIn("test/loss", read)

    def test_a_later_board_hides_what_an_earlier_one_left(self):
        for last in (6, 3):
            board = Board(self.directory)
            for step in range(3, last + 1) if last == 3 else range(1, last + 1):
                board.add_step(step, stats(step))
            board.close()
        self.assertEqual(scalars(self.directory)["gradwire/ratio"][0], [1, 2, 3])

    def test_a_writer_of_the_program_stays_open(self):
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(self.directory))
        board = Board(writer)
        board.add_step(1, stats(1))
        board.close()
        writer.add_scalar("own", 1.0, 2)
        writer.close()
        read = scalars(self.directory)
        self.assertEqual(read["own"], ([2], [1.0]))
        self.assertIn("gradwire/ratio", read)


class WrongBoards(unittest.TestCase):
    def test_messages_say_what_to_do(self):
        check_tensorboard(None)
        with self.assertRaisesRegex(gradwire.Error, "takes the path of a directory"):
            check_tensorboard(5)
        if IS_MISSING:
            with self.assertRaisesRegex(gradwire.Error, "pip install tensorboard"):
                check_tensorboard("somewhere")


if __name__ == "__main__":
    unittest.main()
