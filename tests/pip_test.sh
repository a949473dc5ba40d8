#!/usr/bin/env bash
# Installs the Python package from source by pip, into an environment that has Debian's torch, and
# trains a little with it: two ranks, examples/train_ddp.py. Without PyPI, the build takes its tools
# from Debian.
set -euo pipefail
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT

/usr/bin/python3 -m venv --system-site-packages "$there/python"
pip=("$there/python/bin/pip" --disable-pip-version-check)
options=()
if ! "${pip[@]}" download --quiet --no-deps --dest "$there/download" pybind11 >/dev/null 2>&1; then
  echo "PyPI is not reachable: the build is not isolated"
  options=(--no-build-isolation --no-index)
fi
"${pip[@]}" install --quiet "${options[@]}" .
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
cp examples/train_ddp.py "$there"
cd "$there"
python/bin/python -c 'import gradwire; print(gradwire.__version__, gradwire.__file__)'
train() { python/bin/python train_ddp.py --workers 2 --steps "$@" --data generated --state state; }
train 6 --save-every 3 --record run
[[ $(wc -l <run/steps.jsonl) == 6 ]]
train 10 --resume
