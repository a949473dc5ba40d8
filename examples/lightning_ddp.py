"""Trains a small network with Lightning's Trainer on two processes of this machine, with a method of
gradwire. The lines that use gradwire are marked.

    pip install lightning tensorboard
    python examples/lightning_ddp.py --method 'ef(topk(1%) | natural)'
    python examples/lightning_ddp.py --method plain
    python examples/lightning_ddp.py --resume runs/lightning/last.ckpt --steps 300

Lightning starts the second process itself. The data are random: 20 features, and the sign of a sum.
"""

import argparse

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradwire.integrations.lightning import GradwireCallback  # <- gradwire


class Classifier(LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 2))

    def training_step(self, batch, batch_idx):
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.network(inputs), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.5)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


def make_data(samples=6400):
    inputs = torch.randn(samples, 20, generator=torch.Generator().manual_seed(1))
    return TensorDataset(inputs, (inputs.sum(1) > 0).long())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", default="ef(topk(1%) | natural)",
                        help="a spec of gradwire, or plain for DDP alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--directory", default="runs/lightning")
    parser.add_argument("--resume", help="a checkpoint to go on from")
    options = parser.parse_args()

    seed_everything(1)
    torch.set_num_threads(1)
    callbacks = [ModelCheckpoint(options.directory, save_last=True, every_n_train_steps=100)]
    if options.method != "plain":
        callbacks.append(GradwireCallback(options.method))  # <- gradwire
    trainer = Trainer(
        accelerator="cpu",
        devices=options.workers,
        strategy="ddp",
        max_steps=options.steps,
        callbacks=callbacks,
        logger=CSVLogger(options.directory),
        log_every_n_steps=50,
        enable_progress_bar=False,
    )
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    trainer.fit(Classifier(), loader, ckpt_path=options.resume)
    if trainer.is_global_zero:
        print(f"step {trainer.global_step}: loss {trainer.callback_metrics['loss']:.3f}; the "
              f"figures are in {trainer.logger.log_dir}/metrics.csv")


if __name__ == "__main__":
    main()
