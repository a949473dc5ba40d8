"""The order in which gradients reach the library, whatever the order of DDP's buckets."""

import itertools
import unittest

import torch

from gradwire.averaging import Averaging
from gradwire.rates import Rates
from gradwire.tensors import Piece


class FakeAverager:
    """Notes the gradients of a step, by their place in the method's order."""

    def agree(self, order):
        return order

    def make(self, tensors, moments=()):
        self.tensors = [name for name, _ in tensors]

    def begin(self, step, rate, rates):
        self.submitted = []

    def submit(self, first, gradients):
        assert first == len(self.submitted), "out of turn"
        self.submitted += gradients

    def finish(self, seconds):
        return True


class FakeBucket:
    """One of DDP's, with a parameter for each name."""

    def __init__(self, parameters):
        self._floats = torch.zeros(sum(parameter.numel() for parameter in parameters))
        self.pieces, first = [], 0
        for parameter in parameters:
            self.pieces.append(Piece(parameter, first, parameter.numel()))
            first += parameter.numel()

    def arrive(self):
        pass

    def address(self):
        return self._floats.data_ptr()

    def deliver(self):
        pass


class Turns(unittest.TestCase):
    def test_every_gradient_is_submitted_in_its_turn(self):
        parameters = [torch.zeros(size) for size in (2, 3, 5, 7)]
        names = {parameter: str(parameter.numel()) for parameter in parameters}
        cuts = ([[0], [1], [2], [3]], [[0, 1], [], [2], [3]], [[2, 0], [3, 1]], [[3, 2, 1, 0]])
        for cut in cuts:
            buckets = [FakeBucket([parameters[i] for i in places]) for places in cut]
            for ready in (["2", "3", "5", "7"], ["7", "2", "5", "3"]):
                with self.subTest(cut=cut, ready=ready):
                    self.check(Averaging(FakeAverager(), names), buckets, ready)

    def check(self, averaging, buckets, ready):
        for order in itertools.permutations(buckets):
            averaging.begin(Rates(1.0, {}), 1.0)
            for bucket in order:
                averaging.add(bucket, None)
            averaging.finish(ready, None, 0.0)
            self.assertEqual(averaging.averager.tensors, ready)
            sizes = [str(elements) for _, elements in averaging.averager.submitted]
            self.assertEqual(sizes, ready)


if __name__ == "__main__":
    unittest.main()
