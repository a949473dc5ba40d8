"""Habits of training scripts: schedules, thrown-away gradients, Ctrl-C, copies, checkpoints."""

import tempfile
import unittest
from pathlib import Path

from ranks import play, results

EF = "ef(topk(5%) | natural)"


class Schedules(unittest.TestCase):
    def check(self, kind):
        specs = (EF, "powersgd(rank=2)")
        first, second = results("scheduled", 2, kind=kind, specs=["plain", *specs])
        for ours, others in zip(first, second):
            for spec in specs:
                with self.subTest(spec, momentum=ours["momentum"], clip=ours["clip"]):
                    self.assertEqual(ours[spec]["digest"], others[spec]["digest"])
                    # The loss starts at 2.3. Sparse messages arrive late, not wrong.
                    self.assertLess(ours[spec]["loss"], ours["plain"]["loss"] + 0.15)
                    self.assertLess(ours[spec]["largest"], 4 * ours["plain"]["largest"])

    def test_cosine(self):
        self.check("cosine")

    def test_restarts(self):
        self.check("restarts")

    def test_warm_up(self):
        self.check("warm-up")

    def test_step(self):
        self.check("step")

    def test_cyclic(self):
        self.check("cyclic")


class Groups(unittest.TestCase):
    def test_rates_of_groups_change_by_factors_of_their_own(self):
        for kind in ("eta_min", "lambdas"):
            for spec in (EF, "powersgd(rank=2)", "diana(natural)", "lgreco(qsgd)"):
                with self.subTest(spec, kind=kind):
                    ranks = results("group_rates", 2, spec=spec, kind=kind)
                    self.assertEqual(len({result["digest"] for result in ranks}), 1)
                    self.assertEqual(ranks[0]["steps"], 12)

    def test_second_moments_are_warned_about(self):
        for warnings in results("adaptive", 2, spec=EF):
            self.assertEqual(len(warnings), 1)
            self.assertIn("natural | entropy", warnings[0])
        for spec in ("natural | entropy", "powersgd(rank=2)", "none"):
            for warnings in results("adaptive", 2, spec=spec):
                self.assertEqual(warnings, [])


class ThrownAway(unittest.TestCase):
    def test_ignored_passes_leave_no_trace(self):
        ignored = results("thrown_away", 2, ignores=True)
        self.assertEqual(len({result["digest"] for result in ignored}), 1)
        self.assertEqual([result["steps"] for result in ignored], [6, 6])
        self.assertEqual([result["warnings"] for result in ignored], [[], []])

    def test_passes_that_are_not_marked_are_warned_about_once(self):
        for result in results("thrown_away", 2, ignores=False):
            self.assertEqual(len(result["warnings"]), 1)

    def test_passes_that_are_added_up_are_not_warned_about(self):
        for spec in ("ef(topk(5%))", "powersgd(rank=2)"):
            for clears in ("first", "late"):
                with self.subTest(spec, clears=clears):
                    for warnings in results("accumulated", 2, spec=spec, clears=clears):
                        self.assertEqual(warnings, [])

    def test_parameters_that_change_behind_torch(self):
        for warnings in results("changed_behind_torch", 2):
            self.assertEqual(warnings, [])


class Interrupts(unittest.TestCase):
    def test_ctrl_c_in_a_hook_reaches_the_program(self):
        for result in results("interrupted", 2):
            self.assertEqual(result["caught"], "KeyboardInterrupt")
            self.assertGreater(result["buckets"], 4)
            self.assertEqual(result["saved"], 2)


class Copies(unittest.TestCase):
    def test_models_are_copied_and_saved_whole(self):
        for result in results("copied_whole", 2):
            self.assertEqual(
                result, {"deepcopy": True, "averaged": True, "saved": True, "steps": 2}
            )


class StartsAndEnds(unittest.TestCase):
    def test_a_rank_that_does_not_attach_is_named(self):
        message = results("attached_by_one", 2, timeout=3)[0]
        self.assertIn("rank 1 did not call gradwire within 3 s", message)

    def test_a_rank_that_ends_after_catching_is_named_at_once(self):
        first, second = play("ends_after_catching", 2, timeout=60)
        self.assertEqual(second.result, "left")
        self.assertIn("rank 1", first.result["what"])

    def test_a_second_hook_replaces_the_first(self):
        ranks = results("attached_twice", 2)
        self.assertEqual(len({result["digest"] for result in ranks}), 1)
        self.assertIn("the hook is closed", ranks[0]["first"])
        self.assertEqual(ranks[0]["steps"], 1)

    def test_dropped_hooks_end(self):
        for result in results("dropped", 2):
            self.assertEqual(result["threads"], 0)


class FullStates(unittest.TestCase):
    def test_one_checkpoint_for_all_ranks(self):
        for spec in (EF, "powersgd(rank=2)"):
            with self.subTest(spec), tempfile.TemporaryDirectory() as directory:
                path = str(Path(directory) / "state.pt")
                digests = {d for rank in results("full_state", 2, spec=spec, path=path) for d in rank}
                self.assertEqual(len(digests), 1)


class Advice(unittest.TestCase):
    def test_messages_say_what_to_do(self):
        for messages in results("advice", 1):
            for kind, part in {
                "module": "wrap it first",
                "nothing": "not a NoneType",
                "data parallel": "with one process for each device",
                "taken": "has a communication hook of another kind",
            }.items():
                with self.subTest(kind):
                    self.assertIn(part, messages[kind])
            if "complex" in messages:
                self.assertIn("'weight' has type torch.complex64", messages["complex"])
            if "fsdp1" in messages:
                self.assertIn("fully_shard", messages["fsdp1"])
