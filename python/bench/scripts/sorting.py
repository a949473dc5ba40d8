"""A GPT that learns to sort digits, in the style of minGPT: a trainer with callbacks, an untied head,
one batch for each step, AdamW with a fixed rate, clipping. The loss counts the sorted half only."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import common
from gpt import Block, make_optimizer

DIGITS, LENGTH, BATCH, WIDTH, LAYERS = 10, 12, 32, 128, 2
RATE, CLIP = 5e-4, 1.0
IGNORED = -1  # a target that does not count


class Gpt(nn.Module):
    """Its head has weights of its own."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(DIGITS, WIDTH)
        self.positions = nn.Embedding(2 * LENGTH - 1, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, DIGITS, bias=False)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)


def get_batch(generator):
    """Digits and the same digits sorted; each position predicts the next one."""
    digits = torch.randint(DIGITS, (BATCH, LENGTH), generator=generator)
    both = torch.cat([digits, digits.sort(1).values], 1)
    targets = both[:, 1:].clone()
    targets[:, : LENGTH - 1] = IGNORED
    return both[:, :-1], targets


class Trainer:
    """Calls its callbacks after every batch."""

    def __init__(self, model, optimizer, generator):
        self.model, self.optimizer, self.generator = model, optimizer, generator
        self.on_batch_end = []
        self.loss = None

    def run(self, steps):
        self.model.train()
        for _ in range(steps):
            self.loss = self.model(*get_batch(self.generator))
            self.model.zero_grad(set_to_none=True)
            self.loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
            self.optimizer.step()
            for callback in self.on_batch_end:
                callback(self)


def main():
    options = common.read_options(__doc__)
    generator = common.start(options)
    model = DistributedDataParallel(Gpt())
    optimizer = make_optimizer(model)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    hook = common.attach(model, options, optimizer)
    trainer = Trainer(model, optimizer, generator)
    losses = []
    trainer.on_batch_end.append(lambda trainer: losses.append(trainer.loss.item()))
    trainer.run(options.steps)
    common.finish(options, losses, [model], [hook])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
