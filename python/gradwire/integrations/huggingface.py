"""gradwire in Hugging Face's Trainer:

    attach_trainer(trainer, "natural | entropy")      # before trainer.train()

Checkpoints of the Trainer hold the memories of all ranks, and its logs show bytes and times.
"""

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ..attach import attach
from ..errors import Error
from ..figures import Figures
from ..hook import Hook
from .accelerate import check_options, inner_optimizer, scaler_of

if TYPE_CHECKING:
    from transformers import Trainer

#: Beside the model in a checkpoint of the Trainer: the states of all ranks.
STATE_FILE = "gradwire.pt"


def attach_trainer(
    trainer: "Trainer",
    spec: str,
    *,
    resume_from: Optional[Union[str, "os.PathLike[str]"]] = None,
    **options: Any,
) -> "GradwireCallback":
    """From now on ``trainer.train()`` averages gradients as ``spec`` says. All ranks call it.

    Args:
        trainer: started by torchrun or ``accelerate launch``, so that it uses DDP.
        spec: a method or a codec, as for :func:`gradwire.attach`.
        resume_from: the checkpoint that ``trainer.train(resume_from_checkpoint=...)`` is given, if
            it is not in the trainer's own output directory.
        options: further arguments of :func:`gradwire.attach`. ``optimizer=`` and ``scaler=`` are
            found.
    """
    callback = GradwireCallback(trainer, spec, resume_from=resume_from, **options)
    trainer.add_callback(callback)
    return callback


class GradwireCallback(TrainerCallback):
    """Attaches to the DDP model when training begins; :func:`attach_trainer` makes it.

    A trainer with one process has nothing to average: then the callback does nothing.
    """

    def __init__(
        self,
        trainer: "Trainer",
        spec: str,
        *,
        resume_from: Optional[Union[str, "os.PathLike[str]"]] = None,
        **options: Any,
    ) -> None:
        check_options(options, "optimizer", "scaler")
        self._trainer = trainer
        self._spec = spec
        self._resume_from = resume_from
        self._options = options
        self._is_recorded = any(options.get(name) for name in ("record", "tensorboard"))
        self._figures = Figures()
        self._model: Any = None  # the one that the hook belongs to
        #: Nothing before the training begins.
        self.hook: Optional[Hook] = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        model = self._trainer.model_wrapped
        if not isinstance(model, DistributedDataParallel):
            if args.world_size == 1:
                return
            raise Error(
                f"gradwire averages the gradients of DDP, and the Trainer made a "
                f"{type(model).__name__}: start it with torchrun, without FSDP and DeepSpeed"
            )
        if self.hook is None or model is not self._model:
            hook = self._attach(model, kwargs["optimizer"])
        else:
            hook = self.hook  # the Trainer keeps its model for the next train()
        if state.global_step > 0:
            self._resume(hook, self._checkpoint_of(args, state))

    def _attach(self, model: Any, optimizer: Any) -> Hook:
        if self.hook is not None:
            self.hook.close()
        self._model = model
        self._figures = Figures()
        self.hook = attach(
            model,
            self._spec,
            optimizer=inner_optimizer(optimizer),
            scaler=scaler_of(self._trainer.accelerator),
            **self._options,
        )
        return self.hook

    def _checkpoint_of(self, args: Any, state: Any) -> Path:
        """Of this step: the one that was named, or the trainer's own."""
        for named in (self._resume_from, args.resume_from_checkpoint):
            if named is not None and os.path.isdir(named):
                return Path(named)
        return Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"

    def _resume(self, hook: Hook, checkpoint: Path) -> None:
        """Rank 0 reads the states of all ranks."""
        path = checkpoint / STATE_FILE
        is_first = dist.get_rank() == 0
        is_there = [path.exists()]
        dist.broadcast_object_list(is_there)  # as rank 0 sees it
        if is_there[0]:
            hook.load_full_state_dict(torch.load(path, map_location="cpu") if is_first else None)
        elif is_first:
            warnings.warn(
                f"{path} is missing, so the memories of {self._spec} begin empty. If the "
                "checkpoint is elsewhere, call attach_trainer(..., resume_from=CHECKPOINT)"
            )

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.hook is None:
            return
        states = self.hook.full_state_dict()
        if states is None:
            return
        path = Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}" / STATE_FILE
        new = path.with_suffix(".new")
        torch.save(states, new)
        new.replace(path)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.hook is None or not control.should_log:
            return
        figures = self._figures.take(self.hook.stats())
        if figures:
            self._trainer.log(figures)
            control.should_log = True  # log() takes it back, and the Trainer's own figures are due

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any
    ) -> None:
        """gradwire's own record gets the Trainer's losses."""
        if self.hook is None or not self._is_recorded:
            return
        loss, test_loss = logs.get("loss"), logs.get("eval_loss")
        if loss is not None or test_loss is not None:
            self.hook.log(loss=loss, test_loss=test_loss)
