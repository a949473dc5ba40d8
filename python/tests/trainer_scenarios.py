"""What the ranks of tests do with the Trainer of Hugging Face; see ranks.py."""

import warnings

import torch
import transformers
from torch import nn

from frameworks import data
from gradwire.integrations.huggingface import attach_trainer
from models import Net, digest


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
