"""The training scripts of python/bench/scripts, for a few steps on small data of their own."""

import json
import random
import tempfile
import unittest
from pathlib import Path

import numpy

from ranks import results, run_program

SCRIPTS = Path(__file__).parent.parent / "bench" / "scripts"
IMAGES = Path("/usr/share/datasets/fashion-mnist")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.directory = Path(place.name)
        numbers = random.Random(1)
        words = [f"w{numbers.randrange(300)}" for _ in range(4000)]
        (cls.directory / "wikitext-2").mkdir()
        (cls.directory / "wikitext-2" / "train.txt").write_text("\n".join(words))
        (cls.directory / "tinyshakespeare.txt").write_text(" ".join(words))
        rows = numpy.random.default_rng(1).integers(256, size=(64, 3073), dtype=numpy.uint8)
        rows[:, 0] %= 10
        (cls.directory / "data_batch_1.bin").write_bytes(rows.tobytes())

    def run_script(self, script, method):
        result = self.directory / f"{script}.json"
        call = [str(SCRIPTS / f"{script}.py"), "--method", method, "--steps", "3"]
        call += ["--text", str(self.directory), "--cifar", str(self.directory)]
        call += ["--result", str(result)]
        if script == "spawn":  # it starts its ranks itself
            run_program(call, 1)
        else:
            results("script", 2, call=call)
        return json.loads(result.read_text())

    def check(self, script):
        plain = self.run_script(script, "plain")
        exact = self.run_script(script, "none")
        self.assertEqual(exact["digest"], plain["digest"])
        self.assertEqual(plain["ratio"], 1)


class LanguageModels(Case):
    def test_without_compression_it_is_what_ddp_does(self):
        for script in ("gpt", "sorting", "lstm", "transformer"):
            with self.subTest(script):
                self.check(script)


class ImageModels(Case):
    @unittest.skipIf(not IMAGES.exists(), "apt-get install dataset-fashion-mnist")
    def test_without_compression_it_is_what_ddp_does(self):
        for script in ("mnist", "gan", "resnet"):
            with self.subTest(script):
                self.check(script)


class SpawnedRanks(Case):
    def test_without_compression_it_is_what_ddp_does(self):
        self.check("spawn")


if __name__ == "__main__":
    unittest.main()
