#!/usr/bin/env bash
# Installs the Python package by pip into an empty environment, without the network, and trains a
# little with what was installed: two ranks, examples/train_ddp.py.
set -euo pipefail
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT

/usr/bin/python3 -m venv --system-site-packages "$there/python"
"$there/python/bin/pip" install --quiet --no-build-isolation --no-index .
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
cp examples/train_ddp.py "$there"
cd "$there"
python/bin/python -c 'import gradwire; print(gradwire.__version__, gradwire.__file__)'
if [[ ! -d /usr/share/datasets/fashion-mnist ]]; then
  echo "skipped: dataset-fashion-mnist is not installed"
  exit 77
fi
train() { python/bin/python train_ddp.py --workers 2 --steps "$@" --state state; }
train 6 --save-every 3 --record run
[[ $(wc -l <run/steps.jsonl) == 6 ]]
train 10 --resume
