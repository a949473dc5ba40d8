"""A GAN on Fashion-MNIST, with a DDP model each for generator and discriminator. The backward pass
for the generator also runs through the discriminator, whose gradients are then thrown away. The
result is the loss of the discriminator."""

import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import common
import images

NOISE, WIDTH, BATCH, RATE, BETAS = 64, 16, 16, 2e-4, (0.5, 0.999)


def make_generator():
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, 2 * WIDTH, 7, 1, 0, bias=False),
        nn.BatchNorm2d(2 * WIDTH),
        nn.ReLU(True),
        nn.ConvTranspose2d(2 * WIDTH, WIDTH, 4, 2, 1, bias=False),
        nn.BatchNorm2d(WIDTH),
        nn.ReLU(True),
        nn.ConvTranspose2d(WIDTH, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    )


def make_discriminator():
    return nn.Sequential(
        nn.Conv2d(1, WIDTH, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(WIDTH, 2 * WIDTH, 4, 2, 1, bias=False),
        nn.BatchNorm2d(2 * WIDTH),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(2 * WIDTH, 1, 7, 1, 0, bias=False),
        nn.Sigmoid(),
        nn.Flatten(0),
    )


def initialise(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)


def ignoring(hook):
    """For a backward pass whose gradients are thrown away: memories must not keep them."""
    return hook.ignore() if hook else contextlib.nullcontext()


def main():
    options = common.read_options(__doc__)
    numbers = common.start(options)
    data, _ = images.fashion_mnist(options.images)

    net_g = DistributedDataParallel(make_generator().apply(initialise))
    net_d = DistributedDataParallel(make_discriminator().apply(initialise))
    optimizer_d = torch.optim.Adam(net_d.parameters(), lr=RATE, betas=BETAS)
    optimizer_g = torch.optim.Adam(net_g.parameters(), lr=RATE, betas=BETAS)
    hook_d = common.attach(net_d, options, optimizer_d)
    hook_g = common.attach(net_g, options, optimizer_g)
    criterion = nn.BCELoss()
    real_label, fake_label = torch.ones(BATCH), torch.zeros(BATCH)
    losses = []
    for _ in range(options.steps):
        # The discriminator: log(D(x)) + log(1 - D(G(z))).
        net_d.zero_grad()
        real = data[torch.randint(len(data), (BATCH,), generator=numbers)]
        loss_real = criterion(net_d(real), real_label)
        loss_real.backward()
        fake = net_g(torch.randn(BATCH, NOISE, 1, 1, generator=numbers))
        loss_fake = criterion(net_d(fake.detach()), fake_label)
        loss_fake.backward()
        optimizer_d.step()

        # The generator: log(D(G(z))).
        net_g.zero_grad()
        loss_g = criterion(net_d(fake), real_label)
        with ignoring(hook_d):
            loss_g.backward()
        optimizer_g.step()
        losses.append(loss_real.item() + loss_fake.item())
    common.finish(options, losses, [net_d, net_g], [hook_d, hook_g], ignored=options.steps)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
