"""Further features of PyTorch: gradwire works with them, or refuses them with the reason."""

import unittest

import torch

from gradwire.tensors import plain_name
from ranks import play, results

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
    def test_states_of_compiled_and_eager_models_fit_each_other(self):
        for straight, *others in results("compiled_states", 2, backend="aot_eager"):
            self.assertEqual(others, [straight] * 3)

    @unittest.skipUnless(HAS_COMPILE, "this torch has no torch.compile")
    def test_a_reducer_without_buckets_is_refused(self):
        for message in results("python_reducer", 2):
            self.assertIn("optimize_ddp", message)


class Names(unittest.TestCase):
    def test_the_prefix_of_compiled_modules_is_left_out(self):
        self.assertEqual(plain_name("_orig_mod.first.weight"), "first.weight")
        self.assertEqual(plain_name("layers.0._orig_mod.inner._orig_mod.bias"), "layers.0.inner.bias")
        self.assertEqual(plain_name("my_orig_mod.weight"), "my_orig_mod.weight")

    def test_states_that_have_the_prefix_are_read(self):
        for digests in results("prefixed_states", 2):
            self.assertEqual(len(set(digests)), 1)


class MixedPrecision(unittest.TestCase):
    def test_that_of_ddp_is_refused(self):
        for message in results("mixed_precision", 2):
            if message is None:
                self.skipTest("DDP of this torch has no mixed_precision")
            self.assertIn("torch.autocast", message)


class LateRanks(unittest.TestCase):
    def test_all_ranks_hold_the_same_bits(self):
        digests = results("late_ranks", 3)
        self.assertEqual(len(set(digests)), 1)

    def test_what_does_not_go_with_it_is_refused(self):
        for refusals in results("late_refusals", 2):
            for given, message in refusals.items():
                self.assertIn(given, message)


class UnevenInputs(unittest.TestCase):
    def test_join(self):
        plain, ours = results("uneven", 2, spec="plain"), results("uneven", 2, spec="none")
        self.assertEqual(plain, ours)
        first, second = play("uneven", 2, spec="ef(topk(5%) | natural)")
        self.assertEqual((first.code, second.code), (0, 0), first.errors + second.errors)
        self.assertEqual(first.result, second.result)
        for end in (first, second):
            self.assertNotIn("Deallocating Tensor", end.errors)

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
