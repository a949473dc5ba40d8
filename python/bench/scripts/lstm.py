"""An LSTM language model on WikiText-2: truncated backpropagation through time, clipping, and an
update by hand, without an optimizer."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import common
import text

WIDTH, LAYERS, BATCH, LENGTH, RATE, CLIP, DROPOUT = 64, 2, 10, 35, 20, 0.25, 0.2


class Rnn(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.words = words
        self.dropout = nn.Dropout(DROPOUT)
        self.encoder = nn.Embedding(words, WIDTH)
        self.rnn = nn.LSTM(WIDTH, WIDTH, LAYERS, dropout=DROPOUT)
        self.decoder = nn.Linear(WIDTH, words)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, inputs, hidden):
        output, hidden = self.rnn(self.dropout(self.encoder(inputs)), hidden)
        decoded = self.decoder(self.dropout(output)).view(-1, self.words)
        return nn.functional.log_softmax(decoded, dim=1), hidden


def main():
    options = common.read_options(__doc__)
    common.start(options)
    data, words = text.words(options.text)
    columns = text.batchify(data, BATCH, dist.get_rank(), dist.get_world_size())

    model = DistributedDataParallel(Rnn(words))
    hook = common.attach(model, options)
    criterion = nn.NLLLoss()
    hidden = tuple(torch.zeros(LAYERS, BATCH, WIDTH) for _ in range(2))
    losses = []
    model.train()
    for step in range(options.steps):
        inputs, targets = text.window(columns, step, LENGTH)
        model.zero_grad()
        hidden = tuple(part.detach() for part in hidden)
        output, hidden = model(inputs, hidden)
        loss = criterion(output, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=-RATE)
        losses.append(loss.item())
    common.finish(options, losses, [model], [hook])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
