"""What the ranks of tests do with frameworks around PyTorch; see ranks.py. Frameworks are imported
where they are used, since a machine may have some of them only."""

import os
import warnings

os.environ["LOCAL_RANK"] = os.environ["RANK"]  # as torchrun would; frameworks read it

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gradwire
from models import Net, batch, digest


def data(batches=10):
    """The same epoch for all ranks: batch i of rank r is batch 2 i + r."""
    parts = [batch(step, rank) for step in range(batches) for rank in range(dist.get_world_size())]
    inputs, targets = (torch.cat(tensors) for tensors in zip(*parts))
    return TensorDataset(inputs, targets)


def memories_in(states):
    """The ranks whose state has a memory that is not all zero."""
    ranks = []
    for state in states:
        arrays = gradwire._native.state_arrays(state["method"].numpy().tobytes())
        if any(values.any() for _, _, _, values in arrays):
            ranks.append(state["rank"])
    return ranks


# --- Lightning ---


def lightning(spec, directory, epochs=1, resume=None, fits=1):
    """Epochs of ten steps; checkpoints and logs go to the directory."""
    import lightning.pytorch as pl
    from lightning.pytorch.loggers import CSVLogger

    from gradwire.integrations.lightning import GradwireCallback

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, batch, batch_idx):
            inputs, targets = batch
            return nn.functional.cross_entropy(self.net(inputs), targets)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

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


# --- Hugging Face ---


class Lossy(nn.Module):
    """A network that returns its loss, as the Trainer expects."""

    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, inputs, targets):
        return {"loss": nn.functional.cross_entropy(self.net(inputs), targets)}


def collate(rows):
    inputs, targets = zip(*rows)
    return {"inputs": torch.stack(inputs), "targets": torch.stack(targets)}


def trainer(spec, directory, steps=20, resume=None, accumulate=1, **options):
    import transformers

    from gradwire.integrations.huggingface import attach_trainer

    arguments = transformers.TrainingArguments(
        output_dir=directory,
        max_steps=steps,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=accumulate,
        learning_rate=0.05,
        lr_scheduler_type="constant",
        optim="sgd",
        max_grad_norm=1.0,
        logging_steps=5,
        save_steps=10,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
    )
    torch.manual_seed(1)
    made = transformers.Trainer(
        model=Lossy(), args=arguments, train_dataset=data(), data_collator=collate
    )
    made.remove_callback(transformers.PrinterCallback)
    if spec != "plain":
        attach_trainer(made, spec, resume_from=resume, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made.train(resume_from_checkpoint=resume)
    logs = made.state.log_history
    return {
        "digest": digest(made.model),
        "steps": made.state.global_step,
        "losses": [entry["loss"] for entry in logs if "loss" in entry],
        "ratios": [entry["gradwire/ratio"] for entry in logs if "gradwire/ratio" in entry],
        "warnings": [str(one.message) for one in caught if "gradwire" in str(one.message)],
    }


def accelerated(spec, directory, first=0, steps=20, saves=True):
    """Goes on from the directory where the first step is not 0."""
    import accelerate

    from gradwire.integrations.accelerate import attach_accelerator

    accelerator = accelerate.Accelerator(cpu=True)
    torch.manual_seed(1)
    net = Net()
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.05))
    hook = None
    if spec != "plain":
        hook = attach_accelerator(accelerator, model, spec, optimizer=optimizer)
    if first:
        accelerator.load_state(directory)
        assert hook.step == first
    for step in range(first, steps):
        inputs, targets = batch(step)
        optimizer.zero_grad()
        accelerator.backward(nn.functional.cross_entropy(model(inputs), targets))
        optimizer.step()
    if saves:
        accelerator.save_state(directory)
    return digest(model)
