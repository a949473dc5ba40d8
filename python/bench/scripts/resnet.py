"""A small ResNet with BatchNorm on CIFAR-10: SGD with momentum and weight decay, a cosine, random
crops and mirrored images."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import common
import images

WIDTH, BATCH, RATE, MOMENTUM, DECAY = 16, 16, 0.05, 0.9, 5e-4


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class ResNet(nn.Module):
    """Of 8 layers."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, WIDTH, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(WIDTH)
        self.layers = nn.Sequential(
            BasicBlock(WIDTH, WIDTH, 1),
            BasicBlock(WIDTH, 2 * WIDTH, 2),
            BasicBlock(2 * WIDTH, 4 * WIDTH, 2),
        )
        self.linear = nn.Linear(4 * WIDTH, 10)

    def forward(self, x):
        x = self.layers(F.relu(self.bn1(self.conv1(x))))
        return self.linear(x.mean((2, 3)))


def augment(batch, generator):
    down, right = torch.randint(9, (2,), generator=generator).tolist()
    batch = F.pad(batch, (4, 4, 4, 4))[:, :, down : down + 32, right : right + 32]
    is_mirrored = torch.rand(len(batch), generator=generator) < 0.5
    return torch.where(is_mirrored[:, None, None, None], batch.flip(3), batch)


def main():
    options = common.read_options(__doc__)
    generator = common.start(options)
    data, labels = images.cifar10(options.cifar)

    model = DistributedDataParallel(ResNet())
    optimizer = torch.optim.SGD(
        model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=options.steps)
    hook = common.attach(model, options, optimizer)
    losses = []
    model.train()
    for step in range(options.steps):
        batch = torch.randint(len(labels), (BATCH,), generator=generator)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(augment(data[batch], generator)), labels[batch])
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    common.finish(options, losses, [model], [hook])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
