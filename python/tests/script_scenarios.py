"""A whole program on every rank; see ranks.py."""

import os
import runpy
import sys


def script(call):
    """Runs a program with its arguments, as if it had been started for this rank."""
    sys.argv = call
    sys.path.insert(0, os.path.dirname(call[0]))
    runpy.run_path(call[0], run_name="__main__")
