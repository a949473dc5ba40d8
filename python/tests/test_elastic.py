"""Processes that come and go: examples/elastic.py, killed and joined; samplers; packed states."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

import torch

import gradwire
from gradwire.packing import pack, unpack
from gradwire.sampler import ElasticSampler

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "elastic.py"
SECONDS_MAX = 120
COMMIT = re.compile(
    r"^commit (\d+) (hash=\w+ view=\d+ members=\d+ shares=\d+ lost=\S*) ms=\d+ replay=\d$", re.M
)


class Member:
    def __init__(self, directory, number, *arguments):
        self.path = Path(directory) / f"{number}.out"
        self.errors = Path(directory) / f"{number}.err"
        with open(self.path, "wb") as out, open(self.errors, "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, str(EXAMPLE), "--lines", "--silence", "5", *arguments],
                stdout=out, stderr=err, env=dict(os.environ, OMP_NUM_THREADS="1"),
            )  # fmt: skip

    def text(self):
        return self.path.read_text()

    def address(self):
        found = re.search(r"^listening (\S+)$", self.text(), re.M)
        return found and found[1]

    def last_step(self):
        commits = COMMIT.findall(self.text())
        return int(commits[-1][0]) if commits else 0

    def members(self):
        """In the view of the last step that it made itself."""
        found = re.findall(r"^commit .* members=(\d+) .*replay=0$", self.text(), re.M)
        return int(found[-1]) if found else 0

    def failure(self):
        return self.text()[-2000:] + self.errors.read_text()[-4000:]


class Elastic(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.members = []

    def tearDown(self):
        for member in self.members:
            if member.process.poll() is None:
                member.process.kill()
            member.process.wait()
        self.directory.cleanup()

    def start(self, *arguments):
        member = Member(self.directory.name, len(self.members), *arguments)
        self.members.append(member)
        return member

    def wait(self, member, is_so):
        end = time.monotonic() + SECONDS_MAX
        while not is_so():
            self.assertLess(time.monotonic(), end, member.failure())
            self.assertTrue(member.process.poll() in (None, 0), member.failure())
            time.sleep(0.05)

    def start_group(self, size, *arguments):
        first = self.start(*arguments)
        self.wait(first, first.address)
        for _ in range(size - 1):
            member = self.start("--join", first.address(), *arguments)
        for member in self.members:
            self.wait(member, lambda: member.last_step() > 5 and member.members() == size)

    def expect_progress(self, *members):
        for member in members:
            before = member.last_step()
            self.wait(member, lambda: member.last_step() > before + 10)

    def expect_one_model(self):
        seen = {}
        for number, member in enumerate(self.members):
            last = None
            for step, content in COMMIT.findall(member.text()):
                self.assertEqual(seen.setdefault(step, content), content, f"{number}, step {step}")
                if last is not None:
                    self.assertEqual(int(step), last + 1)
                last = int(step)
        self.assertEqual(sorted(map(int, seen)), list(range(1, len(seen) + 1)))

    def test_killed_and_joined(self):
        self.start_group(3, "--evaluate-every", "17")
        first, second, third = self.members
        first.process.kill()
        self.expect_progress(second, third)
        fourth = self.start("--join", third.address(), "--evaluate-every", "17")
        self.wait(fourth, lambda: fourth.members() == 3)
        self.expect_progress(second, third, fourth)
        second.process.kill()
        self.expect_progress(third, fourth)
        for member in (third, fourth):
            member.process.send_signal(signal.SIGINT)
            self.wait(member, lambda: "end left" in member.text())
        self.expect_one_model()
        self.assertRegex(fourth.text(), r"replay=0")

    def test_rounds_of_local_steps(self):
        spec = ("--spec", "local(topk(10%) | natural, every=4)", "--evaluate-every", "12")
        self.start_group(3, *spec)
        first, second, third = self.members
        first.process.kill()
        self.expect_progress(second, third)
        fourth = self.start("--join", third.address(), *spec)
        self.wait(fourth, lambda: fourth.members() == 3)
        self.expect_progress(second, third, fourth)
        for member in (second, third, fourth):
            member.process.send_signal(signal.SIGINT)
            self.wait(member, lambda: "end left" in member.text())
        self.expect_one_model()
        self.assertIn("accuracy", second.text())

    def test_the_last_step(self):
        self.start_group(2, "--steps", "40", "--members-least", "2")
        for member in self.members:
            self.wait(member, lambda: "end left" in member.text())
            self.assertEqual(member.last_step(), 40)
        self.expect_one_model()


class ElasticMistakes(unittest.TestCase):
    def join(self, spec="none", **options):
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return gradwire.join(model, optimizer, spec, **dict({"global_batch": 8}, **options))

    def test_messages(self):
        for options, words in [
            ({"spec": "powersgd(rank=2)"}, "come and go"),
            ({"spec": "local(none, every=5, after=10)"}, "after="),
            ({"global_batch": None}, "global_batch"),
            ({"listen": "nowhere"}, "host:port"),
            ({"hosts": "2"}, "auto"),
            ({"join": "127.0.0.1:1", "wait": 0.7}, "could not join"),
            ({"state": (lambda: object(), None), "spec": 3}, "spec"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(gradwire.Error, words):
                self.join(**options)

    def test_alone(self):
        run = self.join(on_event=lambda text: None)
        for _ in range(3):
            self.assertTrue(run.next())
            self.assertEqual((run.share, run.shares), (0, 1))
            self.assertTrue(run.step(samples=8))
        run.leave()
        while run.next():
            run.step(samples=8)
        self.assertEqual(run.end[0], "left")


class Rounds(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)
        self.inputs, self.targets = torch.randn(96, 4), torch.randint(2, (96,))

    def make(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
        model.add_module("tied", torch.nn.Linear(4, 8))
        model.tied.weight = model[0].weight
        optimizer = torch.optim.AdamW([model[0].weight, *model[2].parameters()], lr=0.02)
        return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)

    def learn(self, model, samples):
        hidden = torch.relu(model[1](model[0](self.inputs[samples])))
        torch.nn.functional.cross_entropy(model[2](hidden), self.targets[samples]).backward()

    def run_alone(self, spec, rounds, on_step=lambda run: None):
        """The parameters of a run of one member, after so many rounds of 3 steps."""
        torch.manual_seed(6)
        model, optimizer, scheduler = self.make()
        run = gradwire.join(
            model, optimizer, spec, sampler=ElasticSampler(96, 24, seed=2), scheduler=scheduler,
            on_event=lambda text: None,
        )  # fmt: skip
        seen = []
        while run.next():
            seen.append(list(run.samples))
            self.learn(model, run.samples)
            on_step(run)
            run.step(is_last=run.step_number == 3 * rounds)
        return [p.detach().clone() for p in model.parameters()], seen

    def test_one_member_trains_as_it_would_without_rounds(self):
        ours, seen = self.run_alone("local(none, every=3)", 4)
        torch.manual_seed(6)
        model, optimizer, scheduler = self.make()
        for samples in seen:
            self.assertEqual(len(samples), 8)
            self.learn(model, samples)
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
        for a, b in zip(ours, model.parameters()):
            self.assertTrue(torch.allclose(a, b, atol=1e-5))
        self.assertEqual(sorted(sum(seen, [])), list(range(96)))  # an epoch

    def test_a_newcomer_gets_the_common_model_within_a_round(self):
        states = []

        def look(run):
            if run.step_number in (4, 6):
                self.assertEqual(run.is_common, run.step_number == 4)
                states.append(run._save())
            if run.step_number == 5:
                with self.assertRaisesRegex(gradwire.Error, "is_common"):
                    run.average_buffers()

        self.run_alone("local(sign, every=3, outer=nesterov(0.7, 0.5))", 3, look)
        self.assertEqual(states[0], states[1])
        state = unpack(states[0])
        self.assertTrue(torch.equal(state["model"]["tied.weight"], state["model"]["0.weight"]))
        self.assertEqual(unpack(state["steps"])["optimizer"]["state"], {})

    def test_sgd_with_a_large_outer_gain_is_warned_about(self):
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertWarnsRegex(UserWarning, "7 times"):
            run = gradwire.join(
                model, optimizer, "diloco", global_batch=500, on_event=lambda text: None
            )
        run.leave()
        while run.next():  # to the end of the round
            run.step(samples=1)
        self.assertEqual(run.end[0], "left")


class Samples(unittest.TestCase):
    def test_each_once_in_an_epoch_whoever_is_lost(self):
        for size, batch in [(100, 16), (64, 16), (7, 3)]:
            sampler = ElasticSampler(size, batch, seed=3)
            generator = torch.Generator().manual_seed(1)
            for epoch in range(3):
                used = Counter()
                while sampler.epoch == epoch:
                    shares = 1 + int(torch.randint(5, (1,), generator=generator))
                    lost = [s for s in range(1, shares) if torch.rand(1, generator=generator) < 0.3]
                    parts = [sampler.share(share, shares) for share in range(shares)]
                    self.assertEqual(sum(parts, []), sampler.batch())
                    for share in set(range(shares)) - set(lost):
                        used.update(parts[share])
                    sampler.advance(shares, lost)
                self.assertEqual(used, Counter(range(size)))

    def test_a_newcomer_continues_in_the_middle(self):
        first = ElasticSampler(100, 16)
        for _ in range(9):
            first.advance(4, [2])
        second = ElasticSampler(100, 16)
        second.load_state_dict(unpack(pack(first.state_dict())))
        for _ in range(20):
            self.assertEqual(first.batch(), second.batch())
            first.advance(3, [])
            second.advance(3, [])
        self.assertEqual(first.share(None, 3), [])


class Packing(unittest.TestCase):
    def test_comes_back(self):
        state = {
            "a": [1, -(2**70), 2.5, None, True, "text", b"bytes", (1, 2)],
            3: {"t": torch.randn(3, 4), "empty": torch.empty(0, 2), "one": torch.tensor(7)},
            "kinds": [torch.ones(2, dtype=d) for d in (torch.bfloat16, torch.int64, torch.bool)],
        }
        data = pack(state)
        again = unpack(data)
        self.assertEqual(pack(again), data)
        self.assertEqual(again["a"], state["a"])
        self.assertTrue(torch.equal(again[3]["t"], state[3]["t"]))

    def test_other_bytes_are_refused(self):
        data = pack({"a": [1, 2.5, torch.ones(3)], "b": "text"})
        for cut in range(len(data)):
            with self.assertRaises(gradwire.Error):
                unpack(data[:cut])
        generator = torch.Generator().manual_seed(1)
        for _ in range(2000):
            wrong = bytearray(data)
            at = int(torch.randint(len(data), (1,), generator=generator))
            wrong[at] ^= 1 << int(torch.randint(8, (1,), generator=generator))
            try:
                unpack(bytes(wrong))
            except gradwire.Error:
                pass
        with self.assertRaisesRegex(gradwire.Error, "cannot travel"):
            pack({"a": object()})


if __name__ == "__main__":
    unittest.main()
