"""What the ranks of tests do with Lightning; see ranks.py."""

import os

import lightning.pytorch as pl
import torch
import torch.distributed as dist
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader

from frameworks import data, memories_in
from gradwire.integrations.lightning import GradwireCallback
from models import Net, digest


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, batch_idx):
        inputs, targets = batch
        return nn.functional.cross_entropy(self.net(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def lightning(spec, directory, epochs=1, resume=None, fits=1):
    """Epochs of ten steps; checkpoints and logs go to the directory."""
    pl.seed_everything(1)
    callback = GradwireCallback(spec) if spec != "plain" else None
    logger = CSVLogger(directory)
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=dist.get_world_size(),
        strategy="ddp",
        max_epochs=epochs,
        callbacks=[callback] if callback else [],
        logger=logger,
        log_every_n_steps=5,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Module()
    for fit in range(1, fits + 1):
        trainer.fit_loop.max_epochs = epochs * fit
        loader = DataLoader(data(), batch_size=8, shuffle=False)
        trainer.fit(module, loader, ckpt_path=resume if fit == 1 else None)
    path = os.path.join(directory, "last.ckpt")
    trainer.save_checkpoint(path)
    saved = torch.load(path)["callbacks"] if callback else {}
    return {
        "digest": digest(module),
        "steps": trainer.global_step,
        "memories": [memories_in(state["states"]) for state in saved.values()],
        "is_open": callback is not None and callback.hook is not None,
        "figures": os.path.join(logger.log_dir, "metrics.csv"),
    }
