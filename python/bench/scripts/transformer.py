"""A transformer language model on WikiText-2: SGD with a large rate, clipping, a rate that falls at
the end of each epoch."""

import math

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import common
import text

WIDTH, HEADS, HIDDEN, LAYERS, DROPOUT = 64, 2, 128, 2, 0.2
BATCH, LENGTH, RATE, CLIP = 10, 35, 5.0, 0.5
EPOCH = 100  # steps


class Transformer(nn.Module):
    def __init__(self, words):
        super().__init__()
        position = torch.arange(LENGTH).unsqueeze(1)
        factor = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
        table = torch.zeros(LENGTH, 1, WIDTH)
        table[:, 0, 0::2] = torch.sin(position * factor)
        table[:, 0, 1::2] = torch.cos(position * factor)
        self.register_buffer("table", table)
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), -math.inf).triu(1))
        self.encoder = nn.Embedding(words, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, DROPOUT)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.decoder = nn.Linear(WIDTH, words)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, inputs):
        x = self.dropout(self.encoder(inputs) * math.sqrt(WIDTH) + self.table)
        return self.decoder(self.layers(x, self.mask))


def main():
    options = common.read_options(__doc__)
    common.start(options)
    data, words = text.words(options.text)
    columns = text.batchify(data, BATCH, dist.get_rank(), dist.get_world_size())

    model = DistributedDataParallel(Transformer(words))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.95)
    hook = common.attach(model, options, optimizer)
    losses = []
    model.train()
    for step in range(options.steps):
        inputs, targets = text.window(columns, step, LENGTH)
        output = model(inputs)
        loss = criterion(output.view(-1, words), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % EPOCH == 0:
            scheduler.step()
    common.finish(options, losses, [model], [hook])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
