"""examples/train_ddp.py, except that rank 1 is killed once, when it would save the state of step 20."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import train_ddp

save = train_ddp.save


def save_or_be_killed(directory, rank, model, hook, step):
    if rank == 1 and step == 20 and not train_ddp.is_restarted():
        os.kill(os.getpid(), signal.SIGKILL)
    save(directory, rank, model, hook, step)


if __name__ == "__main__":
    train_ddp.save = save_or_be_killed
    sys.exit(train_ddp.main())
