"""A GPT on the characters of Shakespeare: AdamW with two decay groups, accumulated gradients, tied
weights, clipping, a cosine with a warm-up."""

import contextlib
import math

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import common
import text

WIDTH, HEADS, LAYERS, CONTEXT, BATCH, ACCUMULATE = 128, 4, 2, 64, 8, 2
RATE, RATE_LEAST, DECAY, CLIP = 3e-3, 3e-4, 0.1, 1.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first_norm = nn.LayerNorm(WIDTH)
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.projection = nn.Linear(WIDTH, WIDTH)
        self.second_norm = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )
        self.register_buffer("mask", torch.full((CONTEXT, CONTEXT), -math.inf).triu(1))

    def attend(self, x):
        batch, length, _ = x.shape
        split = self.attention(x).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        weights = F.softmax(scores + self.mask[:length, :length], dim=-1)
        return self.projection((weights @ value).transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.first_norm(x))
        return x + self.mlp(self.second_norm(x))


class Gpt(nn.Module):
    def __init__(self, letters):
        super().__init__()
        self.tokens = nn.Embedding(letters, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, letters, bias=False)
        self.apply(self.initialise)
        self.head.weight = self.tokens.weight  # tied

    @staticmethod
    def initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_optimizer(model):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": DECAY},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.95))


def rate_at(step, steps):
    warmup = max(steps // 20, 1)
    if step < warmup:
        return RATE * (step + 1) / warmup
    done = (step - warmup) / max(steps - warmup, 1)
    return RATE_LEAST + 0.5 * (1 + math.cos(math.pi * done)) * (RATE - RATE_LEAST)


def main():
    options = common.read_options(__doc__)
    generator = common.start(options)
    data, letters = text.characters(options.text)

    def get_batch():
        starts = torch.randint(len(data) - CONTEXT - 1, (BATCH,), generator=generator).tolist()
        inputs = torch.stack([data[i : i + CONTEXT] for i in starts])
        return inputs, torch.stack([data[i + 1 : i + 1 + CONTEXT] for i in starts])

    model = DistributedDataParallel(Gpt(letters))
    optimizer = make_optimizer(model)
    hook = common.attach(model, options, optimizer)
    losses = []
    for step in range(options.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, options.steps)
        for part in range(ACCUMULATE):
            is_last = part == ACCUMULATE - 1
            with contextlib.nullcontext() if is_last else model.no_sync():
                loss = model(*get_batch()) / ACCUMULATE
                loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item() * ACCUMULATE)
    common.finish(options, losses, [model], [hook])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
