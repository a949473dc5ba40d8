"""Training whose processes come and go: start it, kill it, join it. docs/elastic_python.md walks through it.

    python3 examples/elastic.py --listen 127.0.0.1:29400
    python3 examples/elastic.py --join 127.0.0.1:29400        # as often as you like
"""

import argparse
import hashlib
import signal
import time

import torch
from torch import nn

import gradwire

SAMPLES, FEATURES, CLASSES = 4096, 32, 10


def make_data():
    """Made up: points around ten centres."""
    generator = torch.Generator().manual_seed(7)
    centres = torch.randn(CLASSES, FEATURES, generator=generator)
    labels = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    return centres[labels] + 1.5 * torch.randn(SAMPLES, FEATURES, generator=generator), labels


def make_model():
    return nn.Sequential(
        nn.Linear(FEATURES, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, CLASSES)
    )


def digest(model):
    """The parameters in a few characters: the same for all members after every step."""
    content = hashlib.sha256()
    for parameter in model.parameters():
        content.update(parameter.detach().numpy().tobytes())
    return content.hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:0", help="HOST:PORT of this process")
    parser.add_argument("--join", help="HOST:PORT of members, separated by commas")
    parser.add_argument("--secret", help="file, made with: gradwire secret FILE")
    parser.add_argument("--spec", default="ef(topk(10%) | natural)")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--evaluate-every", type=int, default=100)
    parser.add_argument("--members-least", type=int, default=1)
    parser.add_argument("--silence", type=float, default=10, help="seconds until a member is lost")
    parser.add_argument("--slow", type=float, default=0.02, help="seconds that a step takes longer")
    parser.add_argument("--lines", action="store_true", help="a line for each step, for tools/storm")
    options = parser.parse_args()

    torch.set_num_threads(1)
    inputs, labels = make_data()
    model = make_model()  # a newcomer's own parameters are replaced by those of the run
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    sampler = gradwire.ElasticSampler(SAMPLES, global_batch=128, seed=1)

    def on_update(update):
        if not options.lines:
            return
        lost = ",".join(map(str, update["lost_shares"]))
        print(
            f"commit {update['step']} hash={digest(model)} view={update['view']} "
            f"members={update['members']} shares={update['shares']} lost={lost} "
            f"ms={time.monotonic_ns() // 1_000_000} replay={int(update['is_replay'])}",
            flush=True,
        )

    run = gradwire.join(
        model, optimizer, options.spec, sampler=sampler, listen=options.listen, join=options.join,
        secret=options.secret, members_least=options.members_least, silence=options.silence,
        on_update=on_update,
    )  # fmt: skip
    print(f"listening {run.address}", flush=True)
    signal.signal(signal.SIGTERM, lambda number, frame: run.leave())

    loss_of = nn.CrossEntropyLoss()
    while run.next():
        if run.step_number % options.evaluate_every == 0:
            run.average_buffers()
            model.eval()
            right = (model(inputs).argmax(1) == labels).float().mean()
            model.train()
            print(
                f"step {run.committed} epoch {sampler.epoch} accuracy {100 * right:.1f}% "
                f"members {run.members} model {digest(model)}",
                flush=True,
            )
            continue
        if run.samples:
            model.train(len(run.samples) > 1)  # BatchNorm cannot learn from one sample
            loss_of(model(inputs[run.samples]), labels[run.samples]).backward()
        time.sleep(options.slow)
        run.step(is_last=run.step_number >= options.steps)
    reason, text, settled = run.end
    print(f"end {reason} settled={settled} committed={run.committed} ({text})", flush=True)


if __name__ == "__main__":
    main()
