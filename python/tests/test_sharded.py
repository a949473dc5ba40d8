"""gradwire between hosts, in programs that shard with FSDP2: 2 hosts of 2 ranks each."""

import json
import tempfile
import unittest
from pathlib import Path

from ranks import play, results

try:
    from torch.distributed.fsdp import FSDPModule

    HAS_HOOK = hasattr(FSDPModule, "set_all_reduce_hook")
except (ImportError, ValueError):  # torch 1.13 cannot import it with Python 3.11
    HAS_HOOK = False

SPECS = (
    "natural | entropy",
    "qsgd(bits=4)",
    "ef(topk(5%) | natural)",
    "powersgd(rank=2)",
    "diana(natural)",
    "lgreco(qsgd)",
)


@unittest.skipUnless(HAS_HOOK, "this torch has no FSDPModule.set_all_reduce_hook")
class Case(unittest.TestCase):
    def same_on_all(self, all_results, key="digest"):
        for result in all_results:
            self.assertEqual(result[key], all_results[0][key])

    def as_native(self, difference_max=1e-5, **arguments):
        """Without compression, two hosts get what FSDP2 gets by itself."""
        native = results("sharded_train", 4, spec="native", **arguments)
        ours = results("sharded_train", 4, spec="none", **arguments)
        self.same_on_all(ours)
        for theirs, mine in zip(native, ours):
            for a, b in zip(theirs["losses"], mine["losses"]):
                self.assertAlmostEqual(a, b, delta=difference_max)
            pairs = zip(theirs["values"], mine["values"])
            self.assertLess(max(abs(a - b) for a, b in pairs), difference_max)
        return ours


class Sharded(Case):
    def test_without_compression_it_is_what_fsdp2_does(self):
        ours = self.as_native()
        elements = sum(
            entry["elements"]
            for result in ours[:2]
            for entry in result["stats"]["parameters"].values()
        )
        self.assertEqual(elements, len(ours[0]["values"]) - 5)  # all but the frozen ones
        for result in ours:
            own = sum(entry["elements"] for entry in result["stats"]["parameters"].values())
            sent = result["stats"]["bytes_sent"] / result["stats"]["steps"]
            self.assertGreaterEqual(sent, 4 * own)
            self.assertLess(sent, 1.1 * 4 * own)

    def test_a_process_group_in_place_of_a_mesh(self):
        mesh = results("sharded_train", 4, spec="ef(topk(5%))")
        group = results("sharded_train", 4, spec="ef(topk(5%))", replicate="group")
        self.assertEqual(mesh[0]["digest"], group[0]["digest"])

    def test_replicas_stay_the_same_by_every_method(self):
        for spec in SPECS:
            with self.subTest(spec):
                all_results = results("sharded_train", 4, spec=spec)
                self.same_on_all(all_results)
                stats = all_results[3]["stats"]
                self.assertEqual((stats["rank"], stats["ranks"], stats["steps"]), (1, 2, 8))

    def test_a_memory_keeps_what_was_not_sent(self):
        native = results("sharded_train", 4, spec="native", steps=40)
        sparse = results("sharded_train", 4, spec="ef(topk(5%) | natural)", steps=40)
        self.same_on_all(sparse)
        last = [sum(sum(r["losses"][-8:]) / 32 for r in run) for run in (native, sparse)]
        first = sum(r["losses"][0] for r in native) / 4
        self.assertLess(last[1], first)
        self.assertLess(abs(last[0] - last[1]), 0.1 * first)

    def test_with_one_rank_on_a_host_a_memory_works_as_with_ddp(self):
        sharded = results("sharded_train", 4, spec="ef(topk(5%))", hosts=4, steps=40)
        replicated = results("replicated_train", 4, spec="ef(topk(5%))", steps=40)
        for ours, ddp in zip(sharded, replicated):
            for a, b in zip(ours["losses"], ddp):
                self.assertAlmostEqual(a, b, delta=1e-4)

    def test_hosts_with_one_rank_and_one_host(self):
        for hosts in (1, 4):
            with self.subTest(hosts=hosts):
                self.same_on_all(results("sharded_train", 4, spec="ef(topk(5%))", hosts=hosts))


class LocalSteps(Case):
    def test_hosts_differ_within_a_round_and_agree_on_the_common_model(self):
        for spec in ("local(topk(10%), every=4)", "local(sign, every=4, after=2, fragments=2, delay=1)"):
            with self.subTest(spec):
                ranks = results("sharded_local", 4, spec=spec, steps=10)
                self.same_on_all(ranks, "common")
                self.same_on_all(ranks, "common output")
                self.same_on_all(ranks, "end")
                self.assertEqual(ranks[0]["between"], ranks[1]["between"])
                self.assertNotEqual(ranks[0]["between"], ranks[2]["between"])
                for rank in ranks:
                    self.assertEqual(rank["after"], rank["between"])
                    self.assertTrue(rank["is restored"])
                self.assertEqual(ranks[3]["stats"]["ranks"], 2)

    def test_an_exchange_at_each_step_is_what_fsdp2_does(self):
        native = results("sharded_local", 4, spec="native", steps=8)
        for theirs, ours in zip(native, results("sharded_local", 4, spec="local(none, every=1)", steps=8)):
            pairs = zip(theirs["values"], ours["values"])
            self.assertLess(max(abs(a - b) for a, b in pairs), 1e-5)


class Passes(Case):
    def test_accumulation(self):
        for set_up in ("all passes", "no gradient sync", "no all-reduce"):
            with self.subTest(set_up):
                ours = self.as_native(passes=3, set_up=set_up, steps=5)
                exchanges = 15 if set_up == "all passes" else 5
                self.assertEqual(ours[0]["stats"]["steps"], exchanges)

    def test_a_block_that_is_used_twice(self):
        self.as_native(forwards=[{"repeats": 2}], steps=5)

    def test_a_block_that_is_skipped(self):
        forwards = [{}, {"skips": 1}]
        # FSDP2 leaves it without a gradient, and gradwire gives it the mean of all hosts, which is
        # zero here. A momentum would go on in the latter case only.
        self.as_native(forwards=forwards, momentum=0.0)
        self.same_on_all(results("sharded_train", 4, spec="ef(topk(5%))", forwards=forwards))

    def test_a_block_that_one_host_uses(self):
        for spec in ("none", "ef(topk(5%))"):
            self.assertEqual(len(set(results("used_on_one_host", 4, spec=spec))), 1)

    def test_types(self):
        # In the latter case FSDP2 rounds the sum of the hosts to 8 bits, and gradwire does not. Clipped
        # gradients are at most 1, and three steps with momentum multiply a difference by 5.6 rates.
        rounding = 5.6 * 0.05 / 2**8
        for reduced, difference_max in {"float32": 1e-5, "bfloat16": rounding}.items():
            with self.subTest(reduced):
                policy = {"param_dtype": "bfloat16", "reduce_dtype": reduced}
                self.as_native(difference_max, policy=policy, steps=3)

    def test_a_divisor_of_the_program(self):
        self.as_native(divisor=2)  # of the ranks of a host: hosts are added up


class Kept(Case):
    SPEC = "ef(topk(5%) | natural, down=natural)"

    def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(self):
        for with_dcp in (False, True):
            with self.subTest(with_dcp=with_dcp), tempfile.TemporaryDirectory() as directory:
                common = dict(
                    spec=self.SPEC, directory=directory, before=5, after=4, with_dcp=with_dcp
                )
                straight = results("sharded_save", 4, hosts=2, **common)
                resumed = results(
                    "sharded_resume", 4, hosts=2, saved_ranks=4, saved_hosts=2, **common
                )
                self.assertEqual({result["digest"] for result in resumed}, set(straight))
                self.assertGreater(resumed[0]["memory"], 0)

    def test_another_number_of_hosts(self):
        for with_dcp in (False, True):
            with self.subTest(with_dcp=with_dcp), tempfile.TemporaryDirectory() as directory:
                common = dict(
                    spec=self.SPEC, directory=directory, before=5, after=4, with_dcp=with_dcp
                )
                results("sharded_save", 6, hosts=3, **common)
                resumed = results(
                    "sharded_resume", 4, hosts=2, saved_ranks=6, saved_hosts=3, **common
                )
                self.same_on_all(resumed)

    def test_another_sharding_is_refused(self):
        for message in results("other_sharding", 4, spec=self.SPEC):
            self.assertIn("saved with 2 parts of the model on every host, and now there are 4", message)

    def test_a_record(self):
        with tempfile.TemporaryDirectory() as directory:
            summaries = results("sharded_record", 4, directory=str(Path(directory) / "run"))
            for summary in summaries:
                self.assertIn("of 2, 12 steps", summary)
            run = json.loads((Path(directory) / "run" / "run.json").read_text())
            self.assertTrue(run)


class Refused(Case):
    def test_mistakes(self):
        for calls in results("sharded_mistakes", 4):
            for call, part in {
                "no ranks": "give replicate=, the mesh or process group",
                "wrong ranks": "a mesh of one dimension",
                "plain": "call fully_shard(model, mesh=mesh['shard'])",
                "hosts": "a model of fully_shard takes replicate= alone",
                "whole": "needs the norm of the whole gradient",
                "parameters": "use gradwire.LazyStep",
                "shards": "differs from rank 0 in its tensors: ('weight[4:8]', [4, 8])",
                "half": "reduce_dtype=torch.float32",
                "replicated": "give it the dimension within a host",
                "first fsdp": "torch.distributed.fsdp.fully_shard (FSDP2)",
                "summed": "set_force_sum_reduction_for_comms(True) was called: leave it out",
                "hooked": "take the optimizer's step after the backward pass",
                "closed": "the hook is closed",
                "state": "give what hook.state_dict() returned",
                "other state": "give what hook.state_dict() returned",
                "saved by": "the number of hosts that have saved, not 0",
            }.items():
                with self.subTest(call):
                    self.assertIn(part, calls[call])

    def test_a_host_that_is_lost(self):
        ended = play("lost_host", 4, spec="ef(topk(5%))")
        for end in ended[:2]:
            self.assertEqual(end.code, 0, end.errors)
            self.assertEqual(end.result["rank"], 1)
            self.assertIn("PeerError", end.result["type"])
            self.assertEqual(end.result["again"], end.result["message"])


if __name__ == "__main__":
    unittest.main()
