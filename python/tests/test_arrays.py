"""Arrays of numpy, without torch and ranks."""

import unittest

import numpy

import gradwire


class Arrays(unittest.TestCase):
    def test_every_codec_goes_there_and_back(self):
        array = numpy.random.default_rng(1).standard_normal((37, 41)).astype(numpy.float32)
        self.assertGreater(len(gradwire.codecs()), 5)
        for row in gradwire.codecs():
            with self.subTest(row["spec"]):
                small = gradwire.encode(array, row["spec"])
                again = gradwire.decode(small)
                self.assertEqual(again.shape, array.shape)
                self.assertEqual(again.dtype, numpy.float32)
                self.assertEqual(gradwire.encode(array, row["spec"], threads=3), small)
        self.assertTrue(numpy.array_equal(gradwire.decode(gradwire.encode(array, "none")), array))

    def test_shapes_and_types(self):
        for array in (numpy.float32(3), numpy.zeros((0, 4)), numpy.arange(6).reshape(2, 3)[:, ::2]):
            again = gradwire.decode(gradwire.encode(array, "none"))
            self.assertEqual(again.shape, numpy.shape(array))
            self.assertTrue(numpy.array_equal(again, array))

    def test_damage_is_found(self):
        small = bytearray(gradwire.encode(numpy.ones(1000), "natural"))
        small[-1] ^= 1
        with self.assertRaises(gradwire.FileError) as caught:
            gradwire.decode(bytes(small))
        self.assertIn("at byte", str(caught.exception))
        with self.assertRaises(gradwire.FileError):
            gradwire.decode(b"")

    def test_a_spec_that_is_wrong_is_shown(self):
        with self.assertRaises(ValueError) as caught:
            gradwire.encode([1.0, 2.0], "topk(1%) | naturl")
        self.assertIn("did you mean 'natural'?", str(caught.exception))

    def test_arguments_that_make_no_sense(self):
        for call in (
            lambda: gradwire.encode([1.0], "natural", threads=0),
            lambda: gradwire.encode([1.0], "natural", seed=-1),
            lambda: gradwire.decode(5),
            lambda: gradwire.decode("text"),
        ):
            with self.assertRaises(gradwire.Error):
                call()

    def test_methods(self):
        specs = [row["spec"] for row in gradwire.methods()]
        self.assertIn("lgc(ring)", specs)


if __name__ == "__main__":
    unittest.main()
