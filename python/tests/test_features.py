"""Further features of PyTorch: gradwire works with them, or refuses them with the reason."""

import unittest

import torch

from ranks import results

HAS_COMPILE = hasattr(torch, "compile")


class Compiled(unittest.TestCase):
    def check(self, scenario):
        first, second = results(scenario, 2, backend="aot_eager")
        self.assertEqual(first, second)
        self.assertEqual(first["none"], first["plain"])

    @unittest.skipUnless(HAS_COMPILE, "this torch has no torch.compile")
    def test_before_ddp(self):
        self.check("compiled_before_ddp")

    @unittest.skipUnless(HAS_COMPILE, "this torch has no torch.compile")
    def test_after_ddp(self):
        self.check("compiled_after_ddp")

    @unittest.skipUnless(HAS_COMPILE, "this torch has no torch.compile")
    def test_a_reducer_without_buckets_is_refused(self):
        for message in results("python_reducer", 2):
            self.assertIn("optimize_ddp", message)


class MixedPrecision(unittest.TestCase):
    def test_that_of_ddp_is_refused(self):
        for message in results("mixed_precision", 2):
            if message is None:
                self.skipTest("DDP of this torch has no mixed_precision")
            self.assertIn("torch.autocast", message)


class UnevenInputs(unittest.TestCase):
    def test_join(self):
        plain, ours = results("uneven", 2, spec="plain"), results("uneven", 2, spec="none")
        self.assertEqual(plain, ours)
        first, second = results("uneven", 2, spec="ef(topk(5%) | natural)")
        self.assertEqual(first, second)

    def test_a_mean_over_those_who_are_left_is_refused(self):
        for message in results("uneven_mean", 2):
            self.assertIn("divide_by_initial_world_size", message)

    def test_without_join_the_rank_that_left_is_named(self):
        first, second = results("uneven_without_join", 2)
        self.assertIsNone(first)
        self.assertEqual(second["rank"], 0)
        self.assertIn("it has left", second["what"])


if __name__ == "__main__":
    unittest.main()
