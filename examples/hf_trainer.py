"""Trains a small GPT-2 with Hugging Face's Trainer and a method of gradwire. The lines that use
gradwire are marked.

    pip install transformers accelerate
    torchrun --nproc-per-node 2 examples/hf_trainer.py --method 'natural | entropy'
    torchrun --nproc-per-node 2 examples/hf_trainer.py --method plain
    torchrun --nproc-per-node 2 examples/hf_trainer.py --resume runs/hf/checkpoint-50 --steps 200

The model is random and nothing is downloaded: it learns to count in steps.
"""

import argparse

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

from gradwire.integrations.huggingface import attach_trainer  # <- gradwire

LETTERS, CONTEXT = 64, 32


class Counting(Dataset):
    """Rows that count from a random start in steps of 1 to 4."""

    def __init__(self, rows=2000):
        generator = torch.Generator().manual_seed(1)
        start = torch.randint(LETTERS, (rows, 1), generator=generator)
        stride = torch.randint(1, 5, (rows, 1), generator=generator)
        self.rows = (start + stride * torch.arange(CONTEXT)) % LETTERS

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", default="natural | entropy",
                        help="a spec of gradwire, or plain for DDP alone")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--directory", default="runs/hf")
    parser.add_argument("--resume", help="a checkpoint to go on from")
    options = parser.parse_args()

    set_seed(1)
    torch.set_num_threads(1)
    config = GPT2Config(
        vocab_size=LETTERS,
        n_positions=CONTEXT,
        n_embd=64,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    arguments = TrainingArguments(
        output_dir=options.directory,
        max_steps=options.steps,
        per_device_train_batch_size=16,
        gradient_accumulation_steps=options.accumulate,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        warmup_steps=10,
        logging_steps=25,
        save_steps=50,
        ddp_find_unused_parameters=False,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Counting())
    if options.method != "plain":
        attach_trainer(trainer, options.method, resume_from=options.resume)  # <- gradwire
    trainer.train(resume_from_checkpoint=options.resume)
    if trainer.is_world_process_zero():
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        print(f"step {trainer.state.global_step}: loss {losses[-1]:.3f}")


if __name__ == "__main__":
    main()
