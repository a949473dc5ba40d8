"""``local(...)`` behind a program's own optimizer."""

import tempfile
import unittest

from ranks import results


class LocalTraining(unittest.TestCase):
    def test_ranks_differ_between_exchanges_and_agree_on_the_common_model(self):
        for spec in (
            "local(none, every=5)",
            "local(topk(10%, chunk=256) | twobit, every=5, after=4)",
            "local(sign, every=6, fragments=2, delay=2, outer=nesterov(0.7, 0.5))",
        ):
            first, second = results("local_learns", 2, spec=spec, steps=33)
            self.assertNotEqual(first["between"], second["between"], spec)
            self.assertEqual(first["common"], second["common"], spec)
            self.assertEqual(first["after"], first["between"], spec)
            self.assertEqual(first["end"], second["end"], spec)
            self.assertLess(first["losses"][-1], 0.9 * first["losses"][0], spec)
            self.assertIn("steps of their own", first["remarks"][0])

    def test_fewer_bytes_are_sent(self):
        every, seldom = (
            results("local_learns", 2, spec=f"local(none, every={h})", steps=20)[0]["bytes"]
            for h in (1, 10)
        )
        self.assertGreater(every, 6 * seldom)

    def test_an_exchange_at_each_step_is_ddp_to_rounding(self):
        for difference in results("local_like_ddp", 2, spec="local(none, every=1)", steps=20):
            self.assertLess(difference, 1e-5)

    def test_resumed_between_exchanges_it_continues_to_the_bit(self):
        for spec in ("local(topk(10%), every=5)", "local(none, every=5, after=3, delay=3)"):
            for cut in (2, 6, 10):
                with tempfile.TemporaryDirectory() as directory:
                    for straight, resumed in results(
                        "local_resumed", 2, spec=spec, cut=cut, steps=17, directory=directory
                    ):
                        self.assertEqual(straight, resumed, f"{spec} after {cut}")


class LocalMistakes(unittest.TestCase):
    def test_what_does_not_fit_is_refused_with_the_reason(self):
        for messages in results("local_refused", 2):
            self.assertIn("not wrapped", messages["ddp"])
            self.assertIn("optimizer=", messages["none"])
            self.assertIn("not all parameters", messages["other"])
            self.assertIn("hosts=", messages["hosts"])
            self.assertIn("bfloat16", messages["scaler"])
            self.assertIn("attach", messages["lazy"])
            self.assertIn("DistributedDataParallel", messages["plain"])

    def test_sgd_with_a_large_outer_gain_is_warned_about(self):
        for caught in results("local_warns", 2):
            self.assertTrue(any("7 times" in message for message in caught), caught)


if __name__ == "__main__":
    unittest.main()
