"""gradwire in programs that use DDP, as their users see it."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from ranks import free_port, play, results

SPECS = (
    "none",
    "natural | entropy",
    "qsgd(bits=4)",
    "ef(topk(5%) | natural)",
    "powersgd(rank=2)",
    "diana(natural)",
    "lgreco(qsgd)",
    "lgc(ring)",
)


class Case(unittest.TestCase):
    def same_on_all(self, all_results, key="digest"):
        for result in all_results:
            self.assertEqual(result[key], all_results[0][key])


class Averages(Case):
    def test_without_compression_it_is_what_ddp_does(self):
        plain = results("values", 2, spec="plain")[0]
        ours = results("values", 2, spec="none")[0]
        self.assertEqual(plain, ours)  # of two ranks there is one order of addition
        plain = results("values", 3, spec="plain")[0]
        ours = results("values", 3, spec="none")[0]
        self.assertLess(max(abs(a - b) for a, b in zip(plain, ours)), 1e-5)

    def test_replicas_stay_the_same_by_every_method(self):
        for spec in SPECS:
            with self.subTest(spec):
                self.same_on_all(results("train", 3, spec=spec, steps=8, cap_mb=0.02))

    def test_any_number_of_buckets(self):
        for buckets in (1, 2, 5, 20):
            for spec in ("powersgd(rank=2)", "ef(topk(5%))"):
                with self.subTest(spec=spec, buckets=buckets):
                    all_results = results("in_buckets", 2, spec=spec, buckets=buckets)
                    self.same_on_all(all_results)
                    self.assertEqual(all_results[0]["buckets"], buckets)

    def test_what_is_averaged_does_not_depend_on_buckets(self):
        spec = "ef(topk(5%) | natural)"
        one = results("train", 2, spec=spec, cap_mb=25)[0]
        many = results("train", 2, spec=spec, cap_mb=0.0001, first_bucket=1)[0]
        self.assertEqual(one["digest"], many["digest"])


class OptionsOfDdp(Case):
    def test_accumulation(self):
        self.same_on_all(results("train", 2, spec="ef(topk(5%))", accumulate=3))
        plain = results("train", 2, spec="plain", accumulate=3)[0]
        ours = results("train", 2, spec="none", accumulate=3)[0]
        self.assertEqual(plain["digest"], ours["digest"])

    def test_options_of_ddp(self):
        for ddp in (
            {"find_unused_parameters": True},
            {"gradient_as_bucket_view": True},
            {"static_graph": True},
            {"find_unused_parameters": True, "gradient_as_bucket_view": True},
        ):
            with self.subTest(ddp):
                arguments = {"ddp": ddp, "cap_mb": 0.01, "steps": 9}
                self.same_on_all(results("train", 2, spec="ef(topk(5%))", **arguments))
                plain = results("train", 2, spec="plain", **arguments)[0]
                ours = results("train", 2, spec="none", **arguments)[0]
                self.assertEqual(plain["digest"], ours["digest"])

    def test_gradients_of_parts_are_no_memory(self):
        for view in (False, True):
            plain = results("accumulated_unused", 2, spec="plain", view=view)
            self.assertEqual(results("accumulated_unused", 2, spec="none", view=view), plain)

    def test_nothing_is_lost_of_parameters_that_nobody_used(self):
        for result in results("conservation", 2, spec="ef(topk(5%))"):
            self.assertTrue(result["carried"])  # the last step did not use it
            self.assertLess(result["lost"], 1e-5 * result["given"] + 1e-6)

    def test_types_of_gradients(self):
        for result in results("mixed_types", 2, spec="none"):
            for gradient in result["gradients"]:
                self.assertAlmostEqual(gradient, 3 * 2.5)  # the mean of 2 and 3, times 3 frozen ones
            types = ["torch.float16", "torch.float64", "torch.float32"]
            self.assertEqual(result["types"], types)
            self.assertEqual(result["names"], [f"parts.{i}" for i in range(3)])

    def test_channels_last(self):
        self.assertEqual(
            results("channels_last", 2, spec="plain"), results("channels_last", 2, spec="none")
        )
        first, second = results("channels_last", 2, spec="powersgd(rank=2)")
        self.assertEqual(first, second)

    def test_two_models(self):
        first, second = results("two_models", 2, spec="ef(topk(5%))")
        self.assertEqual(first, second)
        self.assertEqual(first[2:], [6, 6])

    def test_one_rank_alone(self):
        plain = results("train", 1, spec="plain")[0]
        self.assertEqual(results("train", 1, spec="none")[0]["digest"], plain["digest"])
        results("train", 1, spec="ef(topk(5%) | natural)")


class Anything(Case):
    def test_a_thousand_steps(self):
        first, second = results("anything_goes", 2, steps=1000)
        self.assertEqual(first, second)
        self.assertEqual(len(first), 20)


class Scales(unittest.TestCase):
    def test_memories_follow_the_scale(self):
        steady = results("scaled", 2, changes=False, tells=True)[0]
        self.assertEqual(results("scaled", 2, changes=True, tells=True)[0], steady)
        self.assertNotEqual(results("scaled", 2, changes=True, tells=False)[0], steady)

    def test_a_scale_that_changes_after_a_state_was_saved(self):
        steady = results("scaled", 2, changes=False, tells=True)[0]
        reloaded = results("scaled", 2, changes=True, tells=True, reloads=True)[0]
        self.assertEqual(reloaded, steady)

    def test_a_scaler_that_nobody_told_about_is_warned_of(self):
        for warned in results("scaler_without_telling", 2):
            self.assertEqual(len(warned), 1)
            self.assertIn("scaler=scaler", warned[0])

    def test_poison(self):
        for result in results("poison", 2, spec="ef(topk(5%))"):
            self.assertEqual(result, {"nan": True, "same": True, "stats": 1})


class States(unittest.TestCase):
    def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(self):
        for spec in ("ef(topk(5%) | natural)", "powersgd(rank=2)", "diana(natural)", "lgc(ring)"):
            with self.subTest(spec), tempfile.TemporaryDirectory() as directory:
                arguments = {"spec": spec, "directory": directory, "before": 7, "after": 5}
                straight = results("save", 3, **arguments)
                resumed = results("resume", 3, saved_ranks=3, **arguments)
                self.assertEqual(straight, resumed)

    def test_before_the_first_step(self):
        with tempfile.TemporaryDirectory() as directory:
            arguments = {"spec": "ef(topk(5%))", "directory": directory, "before": 0, "after": 3}
            straight = results("save", 2, **arguments)
            self.assertEqual(straight, results("resume", 2, saved_ranks=2, **arguments))

    def test_another_number_of_ranks(self):
        for spec in ("ef(topk(5%) | natural, down=natural)", "powersgd(rank=2)"):
            with self.subTest(spec), tempfile.TemporaryDirectory() as directory:
                arguments = {"spec": spec, "directory": directory, "before": 6, "after": 4}
                results("save", 3, **arguments)
                first, second = results("resume", 2, saved_ranks=3, **arguments)
                self.assertEqual(first, second)


class Reports(unittest.TestCase):
    def test_stats_and_summary(self):
        result = results("train", 2, spec="ef(topk(5%) | natural)", steps=5)[0]
        stats = result["stats"]
        self.assertEqual(stats["steps"], 5)
        self.assertEqual(set(stats["phases"]), {"encode", "exchange", "decode", "exposed"})
        said = sum(entry["message_bytes"] for entry in stats["parameters"].values())
        self.assertGreater(said, 0)
        self.assertLess(said, stats["message_bytes"])  # which has frames around it
        self.assertEqual(stats["parameters"]["middle.0.weight"]["shape"], [64, 64])
        for part in ("ef(topk(5%) | natural)", "middle.0.weight", "times less", "exposed"):
            self.assertIn(part, result["summary"])

    def test_a_record_becomes_a_page(self):
        program = os.environ.get("GRADWIRE_PROGRAM")
        with tempfile.TemporaryDirectory() as directory:
            run = Path(directory) / "run"
            results("recorded", 2, directory=str(run))
            record = json.loads((run / "run.json").read_text())
            self.assertEqual(record["steps"], 45)
            self.assertEqual(record["workers"], 2)
            self.assertEqual(record["method"], "ef(topk(5%) | natural)")
            lines = (run / "steps.jsonl").read_text().splitlines()
            self.assertEqual([json.loads(line)["step"] for line in lines], list(range(1, 46)))
            self.assertTrue(all("loss" in json.loads(line) for line in lines))
            self.assertEqual(sum("accuracy" in json.loads(line) for line in lines), 4)
            if program:
                page = Path(directory) / "page.html"
                subprocess.run([program, "report", str(run), "--out", str(page)], check=True)
                self.assertIn("ef(topk(5%) | natural)", page.read_text())
            again = play("recorded", 2, directory=str(run))
            self.assertNotEqual(again[0].code, 0)
            self.assertIn("overwrite=True", again[0].errors)


class Ends(unittest.TestCase):
    def test_a_peer_that_dies_is_named(self):
        ended = play("dies", 3, how="killed")
        self.assertEqual(ended[1].code, 3)
        for rank in (0, 2):
            self.assertEqual(ended[rank].code, 0, ended[rank].errors)
            self.assertEqual(ended[rank].result["rank"], 1)
            self.assertIn("lost rank 1", ended[rank].result["what"])
            self.assertIn("lost rank 1", ended[rank].result["later"])

    def test_a_peer_that_fails_is_named(self):
        ended = play("dies", 2, how="raises")
        self.assertIn("an error of the program", ended[1].errors)
        self.assertIn("rank 1", ended[0].result["what"])

    def test_a_peer_that_leaves_early_is_named(self):
        ended = play("dies", 2, how="exits")
        self.assertEqual(ended[1].code, 4)
        self.assertEqual(ended[0].result["rank"], 1)
        self.assertIn("it has left", ended[0].result["what"])


    def test_forked_ranks_leave_in_order(self):
        with tempfile.TemporaryDirectory() as directory:
            run = Path(directory) / "run"
            arguments = {"directory": str(run), "port": free_port()}
            self.assertEqual(results("forked", 1, **arguments), [[0, 0]])
            self.assertEqual(len((run / "steps.jsonl").read_text().splitlines()), 30)


class Steps(unittest.TestCase):
    def test_a_state_is_saved_between_steps_only(self):
        for result in results("saved_in_a_step", 2):
            self.assertEqual(result["between"], 1)
            self.assertEqual(len(result["messages"]), 4)
            for message in result["messages"][1:3]:
                self.assertIn("can only be saved between steps", message)

    def test_models_can_be_copied(self):
        for result in results("copied", 2):
            self.assertEqual(result, {"steps": 1, "parameters": 12})


class WrongCalls(unittest.TestCase):
    def test_messages_say_what_to_do(self):
        for messages in results("wrong_calls", 2):
            for call, part in {
                "no ddp": "Error: Net is no DistributedDataParallel model: wrap it first",
                "spec": "SpecError: there is no codec called 'naturl'; did you mean 'natural'?",
                "lazy": "use gradwire.LazyStep",
                "not lazy": "take gradwire.attach",
                "momentum": "use torch.optim.SGD without momentum",
                "sparse": "sparse=False",
                "state": "the state is one of none, and the hook is natural",
                "no state": "give what hook.state_dict() returned",
                "closed": "the hook is closed",
                "topology": "star",
                "maximize": "maximize=False",
                "part": "has not all parameters",
                "seed": "seed= takes a whole number",
                "timeout": "timeout= takes seconds",
                "optimizer": "takes a torch.optim.Optimizer, not a Net",
                "nothing": "give what hook.state_dict() returned",
                "no text": "a spec is a text such as",
                "ring": "ring",
                "flag": "overwrite= takes True or False",
                "remark": "loss= takes a number",
                "reshare": "there is no rank 5 among 2",
            }.items():
                with self.subTest(call):
                    self.assertIn(part, messages[call])

    def test_models_that_differ(self):
        for message in results("different_models", 2):
            self.assertIn("rank 1 differs from rank 0 in its tensors: ('weight', [5, 3])", message)

    def test_ranks_that_differ(self):
        for message in results("different_specs", 2):
            self.assertIn("natural", message)
            self.assertIn("none", message)


class LazySteps(unittest.TestCase):
    def test_uploads_are_skipped_and_replicas_stay_the_same(self):
        for spec in ("sasg(topk(5%))", "lasg"):
            with self.subTest(spec):
                all_results = results("lazy", 3, spec=spec, steps=60)
                self.assertEqual(len({result["digest"] for result in all_results}), 1)
                losses = [sum(result["losses"][-10:]) for result in all_results]
                self.assertLess(sum(losses), 0.9 * sum(sum(r["losses"][:10]) for r in all_results))
                self.assertGreater(sum(result["skipped"] for result in all_results), 0)

    def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(self):
        with tempfile.TemporaryDirectory() as directory:
            arguments = {"spec": "sasg(topk(5%))", "steps": 20, "directory": directory}
            straight = results("lazy", 2, **arguments)
            resumed = results("lazy", 2, resumes=True, **arguments)
            self.assertEqual(straight[0]["digest"], resumed[0]["digest"])
            self.assertIn("uploads were not needed", straight[0]["summary"])

    def test_another_number_of_ranks(self):
        with tempfile.TemporaryDirectory() as directory:
            arguments = {"spec": "sasg(topk(5%))", "steps": 20, "directory": directory}
            results("lazy", 3, **arguments)
            first, second = results("lazy", 2, resumes=True, saved_ranks=3, **arguments)
            self.assertEqual(first["digest"], second["digest"])

    def test_after_the_end_totals_stay_and_steps_are_refused(self):
        for result in results("lazy_end", 2, fails=False):
            self.assertEqual(result["steps"], ["nothing", "nothing"])
            for message in result["later"]:
                self.assertIn("it is closed: make a LazyStep anew", message)
            self.assertEqual((result["done"], result["failure"]), (2, None))
            self.assertIn("2 steps", result["summary"])
            self.assertEqual(result["remarks"], [])

    def test_a_closure_that_raises_ends_all_ranks(self):
        first, second = results("lazy_end", 2, fails=True)
        self.assertEqual(second["steps"], ["nothing", "ValueError: no such batch"])
        self.assertEqual(second["later"], 2 * ["ValueError: no such batch"])
        self.assertEqual(first["steps"][0], "nothing")
        self.assertEqual(first["failure"], 1)
        for message in [first["steps"][1]] + first["later"]:
            self.assertIn("PeerError", message)
        self.assertEqual((first["done"], second["done"]), (1, 1))


if __name__ == "__main__":
    unittest.main()
