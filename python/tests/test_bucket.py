"""Buckets of gradients that Gloo's own DDP cannot carry here."""

import unittest

import torch

from gradwire.bucket import Bucket, BucketLayouts
from gradwire.tensors import shape_of


class FakeBucket:
    """What gradwire needs of torch's GradBucket."""

    def __init__(self, buffer, shapes):
        self._buffer = buffer
        self._parameters = [torch.nn.Parameter(torch.ones(shape)) for shape in shapes]
        self._gradients, first = [], 0
        for parameter in self._parameters:
            part = buffer.narrow(0, first, parameter.numel())
            self._gradients.append(part.view(parameter.shape))
            first += parameter.numel()

    def index(self):
        return 0

    def is_last(self):
        return True

    def buffer(self):
        return self._buffer

    def parameters(self):
        return self._parameters

    def gradients(self):
        return self._gradients


class Buckets(unittest.TestCase):
    def test_gradients_of_another_type_go_there_and_back(self):
        for kind in (torch.bfloat16, torch.float16, torch.float64, torch.float32):
            with self.subTest(kind):
                bucket = Bucket(FakeBucket(torch.arange(10).to(kind), [(2, 3), (4,)]), BucketLayouts())
                bucket.arrive()
                second = bucket.pieces[1]
                self.assertEqual(bucket.values(second).tolist(), [6, 7, 8, 9])
                bucket.values(second).mul_(0.5)
                bucket.deliver()
                result = bucket.future.wait()
                self.assertEqual(result.dtype, kind)
                self.assertEqual(result.tolist(), [0, 1, 2, 3, 4, 5, 3, 3.5, 4, 4.5])

    def test_a_failure_reaches_who_waits(self):
        bucket = Bucket(FakeBucket(torch.zeros(4), [(4,)]), BucketLayouts())
        bucket.fail(ValueError("why"))
        with self.assertRaisesRegex(Exception, "why"):
            bucket.future.wait()

    def test_a_layout_is_looked_up_again_when_the_parameters_change(self):
        layouts, bucket = BucketLayouts(), FakeBucket(torch.zeros(10), [(2, 3), (4,)])
        first = layouts.pieces(bucket)
        self.assertIs(layouts.pieces(bucket), first)
        bucket._parameters = bucket._parameters[::-1]
        bucket._gradients = [bucket._buffer.narrow(0, 0, 4), bucket._buffer.narrow(0, 4, 6)]
        second = layouts.pieces(bucket)
        self.assertEqual([(piece.first, piece.elements) for piece in first], [(0, 6), (6, 4)])
        self.assertEqual([(piece.first, piece.elements) for piece in second], [(0, 4), (4, 6)])
        self.assertIs(second[0].parameter, first[1].parameter)

    def test_shapes_are_those_in_memory(self):
        images = torch.empty(5, 3, 8, 7)
        self.assertEqual(shape_of(images), [5, 3, 8, 7])
        self.assertEqual(shape_of(images.to(memory_format=torch.channels_last)), [5, 8, 7, 3])
        self.assertEqual(shape_of(torch.empty(5, 1, 1)), [5, 1, 1])
        self.assertEqual(shape_of(torch.empty(())), [])


if __name__ == "__main__":
    unittest.main()
