"""Forks before importing torch; the child infers, the parent waits and exits with its code."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

child = os.fork()
if child == 0:
    runpy.run_path(str(Path(__file__).with_name("inference.py")))
    sys.exit(4)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
