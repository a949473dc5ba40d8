"""``adam(...)`` behind a program's own AdamW."""

import unittest

from ranks import results

EXACT = "adam(sign, dense=none)"


class WarmUp(unittest.TestCase):
    """With exact means, the parameters are those of plain DDP with AdamW."""

    def check(self, **options):
        plain = results("adam_parameters", 2, spec="plain", **options)
        ours = results("adam_parameters", 2, spec=EXACT, **options)
        self.assertEqual(ours[0], ours[1])
        for key in ("exp_avg", "exp_avg_sq", "step"):
            self.near(plain[0]["state"][key], ours[0]["state"][key])
        self.near(plain[0]["values"], ours[0]["values"])

    def near(self, first, second):
        self.assertEqual(len(first), len(second))
        self.assertLess(max(abs(a - b) for a, b in zip(first, second)), 2e-5)

    def test_is_adamw_with_the_settings_of_all_groups(self):
        self.check()

    def test_gradients_are_accumulated(self):
        self.check(passes=3)

    def test_schedulers_work_whether_made_before_or_after(self):
        self.check(schedules="before")
        self.check(schedules="after")

    def test_clipping_of_what_is_no_gradient_changes_nothing(self):
        clipped = results("adam_parameters", 2, spec=EXACT, clips=True)
        plain = results("adam_parameters", 2, spec=EXACT)
        self.assertEqual(clipped[0]["values"], plain[0]["values"])


    def test_a_change_of_the_scale_of_the_loss_does_not_show(self):
        # Epsilon counts beside scaled gradients, so the scale itself shows for tiny gradients.
        same = results("adam_scaled", 2, spec=EXACT, scales=[1024.0] * 12)[0]
        changed = results("adam_scaled", 2, spec=EXACT, scales=[1024.0] * 5 + [512.0] * 7)
        self.assertEqual(changed[0], changed[1])
        self.near(same, changed[0])


class Compressed(unittest.TestCase):
    def test_it_learns_and_ranks_agree(self):
        for inside in ("sign", "topk(5%) | natural", "powersgd(rank=2)"):
            spec = f"adam({inside}, warmup=20)"
            first, second = results("adam_learns", 2, spec=spec)
            self.assertEqual(first["digest"], second["digest"])
            self.assertLess(first["last"], 0.8 * first["first"])
            self.assertIn("warm-up is over after 20 steps", first["remarks"][0])

    def test_resumed_in_any_phase_it_goes_on_to_the_bit(self):
        for cut in (2, 7, 9):
            for straight, resumed in results("adam_resumed", 2, spec="adam(sign, warmup=5)", cut=cut):
                self.assertEqual(straight, resumed)

    def test_a_poisoned_step_changes_nothing(self):
        for answers in results("adam_poisoned", 2):
            self.assertEqual(answers, [True, True])


class Optimizer(unittest.TestCase):
    def test_after_close_it_is_torchs_own(self):
        for moved in results("adam_closed", 2):
            self.assertGreater(moved, 1e-4)

    def test_two_passes_without_a_step_are_refused(self):
        messages = results("adam_two_passes", 2)
        self.assertTrue(any("no_sync" in message for message in messages), messages)
        for message in messages:  # a rank that is slower may hear first that the other one gave up
            self.assertRegex(message, "no_sync|gave up: its own error message says why")

    def test_what_does_not_fit_is_refused_with_the_reason(self):
        for messages in results("adam_refused", 2):
            self.assertIn("optimizer=", messages["none"])
            self.assertIn("SGD", messages["sgd"])
            self.assertIn("use AdamW", messages["adam"])
            self.assertIn("amsgrad", messages["amsgrad"])
            self.assertIn("maximize", messages["maximize"])
            self.assertIn("find_unused_parameters=False", messages["unused"])


if __name__ == "__main__":
    unittest.main()
