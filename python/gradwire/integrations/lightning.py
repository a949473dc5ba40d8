"""gradwire in Lightning's Trainer:

    trainer = Trainer(strategy="ddp", callbacks=[GradwireCallback("ef(topk(1%) | natural)")])

The callback attaches to the DDP model when a fit begins. Lightning's checkpoints hold the memories
of all ranks, and its loggers show bytes and times.
"""

import sys
import warnings
import weakref
from typing import Any, Dict, Optional

from torch.nn.parallel import DistributedDataParallel

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback  # the program uses the package of this name
else:
    from lightning.pytorch import Callback  # type: ignore[assignment]

from ..attach import attach
from ..errors import Error
from ..figures import Figures
from ..hook import Hook


class GradwireCallback(Callback):
    """Averages the gradients of a fit with ``Trainer(strategy="ddp")``.

    Args:
        spec: a method or a codec, as for :func:`gradwire.attach`.
        options: further arguments of :func:`gradwire.attach`. The callback finds ``optimizer=`` (if
            the module has one optimizer) and ``scaler=`` by itself.

    A trainer with one process has nothing to average: then the callback does nothing.
    """

    def __init__(self, spec: str, **options: Any) -> None:
        super().__init__()
        for found in ("optimizer", "scaler"):
            if found in options:
                raise Error(f"GradwireCallback finds {found}= by itself: leave it out")
        self._spec = spec
        self._options = options
        self._is_recorded = any(options.get(name) for name in ("record", "tensorboard"))
        self._figures = Figures()
        #: The hook of the fit that is under way; nothing otherwise.
        self.hook: Optional[Hook] = None
        # Whether the next fit continues from a state: that of a checkpoint, or that of the end of
        # the last fit of this module. All ranks know; rank 0 has it, and after a checkpoint all do.
        self._has_state = False
        self._state: Optional[Dict[str, Any]] = None
        self._module: Any = lambda: None

    # --- A fit ---

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        model = trainer.strategy.model
        if not isinstance(model, DistributedDataParallel):
            if trainer.world_size == 1:
                return
            raise Error(
                f"gradwire averages the gradients of DDP, and {type(trainer.strategy).__name__} "
                'has no DDP model: take Trainer(strategy="ddp")'
            )
        optimizers = trainer.optimizers
        self.hook = attach(
            model,
            self._spec,
            optimizer=optimizers[0] if len(optimizers) == 1 else None,
            scaler=getattr(trainer.precision_plugin, "scaler", None),
            **self._options,
        )
        self._figures = Figures()
        is_other = self._module() not in (None, pl_module)
        self._module = weakref.ref(pl_module)
        if self._has_state and not is_other:
            self.hook.load_full_state_dict(self._state)
        self._has_state, self._state = False, None

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self.hook is None:
            return
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None and self._is_recorded:
            self.hook.log(loss=float(loss))
        if trainer.loggers and trainer.global_step % trainer.log_every_n_steps == 0:
            figures = self._figures.take(self.hook.stats())
            for logger in trainer.loggers if figures else []:
                logger.log_metrics(figures, step=trainer.global_step)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        if self.hook is None:
            return
        # For a checkpoint after the fit, and for the next fit.
        self._has_state, self._state = True, self.hook.full_state_dict()
        self._end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The other ranks learn at once that this one has failed."""
        if self.hook is not None:
            self.hook.leave(is_failing=True)
            self._end()

    def _end(self) -> None:
        assert self.hook is not None
        self.hook.close()
        self.hook = None

    # --- Checkpoints ---

    def state_dict(self) -> Dict[str, Any]:
        """Lightning calls it on all ranks, and saves the result of rank 0."""
        if self.hook is not None and self.hook.failure is None:
            return self.hook.full_state_dict() or {}
        if self.hook is not None:
            warnings.warn(
                "this checkpoint has no memories of gradwire, since averaging has failed: "
                f"{self.hook.failure}"
            )
        return self._state or {}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Lightning calls it on all ranks, before a fit begins or after."""
        if self.hook is not None:
            self.hook.load_state_dict(state_dict)
        else:
            self._has_state, self._state = True, state_dict
            self._module = lambda: None
