"""A convolutional network on Fashion-MNIST: Adadelta, dropout, a rate that falls at the end of each
epoch."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import common
import images

BATCH, RATE, GAMMA = 16, 1.0, 0.7
EPOCH = 100  # steps


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def main():
    options = common.read_options(__doc__)
    generator = common.start(options)
    data, labels = images.fashion_mnist(options.images)

    model = DistributedDataParallel(Net())
    optimizer = torch.optim.Adadelta(model.parameters(), lr=RATE)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=GAMMA)
    hook = common.attach(model, options, optimizer)
    losses = []
    model.train()
    for step in range(options.steps):
        batch = torch.randint(len(labels), (BATCH,), generator=generator)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % EPOCH == 0:
            scheduler.step()
    common.finish(options, losses, [model], [hook])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
