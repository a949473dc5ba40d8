"""gradwire with DDP where a host has several ranks: 2 hosts of 2 ranks each."""

import tempfile
import unittest

from ranks import play, results


class Case(unittest.TestCase):
    def same_on_all(self, all_results, key="digest"):
        for result in all_results:
            self.assertEqual(result[key], all_results[0][key])


class Hosts(Case):
    def test_without_compression_it_is_what_ddp_does(self):
        plain = results("on_hosts", 4, spec="plain", hosts=None)[0]
        flat = results("on_hosts", 4, spec="none", hosts=None)
        ours = results("on_hosts", 4, spec="none", hosts=["b", "a", "b", "a"])
        self.same_on_all(ours)
        difference = max(abs(a - b) for a, b in zip(plain["values"], ours[0]["values"]))
        self.assertLess(difference, 1e-5)
        # The two ranks of a host have the whole model between them, and one peer each.
        self.assertEqual(ours[0]["elements"] + ours[2]["elements"], len(plain["values"]))
        self.assertEqual({result["ranks"] for result in ours}, {2})
        # A flat exchange sends half of its bytes, and more, to ranks of other hosts.
        self.assertLess(sum(r["sent"] for r in ours), 0.5 * sum(r["sent"] for r in flat))

    def test_bytes_do_not_depend_on_the_ranks_of_a_host(self):
        one = results("on_hosts", 2, spec="ef(topk(5%) | natural)", hosts=2)
        two = results("on_hosts", 4, spec="ef(topk(5%) | natural)", hosts=2)
        three = results("on_hosts", 6, spec="ef(topk(5%) | natural)", hosts=2)
        for several in (two, three):
            self.same_on_all(several)
            # Parts of small tensors are rounded up, and every message has a header.
            self.assertLess(sum(r["sent"] for r in several), 1.6 * sum(r["sent"] for r in one))

    def test_replicas_stay_the_same_by_every_method(self):
        first, *others = results("on_hosts_by_all", 4, hosts=2)
        for other in others:
            self.assertEqual(other, first)

    def test_hosts_are_found(self):
        all_results = results("on_hosts_auto", 4)
        self.same_on_all([result["torchrun"] for result in all_results])
        self.assertEqual({result["torchrun"]["ranks"] for result in all_results}, {2})
        self.same_on_all([result["name"] for result in all_results])
        self.assertEqual({result["name"]["ranks"] for result in all_results}, {1})

    def test_a_model_of_some_ranks(self):
        *four, last = results("among_some", 5, spec="ef(topk(5%))")
        self.assertIsNone(last)
        self.assertEqual(len(set(four)), 1)

    def test_mistakes(self):
        for calls in results("host_mistakes", 4):
            for call, part in {
                "number": "hosts=3 does not divide the 4 ranks",
                "text": "hosts= takes 'auto', a number of hosts, or a list",
                "list": "a list of the hosts of all 4 ranks",
                "uneven": "{'a': 3, 'b': 1}",
                "unused": "find_unused_parameters=False",
                "whole": "needs the norm of the whole gradient",
                "differ": "rank 1 differs from rank 0 in its method: natural, not none",
            }.items():
                with self.subTest(call):
                    self.assertIn(part, calls[call])

    def test_a_rank_that_is_lost_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            ended = play("lost_rank", 4, spec="ef(topk(5%))", directory=directory)
        for rank, end in enumerate(ended[:3]):
            with self.subTest(rank=rank):
                self.assertEqual(end.code, 0, end.errors)
                self.assertIn("lost rank 3 of the program", end.result["message"])
                self.assertEqual(end.result["rank"], 3)


class HostStates(Case):
    SPEC = "ef(topk(5%) | natural, down=natural)"

    def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(self):
        with tempfile.TemporaryDirectory() as directory:
            common = dict(spec=self.SPEC, directory=directory, before=5, after=4)
            straight = results("save_on_hosts", 4, hosts=2, **common)
            self.assertEqual(results("resume_on_hosts", 4, hosts=2, **common), straight)
            # Another number of hosts takes over what there is.
            self.assertEqual(len(set(results("resume_on_hosts", 2, hosts=1, **common))), 1)
            for message in results("resume_on_hosts", 4, hosts=4, **common):
                self.assertIn("saved with 2 parts of the model on every host", message)


if __name__ == "__main__":
    unittest.main()
